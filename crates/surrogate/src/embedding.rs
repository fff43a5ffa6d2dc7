//! Principal components of a complete error matrix: Oboe's embeddings of datasets and pipelines.

use ndarray::{Array2, ArrayView2, Axis};

use crate::algebra::{self, gram_of_columns, rows};
use crate::{Scalar, SurrogateError};

/// Singular values below this share of the first are rounding: the Gram matrix squares them.
const NEGLIGIBLE: f64 = 1e-7;

/// `E ~ X^T Y`, uncentred. Components are ordered by energy, so a smaller rank is a prefix.
#[derive(Clone, Debug)]
pub struct Pca {
    /// Every singular value of the matrix, largest first.
    pub singular_values: Vec<f64>,
    /// X: rank x datasets, row i of length `s_i`.
    pub datasets: Array2<f64>,
    /// Y: rank x pipelines, rows orthonormal.
    pub pipelines: Array2<f64>,
}

impl Pca {
    /// The first `rank` components, fewer where the matrix has no more. The entry of largest magnitude
    /// of each left vector is positive, so that a sign never depends on the solver.
    pub fn fit<T: Scalar>(matrix: ArrayView2<'_, T>, rank: usize) -> Result<Self, SurrogateError> {
        let (m, n) = matrix.dim();
        if m == 0 || n == 0 {
            return Err(SurrogateError::Empty { what: "the error matrix" });
        }
        let side = m.min(n);
        if rank == 0 || rank > side {
            return Err(SurrogateError::Rank { axis: 0, rank, side });
        }
        let e = matrix.mapv(Scalar::wide).as_standard_layout().into_owned();
        if let Some((at, &value)) = e.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(SurrogateError::NotFinite { what: "the error matrix", at, value });
        }
        let flat = rows(e.as_slice().expect("standard layout"), m, n);
        // The Gram matrix of the short side.
        let gram = if m <= n {
            gram_of_columns(m, n, |a, b| flat.subcols(a, b - a))
        } else {
            gram_of_columns(n, m, |a, b| flat.subrows(a, b - a).transpose())
        };
        let eigen = algebra::eigen(gram.as_ref(), side)?;
        let singular_values: Vec<f64> = eigen.values.iter().map(|v| v.max(0.0).sqrt()).collect();
        let floor = singular_values[0] * NEGLIGIBLE;
        let kept = singular_values.iter().take(rank).take_while(|&&s| s > floor).count();
        let vectors = Array2::from_shape_fn((side, kept), |(i, j)| eigen.vectors[(i, j)]);
        let scale = |mut a: Array2<f64>, power: f64| {
            let sizes = singular_values.iter().map(|s| s.powf(power));
            a.rows_mut().into_iter().zip(sizes).for_each(|(mut row, size)| row *= size);
            a
        };
        let short = vectors.t().to_owned();
        let (mut datasets, mut pipelines) = if m <= n {
            let pipelines = scale(vectors.t().dot(&e), -1.0);
            (scale(short, 1.0), pipelines)
        } else {
            (vectors.t().dot(&e.t()), short)
        };
        fix_signs(&mut datasets, &mut pipelines);
        Ok(Self { singular_values, datasets, pipelines })
    }

    /// The same with fewer components.
    pub fn truncated(&self, rank: usize) -> Self {
        let rank = rank.min(self.pipelines.nrows());
        Self {
            singular_values: self.singular_values.clone(),
            datasets: self.datasets.view().split_at(Axis(0), rank).0.to_owned(),
            pipelines: self.pipelines.view().split_at(Axis(0), rank).0.to_owned(),
        }
    }
}

fn fix_signs(datasets: &mut Array2<f64>, pipelines: &mut Array2<f64>) {
    for (mut x, mut y) in datasets.rows_mut().into_iter().zip(pipelines.rows_mut()) {
        let largest =
            x.iter().fold(0.0_f64, |most, &v| if v.abs() > most.abs() { v } else { most });
        if largest < 0.0 {
            x.mapv_inplace(|v| -v);
            y.mapv_inplace(|v| -v);
        }
    }
}

/// The smallest number of leading singular values that hold `share` of the energy (the paper's rank
/// rule, at 97 %).
pub fn energy_rank(singular_values: &[f64], share: f64) -> usize {
    let total: f64 = singular_values.iter().map(|s| s * s).sum();
    let mut held = 0.0;
    for (i, s) in singular_values.iter().enumerate() {
        held += s * s;
        if held >= share * total {
            return i + 1;
        }
    }
    singular_values.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(m: usize, n: usize) -> Array2<f64> {
        Array2::from_shape_fn((m, n), |(i, j)| {
            0.4 + ((i * 31 + j * 17) % 23) as f64 / 50.0 + (i as f64 / (j + 1) as f64).sin() / 9.0
        })
    }

    #[test]
    fn all_components_give_the_matrix_back_wide_or_tall() {
        for (m, n) in [(5, 12), (12, 5)] {
            let e = table(m, n);
            let pca = Pca::fit(e.view(), m.min(n)).unwrap();
            let back = pca.datasets.t().dot(&pca.pipelines);
            assert!((&back - &e).iter().all(|d| d.abs() < 1e-9));
            let gram = pca.pipelines.dot(&pca.pipelines.t());
            assert!((&gram - &Array2::<f64>::eye(gram.nrows())).iter().all(|d| d.abs() < 1e-7));
        }
    }

    #[test]
    fn a_smaller_rank_is_a_prefix() {
        let e = table(6, 20);
        let (small, large) =
            (Pca::fit(e.view(), 2).unwrap(), Pca::fit(e.view(), 5).unwrap().truncated(2));
        assert!((&small.pipelines - &large.pipelines).iter().all(|d| d.abs() < 1e-12));
        assert!((&small.datasets - &large.datasets).iter().all(|d| d.abs() < 1e-12));
    }

    #[test]
    fn a_rank_the_matrix_does_not_have_is_cut() {
        let e = Array2::from_shape_fn((4, 9), |(i, j)| (i + 1) as f64 * (j + 1) as f64);
        assert_eq!(Pca::fit(e.view(), 3).unwrap().pipelines.nrows(), 1);
    }

    #[test]
    fn bad_matrices_are_typed_errors() {
        let mut e = table(3, 4);
        assert!(matches!(Pca::fit(e.view(), 4), Err(SurrogateError::Rank { .. })));
        e[(1, 2)] = f64::NAN;
        let err = Pca::fit(e.view(), 2).unwrap_err();
        assert_eq!(err.to_string(), "the error matrix holds NaN at position 6");
        let none = Array2::<f64>::zeros((0, 4));
        assert!(matches!(Pca::fit(none.view(), 1), Err(SurrogateError::Empty { .. })));
    }

    #[test]
    fn the_energy_rule_counts_squares() {
        assert_eq!(energy_rank(&[3.0, 1.0, 0.0], 0.89), 1);
        assert_eq!(energy_rank(&[3.0, 1.0, 0.0], 0.91), 2);
        assert_eq!(energy_rank(&[1.0, 1.0], 1.0), 2);
    }
}
