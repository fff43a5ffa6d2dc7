//! An ensemble without the base learners that take time and give nothing: where leaving one out changes the loss by no more than its
//! noise, the time of a prediction decides.

use pitchpipe_table::{Dependence, Labels};

use super::Judge;

/// A base learner that takes less than this share of what is left of a prediction's time stays.
const WORTH_LEAVING_OUT: f64 = 0.02;

/// Into how many parts rows are dealt, to tell a change from its noise.
const PARTS: usize = 20;

/// A base learner: what it says of the rows, its weight, and the seconds that it takes for a row, where that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed<'a> {
    pub(crate) probabilities: &'a [f32],
    pub(crate) weight: f64,
    pub(crate) secs: Option<f64>,
}

/// What became of an ensemble.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thinned {
    /// By base learner, whether it stays.
    pub(crate) stays: Vec<bool>,
    /// How much the loss grew, and the standard error of that.
    pub(crate) lost: f64,
    pub(crate) noise: f64,
    /// Seconds that a row took and takes, of those base learners of which that is known.
    pub(crate) secs_before: f64,
    pub(crate) secs: f64,
}

/// Leaves out base learners, the slowest first, as long as what is left is no worse than all of them by more than the standard error
/// of the difference. One always stays.
pub(crate) fn thin(
    judge: &Judge,
    truth: &Labels,
    dependence: &Dependence,
    learners: &[Timed<'_>],
) -> Thinned {
    let parts = parts(truth, dependence);
    let secs = |l: &Timed<'_>| l.secs.unwrap_or(0.0);
    let secs_before: f64 = learners.iter().map(secs).sum();
    let mut sums = vec![0.0f32; truth.len() * judge.n_classes()];
    for learner in learners {
        add(&mut sums, learner, 1.0);
    }
    let of_all = losses(judge, &parts, &sums, 1.0);
    let mut thinned = Thinned {
        stays: vec![true; learners.len()],
        lost: 0.0,
        noise: 0.0,
        secs_before,
        secs: secs_before,
    };
    let mut weight: f64 = learners.iter().map(|l| l.weight).sum();
    let mut order: Vec<usize> = (0..learners.len()).collect();
    order.sort_by(|&a, &b| secs(&learners[b]).total_cmp(&secs(&learners[a])));
    for at in order {
        let learner = &learners[at];
        let is_last = thinned.stays.iter().filter(|stays| **stays).count() == 1;
        let rest = weight - learner.weight;
        let is_slow =
            learner.secs.is_some_and(|secs| secs > 0.0 && secs >= WORTH_LEAVING_OUT * thinned.secs);
        if is_last || rest <= 0.0 || !is_slow {
            continue;
        }
        add(&mut sums, learner, -1.0);
        let (lost, noise) = gap(&losses(judge, &parts, &sums, 1.0 / rest), &of_all);
        if lost > noise {
            add(&mut sums, learner, 1.0);
            continue;
        }
        thinned.stays[at] = false;
        thinned.secs -= secs(learner);
        (thinned.lost, thinned.noise, weight) = (lost, noise, rest);
    }
    thinned
}

/// The rows in parts that do not hang together.
fn parts(truth: &Labels, dependence: &Dependence) -> Vec<Vec<u32>> {
    let dependence = match dependence {
        Dependence::Groups(_) => dependence,
        Dependence::Independent | Dependence::Order(_) => &Dependence::Independent,
    };
    let folds = dependence.folds(truth, PARTS.min(truth.len().max(2)), 0).folds;
    let rows = |rows: Vec<usize>| rows.into_iter().map(|row| row as u32).collect();
    folds.into_iter().map(|fold| rows(fold.test)).collect()
}

fn add(sums: &mut [f32], learner: &Timed<'_>, sign: f64) {
    let weight = (sign * learner.weight) as f32;
    sums.iter_mut().zip(learner.probabilities).for_each(|(sum, p)| *sum += weight * p);
}

fn losses(judge: &Judge, parts: &[Vec<u32>], sums: &[f32], factor: f64) -> Vec<f64> {
    parts.iter().map(|rows| judge.loss(sums, factor as f32, rows)).collect()
}

/// The mean difference over parts, and its standard error.
fn gap(losses: &[f64], before: &[f64]) -> (f64, f64) {
    let n = losses.len().max(1) as f64;
    let gaps: Vec<f64> = losses.iter().zip(before).map(|(loss, before)| loss - before).collect();
    let mean = gaps.iter().sum::<f64>() / n;
    let squares = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
    (mean, (squares / (n * (n - 1.0).max(1.0))).sqrt())
}

#[cfg(test)]
mod tests {
    use pitchpipe_table::Metric;

    use super::*;

    fn labels() -> Labels {
        Labels::from_codes((0..400).map(|i| i % 2), 2)
    }

    /// Sure of the right class but for one row in so many, counted from `shift`.
    fn says(wrong_each: usize, shift: usize) -> Vec<f32> {
        let row = |i: usize| {
            let right = if (i + shift).is_multiple_of(wrong_each) { 0.1 } else { 0.9 };
            if i % 2 == 0 { [right, 1.0 - right] } else { [1.0 - right, right] }
        };
        (0..400).flat_map(row).collect()
    }

    fn thinned(learners: &[(Vec<f32>, f64, Option<f64>)]) -> Thinned {
        let truth = labels();
        let judge = Judge::new(&truth, &[0.5, 0.5], Metric::BalancedError);
        let learners: Vec<Timed<'_>> = learners
            .iter()
            .map(|(probabilities, weight, secs)| Timed {
                probabilities,
                weight: *weight,
                secs: *secs,
            })
            .collect();
        thin(&judge, &truth, &Dependence::Independent, &learners)
    }

    #[test]
    fn what_is_slow_and_says_nothing_new_is_left_out() {
        let (good, same) = (says(50, 0), says(50, 0));
        let found = thinned(&[(good, 0.7, Some(1e-6)), (same, 0.3, Some(1e-3))]);
        assert_eq!(found.stays, [true, false]);
        assert!(found.lost.abs() < 1e-6 && (found.secs - 1e-6).abs() < 1e-12, "{found:?}");
        assert_eq!(found.secs_before, 1e-6 + 1e-3);
    }

    #[test]
    fn what_is_slow_and_makes_the_ensemble_right_stays() {
        let (poor, good) = (says(3, 0), says(100, 1));
        let found = thinned(&[(poor, 0.2, Some(1e-6)), (good, 0.8, Some(1e-3))]);
        // The fast one goes neither: it takes a thousandth of the time.
        assert_eq!(found.stays, [true, true]);
    }

    #[test]
    fn one_stays_and_what_is_not_known_to_be_slow_does() {
        let same = || says(50, 0);
        let found = thinned(&[(same(), 0.5, Some(1e-3)), (same(), 0.5, Some(2e-3))]);
        assert_eq!(found.stays, [true, false]);
        let found = thinned(&[(same(), 0.5, None), (same(), 0.5, None)]);
        assert_eq!(found.stays, [true, true]);
    }
}
