//! Shrinking a covariance learned from few rows towards one that separates.
//!
//! A few hundred datasets say little about the covariance of tens of thousands of pipelines: outside the
//! span of the recorded rows it is zero, which makes the predictor too sure of itself once it has seen
//! some dozens of errors. But pipelines are a grid, and what preprocessing does to an error varies
//! much alike whatever the estimator. The covariance `A ⊗ B`, with `A` over the outer axis (all steps
//! before the estimator) and `B` over the inner one (estimators), has far fewer numbers in it, all well
//! determined; part of the prior's variance is put there.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, Side};

use crate::error::SurrogateError;

/// The target to shrink towards, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separable {
    /// Size of the inner axis, the one that varies fastest; the outer one has the rest.
    pub inner: usize,
    /// Share of the variance that separates, between 0 and 1.
    pub share: f64,
    /// How many of its directions are taken into the blend.
    pub rank: usize,
}

impl Separable {
    /// The leading `rank` directions of `(1 - share) Lᵀ L + share A ⊗ B`, with `L` the rows' own factor
    /// (rank x pipelines) and `A`, `B` from their weighted deviations from the mean (datasets x
    /// pipelines, whose squares sum to the variance).
    pub(super) fn blend(
        &self,
        own: MatRef<f32>,
        deviations: MatRef<f32>,
        rank: usize,
    ) -> Result<Mat<f32>, SurrogateError> {
        let n = own.ncols();
        if !(0.0..=1.0).contains(&self.share) {
            let (name, wanted) = ("separable share", "between 0 and 1");
            return Err(SurrogateError::Setting { name, value: self.share, wanted });
        }
        if self.inner == 0 || n % self.inner != 0 {
            let (name, wanted) = ("inner axis", "a divisor of the number of pipelines");
            return Err(SurrogateError::Setting { name, value: self.inner as f64, wanted });
        }
        let target = self.target(deviations)?;
        let mut both = Mat::<f32>::zeros(own.nrows() + target.nrows(), n);
        let (kept, added) = ((1.0 - self.share).sqrt() as f32, self.share.sqrt() as f32);
        for j in 0..n {
            for i in 0..own.nrows() {
                both[(i, j)] = kept * own[(i, j)];
            }
            for i in 0..target.nrows() {
                both[(own.nrows() + i, j)] = added * target[(i, j)];
            }
        }
        leading(both.as_ref(), rank)
    }

    /// The factor of `A ⊗ B` in its leading directions, which are products of eigenvectors.
    fn target(&self, deviations: MatRef<f32>) -> Result<Mat<f32>, SurrogateError> {
        let (m, n) = (deviations.nrows(), deviations.ncols());
        let (inner, outer) = (self.inner, n / self.inner);
        let transposed = Mat::from_fn(m, n, |i, j| deviations[(i, j % outer * inner + j / outer)]);
        let (a, b) = (axis_gram(transposed.as_ref(), outer), axis_gram(deviations, inner));
        let total: f64 = (0..inner).map(|i| b[(i, i)]).sum();
        let eigen = |x: &Mat<f64>| {
            x.self_adjoint_eigen(Side::Lower)
                .map_err(|_| SurrogateError::NotConverged { what: "eigenvectors of an axis" })
        };
        let (a, b) = (eigen(&a)?, eigen(&b)?);
        let mut pairs: Vec<(f64, usize, usize)> = (0..outer)
            .flat_map(|p| (0..inner).map(move |f| (p, f)))
            .map(|(p, f)| (a.S()[p].max(0.0) * b.S()[f].max(0.0), p, f))
            .collect();
        pairs.sort_by(|x, y| y.0.total_cmp(&x.0));
        pairs.truncate(self.rank);
        pairs.retain(|pair| pair.0 > 0.0);
        let mut factor = Mat::<f32>::zeros(pairs.len(), n);
        for (row, &(product, p, f)) in pairs.iter().enumerate() {
            let sd = (product / total).sqrt();
            for i in 0..outer {
                let left = sd * a.U()[(i, p)];
                for j in 0..inner {
                    factor[(row, i * inner + j)] = (left * b.U()[(j, f)]) as f32;
                }
            }
        }
        Ok(factor)
    }
}

/// Second moments along the axis of `size` that varies fastest, summed over all else.
fn axis_gram(rows: MatRef<f32>, size: usize) -> Mat<f64> {
    let mut sum = Mat::<f64>::zeros(size, size);
    let mut part = Mat::<f32>::zeros(size, size);
    for start in (0..rows.ncols()).step_by(size) {
        let slab = rows.subcols(start, size);
        matmul(part.as_mut(), Accum::Replace, slab.transpose(), slab, 1.0, Par::Seq);
        for j in 0..size {
            for i in 0..size {
                sum[(i, j)] += f64::from(part[(i, j)]);
            }
        }
    }
    sum
}

/// The leading directions of a factor whose rows need not be orthogonal.
fn leading(factor: MatRef<f32>, rank: usize) -> Result<Mat<f32>, SurrogateError> {
    let k = factor.nrows();
    let mut gram = Mat::<f32>::zeros(k, k);
    matmul(gram.as_mut(), Accum::Replace, factor, factor.transpose(), 1.0, Par::Seq);
    let eigen = Mat::from_fn(k, k, |i, j| f64::from(gram[(i, j)]))
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| SurrogateError::NotConverged { what: "eigenvectors of the blend" })?;
    let rank = rank.min(k);
    let turn = Mat::from_fn(rank, k, |i, j| eigen.U()[(j, k - 1 - i)] as f32);
    let mut result = Mat::<f32>::zeros(rank, factor.ncols());
    matmul(result.as_mut(), Accum::Replace, turn.as_ref(), factor, 1.0, Par::Seq);
    Ok(result)
}
