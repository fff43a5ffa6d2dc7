//! EM completion of a matrix by truncated singular value decompositions (Oboe).

use faer::Mat;

use super::em::{self, EmOptions, Model, Progress, Shrinkage};
use super::fill::Additive;
use super::refill::{Filled, Measured, Product};
use super::{multiply_by_columns, store};
use crate::algebra::{self, gram_of_columns, rows, rows_mut};
use crate::{PartialTensor, Scalar, SurrogateError};

/// A completed matrix.
#[derive(Clone, Debug)]
pub struct MatrixCompletion<T> {
    /// Observed entries as they were, the others predicted; flat in C order.
    pub values: Vec<T>,
    /// How it went.
    pub progress: Progress,
}

/// Completes the unfolding on mode 0 with a matrix of the given rank, from the additive fill.
pub fn complete_matrix<T: Scalar>(
    observed: &PartialTensor<T>,
    rank: usize,
    options: &EmOptions,
) -> Result<MatrixCompletion<T>, SurrogateError> {
    options.check()?;
    let (m, n) = observed.matrix_shape();
    if rank == 0 || rank > m.min(n) {
        return Err(SurrogateError::Rank { axis: 0, rank, side: m.min(n) });
    }
    let start = Additive::fit(observed).filled(observed);
    let mut model = Truncated::new(m, n, rank);
    let (values, progress) = em::run(observed, start, &mut model, options)?;
    Ok(MatrixCompletion { values, progress })
}

/// The projection of the columns on their leading left singular vectors.
struct Truncated<T> {
    m: usize,
    n: usize,
    rank: usize,
    basis: Option<Mat<f64>>,
    left: Vec<T>,
    right: Vec<T>,
    /// The share that each component keeps.
    kept: Vec<f64>,
}

impl<T: Scalar> Truncated<T> {
    fn new(m: usize, n: usize, rank: usize) -> Self {
        let (left, right) = (vec![T::zero(); m * rank], vec![T::zero(); rank * n]);
        Self { m, n, rank, basis: None, left, right, kept: Vec::new() }
    }
}

impl<T: Scalar> Model<T> for Truncated<T> {
    fn fit(&mut self, values: &[T], shrinkage: Shrinkage) -> Result<(), SurrogateError> {
        let e = rows(values, self.m, self.n);
        let gram = gram_of_columns(self.m, self.n, |a, b| e.subcols(a, b - a));
        let found = algebra::leading(gram.as_ref(), self.rank, self.basis.as_ref())?;
        self.kept = found.values.iter().map(|&l| shrinkage.kept(l, self.n)).collect();
        store(&mut self.left, &found.vectors);
        self.basis = Some(found.vectors);
        let left = rows(&self.left, self.m, self.rank);
        multiply_by_columns(rows_mut(&mut self.right, self.rank, self.n), left.transpose(), e);
        for row in self.left.chunks_mut(self.rank) {
            row.iter_mut().zip(&self.kept).for_each(|(u, &kept)| *u *= T::of(kept));
        }
        Ok(())
    }

    fn refill(&mut self, filled: &mut Filled<'_, T>, momentum: f64) -> Measured {
        let product = Product { left: &self.left, right: &self.right, rank: self.rank };
        filled.refill(&product, momentum, &mut [], |_, _| {})
    }

    fn degrees_of_freedom(&self) -> f64 {
        self.kept.iter().sum::<f64>() * (self.m + self.n - self.rank) as f64
    }
}
