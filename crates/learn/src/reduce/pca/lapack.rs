//! The three factorisations that PCA needs, on one thread: one thread gives one result, and the
//! engine's own threads are busy with other folds.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::qr::no_pivoting::factor as qr;
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::{Mat, MatMut, Par};

use crate::FitError;

const PCA: FitError = FitError::NotFinite { component: "pca" };

/// Eigenvalues, descending, and eigenvectors of a symmetric matrix of which the lower half is read.
pub(crate) fn eigen(a: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), FitError> {
    let n = a.nrows();
    let mut values = faer::diag::Diag::<f64>::zeros(n);
    let mut vectors = Mat::<f64>::zeros(n, n);
    let scratch = evd::self_adjoint_evd_scratch::<f64>(
        n,
        ComputeEigenvectors::Yes,
        Par::Seq,
        Default::default(),
    );
    evd::self_adjoint_evd(
        a.as_ref(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| PCA)?;
    // faer sorts ascending.
    let descending = (0..n).rev().map(|k| values[k]).collect();
    let flipped = Mat::from_fn(n, n, |i, j| vectors[(i, n - 1 - j)]);
    Ok((descending, flipped))
}

/// Singular values, descending, and right singular vectors of a square matrix.
pub(super) fn right_singular(a: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), FitError> {
    let n = a.nrows();
    let mut values = faer::diag::Diag::<f64>::zeros(n);
    let mut right = Mat::<f64>::zeros(n, n);
    let scratch = svd::svd_scratch::<f64>(
        n,
        n,
        ComputeSvdVectors::No,
        ComputeSvdVectors::Full,
        Par::Seq,
        Default::default(),
    );
    svd::svd(
        a.as_ref(),
        values.as_mut(),
        None,
        Some(right.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| PCA)?;
    Ok(((0..n).map(|k| values[k]).collect(), right))
}

/// Replaces a matrix at least as tall as wide by its triangular factor, zeros below.
pub(super) fn triangular_factor(mut a: MatMut<'_, f64>) {
    let (m, n) = (a.nrows(), a.ncols());
    let block = qr::recommended_block_size::<f64>(m, n);
    let mut coefficients = Mat::<f64>::zeros(block, n.min(m));
    let scratch = qr::qr_in_place_scratch::<f64>(m, n, block, Par::Seq, Default::default());
    qr::qr_in_place(
        a.as_mut(),
        coefficients.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    for j in 0..n {
        for i in j + 1..m {
            a[(i, j)] = 0.0;
        }
    }
}
