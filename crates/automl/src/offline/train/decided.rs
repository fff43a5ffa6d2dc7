//! Errors under the balanced decision where only those under the native one are known.
//!
//! What deciding for the metric changes depends on the dataset (how unequal its classes are) and on the
//! estimator (whether its own decision is thrown off by that), and little on the preparation. Our own
//! rows have both errors for the slice of 183 estimators in full. A low-rank completion of the two slices
//! side by side says what the change would be for published rows, from their native errors alone; a
//! preparation's own effect on it is the mean of what our rows show beyond that, shrunk where they are few.

use ndarray::{Array2, Axis, concatenate};
use pitchpipe_learn::SearchSpace;
use pitchpipe_surrogate::SurrogateError;

use super::complete::by_matrix;
use super::stack::Stack;
use crate::surrogate::ErrorKind;

/// Observations that the mean effect of a preparation is shrunk by.
const SHRUNK_BY: f64 = 20.0;

/// So many rows of our own tell what deciding changes for others; fewer are believed in proportion. From ten, an
/// estimator that natively says one class for all rows was expected to be the best of all elsewhere.
const TRUSTED_ROWS: f64 = 100.0;

/// Decided errors of all rows and pipelines, with the rank of the completion and its error on held-out entries.
pub(super) fn decided_errors(
    stack: &Stack,
    native: &Array2<f32>,
    slice: &[usize],
    seed: u64,
) -> Result<(Array2<f32>, usize, f64), SurrogateError> {
    let space = &stack.space;
    let (observed, mask) = stack.errors(ErrorKind::Decided);
    let slice_native = native.select(Axis(1), slice);
    let all = Array2::from_elem(slice_native.raw_dim(), true);
    let joined = |a: &Array2<f32>, b: Array2<f32>| {
        concatenate(Axis(1), &[a.view(), b.view()]).expect("rows agree")
    };
    let values = joined(&slice_native, observed.select(Axis(1), slice));
    let known = concatenate(Axis(1), &[all.view(), mask.select(Axis(1), slice).view()])
        .expect("rows agree");
    let (both, rank, error) = by_matrix(&values, &known, None, seed)?;
    let change = Array2::from_shape_fn((native.nrows(), slice.len()), |(i, f)| {
        both[(i, slice.len() + f)] - both[(i, f)]
    });
    let effects = effects(space, &observed, &mask, native, &change);
    let is_own: Vec<bool> = mask.outer_iter().map(|row| row.iter().any(|&seen| seen)).collect();
    let n_own = is_own.iter().filter(|own| **own).count() as f64;
    let trust = (n_own / TRUSTED_ROWS).min(1.0) as f32;
    let decided = Array2::from_shape_fn(native.raw_dim(), |(i, j)| {
        if mask[(i, j)] {
            return observed[(i, j)];
        }
        let id = (j as u32).into();
        let expected = change[(i, space.estimator_index(id))];
        let change = if is_own[i] { expected } else { trust * expected };
        let moved = change + effects[space.preparation_index(id)];
        (native[(i, j)] + moved).clamp(0.0, 1.0)
    });
    Ok((decided, rank, error))
}

/// What each preparation adds to the change, on average over the entries where it was measured.
fn effects(
    space: &SearchSpace,
    decided: &Array2<f32>,
    mask: &Array2<bool>,
    native: &Array2<f32>,
    change: &Array2<f32>,
) -> Vec<f32> {
    let mut sums = vec![(0.0_f64, 0.0_f64); space.preparations().len()];
    for ((i, j), _) in mask.indexed_iter().filter(|(_, seen)| **seen) {
        let id = (j as u32).into();
        let beyond = decided[(i, j)] - native[(i, j)] - change[(i, space.estimator_index(id))];
        let (sum, n) = &mut sums[space.preparation_index(id)];
        *sum += f64::from(beyond);
        *n += 1.0;
    }
    sums.into_iter().map(|(sum, n)| (sum / (n + SHRUNK_BY)) as f32).collect()
}
