//! Weighted Gram matrices, and equations with them.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::{FitContext, FitError};

use super::lanes::{Kernel, Lanes, Quad, WIDTH, dispatch};
use super::rows::Rows;

/// The lower triangle of `X' D X`, in blocks of rows with a look at the clock between them.
pub(crate) fn weighted_gram(
    rows: &Rows,
    weights: &[Quad],
    ctx: &FitContext,
) -> Result<Mat<f64>, FitError> {
    let stride = rows.stride;
    gram(rows, rows.d, stride, ctx, |start, end, block| {
        dispatch(ScaleRows {
            rows: &rows.data[start * stride..end * stride],
            weights: &weights.as_flattened()[start..end],
            out: block,
            stride,
        });
    })
}

/// The same of some columns only.
pub(crate) fn weighted_gram_of(
    rows: &Rows,
    weights: &[Quad],
    columns: &[usize],
    ctx: &FitContext,
) -> Result<Mat<f64>, FitError> {
    if columns.len() == rows.d {
        return weighted_gram(rows, weights, ctx);
    }
    let stride = columns.len().div_ceil(WIDTH);
    gram(rows, columns.len(), stride, ctx, |start, end, block| {
        for (i, out) in (start..end).zip(block.chunks_exact_mut(stride)) {
            let root = weights.as_flattened()[i].sqrt();
            let row = rows.row(i).as_flattened();
            for (o, &j) in out.as_flattened_mut().iter_mut().zip(columns) {
                *o = root * row[j];
            }
        }
    })
}

/// `A'A` of the rows that `fill` writes, block by block.
fn gram(
    rows: &Rows,
    d: usize,
    stride: usize,
    ctx: &FitContext,
    fill: impl Fn(usize, usize, &mut [Quad]),
) -> Result<Mat<f64>, FitError> {
    // About a hundred million operations between two looks at the clock, at most.
    let rows_per_block = (100_000_000 / (d * d).max(1)).clamp(8, 256);
    let mut gram = Mat::<f64>::zeros(d, d);
    let mut block = vec![[0.0; WIDTH]; rows_per_block * stride];
    for start in (0..rows.n).step_by(rows_per_block) {
        ctx.check_deadline()?;
        let end = (start + rows_per_block).min(rows.n);
        let block = &mut block[..(end - start) * stride];
        fill(start, end, block);
        // Row-major rows are the columns of the transpose.
        let t = MatRef::from_column_major_slice_with_stride(
            block.as_flattened(),
            stride * WIDTH,
            end - start,
            stride * WIDTH,
        )
        .get(..d, ..);
        triangular::matmul(
            gram.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Add,
            t,
            BlockStructure::Rectangular,
            t.transpose(),
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
    }
    Ok(gram)
}

/// Rows times the square roots of their weights.
struct ScaleRows<'a> {
    rows: &'a [Quad],
    weights: &'a [f64],
    out: &'a mut [Quad],
    stride: usize,
}

impl Kernel for ScaleRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let blocks =
            self.rows.chunks_exact(self.stride).zip(self.out.chunks_exact_mut(self.stride));
        for ((row, out), weight) in blocks.zip(self.weights) {
            let root = l.splat(weight.sqrt());
            for (x, o) in row.iter().zip(out) {
                *o = l.store(l.mul(root, l.load(x)));
            }
        }
    }
}

/// The Cholesky factor of a matrix given by its lower triangle. One that is not positive definite gets
/// as much added to its diagonal as it takes.
pub(crate) struct Factor {
    /// None for a matrix that is not one of numbers.
    lower: Option<Mat<f64>>,
}

impl Factor {
    pub(crate) fn new(matrix: Mat<f64>) -> Self {
        let d = matrix.nrows();
        let params = faer::Spec::default();
        let req = llt::factor::cholesky_in_place_scratch::<f64>(d, Par::Seq, params);
        let mut memory = MemBuffer::new(req);
        let largest = (0..d).fold(f64::MIN_POSITIVE, |m, j| m.max(matrix[(j, j)]));
        let mut damping = 0.0;
        while damping < 1e6 * largest {
            let mut lower = matrix.clone();
            (0..d).for_each(|j| lower[(j, j)] += damping);
            let stack = MemStack::new(&mut memory);
            let none = Default::default();
            let done =
                llt::factor::cholesky_in_place(lower.as_mut(), none, Par::Seq, stack, params);
            if done.is_ok() {
                return Self { lower: Some(lower) };
            }
            damping = if damping == 0.0 { 1e-13 * largest } else { damping * 10.0 };
        }
        Self { lower: None }
    }

    /// Solves `matrix * x = b` in place; without a factor, no step is the safe step.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        let Some(lower) = &self.lower else {
            b.fill(0.0);
            return;
        };
        let rhs = MatMut::from_column_major_slice_mut(b, lower.nrows(), 1);
        let stack = MemStack::new(&mut []);
        llt::solve::solve_in_place(lower.as_ref(), rhs, Par::Seq, stack);
    }
}
