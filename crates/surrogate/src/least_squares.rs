//! The paper's estimate of a new dataset's embedding: least squares on the errors observed.

use faer::Mat;
use ndarray::ArrayView2;

use crate::error::SurrogateError;

/// Singular values below this share of the largest count as zero.
const SINGULAR: f64 = 1e-10;

/// Predicts all pipelines from `y` (rank x pipelines) and some observed errors: `x` minimizes
/// `|e_S - Y_Sᵀ x|`, with the smallest norm where several do; the prediction is `Yᵀ x`.
///
/// By a singular value decomposition, never the normal equations: `Y_S` is often badly conditioned.
pub fn least_squares(
    y: ArrayView2<f32>,
    observed: &[(usize, f64)],
) -> Result<Vec<f64>, SurrogateError> {
    let (k, n) = y.dim();
    if observed.is_empty() || y.is_empty() {
        return Err(SurrogateError::Empty { what: "observations for least squares" });
    }
    for (at, &(index, value)) in observed.iter().enumerate() {
        if index >= n {
            return Err(SurrogateError::OutOfRange { what: "pipeline", index, size: n });
        }
        if !value.is_finite() {
            return Err(SurrogateError::NotFinite { what: "observed errors", at, value });
        }
    }
    let a = Mat::from_fn(observed.len(), k, |r, c| f64::from(y[(c, observed[r].0)]));
    let svd = a
        .thin_svd()
        .map_err(|_| SurrogateError::NotConverged { what: "singular values of the design" })?;
    let largest = svd.S()[0];
    let mut x = vec![0.0; k];
    for i in 0..observed.len().min(k) {
        let s = svd.S()[i];
        if s <= SINGULAR * largest || s == 0.0 {
            continue;
        }
        let c: f64 = observed.iter().enumerate().map(|(r, o)| svd.U()[(r, i)] * o.1).sum();
        x.iter_mut().enumerate().for_each(|(j, x)| *x += svd.V()[(j, i)] * c / s);
    }
    Ok((0..n).map(|j| x.iter().enumerate().map(|(i, x)| x * f64::from(y[(i, j)])).sum()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn enough_observations_recover_the_row_and_too_few_stay_finite() {
        let y = Array2::from_shape_fn((3, 12), |(i, j)| ((i + 2) as f32 * j as f32).cos());
        let row: Vec<f64> = (0..12)
            .map(|j| f64::from(0.3 * y[(0, j)] - 0.2 * y[(1, j)] + 0.1 * y[(2, j)]))
            .collect();
        let seen: Vec<(usize, f64)> = [1, 4, 6, 9].map(|j| (j, row[j])).to_vec();
        let got = least_squares(y.view(), &seen).unwrap();
        assert!(got.iter().zip(&row).all(|(a, b)| (a - b).abs() < 1e-5));
        let got = least_squares(y.view(), &seen[..1]).unwrap();
        assert!((got[1] - row[1]).abs() < 1e-5 && got.iter().all(|v| v.is_finite()));
        assert!(least_squares(y.view(), &[]).is_err());
        assert!(least_squares(y.view(), &[(0, f64::NAN)]).is_err());
        assert!(least_squares(y.view(), &[(12, 0.1)]).is_err());
    }
}
