//! Regression by kernels, of many numbers at once, on features that may be missing.

use ndarray::Array2;

/// How alike two datasets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// By the product of their features: ridge regression.
    Linear,
    /// By the distance between them.
    Gaussian,
}

/// Weights of the ridge to choose among, by what each row's prediction without it is off.
const RIDGES: [f64; 6] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// Standardised features are cut off here: counts have long tails.
const MOST: f64 = 3.0;

/// From so wide a range on a feature that is never negative is taken by its logarithm.
const WIDE: f64 = 100.0;

/// A fitted regression: targets minus their mean, on features brought to one scale.
pub(super) struct Regression {
    scales: Vec<FeatureScale>,
    kernel: Kernel,
    rows: Vec<Vec<f64>>,
    mean: Vec<f64>,
    /// rows x targets: what each row's kernel is multiplied with.
    weights: Array2<f64>,
    left_out: Array2<f64>,
}

/// How a feature is brought to one scale with the others.
struct FeatureScale {
    is_log: bool,
    mean: f64,
    deviation: f64,
}

impl FeatureScale {
    fn of(values: &[f64]) -> Self {
        let there: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let low = there.iter().copied().fold(f64::INFINITY, f64::min);
        let high = there.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_log = low >= 0.0 && high - low > WIDE;
        let own = Self { is_log, mean: 0.0, deviation: 1.0 };
        let taken: Vec<f64> = there.iter().map(|&v| own.taken(v)).collect();
        let n = taken.len().max(1) as f64;
        let mean = taken.iter().sum::<f64>() / n;
        let variance = taken.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let deviation = if variance > 1e-12 { variance.sqrt() } else { 1.0 };
        Self { is_log, mean, deviation }
    }

    fn taken(&self, value: f64) -> f64 {
        if self.is_log { value.max(0.0).ln_1p() } else { value }
    }

    /// The mean where the value is missing.
    fn scaled(&self, value: f64) -> f64 {
        if !value.is_finite() {
            return 0.0;
        }
        ((self.taken(value) - self.mean) / self.deviation).clamp(-MOST, MOST)
    }
}

impl Regression {
    /// `features` by row, missing ones not a number; `targets`: rows x targets.
    pub(super) fn fit(features: &[Vec<f64>], targets: &Array2<f64>, kernel: Kernel) -> Self {
        let n_features = features.first().map_or(0, Vec::len);
        let column = |j: usize| features.iter().map(|row| row[j]).collect::<Vec<f64>>();
        let scales: Vec<_> = (0..n_features).map(|j| FeatureScale::of(&column(j))).collect();
        let rows: Vec<Vec<f64>> = features.iter().map(|row| scaled(&scales, row)).collect();
        let n = rows.len();
        let mean = targets.mean_axis(ndarray::Axis(0)).expect("there are rows").to_vec();
        let centred = Array2::from_shape_fn(targets.dim(), |(i, j)| targets[(i, j)] - mean[j]);
        let gram = Array2::from_shape_fn((n, n), |(i, j)| alike(kernel, &rows[i], &rows[j]));
        let fitted = RIDGES.iter().map(|&ridge| {
            let inverse = inverse_with(&gram, ridge);
            let weights = inverse.dot(&centred);
            // What is left of a row that is left out: its weight over its own place in the inverse.
            let left =
                Array2::from_shape_fn(weights.dim(), |(i, j)| weights[(i, j)] / inverse[(i, i)]);
            let loss: f64 = left.iter().map(|v| v * v).sum();
            (loss, weights, left)
        });
        let best = fitted.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are ridges");
        let (_, weights, left_out) = best;
        Self { scales, kernel, rows, mean, weights, left_out }
    }

    /// What each row is beyond its prediction from the others.
    pub(super) fn left_out_residuals(&self) -> &Array2<f64> {
        &self.left_out
    }

    /// The targets of a row.
    pub(super) fn predict(&self, features: &[f64]) -> Vec<f64> {
        let own = scaled(&self.scales, features);
        let mut said = self.mean.clone();
        for (row, weights) in self.rows.iter().zip(self.weights.outer_iter()) {
            let alike = alike(self.kernel, row, &own);
            said.iter_mut().zip(weights).for_each(|(s, w)| *s += alike * w);
        }
        said
    }
}

