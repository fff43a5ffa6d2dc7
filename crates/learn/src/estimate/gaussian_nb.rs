//! Gaussian naive Bayes: each class is a product of normal distributions, one a feature.

use std::f64::consts::TAU;

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use super::from_scores::{first_largest, softmax};
use super::knn::unit_of;
use crate::scikit_learn::PythonScript;
use crate::{
    Character, Classifier, Estimator, FamilyCost, Features, FitContext, FitError, ModelSize,
    Prediction, Probabilities,
};

/// The share of the largest feature variance that is added to every variance.
const VAR_SMOOTHING: f64 = 1e-9;

/// Hyperparameters: the grid has one point, scikit-learn's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GaussianNb {}

settings!(GaussianNb {});

/// Only [`GaussianNb::fit`] makes one, so it can always predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedGaussianNb {
    n_classes: usize,
    n_cols: usize,
    /// Numbers are multiplied by this first; a change of unit leaves the posterior alone.
    unit: f64,
    /// Class after class: the mean of each feature, in that unit.
    means: Vec<f64>,
    /// Class after class: one over the variance of each feature.
    precisions: Vec<f64>,
    /// Log prior and the normal densities' constants.
    offsets: Vec<f64>,
}

impl Estimator for GaussianNb {
    type Fitted = FittedGaussianNb;
    const NAME: &'static str = "gaussian_nb";

    const CHARACTER: Character = Character {
        refuses_one_class: false,
        reads_rows: false,
        takes_gaps: false,
        models: ModelSize::Modest,
        fits_each_class: false,
        family: FamilyCost::Alone,
    };

    fn check(&self) -> Result<(), FitError> {
        Ok(())
    }

    fn rough_cost(&self, _: usize) -> f64 {
        0.1
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        format!("{}()", script.import("sklearn.naive_bayes", "GaussianNB"))
    }

    fn fit(
        &self,
        x: &Features,
        y: &Labels,
        ctx: &FitContext,
    ) -> Result<FittedGaussianNb, FitError> {
        let (n_classes, n_cols, n) = (y.n_classes(), x.n_cols(), x.n_rows() as f64);
        ctx.check_memory(Self::NAME, (24 * n_classes * n_cols) as u64)?;
        let largest = x.columns().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let unit = unit_of(largest);
        let counts: Vec<f64> = y.counts().into_iter().map(|c| c as f64).collect();
        let mut means = vec![0.0; n_classes * n_cols];
        let mut variances = vec![0.0; n_classes * n_cols];
        let mut largest_variance = 0.0_f64;
        let mut sums = ClassSums::new(n_classes);
        for j in 0..n_cols {
            ctx.check_deadline()?;
            let mean = sums.of(x.column(j), y.codes(), |v, _| v * unit).to_vec();
            let overall = mean.iter().sum::<f64>() / n;
            let mean: Vec<f64> = mean.iter().zip(&counts).map(|(s, c)| s / c).collect();
            let squares = sums.of(x.column(j), y.codes(), |v, c| {
                let d = v * unit - mean[c];
                d * d
            });
            // The variance of the whole column, from within and between the classes.
            let mut total = 0.0;
            for c in 0..n_classes {
                let off = mean[c] - overall;
                total += squares[c] + counts[c] * off * off;
                means[c * n_cols + j] = mean[c];
                variances[c * n_cols + j] = squares[c] / counts[c];
            }
            largest_variance = largest_variance.max(total / n);
        }
        let smoothing = VAR_SMOOTHING * largest_variance;
        let mut offsets: Vec<f64> = counts.iter().map(|c| (c / n).ln()).collect();
        for (c, offset) in offsets.iter_mut().enumerate() {
            for variance in &mut variances[c * n_cols..(c + 1) * n_cols] {
                // All columns constant: any positive number makes the classes equal in them.
                *variance = (*variance + smoothing).max(f64::MIN_POSITIVE);
                *offset -= 0.5 * (TAU * *variance).ln();
                *variance = (1.0 / *variance).min(f64::MAX);
            }
        }
        Ok(FittedGaussianNb { n_classes, n_cols, unit, means, precisions: variances, offsets })
    }
}

