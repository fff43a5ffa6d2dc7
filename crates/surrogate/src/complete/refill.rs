//! The expectation step of EM in one pass over the rows: predict, measure, refill, project.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::algebra::{multiply, rows, rows_mut};
use crate::scalar::{LANES, padded};
use crate::{PartialTensor, Scalar};

/// Rows predicted together: their block of predictions stays in the second-level cache.
const ROW_BLOCK: usize = 8;
/// Entries whose squares are added in single precision before they go into a double.
const STRETCH: usize = 64 * LANES;

/// The filled matrix and, where there is momentum, the predictions of the round before.
pub(super) struct Filled<'a, T> {
    pub(super) observed: &'a PartialTensor<T>,
    /// Observed values and, in between, what is believed of the others.
    pub(super) values: Vec<T>,
    previous: Option<Vec<T>>,
}

/// A low-rank prediction `left right`: m x r times r x n, both row-major.
pub(super) struct Product<'a, T> {
    pub(super) left: &'a [T],
    pub(super) right: &'a [T],
    pub(super) rank: usize,
}

/// Sums over the entries of a matrix.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// Squared residual on observed entries.
    pub(super) residual: f64,
    /// Squared change of the prediction on missing entries; only with momentum.
    pub(super) moved: f64,
    /// Positive when the last extrapolation went against this change; only with momentum.
    pub(super) turning: f64,
}

impl std::ops::Add for Measured {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            residual: self.residual + other.residual,
            moved: self.moved + other.moved,
            turning: self.turning + other.turning,
        }
    }
}

impl<'a, T: Scalar> Filled<'a, T> {
    /// Starts from a filled matrix.
    pub(super) fn new(observed: &'a PartialTensor<T>, values: Vec<T>, momentum: bool) -> Self {
        let previous = momentum.then(|| values.clone());
        Self { observed, values, previous }
    }

    /// Puts `P + momentum (P - previous P)` into the missing entries. `project` sees each refilled block
    /// of rows together with its part of `beside`, while the block is still in cache.
    pub(super) fn refill(
        &mut self,
        product: &Product<'_, T>,
        momentum: f64,
        beside: &mut [T],
        project: impl Fn(&[T], &mut [T]) + Sync,
    ) -> Measured {
        let (m, n) = self.observed.matrix_shape();
        let momentum = T::of(momentum);
        let blocks = m.div_ceil(ROW_BLOCK);
        let mut beside = split(beside, beside.len() / m * ROW_BLOCK, blocks);
        let mut previous = match &mut self.previous {
            Some(previous) => split(previous, n * ROW_BLOCK, blocks),
            None => split(&mut [], 0, blocks),
        };
        let parts: Vec<Measured> = self
            .values
            .par_chunks_mut(n * ROW_BLOCK)
            .zip(previous.par_iter_mut())
            .zip(self.observed.mask().par_chunks(n * ROW_BLOCK))
            .zip(product.left.par_chunks(product.rank * ROW_BLOCK))
            .zip(beside.par_iter_mut())
            .map_init(
                || vec![T::zero(); n * ROW_BLOCK],
                |predicted, ((((values, previous), mask), left), beside)| {
                    let height = values.len() / n;
                    let predicted = &mut predicted[..values.len()];
                    multiply(
                        rows_mut(predicted, height, n),
                        rows(left, height, product.rank),
                        rows(product.right, product.rank, n),
                    );
                    let measured = if previous.is_empty() {
                        pulp::Arch::new().dispatch(Plain { values, predicted, mask })
                    } else {
                        let pass = Moving { values, predicted, previous, mask, momentum };
                        pulp::Arch::new().dispatch(pass)
                    };
                    project(values, beside);
                    measured
                },
            )
            .collect();
        parts.into_iter().fold(Measured::default(), |a, b| a + b)
    }

    /// The matrix with the last predictions, not extrapolated ones, in the missing entries.
    pub(super) fn finish(mut self) -> Vec<T> {
        if let Some(previous) = self.previous {
            let pairs = self.values.par_iter_mut().zip(previous).zip(self.observed.mask());
            pairs.for_each(|((v, p), &seen)| *v = if seen { *v } else { p });
        }
        self.values
    }
}

/// As many chunks as there are blocks, empty ones of an empty slice.
fn split<T>(values: &mut [T], size: usize, blocks: usize) -> Vec<&mut [T]> {
    if size == 0 {
        return (0..blocks).map(|_| &mut [][..]).collect();
    }
    values.chunks_mut(size).collect()
}

struct Plain<'a, T> {
    values: &'a mut [T],
    predicted: &'a [T],
    mask: &'a [bool],
}

