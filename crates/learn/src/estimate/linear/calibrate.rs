//! Probabilities for estimators that have decision values only.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::Probabilities;

use super::lanes::{Kernel, Lanes, Quad, WIDTH, dispatch, exp, sum};
use super::loss::flat_dot;
use super::model::Decisions;
use super::n_problems;
use super::rows::Rows;

/// One factor on the decision values before the softmax (two classes: the sigmoid): increasing in each
/// value, so the most probable class is the native decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    factor: f64,
}

/// Rows the factor is fitted on, at most: one number needs no more.
const ROWS: usize = 512;

/// This share of each row's target is spread over all classes, since training rows flatter their own
/// model. Measured against other shares, fixed factors and held-out folds (docs/decisions/0022-linear-solvers.md).
const SPREAD: f64 = 0.05;

impl Calibration {
    /// The factor with the least log loss on training rows; each output's weights end with those of the
    /// rows' constant.
    pub(crate) fn fit(rows: &Rows, y: &Labels, outputs: &[Vec<f64>]) -> Self {
        // Evenly spaced: a table may be sorted by class.
        let n = rows.n.min(ROWS);
        let chosen: Vec<usize> = (0..n).map(|i| i * rows.n / n).collect();
        let decisions = decide(rows, &chosen, outputs);
        let codes: Vec<u32> = chosen.iter().map(|&i| y.codes()[i]).collect();
        Self::fit_decisions(&decisions, &codes, y.n_classes())
    }

    /// The same for decision values, one or one a class for each row.
    fn fit_decisions(decisions: &[f64], codes: &[u32], n_classes: usize) -> Self {
        let typical = typical_size(decisions);
        let n_outputs = n_problems(n_classes);
        let n_quads = codes.len().div_ceil(WIDTH);
        let mut values = vec![[0.0; WIDTH]; n_quads * n_classes];
        let mut targets = vec![[0.0; WIDTH]; n_quads];
        for (i, (row, &code)) in decisions.chunks_exact(n_outputs).zip(codes).enumerate() {
            // In units of the typical size; a single value is that of the second class.
            let value = |k: usize| match row {
                [value] => value / typical * k as f64,
                _ => row[k] / typical,
            };
            let mean = (0..n_classes).map(value).sum::<f64>() / n_classes as f64;
            let target = (1.0 - SPREAD) * value(code as usize) + SPREAD * mean;
            targets[i / WIDTH][i % WIDTH] = target;
            for k in 0..n_classes {
                values[i / WIDTH * n_classes + k][i % WIDTH] = value(k);
            }
        }
        let mut factor = 1.0;
        for _ in 0..12 {
            let (slope, curvature) =
                dispatch(Slope { values: &values, targets: &targets, n_classes, factor });
            let step = slope / (curvature + 1e-12);
            let next = (factor - step).clamp(0.2 * factor, 5.0 * factor).clamp(1e-3, 1e3);
            let moved = (next - factor).abs();
            factor = next;
            if moved <= 1e-3 * factor {
                break;
            }
        }
        Self { factor: factor / typical }
    }

    /// The probabilities of each row.
    pub(crate) fn probabilities(&self, mut decisions: Decisions) -> Probabilities {
        for value in &mut decisions.values {
            *value = (*value * self.factor).clamp(-1e300, 1e300);
        }
        decisions.softmax_probabilities()
    }
}

/// The decision values of some rows, none of them NaN or infinite.
fn decide(rows: &Rows, chosen: &[usize], outputs: &[Vec<f64>]) -> Vec<f64> {
    let mut decisions = vec![0.0; chosen.len() * outputs.len()];
    for (k, weights) in outputs.iter().enumerate() {
        let mut padded = rows.zeros();
        padded.as_flattened_mut()[..rows.d].copy_from_slice(weights);
        for (i, &row) in chosen.iter().enumerate() {
            let value = flat_dot(rows.row(row), &padded);
            decisions[i * outputs.len() + k] =
                if value.is_nan() { 0.0 } else { value.clamp(-1e300, 1e300) };
        }
    }
    decisions
}

/// The mean absolute value, by way of the largest so that it cannot overflow; 1 if all are zero.
fn typical_size(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mean = values.iter().map(|v| v.abs() / largest).sum::<f64>() / values.len() as f64;
    // A tiny size would overflow its reciprocal.
    if largest > 1e-290 { (mean * largest).max(1e-290) } else { 1.0 }
}

/// First and second derivative of the summed log loss by the factor.
struct Slope<'a> {
    values: &'a [Quad],
    targets: &'a [Quad],
    n_classes: usize,
    factor: f64,
}

impl Kernel for Slope<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> (f64, f64) {
        let factor = l.splat(self.factor);
        let (mut slope, mut curvature) = (l.splat(0.0), l.splat(0.0));
        for (values, target) in self.values.chunks_exact(self.n_classes).zip(self.targets) {
            let largest =
                values[1..].iter().fold(l.load(&values[0]), |m, value| l.max(m, l.load(value)));
            let (mut total, mut first, mut second) = (l.splat(0.0), l.splat(0.0), l.splat(0.0));
            for value in values {
                let value = l.sub(l.load(value), largest);
                let e = exp(l, l.mul(factor, value));
                let weighted = l.mul(e, value);
                total = l.add(total, e);
                first = l.add(first, weighted);
                second = l.fma(weighted, value, second);
            }
            // Padding rows have values and a target of zero: they add nothing.
            let mean = l.div(first, total);
            let goal = l.sub(l.load(target), largest);
            slope = l.add(slope, l.sub(mean, goal));
            curvature = l.add(curvature, l.fnma(mean, mean, l.div(second, total)));
        }
        (sum(l, slope), sum(l, curvature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::linear::model::LinearModel;
    use crate::{Features, FitContext};

    fn decisions(values: &[f64]) -> Decisions {
        let model = LinearModel::new("test", 2, 1, vec![(vec![1.0], 0.0)]).unwrap();
        let x = Features::from_columns(values.len(), 1, values.to_vec());
        model.decide(&x, &FitContext::unhurried()).unwrap()
    }

    #[test]
    fn the_factor_minimises_the_log_loss_of_smoothed_targets() {
        let values = [2.0, -1.0, 0.5, 3.0, -2.0, 1.0, -0.3];
        let codes = [1, 0, 0, 1, 0, 1, 1];
        let calibration = Calibration::fit_decisions(&values, &codes, 2);
        let loss = |factor: f64| -> f64 {
            let each = |(&v, &code): (&f64, &u32)| {
                let p = 1.0 / (1.0 + (-factor * v).exp());
                let t = (1.0 - SPREAD) * f64::from(code) + SPREAD / 2.0;
                -t * p.ln() - (1.0 - t) * (1.0 - p).ln()
            };
            values.iter().zip(&codes).map(each).sum()
        };
        let best = loss(calibration.factor);
        assert!(best <= loss(calibration.factor * 1.02) && best <= loss(calibration.factor * 0.98));
    }

    #[test]
    fn degenerate_decisions_still_give_probabilities() {
        for values in
            [[0.0; 4], [1e300, -1e300, 1e300, -1e300], [1e-300; 4], [1e300, 1.0, 0.0, -1.0]]
        {
            for codes in [[0, 1, 0, 1], [1, 0, 1, 0]] {
                let calibration = Calibration::fit_decisions(&values, &codes, 2);
                assert!(calibration.factor > 0.0 && calibration.factor.is_finite());
                let p = calibration.probabilities(decisions(&values));
                assert!(p.values().iter().all(|p| (0.0..=1.0).contains(p)), "{values:?}");
            }
        }
    }
}
