//! Completing the stacked errors, with ranks chosen by held-out entries.

use ndarray::{Array2, ArrayD, IxDyn};
use pitchpipe_learn::SearchSpace;
use pitchpipe_surrogate::complete::{
    Choice, EmOptions, HELD_OUT, TuckerCompletion, complete, complete_matrix, complete_tucker,
};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};

/// Ranks are chosen on this many datasets at most; more cost time and hardly change the choice.
pub(super) const TRIAL_DATASETS: usize = 120;
/// Rounds after which a completion has settled, on tensors of this size.
const MOST_ROUNDS: usize = 60;
/// Ranks tried for the slice of 183 estimators.
const SLICE_RANKS: [usize; 7] = [2, 3, 5, 8, 12, 20, 35];

/// A matrix of errors as a tensor: datasets, preparations, estimators.
pub(super) fn tensor_of(
    space: &SearchSpace,
    values: Array2<f32>,
    mask: Array2<bool>,
) -> Result<PartialTensor<f32>, SurrogateError> {
    let shape = IxDyn(&[values.nrows(), space.preparations().len(), space.estimators().len()]);
    let values = values.into_shape_with_order(shape.clone()).expect("the counts agree");
    PartialTensor::new(values, mask.into_shape_with_order(shape).expect("the counts agree"))
}

/// A Tucker completion at the ranks that lose least on held-out entries, or at `rank`.
pub(super) fn by_tensor(
    observed: &PartialTensor<f32>,
    rank: Option<usize>,
    seed: u64,
) -> Result<(TuckerCompletion<f32>, Choice), SurrogateError> {
    let shape = observed.shape();
    let choice = match rank {
        Some(rank) => {
            let ranks = vec![rank.min(shape[0]), shape[1], rank.min(shape[2])];
            let options = EmOptions::shrunk();
            let sample = some_rows(observed)?;
            let (training, held) = sample.hold_out(HELD_OUT, seed);
            let trial = vec![ranks[0].min(sample.shape()[0]), shape[1], ranks[2]];
            let done = complete_tucker(&training, &trial, &limited(&options))?;
            Choice { ranks, options, error: sample.relative_error_at(&done.values, &held) }
        }
        None => complete(&some_rows(observed)?, seed)?.1,
    };
    let completion = complete_tucker(observed, &choice.ranks, &limited(&choice.options))?;
    Ok((completion, choice))
}

fn limited(options: &EmOptions) -> EmOptions {
    EmOptions { max_rounds: options.max_rounds.min(MOST_ROUNDS), ..*options }
}

/// Evenly spread datasets, enough to choose ranks on.
fn some_rows(observed: &PartialTensor<f32>) -> Result<PartialTensor<f32>, SurrogateError> {
    let m = observed.shape()[0];
    if m <= TRIAL_DATASETS {
        return Ok(observed.clone());
    }
    let mut shape = observed.shape().to_vec();
    shape[0] = TRIAL_DATASETS;
    let n = observed.values().len() / m;
    let rows = (0..TRIAL_DATASETS).map(|i| i * m / TRIAL_DATASETS);
    let (mut values, mut mask) = (Vec::new(), Vec::new());
    for row in rows {
        values.extend_from_slice(&observed.values()[row * n..(row + 1) * n]);
        mask.extend_from_slice(&observed.mask()[row * n..(row + 1) * n]);
    }
    let values = ArrayD::from_shape_vec(IxDyn(&shape), values).expect("the counts agree");
    PartialTensor::new(values, ArrayD::from_shape_vec(IxDyn(&shape), mask).expect("as many"))
}

/// Completed values as error rates: datasets x pipelines.
pub(super) fn error_rates(mut values: Vec<f32>, n_datasets: usize) -> Array2<f32> {
    values.iter_mut().for_each(|v| *v = v.clamp(0.0, 1.0));
    let n_pipelines = values.len() / n_datasets.max(1);
    Array2::from_shape_vec((n_datasets, n_pipelines), values).expect("the counts agree")
}

/// A matrix completion of the slice at the rank that loses least on held-out entries, or at `rank`.
pub(super) fn by_matrix(
    errors: &Array2<f32>,
    mask: &Array2<bool>,
    rank: Option<usize>,
    seed: u64,
) -> Result<(Array2<f32>, usize, f64), SurrogateError> {
    let observed = PartialTensor::new(errors.clone().into_dyn(), mask.clone().into_dyn())?;
    let (training, held) = observed.hold_out(HELD_OUT, seed);
    let side = errors.nrows().min(errors.ncols());
    let tried: Vec<usize> = match rank {
        Some(rank) => vec![rank.min(side)],
        None => SLICE_RANKS.iter().copied().filter(|&r| r <= side).collect(),
    };
    let mut best: Option<(usize, f64)> = None;
    for rank in tried {
        let done = complete_matrix(&training, rank, &limited(&EmOptions::shrunk()))?;
        let error = observed.relative_error_at(&done.values, &held);
        if best.is_none_or(|(_, least)| error < least) {
            best = Some((rank, error));
        }
    }
    let (rank, error) = best.ok_or(SurrogateError::Empty { what: "the list of ranks" })?;
    let done = complete_matrix(&observed, rank, &limited(&EmOptions::shrunk()))?;
    let values = done.values.iter().map(|v| v.clamp(0.0, 1.0)).collect();
    let completed = Array2::from_shape_vec(errors.raw_dim(), values).expect("the counts agree");
    Ok((completed, rank, error))
}
