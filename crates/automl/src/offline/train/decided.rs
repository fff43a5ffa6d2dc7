//! Errors under the balanced decision where only those under the native one are known.
//!
//! What deciding for the metric changes depends on the dataset (how unequal its classes are) and on the
//! estimator (whether its own decision is thrown off by that), and little on the preparation. Our own
//! rows have both errors for the slice of 183 estimators in full. A low-rank completion of the two slices
//! side by side says what the change would be for published rows, from their native errors alone; a
//! preparation's own effect on it is the mean of what our rows show beyond that, shrunk where they are few.

use ndarray::{Array2, Axis, concatenate};
use pitchpipe_surrogate::SurrogateError;

use super::complete::by_matrix;
use super::stack::{Stack, StackRow};
use crate::surrogate::ErrorKind;

/// Observations that the mean effect of a preparation is shrunk by.
const SHRUNK_BY: f64 = 20.0;

/// So many rows of our own tell what deciding changes for others; fewer are believed in proportion. From ten, an
/// estimator that natively says one class for all rows was expected to be the best of all elsewhere.
const TRUSTED_ROWS: f64 = 100.0;

/// What deciding changes, row by row.
pub(super) struct Changes {
    /// Datasets x the slice.
    change: Array2<f32>,
    /// By preparation.
    effects: Vec<f32>,
    is_own: Vec<bool>,
    trust: f32,
}

impl Changes {
    /// Learned from the completed native errors of the slice, datasets x `slice`; with the rank of the completion and its
    /// error on held-out entries.
    pub(super) fn learn(
        stack: &Stack,
        native: &Array2<f32>,
        slice: &[usize],
        seed: u64,
    ) -> Result<(Self, usize, f64), SurrogateError> {
        let (observed, mask) = stack.errors_of(ErrorKind::Decided, slice);
        let all = Array2::from_elem(native.raw_dim(), true);
        let values = concatenate(Axis(1), &[native.view(), observed.view()]).expect("rows agree");
        let known = concatenate(Axis(1), &[all.view(), mask.view()]).expect("rows agree");
        let (both, rank, error) = by_matrix(&values, &known, None, seed)?;
        let change = Array2::from_shape_fn((native.nrows(), slice.len()), |(i, f)| {
            both[(i, slice.len() + f)] - both[(i, f)]
        });
        let effects = effects(stack, &change);
        let is_measured = |row: &StackRow| row.seen.iter().any(|seen| seen.decided.is_some());
        let is_own: Vec<bool> = stack.rows.iter().map(is_measured).collect();
        let n_own = is_own.iter().filter(|own| **own).count() as f64;
        let trust = (n_own / TRUSTED_ROWS).min(1.0) as f32;
        Ok((Self { change, effects, is_own, trust }, rank, error))
    }

    /// Turns completed native errors of some rows, of which the first is row `first` of the stack, into decided ones.
    pub(super) fn decide(&self, stack: &Stack, first: usize, rows: &mut Array2<f32>) {
        let space = &stack.space;
        for (at, mut row) in rows.outer_iter_mut().enumerate() {
            let i = first + at;
            for (j, error) in row.iter_mut().enumerate() {
                let id = (j as u32).into();
                let expected = self.change[(i, space.estimator_index(id))];
                let change = if self.is_own[i] { expected } else { self.trust * expected };
                let moved = change + self.effects[space.preparation_index(id)];
                *error = (*error + moved).clamp(0.0, 1.0);
            }
            for seen in &stack.rows[i].seen {
                if let Some(decided) = seen.decided {
                    row[seen.pipeline as usize] = decided;
                }
            }
        }
    }
}

/// What each preparation adds to the change, on average over the entries where it was measured.
fn effects(stack: &Stack, change: &Array2<f32>) -> Vec<f32> {
    let space = &stack.space;
    let mut sums = vec![(0.0_f64, 0.0_f64); space.preparations().len()];
    for (i, row) in stack.rows.iter().enumerate() {
        for seen in &row.seen {
            let Some(decided) = seen.decided else { continue };
            let id = seen.pipeline.into();
            let beyond = decided - seen.error - change[(i, space.estimator_index(id))];
            let (sum, n) = &mut sums[space.preparation_index(id)];
            *sum += f64::from(beyond);
            *n += 1.0;
        }
    }
    sums.into_iter().map(|(sum, n)| (sum / (n + SHRUNK_BY)) as f32).collect()
}