impl<T: Scalar> WithSimd for Plain<'_, T> {
    type Output = Measured;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Measured {
        let mut residual = 0.0;
        let stretches = self.values.chunks_mut(STRETCH).zip(self.predicted.chunks(STRETCH));
        for ((values, predicted), mask) in stretches.zip(self.mask.chunks(STRETCH)) {
            let mut squares = [T::zero(); LANES];
            let (v, v_rest) = values.as_chunks_mut::<LANES>();
            let (p, p_rest) = predicted.as_chunks::<LANES>();
            let (seen, seen_rest) = mask.as_chunks::<LANES>();
            for ((v, p), seen) in v.iter_mut().zip(p).zip(seen) {
                plain_group(v, p, seen, &mut squares);
            }
            let mut last = padded(v_rest);
            plain_group(&mut last, &padded(p_rest), &padded(seen_rest), &mut squares);
            v_rest.copy_from_slice(&last[..v_rest.len()]);
            residual += sum(&squares);
        }
        Measured { residual, ..Measured::default() }
    }
}

/// What is missing takes the prediction; squares of what is observed less the prediction.
#[inline(always)]
fn plain_group<T: Scalar>(
    v: &mut [T; LANES],
    p: &[T; LANES],
    seen: &[bool; LANES],
    squares: &mut [T; LANES],
) {
    let mut new = [T::zero(); LANES];
    for l in 0..LANES {
        new[l] = T::select(seen[l], v[l], p[l]);
    }
    for l in 0..LANES {
        let off = new[l] - p[l]; // zero where it was just filled
        squares[l] += off * off;
    }
    *v = new;
}

fn sum<T: Scalar>(lanes: &[T; LANES]) -> f64 {
    lanes.iter().map(|l| l.wide()).sum()
}

struct Moving<'a, T> {
    values: &'a mut [T],
    predicted: &'a [T],
    previous: &'a mut [T],
    mask: &'a [bool],
    momentum: T,
}

impl<T: Scalar> WithSimd for Moving<'_, T> {
    type Output = Measured;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Measured {
        let momentum = self.momentum;
        let mut total = Measured::default();
        let stretches = self.values.chunks_mut(STRETCH).zip(self.predicted.chunks(STRETCH));
        let stretches = stretches.zip(self.previous.chunks_mut(STRETCH));
        for (((values, predicted), previous), mask) in stretches.zip(self.mask.chunks(STRETCH)) {
            let mut sums = [[T::zero(); LANES]; 3];
            let (v, v_rest) = values.as_chunks_mut::<LANES>();
            let (p, p_rest) = predicted.as_chunks::<LANES>();
            let (q, q_rest) = previous.as_chunks_mut::<LANES>();
            let (seen, seen_rest) = mask.as_chunks::<LANES>();
            for (((v, p), q), seen) in v.iter_mut().zip(p).zip(q).zip(seen) {
                moving_group(v, p, q, seen, momentum, &mut sums);
            }
            let (mut last, mut before) = (padded(v_rest), padded(q_rest));
            let (p, seen) = (padded(p_rest), padded(seen_rest));
            moving_group(&mut last, &p, &mut before, &seen, momentum, &mut sums);
            v_rest.copy_from_slice(&last[..v_rest.len()]);
            q_rest.copy_from_slice(&before[..q_rest.len()]);
            let [residual, moved, turning] = sums.map(|lanes| sum(&lanes));
            total = total + Measured { residual, moved, turning };
        }
        total
    }
}

/// As [`plain_group`], beyond the prediction by the momentum of its change.
#[inline(always)]
fn moving_group<T: Scalar>(
    v: &mut [T; LANES],
    p: &[T; LANES],
    q: &mut [T; LANES],
    seen: &[bool; LANES],
    momentum: T,
    [residual, moved, turning]: &mut [[T; LANES]; 3],
) {
    let (mut seen_off, mut change) = ([T::zero(); LANES], [T::zero(); LANES]);
    let (mut off, mut new) = ([T::zero(); LANES], [T::zero(); LANES]);
    for l in 0..LANES {
        off[l] = v[l] - p[l];
        seen_off[l] = T::select(seen[l], off[l], T::zero());
        change[l] = T::select(seen[l], T::zero(), p[l] - q[l]);
        new[l] = T::select(seen[l], v[l], p[l] + momentum * change[l]);
    }
    for l in 0..LANES {
        residual[l] += seen_off[l] * seen_off[l];
        moved[l] += change[l] * change[l];
        turning[l] += off[l] * change[l];
    }
    *v = new;
    *q = *p;
}
