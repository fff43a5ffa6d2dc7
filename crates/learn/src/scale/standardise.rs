//! Standardising with the mean and the population standard deviation, as scikit-learn's
//! `StandardScaler` does, for numbers of any magnitude.

use serde::{Deserialize, Serialize};

use crate::sums::{largest_magnitude, sum, taming_power};
use crate::{Features, FitContext, FitError};

/// Each column's mean and standard deviation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedStandardise {
    means: Vec<f64>,
    /// One for a constant column.
    scales: Vec<f64>,
}

impl FittedStandardise {
    pub(super) fn fit(x: &Features, ctx: &FitContext) -> Result<Self, FitError> {
        let (mut means, mut scales) = (Vec::new(), Vec::new());
        for j in 0..x.n_cols() {
            ctx.check_deadline()?;
            let (mean, scale) = mean_and_scale(x.column(j));
            means.push(mean);
            scales.push(scale);
        }
        Ok(Self { means, scales })
    }

    /// Whether it was fitted on so many columns.
    pub(super) fn is_of(&self, n_cols: usize) -> bool {
        self.means.len() == n_cols && self.scales.len() == n_cols
    }

    pub(super) fn transform(&self, x: &Features, ctx: &FitContext) -> Result<Features, FitError> {
        if x.n_cols() != self.means.len() {
            return Err(FitError::OtherColumns { expected: self.means.len(), got: x.n_cols() });
        }
        ctx.check_memory("standardise", (x.columns().len() * 8) as u64)?;
        let mut values = Vec::with_capacity(x.columns().len());
        for (j, (&mean, &scale)) in self.means.iter().zip(&self.scales).enumerate() {
            ctx.check_deadline()?;
            values.extend(x.column(j).iter().map(|&v| (v - mean) / scale));
            let start = values.len() - x.n_rows();
            // The difference or the quotient may overflow; a maximum tells for the whole column.
            if !largest_magnitude(&values[start..]).is_finite() {
                for (out, &v) in values[start..].iter_mut().zip(x.column(j)) {
                    // Where the difference overflows the signs differ, so the quotients add up.
                    let d = v - mean;
                    let z = if d.is_finite() { d / scale } else { v / scale - mean / scale };
                    *out = z.clamp(-f64::MAX, f64::MAX);
                }
            }
        }
        Ok(Features::from_columns(x.n_rows(), x.n_cols(), values))
    }
}

/// Mean and population standard deviation; the latter is 1 where the column is constant up to
/// rounding (scikit-learn's `_is_constant_feature`).
fn mean_and_scale(column: &[f64]) -> (f64, f64) {
    if column.iter().all(|v| v == &column[0]) {
        return (column.first().copied().unwrap_or(0.0), 1.0);
    }
    // Squares of extreme numbers overflow or vanish; a power of two rescales exactly.
    let power = taming_power(largest_magnitude(column));
    if power == 1.0 {
        return moments(column);
    }
    let rescaled: Vec<f64> = column.iter().map(|v| v * power).collect();
    let (mean, scale) = moments(&rescaled);
    // A scale of 1 marks a constant column whatever its magnitude.
    let scale = if scale == 1.0 { 1.0 } else { scale / power };
    (mean / power, if scale.is_finite() && scale > 0.0 { scale } else { 1.0 })
}

fn moments(column: &[f64]) -> (f64, f64) {
    let n = column.len() as f64;
    let mean = sum(column, |v| v) / n;
    // The second sum corrects the first mean's rounding, as numpy's two-pass variance does.
    let squares = sum(column, |v| (v - mean) * (v - mean));
    let drift = sum(column, |v| v - mean);
    let variance = ((squares - drift * drift / n) / n).max(0.0);
    let rounding = n * mean * f64::EPSILON;
    let is_constant = variance <= n * f64::EPSILON * variance + rounding * rounding;
    (mean, if is_constant { 1.0 } else { variance.sqrt() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn standardised(values: &[f64]) -> Vec<f64> {
        let x = Features::from_columns(values.len(), 1, values.to_vec());
        let ctx = FitContext::unhurried();
        FittedStandardise::fit(&x, &ctx).unwrap().transform(&x, &ctx).unwrap().columns().to_vec()
    }

    #[test]
    fn a_constant_column_is_centred_and_left_unscaled() {
        assert_eq!(standardised(&[0.1; 30]), [0.0; 30]);
        assert_eq!(standardised(&[1e300; 3]), [0.0; 3]);
    }

    #[test]
    fn magnitude_does_not_matter() {
        let expected = standardised(&[1.0, 2.0, 4.0]);
        for power in [1000, -1000, -1030] {
            let scale = 2f64.powi(power);
            let values = [scale, 2.0 * scale, 4.0 * scale];
            for (a, b) in standardised(&values).iter().zip(&expected) {
                assert!((a - b).abs() < 1e-9, "2^{power}: {a} for {b}");
            }
        }
    }

    proptest! {
        #[test]
        fn never_gives_anything_but_numbers(
            train in prop::collection::vec(any::<f64>().prop_filter("finite", |v| v.is_finite()), 1..20),
            new in prop::collection::vec(any::<f64>().prop_filter("finite", |v| v.is_finite()), 1..20),
        ) {
            let ctx = FitContext::unhurried();
            let column = |v: &[f64]| Features::from_columns(v.len(), 1, v.to_vec());
            let fitted = FittedStandardise::fit(&column(&train), &ctx).unwrap();
            for values in [&train, &new] {
                let out = fitted.transform(&column(values), &ctx).unwrap();
                prop_assert!(out.columns().iter().all(|v| v.is_finite()), "{:?}", out.columns());
            }
        }
    }
}
