//! The centred matrix, block by block: it is never held as a whole, and work on it can be interrupted.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use serde::{Deserialize, Serialize};

use super::AXES_AT_ONCE;
use crate::sums::{finite, largest_magnitude, sum, taming_power};
use crate::{Features, FitContext, FitError};

/// How cells are centred: `cell * power - mean`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Centring {
    /// A power of two, one unless numbers are extreme.
    power: f64,
    /// Means of cells times `power`.
    means: Vec<f64>,
}

impl Centring {
    pub(super) fn of(x: &Features, ctx: &FitContext) -> Result<Self, FitError> {
        let mut largest = 0.0f64;
        for j in 0..x.n_cols() {
            ctx.check_deadline()?;
            largest = largest.max(largest_magnitude(x.column(j)));
        }
        let power = taming_power(largest);
        let mut means = Vec::with_capacity(x.n_cols());
        for j in 0..x.n_cols() {
            ctx.check_deadline()?;
            means.push(sum(x.column(j), |v| v * power) / x.n_rows() as f64);
        }
        Ok(Self { power, means })
    }

    pub(super) fn n_cols(&self) -> usize {
        self.means.len()
    }

    /// The sum of the centred rows of `x`, each times its weight.
    pub(super) fn weighted_sum_of_rows(&self, x: &Features, weights: &[f64], out: &mut [f64]) {
        for (j, out) in out.iter_mut().enumerate() {
            let (column, mean) = (x.column(j), self.means[j]);
            *out = column.iter().zip(weights).map(|(&v, w)| (v * self.power - mean) * w).sum();
        }
    }
}

/// The centred matrix or its transpose, whichever is taller.
pub(super) struct Tall<'a> {
    x: &'a Features,
    centring: &'a Centring,
    is_transposed: bool,
}

impl<'a> Tall<'a> {
    pub(super) fn of(x: &'a Features, centring: &'a Centring) -> Self {
        Self { x, centring, is_transposed: x.n_cols() > x.n_rows() }
    }

    /// The longer side.
    pub(super) fn height(&self) -> usize {
        self.x.n_rows().max(self.x.n_cols())
    }

    /// The shorter side.
    pub(super) fn width(&self) -> usize {
        self.x.n_rows().min(self.x.n_cols())
    }

    /// Rows `start..start + block.nrows()` of the taller side.
    pub(super) fn copy_block(&self, start: usize, mut block: MatMut<'_, f64>) {
        let Centring { power, means } = self.centring;
        for j in 0..block.ncols() {
            for i in 0..block.nrows() {
                block[(i, j)] = if self.is_transposed {
                    self.x.column(start + i)[j] * power - means[start + i]
                } else {
                    self.x.column(j)[start + i] * power - means[j]
                };
            }
        }
    }

    /// How many rows of the taller side make a block of a few milliseconds' work.
    pub(super) fn block_height(&self) -> usize {
        let width = self.width().max(1);
        (100_000_000 / (width * width)).clamp(64, 4096)
    }

    /// The product of the transpose with itself, `width` by `width`; only its lower half is filled.
    pub(super) fn gram(&self, ctx: &FitContext) -> Result<Mat<f64>, FitError> {
        let width = self.width();
        let mut gram = Mat::<f64>::zeros(width, width);
        let step = self.block_height();
        let mut block = Mat::<f64>::zeros(step.min(self.height()), width);
        for start in (0..self.height()).step_by(step) {
            ctx.check_deadline()?;
            let rows = step.min(self.height() - start);
            let mut block = block.as_mut().subrows_mut(0, rows);
            self.copy_block(start, block.as_mut());
            triangular::matmul(
                gram.as_mut(),
                BlockStructure::TriangularLower,
                Accum::Add,
                block.as_ref().transpose(),
                BlockStructure::Rectangular,
                block.as_ref(),
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
        }
        Ok(gram)
    }
}

/// The centred rows' coordinates along `axes`, one column after the other into `scores`.
pub(super) fn project(
    x: &Features,
    centring: &Centring,
    axes: &[f64],
    scores: &mut [f64],
    ctx: &FitContext,
) -> Result<(), FitError> {
    let (n, p) = (x.n_rows(), x.n_cols());
    let n_axes = axes.len().checked_div(p).unwrap_or(0);
    let step = (500_000 / p.max(1)).clamp(16, 4096);
    let mut block = Mat::<f64>::zeros(step.min(n), p);
    let mut padded = Mat::<f64>::zeros(p, AXES_AT_ONCE);
    let mut out = Mat::<f64>::zeros(step.min(n), AXES_AT_ONCE);
    for start in (0..n).step_by(step) {
        let rows = step.min(n - start);
        for j in 0..p {
            let (mean, power) = (centring.means[j], centring.power);
            let cells = &x.column(j)[start..start + rows];
            for (to, &from) in block.col_as_slice_mut(j).iter_mut().zip(cells) {
                *to = finite(from * power - mean);
            }
        }
        for first in (0..n_axes).step_by(AXES_AT_ONCE) {
            ctx.check_deadline()?;
            let wide = AXES_AT_ONCE.min(n_axes - first);
            let some =
                MatRef::from_column_major_slice(&axes[first * p..(first + wide) * p], p, wide);
            padded.fill(0.0);
            padded.as_mut().subcols_mut(0, wide).copy_from(some);
            let mut out = out.as_mut().subrows_mut(0, rows);
            matmul(
                out.as_mut(),
                Accum::Replace,
                block.as_ref().subrows(0, rows),
                padded.as_ref(),
                1.0,
                Par::Seq,
            );
            for k in 0..wide {
                let to = &mut scores[(first + k) * n + start..][..rows];
                for (i, to) in to.iter_mut().enumerate() {
                    *to = finite(out[(i, k)] / centring.power);
                }
            }
        }
    }
    Ok(())
}
