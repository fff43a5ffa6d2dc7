//! Whether one model is better than another on the same rows, or only luckier.

mod drawn;

use drawn::RowByRow;
use pitchpipe_learn::Stream;
use pitchpipe_table::{Labels, Metric};
use rand::RngExt;
use rayon::prelude::*;
use serde::Serialize;

/// Rows are drawn anew so often.
const N_DRAWS: usize = 1000;

/// What one model says of some rows.
#[derive(Clone, Copy, Debug)]
pub struct Answers<'a> {
    /// The classes it decides on.
    pub labels: &'a Labels,
    /// The probabilities behind them, row after row.
    pub probabilities: &'a [f64],
}

/// How much larger one model's error is than another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The difference; less than zero is better.
    pub difference: f64,
    /// Its standard error over draws of the rows.
    pub standard_error: f64,
    /// The 95 % interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How likely a difference as large as this is without there being one, in either direction.
    pub p_value: f64,
    /// The same after as many comparisons as were made (Holm's method).
    pub p_value_adjusted: f64,
}

/// How much larger each model's error is than that of `first`, by the bootstrap: rows are drawn with replacement, the
/// same ones for all models. `None` where the metric has no value on these rows.
///
/// # Panics
/// If answers and truth are not of the same rows.
pub fn paired_differences(
    metric: Metric,
    truth: &Labels,
    first: Answers<'_>,
    others: &[Answers<'_>],
    seed: u64,
) -> Option<Vec<PairedDifference>> {
    let all: Vec<Answers<'_>> = std::iter::once(first).chain(others.iter().copied()).collect();
    let rows = RowByRow::of(metric, truth, &all);
    let from_first = |errors: Vec<f64>| -> Vec<f64> {
        errors[1..].iter().map(|error| error - errors[0]).collect()
    };
    let n = truth.len();
    let found = from_first(rows.errors(0..n)?);
    let stream = Stream::new(seed).named("paired differences");
    // A draw without a value, of one class say, is left out.
    let drawn: Vec<Vec<f64>> = (0..N_DRAWS as u64)
        .into_par_iter()
        .filter_map(|draw| {
            let mut rng = stream.child(draw).rng();
            Some(from_first(rows.errors((0..n).map(|_| rng.random_range(0..n)))?))
        })
        .collect();
    let of = |i: usize| {
        let mut values: Vec<f64> = drawn.iter().map(|d| d[i]).collect();
        summarised(found[i], &mut values)
    };
    let mut all: Vec<PairedDifference> = (0..others.len()).map(of).collect();
    adjust(&mut all);
    Some(all)
}

fn summarised(difference: f64, values: &mut [f64]) -> PairedDifference {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let at = |share: f64| {
        let place = (share * (n - 1.0)).round() as usize;
        values.get(place).copied().unwrap_or(difference)
    };
    let share = |is_beyond: &dyn Fn(&f64) -> bool| {
        (values.iter().filter(|v| is_beyond(v)).count() as f64 + 1.0) / (n + 1.0)
    };
    let p_value = (2.0 * share(&|v| *v <= 0.0).min(share(&|v| *v >= 0.0))).min(1.0);
    PairedDifference {
        difference,
        standard_error: variance.sqrt(),
        low: at(0.025),
        high: at(0.975),
        p_value,
        p_value_adjusted: p_value,
    }
}

/// Holm's method: the smallest of m is multiplied by m, the next by m - 1, and none is smaller than one before it.
fn adjust(all: &mut [PairedDifference]) {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| all[a].p_value.total_cmp(&all[b].p_value));
    let mut least = 0.0_f64;
    for (rank, &i) in order.iter().enumerate() {
        least = least.max((all[i].p_value * (order.len() - rank) as f64).min(1.0));
        all[i].p_value_adjusted = least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels of 300 rows of which every `n`th is wrong, from an offset.
    fn labels(n: u32, offset: u32) -> Labels {
        let wrong = move |i: u32| u32::from((i + offset).is_multiple_of(n));
        Labels::from_codes((0..300).map(|i| (i % 2) ^ wrong(i)), 2)
    }

    #[test]
    fn a_much_worse_model_is_told_from_one_that_is_as_good() {
        let truth = Labels::from_codes((0..300).map(|i| i % 2), 2);
        let probabilities = vec![0.5; 600];
        let answers = |labels| Answers { labels, probabilities: &probabilities };
        let (first, equal, worse) = (labels(10, 0), labels(10, 3), labels(3, 0));
        let others = [answers(&equal), answers(&worse)];
        let found =
            paired_differences(Metric::Accuracy, &truth, answers(&first), &others, 0).unwrap();
        assert!(found[0].p_value > 0.2 && found[0].low < 0.0 && found[0].high > 0.0);
        assert!(found[1].p_value_adjusted < 0.01 && found[1].low > 0.0, "{:?}", found[1]);
        assert!((found[1].difference - (100.0 - 30.0) / 300.0).abs() < 1e-12);
    }

    #[test]
    fn the_same_answers_do_not_differ() {
        let truth = Labels::from_codes((0..300).map(|i| i % 2), 2);
        let (own, probabilities) = (labels(7, 0), vec![0.5; 600]);
        let answers = Answers { labels: &own, probabilities: &probabilities };
        let found = paired_differences(Metric::Accuracy, &truth, answers, &[answers], 0).unwrap();
        assert_eq!((found[0].difference, found[0].p_value), (0.0, 1.0));
    }

    #[test]
    fn more_comparisons_ask_for_smaller_p_values() {
        let one = |p_value| PairedDifference { p_value, ..summarised(0.0, &mut [0.0]) };
        let mut all = [one(0.03), one(0.01), one(0.04)];
        adjust(&mut all);
        let adjusted = all.map(|d| (d.p_value_adjusted * 1000.0).round());
        assert_eq!(adjusted, [60.0, 30.0, 60.0]);
    }
}
