//! EM completion of a matrix by truncated singular value decompositions (Oboe).

use faer::Mat;
use rayon::prelude::*;

use super::em::{self, EmOptions, Model, Progress, Shrinkage};
use super::fill::Additive;
use super::refill::{Filled, Measured, Product};
use super::{multiply_by_columns, store};
use crate::algebra::{self, gram_of_columns, multiply, rows, rows_mut};
use crate::{PartialTensor, Scalar, SurrogateError};

/// With more rows than so many times its columns, a matrix is projected on its right singular vectors.
const TALL: usize = 8;
/// Rows projected together.
const ROW_BLOCK: usize = 256;

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

impl<T: Scalar> Truncated<T> {
    fn fit_wide(&mut self, values: &[T], shrinkage: Shrinkage) -> Result<(), SurrogateError> {
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

    /// The same by the right singular vectors: the Gram matrix of many rows would be far larger than the rows.
    fn fit_tall(&mut self, values: &[T], shrinkage: Shrinkage) -> Result<(), SurrogateError> {
        let Self { m, n, rank, .. } = *self;
        let e = rows(values, m, n);
        let gram = gram_of_columns(n, m, |a, b| e.subrows(a, b - a).transpose());
        let found = algebra::leading(gram.as_ref(), rank, self.basis.as_ref())?;
        self.kept = found.values.iter().map(|&l| shrinkage.kept(l, n)).collect();
        for (at, v) in self.right.iter_mut().enumerate() {
            *v = T::of(found.vectors[(at % n, at / n)]);
        }
        self.basis = Some(found.vectors);
        let right = rows(&self.right, rank, n).transpose();
        self.left.par_chunks_mut(ROW_BLOCK * rank).zip(values.par_chunks(ROW_BLOCK * n)).for_each(
            |(left, values)| {
                let height = values.len() / n;
                multiply(rows_mut(left, height, rank), rows(values, height, n), right);
                for row in left.chunks_mut(rank) {
                    row.iter_mut().zip(&self.kept).for_each(|(u, &kept)| *u *= T::of(kept));
                }
            },
        );
        Ok(())
    }
}

impl<T: Scalar> Model<T> for Truncated<T> {
    fn fit(&mut self, values: &[T], shrinkage: Shrinkage) -> Result<(), SurrogateError> {
        if self.m > TALL * self.n {
            self.fit_tall(values, shrinkage)
        } else {
            self.fit_wide(values, shrinkage)
        }
    }

    fn refill(&mut self, filled: &mut Filled<'_, T>, momentum: f64) -> Measured {
        let product = Product { left: &self.left, right: &self.right, rank: self.rank };
        filled.refill(&product, momentum, &mut [], |_, _| {})
    }

    fn degrees_of_freedom(&self) -> f64 {
        self.kept.iter().sum::<f64>() * (self.m + self.n - self.rank) as f64
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn a_tall_matrix_is_fitted_as_a_wide_one_is() {
        let (m, n, rank) = (120, 9, 3);
        let e = Array2::from_shape_fn((m, n), |(i, j)| {
            let (i, j) = (i as f64, j as f64);
            0.4 + (0.3 * i).sin() * (0.8 * j).cos() + 0.02 * (1.1 * i * j).sin()
        });
        let values = e.as_slice().expect("fresh");
        let shrinkage = Shrinkage::of_noise(0.01);
        let (mut tall, mut wide) = (Truncated::new(m, n, rank), Truncated::new(m, n, rank));
        tall.fit_tall(values, shrinkage).unwrap();
        wide.fit_wide(values, shrinkage).unwrap();
        let product = |model: &Truncated<f64>| {
            let left = Array2::from_shape_vec((m, rank), model.left.clone()).unwrap();
            left.dot(&Array2::from_shape_vec((rank, n), model.right.clone()).unwrap())
        };
        assert!((&product(&tall) - &product(&wide)).iter().all(|d| d.abs() < 1e-9));
        assert!(tall.kept.iter().zip(&wide.kept).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}