fn scaled(scales: &[FeatureScale], row: &[f64]) -> Vec<f64> {
    scales.iter().zip(row).map(|(scale, &v)| scale.scaled(v)).collect()
}

/// Both are about 1 for a row and itself.
fn alike(kernel: Kernel, a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().max(1) as f64;
    let pairs = a.iter().zip(b);
    match kernel {
        Kernel::Linear => pairs.map(|(x, y)| x * y).sum::<f64>() / n,
        Kernel::Gaussian => (-pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>() / (2.0 * n)).exp(),
    }
}

/// `(A + ridge I)^-1` of a symmetric positive semidefinite matrix, by its Cholesky factor.
fn inverse_with(a: &Array2<f64>, ridge: f64) -> Array2<f64> {
    let n = a.nrows();
    let mut l = Array2::<f64>::zeros((n, n));
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum();
            let own = a[(i, j)] + if i == j { ridge } else { 0.0 } - dot;
            l[(i, j)] = if i == j { own.max(1e-12).sqrt() } else { own / l[(j, j)] };
        }
    }
    // The inverse of the factor, column by column, and from it that of the matrix.
    let mut m = Array2::<f64>::zeros((n, n));
    for c in 0..n {
        for i in c..n {
            let dot: f64 = (c..i).map(|k| l[(i, k)] * m[(k, c)]).sum();
            m[(i, c)] = (f64::from(u8::from(i == c)) - dot) / l[(i, i)];
        }
    }
    m.t().dot(&m)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn an_inverse_is_one() {
        let a = array![[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.7]];
        let product = inverse_with(&a, 0.3).dot(&(&a + &(0.3 * Array2::<f64>::eye(3))));
        assert!((&product - &Array2::<f64>::eye(3)).iter().all(|v| v.abs() < 1e-12), "{product}");
    }

    #[test]
    fn what_is_left_out_is_predicted_by_the_others_alone() {
        let features: Vec<Vec<f64>> =
            (0..12).map(|i| vec![f64::from(i % 5), f64::from(i * i)]).collect();
        let targets = Array2::from_shape_fn((12, 2), |(i, j)| {
            (i as f64 * 0.7).sin() + j as f64 * features[i][0]
        });
        // With the features' scales, the ridge and the mean of all rows, so that they are the same.
        let all = Regression::fit(&features, &targets, Kernel::Gaussian);
        let gram = Array2::from_shape_fn((12, 12), |(i, j)| {
            alike(Kernel::Gaussian, &all.rows[i], &all.rows[j])
        });
        let errors: Vec<f64> = RIDGES
            .iter()
            .map(|&ridge| {
                let others: Vec<usize> = (0..12).filter(|&i| i != 4).collect();
                let part = Array2::from_shape_fn((11, 11), |(i, j)| gram[(others[i], others[j])]);
                let inverse = inverse_with(&part, ridge);
                let said: f64 = (0..11)
                    .flat_map(|i| (0..11).map(move |j| (i, j)))
                    .map(|(i, j)| {
                        let centred = targets[(others[j], 1)] - all.mean[1];
                        gram[(4, others[i])] * inverse[(i, j)] * centred
                    })
                    .sum();
                (targets[(4, 1)] - all.mean[1] - said - all.left_out[(4, 1)]).abs()
            })
            .collect();
        // Of one of the ridges.
        assert!(errors.iter().any(|e| *e < 1e-9), "{errors:?}");
    }

    #[test]
    fn what_follows_from_the_features_is_predicted_and_gaps_are_the_mean() {
        let features: Vec<Vec<f64>> = (0..60).map(|i| vec![f64::from(i % 7), 1.0]).collect();
        let targets = Array2::from_shape_fn((60, 1), |(i, _)| 0.1 * features[i][0]);
        for kernel in [Kernel::Linear, Kernel::Gaussian] {
            let fitted = Regression::fit(&features, &targets, kernel);
            let [low, high] = [0.0, 6.0].map(|v| fitted.predict(&[v, 1.0])[0]);
            assert!(low < 0.1 && high > 0.5, "{kernel:?}: {low} {high}");
        }
        let fitted = Regression::fit(&features, &targets, Kernel::Linear);
        assert!((fitted.predict(&[f64::NAN, 1.0])[0] - fitted.mean[0]).abs() < 1e-9);
    }
}
