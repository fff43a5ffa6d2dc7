//! Matrix products, Gram matrices and symmetric eigenproblems over `faer`.
//!
//! Everything here gives the same numbers on any number of threads: work is cut into blocks whose
//! size does not depend on the pool, each block is computed on one thread, and partial sums are
//! added in the order of the blocks.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::SurrogateError;
use crate::scalar::Scalar;

/// A Gram matrix is the sum of at most this many partial ones.
const GRAM_PARTS: usize = 8;
/// Rows of a Gram matrix computed together.
const GRAM_BLOCK: usize = 96;

/// A row-major view of `values`.
pub(crate) fn rows<T>(values: &[T], nrows: usize, ncols: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(values, nrows, ncols)
}

/// A row-major view of `values` to write to.
pub(crate) fn rows_mut<T>(values: &mut [T], nrows: usize, ncols: usize) -> MatMut<'_, T> {
    MatMut::from_row_major_slice_mut(values, nrows, ncols)
}

/// `out = a b` on this thread.
pub(crate) fn multiply<T: Scalar>(out: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    matmul(out, Accum::Replace, a, b, T::of(1.0), Par::Seq);
}

/// `out += a b` on this thread.
pub(crate) fn add_product<T: Scalar>(out: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    matmul(out, Accum::Add, a, b, T::of(1.0), Par::Seq);
}

/// The product of two small matrices.
pub(crate) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    multiply(out.as_mut(), a, b);
    out
}

/// The lower half of `a a^T`, on this thread; what is above the diagonal blocks is left as it was.
///
/// By blocks of whole products, which is faster than a triangular product of thin slices.
pub(crate) fn gram_lower<T: Scalar>(mut out: MatMut<'_, T>, a: MatRef<'_, T>) {
    let n = a.nrows();
    for i in (0..n).step_by(GRAM_BLOCK) {
        let height = GRAM_BLOCK.min(n - i);
        let left = a.subrows(i, height);
        let right = a.subrows(0, i + height);
        multiply(out.as_mut().submatrix_mut(i, 0, height, i + height), left, right.transpose());
    }
}

/// `a a^T` for a wide matrix, in `f64`; `part` gives columns `from..to` of it as a matrix.
///
/// Products are in `T`, so with `f32` about six digits of the largest entry are right.
pub(crate) fn gram_of_columns<'a, T: Scalar>(
    nrows: usize,
    ncols: usize,
    part: impl Fn(usize, usize) -> MatRef<'a, T> + Sync,
) -> Mat<f64> {
    let width = ncols.div_ceil(GRAM_PARTS).max(64);
    let parts: Vec<Mat<T>> = (0..ncols.div_ceil(width))
        .into_par_iter()
        .map(|p| {
            let mut out = Mat::zeros(nrows, nrows);
            let columns = part(p * width, ((p + 1) * width).min(ncols));
            gram_lower(out.as_mut(), columns);
            out
        })
        .collect();
    sum_lower(nrows, &parts)
}

/// The sum of matrices given by their lower halves, filled up to symmetric ones.
pub(crate) fn sum_lower<T: Scalar>(n: usize, parts: &[Mat<T>]) -> Mat<f64> {
    let mut sum = Mat::zeros(n, n);
    for part in parts {
        for j in 0..n {
            for i in j..n {
                sum[(i, j)] += part[(i, j)].wide();
            }
        }
    }
    for j in 0..n {
        for i in 0..j {
            sum[(i, j)] = sum[(j, i)];
        }
    }
    sum
}

/// Leading eigenpairs of a symmetric matrix, largest eigenvalue first.
#[derive(Clone, Debug)]
pub(crate) struct Eigen {
    /// Eigenvalues, in decreasing order.
    pub(crate) values: Vec<f64>,
    /// Eigenvectors as columns.
    pub(crate) vectors: Mat<f64>,
}

