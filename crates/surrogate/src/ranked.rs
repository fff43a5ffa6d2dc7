//! TensorOboe's embeddings: pipelines by the Tucker factors of the completed tensor, at any dataset and estimator rank
//! (ALGORITHMS §6).

use ndarray::{Array2, ArrayView2, Axis, IxDyn};

use crate::embedding::{Pca, energy_rank};
use crate::error::SurrogateError;
use crate::tensor::gram;
use crate::tucker::Tucker;
use crate::{Scalar, algebra};

/// Sweeps of HOOI after the truncated HOSVD: more change nothing in the fourth digit.
const SWEEPS: usize = 3;

/// The share of the energy that the first ranks hold (the paper's rule).
const INITIAL_ENERGY: f64 = 0.97;

/// Ranks of the two modes that are reduced: datasets and estimators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Rank of the dataset mode: how many coordinates an embedding has.
    pub datasets: usize,
    /// Rank of the estimator mode.
    pub estimators: usize,
}

impl Ranks {
    /// The same rank in both modes.
    pub fn both(rank: usize) -> Self {
        Self { datasets: rank, estimators: rank }
    }

    /// Whichever is smaller, mode by mode.
    pub fn min(self, other: Self) -> Self {
        Self {
            datasets: self.datasets.min(other.datasets),
            estimators: self.estimators.min(other.estimators),
        }
    }
}

/// `Y` from `G x_6 U6`, at the largest ranks, and what smaller ones are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct TuckerEmbedding {
    /// Rank of datasets x pipelines, estimators fastest; rows orthonormal and in order of energy.
    y: Array2<f32>,
    /// The singular value of each row.
    sizes: Vec<f32>,
    /// `U6`: estimators x their rank, columns in order of energy.
    estimators: Array2<f32>,
}

impl TuckerEmbedding {
    /// Decomposes completed errors, datasets x pipelines, of which the last axis are `n_estimators` estimators; and
    /// the ranks that hold 97 % of the energy of either matricization, with which the paper begins.
    pub fn fit<T: Scalar>(
        completed: ArrayView2<'_, T>,
        n_estimators: usize,
        most: Ranks,
    ) -> Result<(Self, Ranks), SurrogateError> {
        let (m, n) = completed.dim();
        if n_estimators == 0 || n % n_estimators != 0 {
            return Err(SurrogateError::Size { what: "estimators", wanted: n, got: n_estimators });
        }
        let n_prefixes = n / n_estimators;
        let sides = Ranks { datasets: m.min(n), estimators: n_estimators.min(m * n_prefixes) };
        let most = most.min(sides);
        let tensor = completed.to_owned();
        let shape = IxDyn(&[m, n_prefixes, n_estimators]);
        let tensor = tensor.into_shape_with_order(shape).expect("the counts agree");
        let ranks = [most.datasets, n_prefixes, most.estimators];
        let tucker = Tucker::fit(tensor.view(), &ranks, SWEEPS)?;
        let (x, y) = tucker.embeddings()?;
        let sizes = x.rows().into_iter().map(|row| row.dot(&row).sqrt() as f32).collect();
        let estimators = tucker.factors[2].mapv(|v| v.wide() as f32);
        let own = Self { y: y.mapv(|v| v as f32), sizes, estimators };
        let of_datasets = Pca::fit(completed, 1)?.singular_values;
        let initial = Ranks {
            datasets: energy_rank(&of_datasets, INITIAL_ENERGY),
            estimators: energy_rank(&mode_values(&gram(tensor.view(), 2)?)?, INITIAL_ENERGY),
        };
        let initial = initial.min(own.most());
        Ok((own, initial))
    }

    /// Puts together what [`TuckerEmbedding::parts`] took apart.
    pub fn from_parts(
        y: Array2<f32>,
        sizes: Vec<f32>,
        estimators: Array2<f32>,
    ) -> Result<Self, SurrogateError> {
        if y.is_empty() || estimators.is_empty() {
            return Err(SurrogateError::Empty { what: "an embedding" });
        }
        if sizes.len() != y.nrows() {
            let (wanted, got) = (y.nrows(), sizes.len());
            return Err(SurrogateError::Size { what: "sizes of an embedding", wanted, got });
        }
        let (n, got) = (y.ncols(), estimators.nrows());
        if n % got != 0 || estimators.ncols() > got {
            return Err(SurrogateError::Size {
                what: "estimators of an embedding",
                wanted: n,
                got,
            });
        }
        let all = y.iter().chain(&sizes).chain(&estimators);
        if let Some((at, &value)) = all.enumerate().find(|(_, v)| !v.is_finite()) {
            let value = f64::from(value);
            return Err(SurrogateError::NotFinite { what: "an embedding", at, value });
        }
        Ok(Self { y, sizes, estimators })
    }

    /// Vectors of pipelines, the singular value of each row, and `U6`.
    pub fn parts(&self) -> (&Array2<f32>, &[f32], &Array2<f32>) {
        (&self.y, &self.sizes, &self.estimators)
    }

    /// The largest ranks there are.
    pub fn most(&self) -> Ranks {
        Ranks { datasets: self.y.nrows(), estimators: self.estimators.ncols() }
    }

    /// How many pipelines it speaks of.
    pub fn n_pipelines(&self) -> usize {
        self.y.ncols()
    }

