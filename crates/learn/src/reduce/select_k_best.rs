//! The columns whose class means differ most: the one-way ANOVA F of scikit-learn's `f_classif`.

use pitchpipe_table::Labels;

use super::FittedSelection;
use crate::sums::{largest_magnitude, sum, taming_power};
use crate::{Features, FitContext, FitError};

/// The F score of each column; a constant column, or one without a score, scores worst.
pub(crate) fn f_scores(x: &Features, y: &Labels, ctx: &FitContext) -> Result<Vec<f64>, FitError> {
    let classes = Classes::of(y);
    (0..x.n_cols())
        .map(|j| {
            ctx.check_deadline()?;
            Ok(f_score(x.column(j), &classes))
        })
        .collect()
}

/// The `k` columns with the largest scores; of equal scores the later column wins.
pub(crate) fn best(scores: &[f64], k: usize) -> FittedSelection {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let mut kept = order.split_off(scores.len() - k.min(scores.len()));
    kept.sort_unstable();
    FittedSelection::new(scores.len(), kept)
}

/// The classes that have rows, numbered without gaps.
struct Classes {
    of_row: Vec<u32>,
    counts: Vec<f64>,
}

impl Classes {
    fn of(y: &Labels) -> Self {
        let mut numbers = vec![u32::MAX; y.n_classes()];
        let mut counts = Vec::new();
        for (class, &count) in y.counts().iter().enumerate().filter(|(_, count)| **count > 0) {
            numbers[class] = counts.len() as u32;
            counts.push(count as f64);
        }
        Self { of_row: y.codes().iter().map(|&c| numbers[c as usize]).collect(), counts }
    }
}

fn f_score(column: &[f64], classes: &Classes) -> f64 {
    let (n, n_classes) = (column.len() as f64, classes.counts.len());
    let power = taming_power(largest_magnitude(column));
    let mean = sum(column, |v| v * power) / n;
    let mut class_means = vec![0.0; n_classes];
    for (&v, &class) in column.iter().zip(&classes.of_row) {
        class_means[class as usize] += v * power - mean;
    }
    let mut between = 0.0;
    for (class_mean, count) in class_means.iter_mut().zip(&classes.counts) {
        *class_mean /= count;
        between += count * *class_mean * *class_mean;
    }
    let within: f64 = column
        .iter()
        .zip(&classes.of_row)
        .map(|(&v, &class)| {
            let d = v * power - mean - class_means[class as usize];
            d * d
        })
        .sum();
    // Rounding must not turn a constant column into one that separates the classes.
    let is_constant = column.iter().all(|v| v == &column[0]);
    let f = (between / (n_classes as f64 - 1.0)) / (within / (n - n_classes as f64));
    if is_constant || f.is_nan() { f64::MIN } else { f }
}
