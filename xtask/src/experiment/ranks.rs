//! Completion of slow pipelines from fast ones, over ranks and thresholds (paper, Figures 8 and 15).

use pitchpipe_automl::offline::published::AXES;
use pitchpipe_surrogate::complete::{EmOptions, complete_matrix, complete_tucker};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};

use super::Context;
use super::csv::{Csv, short};
use crate::reference::partial;

/// The threshold of Figure 8 and of the example in Figure 15, in seconds.
const THRESHOLD_SECS: f32 = 90.0;

/// Plain EM, but not for ever: at large ranks it creeps.
fn options() -> EmOptions {
    EmOptions { max_rounds: 100, ..EmOptions::plain() }
}

/// All entries, those within a limit, and the positions of the slower ones.
type Cut = (PartialTensor<f32>, PartialTensor<f32>, Vec<usize>);

/// Entries within a limit to learn from, and the positions of the slower ones.
pub(super) fn cut(context: &Context, limit: f32) -> Result<Cut, String> {
    let whole = partial(&context.paper, f32::INFINITY)?;
    let training = partial(&context.paper, limit)?;
    let held =
        (0..whole.mask().len()).filter(|&at| whole.mask()[at] && !training.mask()[at]).collect();
    Ok((whole, training, held))
}

pub(super) fn tucker(
    training: &PartialTensor<f32>,
    datasets: usize,
    estimators: usize,
) -> Result<Vec<f32>, SurrogateError> {
    let [a, b, c, d, _] = AXES;
    Ok(complete_tucker(training, &[datasets, a, b, c, d, estimators], &options())?.values)
}

pub(super) fn matrix(
    training: &PartialTensor<f32>,
    rank: usize,
) -> Result<Vec<f32>, SurrogateError> {
    Ok(complete_matrix(training, rank, &options())?.values)
}

/// Relative errors over dataset and estimator rank: on entries within 90 s, by the decomposition itself, and on slower
/// ones.
pub(super) fn heatmaps(context: &Context) -> Result<Csv, String> {
    let ranks: &[usize] = if context.quick { &[5, 40] } else { &[5, 10, 20, 40, 60] };
    let (whole, training, held) = cut(context, THRESHOLD_SECS)?;
    let seen: Vec<usize> = (0..training.mask().len()).filter(|&at| training.mask()[at]).collect();
    let mut csv = Csv::new(
        "published tensor, 215 datasets; training entries took at most 90 s, test entries longer",
        &["dataset_rank", "estimator_rank", "training_error", "test_error"],
    );
    let [a, b, c, d, _] = AXES;
    for &datasets in ranks {
        for &estimators in ranks {
            let shape = [datasets, a, b, c, d, estimators];
            let done = complete_tucker(&training, &shape, &options()).map_err(|e| e.to_string())?;
            let fitted = done.tucker.reconstruct().map_err(|e| e.to_string())?;
            let fitted: Vec<f32> = fitted.into_iter().collect();
            let on_training = training.relative_error_at(&fitted, &seen);
            let on_test = whole.relative_error_at(&done.values, &held);
            csv.push(&[&datasets, &estimators, &short(on_training), &short(on_test)]);
            eprintln!("  {datasets} {estimators}: {on_training:.4} {on_test:.4}");
        }
    }
    Ok(csv)
}

/// Errors of both completions on entries slower than a threshold, at equal ranks.
pub(super) fn tensor_against_matrix(context: &Context) -> Result<Csv, String> {
    let ranks: &[usize] = if context.quick { &[20] } else { &[5, 10, 20, 30, 40] };
    let limits: &[f32] = if context.quick { &[20.0] } else { &[10.0, 20.0, 40.0, 80.0, 90.0] };
    let mut csv = Csv::new(
        "published tensor, 215 datasets; training entries took at most the threshold, test entries longer",
        &["threshold_s", "rank", "tensor_error", "matrix_error", "tensor_over_matrix"],
    );
    for &limit in limits {
        let (whole, training, held) = cut(context, limit)?;
        for &rank in ranks {
            let of = |values: Result<Vec<f32>, SurrogateError>| -> Result<f64, String> {
                Ok(whole.relative_error_at(&values.map_err(|e| e.to_string())?, &held))
            };
            let tensor = of(tucker(&training, rank, rank))?;
            let matrix = of(matrix(&training, rank))?;
            let ratio = short(tensor / matrix);
            csv.push(&[&limit, &rank, &short(tensor), &short(matrix), &ratio]);
            eprintln!("  {limit} s, rank {rank}: {tensor:.4} {matrix:.4}");
        }
    }
    Ok(csv)
}