    /// Vectors of all pipelines at some ranks: dataset rank x pipelines, rows orthonormal and in order of energy.
    ///
    /// A smaller estimator rank takes the leading columns of `U6` alone, that is, projects each prefix's estimators on
    /// them, and decomposes what is left again.
    pub fn at(&self, ranks: Ranks) -> Result<Array2<f32>, SurrogateError> {
        let ranks = ranks.min(self.most());
        for (axis, rank) in [ranks.datasets, ranks.estimators].into_iter().enumerate() {
            if rank == 0 {
                return Err(SurrogateError::Rank { axis, rank, side: 1 });
            }
        }
        if ranks.estimators == self.estimators.ncols() {
            return Ok(self.y.view().split_at(Axis(0), ranks.datasets).0.to_owned());
        }
        let u = self.estimators.view().split_at(Axis(1), ranks.estimators).0;
        let (k, n) = self.y.dim();
        let n_estimators = u.nrows();
        let mut rows = self.y.clone();
        rows.rows_mut().into_iter().zip(&self.sizes).for_each(|(mut row, &s)| row *= s);
        let by_prefix = rows
            .into_shape_with_order((k * (n / n_estimators), n_estimators))
            .expect("whole prefixes");
        // A product may come column by column.
        let projected = by_prefix.dot(&u).dot(&u.t()).as_standard_layout().into_owned();
        let projected = projected.into_shape_with_order((k, n)).expect("as it was");
        Ok(Pca::fit(projected.view(), ranks.datasets)?.pipelines.mapv(|v| v as f32))
    }
}

/// Singular values of a matricization from its Gram matrix.
fn mode_values(gram: &Array2<f64>) -> Result<Vec<f64>, SurrogateError> {
    let n = gram.nrows();
    let square = faer::Mat::from_fn(n, n, |i, j| gram[(i, j)]);
    let values = algebra::eigen(square.as_ref(), n)?.values;
    Ok(values.iter().map(|v| v.max(0.0).sqrt()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of 9 datasets by 4 prefixes by 5 estimators, of low rank and a little noise.
    fn errors() -> Array2<f64> {
        Array2::from_shape_fn((9, 20), |(i, j)| {
            let (p, f) = ((j / 5) as f64, (j % 5) as f64);
            let d = i as f64;
            0.4 + 0.1 * (d * 0.7).sin() * (f * 0.9).cos()
                + 0.05 * (d * 1.3).cos() * p
                + 0.004 * (d * 3.1 + f * 2.3 + p * 1.7).sin()
        })
    }

    fn is_orthonormal(y: &Array2<f32>) -> bool {
        let gram = y.dot(&y.t());
        (&gram - &Array2::<f32>::eye(y.nrows())).iter().all(|d| d.abs() < 1e-4)
    }

    /// How much of the errors lies outside the span of the vectors.
    fn left_over(errors: &Array2<f64>, y: &Array2<f32>) -> f64 {
        let y = y.mapv(f64::from);
        let fitted = errors.dot(&y.t()).dot(&y);
        (errors - &fitted).mapv(|v| v * v).sum() / errors.mapv(|v| v * v).sum()
    }

    #[test]
    fn full_estimator_rank_gives_what_the_decomposition_has_and_less_gives_less() {
        let e = errors();
        let (embedding, initial) = TuckerEmbedding::fit(e.view(), 5, Ranks::both(5)).unwrap();
        assert!(initial.datasets >= 1 && initial.estimators <= 5);
        let mut before = f64::INFINITY;
        for estimators in 1..=5 {
            let y = embedding.at(Ranks { datasets: 4, estimators }).unwrap();
            assert!(is_orthonormal(&y));
            let left = left_over(&e, &y);
            assert!(left <= before + 1e-9, "{estimators}: {left} after {before}");
            before = left;
        }
        let pca = Pca::fit(e.view(), 4).unwrap().pipelines.mapv(|v| v as f32);
        assert!((left_over(&e, &pca) - before).abs() < 1e-6, "full ranks span what PCA does");
    }

    #[test]
    fn the_projection_equals_a_decomposition_cut_to_its_leading_estimators() {
        let e = errors();
        let (embedding, _) = TuckerEmbedding::fit(e.view(), 5, Ranks::both(5)).unwrap();
        let y = embedding.at(Ranks { datasets: 3, estimators: 2 }).unwrap();
        // Column blocks of a prefix lie in the span of two vectors of estimators.
        let blocks = y.into_shape_with_order((3 * 4, 5)).unwrap();
        let values = Pca::fit(blocks.view(), 1).unwrap().singular_values;
        assert!(values[2] < 1e-4 * values[0], "{values:?}");
    }

    #[test]
    fn parts_that_do_not_fit_together_are_refused() {
        let (y, u) = (Array2::<f32>::ones((2, 10)), Array2::<f32>::ones((5, 3)));
        assert!(TuckerEmbedding::from_parts(y.clone(), vec![1.0; 2], u.clone()).is_ok());
        assert!(TuckerEmbedding::from_parts(y.clone(), vec![1.0; 3], u.clone()).is_err());
        assert!(TuckerEmbedding::from_parts(y, vec![1.0; 2], Array2::ones((4, 3))).is_err());
    }
}