/// Sums per class of a function of a column, in a few lanes so that equal classes in a row of rows
/// do not wait for each other.
struct ClassSums {
    n_classes: usize,
    lanes: Vec<f64>,
}

impl ClassSums {
    const LANES: usize = 4;

    fn new(n_classes: usize) -> Self {
        Self { n_classes, lanes: vec![0.0; Self::LANES * n_classes] }
    }

    fn of(&mut self, column: &[f64], y: &[u32], f: impl Fn(f64, usize) -> f64) -> &[f64] {
        let k = self.n_classes;
        self.lanes.fill(0.0);
        let (head, tail) = column.as_chunks::<{ Self::LANES }>();
        let (y_head, y_tail) = y.as_chunks::<{ Self::LANES }>();
        for (values, classes) in head.iter().zip(y_head) {
            for lane in 0..Self::LANES {
                let class = classes[lane] as usize;
                self.lanes[lane * k + class] += f(values[lane], class);
            }
        }
        for (&value, &class) in tail.iter().zip(y_tail) {
            self.lanes[class as usize] += f(value, class as usize);
        }
        let (sums, rest) = self.lanes.split_at_mut(k);
        for lane in rest.chunks_exact(k) {
            sums.iter_mut().zip(lane).for_each(|(sum, v)| *sum += v);
        }
        sums
    }
}

impl Classifier for FittedGaussianNb {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn is_sound(&self, n_cols: usize) -> bool {
        let n = n_cols.checked_mul(self.n_classes);
        self.n_cols == n_cols
            && n == Some(self.means.len())
            && n == Some(self.precisions.len())
            && self.offsets.len() == self.n_classes
    }

    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        const ROWS: usize = 512;
        let (n, k) = (x.n_rows(), self.n_classes);
        ctx.check_memory(GaussianNb::NAME, (8 * n * k) as u64)?;
        let mut probabilities = vec![0.0; n * k];
        let mut labels = Vec::with_capacity(n);
        let mut joint = vec![0.0; ROWS * k];
        for first in (0..n).step_by(ROWS) {
            ctx.check_deadline()?;
            let rows = first..(first + ROWS).min(n);
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || self.joint_log_likelihood(x, rows.clone(), &mut joint),
            );
            for i in rows.clone() {
                let row = &mut probabilities[i * k..(i + 1) * k];
                let at = i - first;
                for (c, p) in row.iter_mut().enumerate() {
                    *p = joint[c * rows.len() + at];
                }
                if !row.iter().all(|l| l.is_finite()) {
                    self.nearest_class(x.row(i), row);
                }
                labels.push(first_largest(row) as u32);
                softmax(row);
            }
        }
        Ok(Prediction {
            probabilities: Probabilities::from_rows(k, probabilities),
            labels: Labels::from_codes(labels, k),
        })
    }
}

impl FittedGaussianNb {
    /// Class after class, the log of prior times likelihood of each row.
    #[inline(always)]
    fn joint_log_likelihood(&self, x: &Features, rows: std::ops::Range<usize>, joint: &mut [f64]) {
        for (c, out) in joint.chunks_exact_mut(rows.len()).take(self.n_classes).enumerate() {
            out.fill(0.0);
            for j in 0..self.n_cols {
                let (mean, precision) =
                    (self.means[c * self.n_cols + j], self.precisions[c * self.n_cols + j]);
                for (sum, v) in out.iter_mut().zip(&x.column(j)[rows.clone()]) {
                    let d = v * self.unit - mean;
                    *sum += d * d * precision;
                }
            }
            let offset = self.offsets[c];
            out.iter_mut().for_each(|sum| *sum = offset - 0.5 * *sum);
        }
    }

