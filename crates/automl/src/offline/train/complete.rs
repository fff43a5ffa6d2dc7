//! Completing the stacked errors, with ranks chosen by held-out entries.

use ndarray::{Array2, ArrayD, Axis, IxDyn, concatenate};
use pitchpipe_learn::search_space::{N_ESTIMATORS, N_PIPELINES};
use pitchpipe_surrogate::complete::{
    Choice, EmOptions, HELD_OUT, TuckerCompletion, complete, complete_matrix, complete_tucker,
};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};

/// Ranks are chosen on this many datasets at most; more cost time and hardly change the choice.
const TRIAL_DATASETS: usize = 160;
/// Rounds after which a completion has settled, on tensors of this size.
const MOST_ROUNDS: usize = 60;
/// Ranks tried for the slice of 183 estimators.
const SLICE_RANKS: [usize; 7] = [2, 3, 5, 8, 12, 20, 35];
/// Preparations: what stands before the estimator.
pub(super) const N_PREPARATIONS: usize = N_PIPELINES / N_ESTIMATORS;

/// Matrices of errors side by side as one tensor: datasets, preparations (of each matrix in turn),
/// estimators. Low rank over datasets and estimators then carries what one kind of error says about
/// another, also for rows that have one kind only.
pub(super) fn tensor_of(
    parts: &[(Array2<f32>, Array2<bool>)],
) -> Result<PartialTensor<f32>, SurrogateError> {
    let values: Vec<_> = parts.iter().map(|p| p.0.view()).collect();
    let masks: Vec<_> = parts.iter().map(|p| p.1.view()).collect();
    let m = parts.first().map_or(0, |p| p.0.nrows());
    let shape = IxDyn(&[m, parts.len() * N_PREPARATIONS, N_ESTIMATORS]);
    let flat = |a: ndarray::ArrayBase<ndarray::OwnedRepr<f32>, ndarray::Ix2>| {
        ArrayD::from_shape_vec(shape.clone(), a.as_standard_layout().iter().copied().collect())
    };
    let joined = concatenate(Axis(1), &values).expect("rows agree");
    let mask = concatenate(Axis(1), &masks).expect("rows agree");
    let values = flat(joined).expect("the counts agree");
    let mask =
        ArrayD::from_shape_vec(shape.clone(), mask.as_standard_layout().iter().copied().collect());
    PartialTensor::new(values, mask.expect("the counts agree"))
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

/// The completed values of each kind, as error rates: datasets x pipelines.
pub(super) fn parts_of(values: &[f32], n_kinds: usize) -> Vec<Array2<f32>> {
    let width = n_kinds * N_PIPELINES;
    let m = values.len() / width;
    (0..n_kinds)
        .map(|kind| {
            Array2::from_shape_fn((m, N_PIPELINES), |(i, j)| {
                values[i * width + kind * N_PIPELINES + j].clamp(0.0, 1.0)
            })
        })
        .collect()
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
        let done = complete_matrix(&training, rank, &EmOptions::shrunk())?;
        let error = observed.relative_error_at(&done.values, &held);
        if best.is_none_or(|(_, least)| error < least) {
            best = Some((rank, error));
        }
    }
    let (rank, error) = best.ok_or(SurrogateError::Empty { what: "the list of ranks" })?;
    let done = complete_matrix(&observed, rank, &EmOptions::shrunk())?;
    let values = done.values.iter().map(|v| v.clamp(0.0, 1.0)).collect();
    let completed = Array2::from_shape_vec(errors.raw_dim(), values).expect("the counts agree");
    Ok((completed, rank, error))
}