/// The `k` leading eigenpairs, by a full decomposition.
pub(crate) fn eigen(a: MatRef<'_, f64>, k: usize) -> Result<Eigen, SurrogateError> {
    let n = a.nrows();
    let (mut u, mut s) = (Mat::zeros(n, n), faer::diag::Diag::zeros(n));
    let scratch = evd::self_adjoint_evd_scratch::<f64>(
        n,
        ComputeEigenvectors::Yes,
        Par::Seq,
        Default::default(),
    );
    evd::self_adjoint_evd(
        a,
        s.as_mut(),
        Some(u.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| SurrogateError::NotConverged { what: "an eigenvalue decomposition" })?;
    let values = (0..k).map(|i| s[n - 1 - i]).collect();
    let vectors = Mat::from_fn(n, k, |i, j| u[(i, n - 1 - j)]);
    Ok(Eigen { values, vectors })
}

/// The `k` leading eigenpairs of a positive semidefinite matrix, improving on `warm` (n x k,
/// orthonormal) where that is cheaper than starting afresh.
///
/// One step: Rayleigh-Ritz on the span of `[V, A V]`. It never captures less of the trace than `V`
/// did, which is all that EM needs of its maximisation step.
pub(crate) fn leading(
    a: MatRef<'_, f64>,
    k: usize,
    warm: Option<&Mat<f64>>,
) -> Result<Eigen, SurrogateError> {
    match warm {
        Some(v) if v.ncols() == k && 3 * k < a.nrows() => ritz(a, v.as_ref(), k),
        _ => eigen(a, k),
    }
}

fn ritz(a: MatRef<'_, f64>, v: MatRef<'_, f64>, k: usize) -> Result<Eigen, SurrogateError> {
    let mut w = product(a, v);
    // Twice is enough: after the second pass W is orthogonal to V to working precision.
    for _ in 0..2 {
        let overlap = product(v.transpose(), w.as_ref());
        matmul(w.as_mut(), Accum::Add, v, overlap.as_ref(), -1.0, Par::Seq);
    }
    let extra = orthonormal(w.as_ref())?;
    let basis = Mat::from_fn(a.nrows(), k + extra.ncols(), |i, j| {
        if j < k { v[(i, j)] } else { extra[(i, j - k)] }
    });
    let projected = product(basis.transpose(), product(a, basis.as_ref()).as_ref());
    let small = eigen(projected.as_ref(), k)?;
    Ok(Eigen { values: small.values, vectors: product(basis.as_ref(), small.vectors.as_ref()) })
}

/// An orthonormal basis of the columns' span, without directions lost in rounding.
fn orthonormal(w: MatRef<'_, f64>) -> Result<Mat<f64>, SurrogateError> {
    let gram = product(w.transpose(), w);
    let Eigen { values, vectors } = eigen(gram.as_ref(), w.ncols())?;
    let floor = values[0].max(f64::MIN_POSITIVE) * 1e-10;
    let kept = values.iter().take_while(|&&v| v > floor).count();
    let scaled = Mat::from_fn(w.ncols(), kept, |i, j| vectors[(i, j)] / values[j].sqrt());
    Ok(product(w, scaled.as_ref()))
}

/// Makes a matrix symmetric whose lower half is right.
pub(crate) fn mirror_lower<T: Scalar>(mut a: MatMut<'_, T>) {
    const TILE: usize = 16;
    let n = a.ncols();
    // By tiles, as one side of a plain loop misses the cache.
    for j0 in (0..n).step_by(TILE) {
        for i0 in (0..j0 + TILE).step_by(TILE) {
            for j in j0..(j0 + TILE).min(n) {
                for i in i0..(i0 + TILE).min(j) {
                    a[(i, j)] = a[(j, i)];
                }
            }
        }
    }
}

/// The inverse of a symmetric positive definite matrix, or `None` where it is not definite.
pub(crate) fn spd_inverse<T: Scalar>(a: &Mat<T>) -> Option<Mat<T>> {
    let n = a.nrows();
    let lower = cholesky(a)?;
    let mut inverse = Mat::zeros(n, n);
    let scratch = llt::inverse::inverse_scratch::<T>(n, Par::Seq);
    let mut memory = MemBuffer::new(scratch);
    llt::inverse::inverse(inverse.as_mut(), lower.as_ref(), Par::Seq, MemStack::new(&mut memory));
    mirror_lower(inverse.as_mut());
    Some(inverse)
}

/// Solves `a x = b` for a symmetric positive definite `a`; `None` where it is not definite.
pub(crate) fn spd_solve(a: &Mat<f64>, b: &Mat<f64>) -> Option<Mat<f64>> {
    let lower = cholesky(a)?;
    let mut x = b.clone();
    let mut memory =
        MemBuffer::new(llt::solve::solve_in_place_scratch::<f64>(a.nrows(), b.ncols(), Par::Seq));
    llt::solve::solve_in_place(lower.as_ref(), x.as_mut(), Par::Seq, MemStack::new(&mut memory));
    Some(x)
}

fn cholesky<T: Scalar>(a: &Mat<T>) -> Option<Mat<T>> {
    let mut lower = a.clone();
    let scratch =
        llt::factor::cholesky_in_place_scratch::<T>(a.nrows(), Par::Seq, Default::default());
    llt::factor::cholesky_in_place(
        lower.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .ok()?;
    Some(lower)
}