    /// For a row so far out that its squared deviations overflow: the class it is least far from
    /// in standard deviations takes it whole.
    fn nearest_class(&self, row: &[f64], joint: &mut [f64]) {
        let deviation = |c: usize, j: usize| {
            let at = c * self.n_cols + j;
            // Halves, so that opposite huge numbers do not overflow.
            let half = row[j] * self.unit * 0.5 - self.means[at] * 0.5;
            // In logarithms: neither factor's square need be a number.
            half.abs().min(f64::MAX).ln() + 0.5 * self.precisions[at].ln()
        };
        let mut worst = f64::NEG_INFINITY;
        for c in 0..self.n_classes {
            worst = (0..self.n_cols).fold(worst, |m, j| m.max(deviation(c, j)));
        }
        let distance = |c: usize| -> f64 {
            (0..self.n_cols).map(|j| (2.0 * (deviation(c, j) - worst)).exp()).sum()
        };
        let distances: Vec<f64> = (0..self.n_classes).map(distance).collect();
        for (c, l) in joint.iter_mut().enumerate() {
            // Units of the worst deviation: any difference at all is decisive.
            *l = if distances.iter().any(|d| *d < distances[c]) { -1e6 } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(columns: Vec<f64>, n_cols: usize, y: &[u32], k: usize) -> FittedGaussianNb {
        let x = Features::from_columns(y.len(), n_cols, columns);
        let y = Labels::from_codes(y.iter().copied(), k);
        GaussianNb {}.fit(&x, &y, &FitContext::unhurried()).unwrap()
    }

    fn ask(model: &FittedGaussianNb, row: &[f64]) -> Prediction {
        let x = Features::from_columns(1, row.len(), row.to_vec());
        model.predict(&x, &FitContext::unhurried()).unwrap()
    }

    #[test]
    fn two_normals_of_equal_spread_meet_half_way() {
        let model = fit(vec![-2.0, -1.0, 0.0, 2.0, 3.0, 4.0], 1, &[0, 0, 0, 1, 1, 1], 2);
        let at = |v| ask(&model, &[v]).probabilities.row(0)[1];
        assert!((at(1.0) - 0.5).abs() < 1e-12 && at(0.0) < 0.1 && at(2.0) > 0.9);
    }

    #[test]
    fn a_change_of_unit_changes_nothing() {
        let columns = [1.0, 2.0, 5.0, 7.0, 3.0, 1.0, 0.5, 9.0];
        let y = [0, 0, 1, 1];
        let plain = ask(&fit(columns.to_vec(), 2, &y, 2), &[3.0, 2.0]);
        for scale in [1e300, 1e-300] {
            let model = fit(columns.map(|v| v * scale).to_vec(), 2, &y, 2);
            let scaled = ask(&model, &[3.0 * scale, 2.0 * scale]);
            for (a, b) in plain.probabilities.values().iter().zip(scaled.probabilities.values()) {
                assert!((a - b).abs() < 1e-9, "{a} {b}");
            }
        }
    }

    #[test]
    fn constant_columns_and_distant_rows_give_numbers() {
        let constant = fit(vec![4.0; 6], 2, &[0, 1, 1], 2);
        // The second class is the wider one, so it is nearer to anything far away.
        let far = fit(vec![-1.0, 0.0, 1.0, 5.0], 1, &[0, 0, 1, 1], 2);
        for (model, row) in [
            (&constant, vec![4.0, 4.0]),
            (&constant, vec![5.0, -1e300]),
            (&far, vec![1e300]),
            (&far, vec![-1.7e308]),
        ] {
            let answer = ask(model, &row);
            let sum: f64 = answer.probabilities.values().iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{answer:?}");
        }
        assert_eq!(ask(&constant, &[4.0, 4.0]).labels.codes(), [1]);
        assert_eq!(ask(&far, &[1e300]).labels.codes(), [1]);
        assert_eq!(ask(&far, &[-1.7e308]).labels.codes(), [1]);
    }
}
