//! Weights, and the decision values they give.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::{Features, FitContext, FitError, Probabilities};

use super::super::from_scores::softmax;
use super::lanes::{Kernel, Lanes, dispatch, exp};

/// One weight vector and intercept per decision value: a single one for two classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinearModel {
    n_classes: usize,
    n_features: usize,
    /// `n_outputs` by `n_features`.
    weights: Vec<f64>,
    intercepts: Vec<f64>,
}

/// `n_rows` by `n_outputs` decision values, none of them NaN or infinite.
pub(crate) struct Decisions {
    n_classes: usize,
    n_outputs: usize,
    /// Row after row.
    pub values: Vec<f64>,
}

/// Weights and intercept, from weights whose last belongs to the constant.
pub(crate) fn split_intercept(mut weights: Vec<f64>) -> (Vec<f64>, f64) {
    let intercept = weights.pop().expect("the constant is the last column");
    (weights, intercept)
}

/// Rows predicted between two looks at the clock, and in one block of the kernel.
const BLOCK: usize = 256;

/// Beyond this, decision values say nothing more; it keeps later sums finite.
const LARGEST: f64 = 1e300;

impl LinearModel {
    /// A model from weight vectors without intercept and intercepts, one each per output.
    ///
    /// Fails if a solver let numbers overflow.
    pub(crate) fn new(
        name: &'static str,
        n_classes: usize,
        n_features: usize,
        outputs: Vec<(Vec<f64>, f64)>,
    ) -> Result<Self, FitError> {
        let intercepts: Vec<f64> = outputs.iter().map(|o| o.1).collect();
        let weights: Vec<f64> = outputs.into_iter().flat_map(|o| o.0).collect();
        if weights.iter().chain(&intercepts).any(|w| !w.is_finite()) {
            return Err(FitError::NotFinite { component: name });
        }
        Ok(Self { n_classes, n_features, weights, intercepts })
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// Whether there is a weight per feature and output.
    pub(crate) fn is_sound(&self, n_cols: usize) -> bool {
        let n_outputs = self.intercepts.len();
        self.n_features == n_cols
            && n_outputs == super::n_problems(self.n_classes)
            && n_outputs.checked_mul(n_cols) == Some(self.weights.len())
    }

    /// Decision values of each row.
    pub(crate) fn decide(&self, x: &Features, ctx: &FitContext) -> Result<Decisions, FitError> {
        assert_eq!(x.n_cols(), self.n_features, "as many features as the model was fitted on");
        let (n, m) = (x.n_rows(), self.intercepts.len());
        let mut values = vec![0.0; n * m];
        for start in (0..n).step_by(BLOCK) {
            ctx.check_deadline()?;
            let end = (start + BLOCK).min(n);
            let out = &mut values[start * m..end * m];
            dispatch(DecideBlock { model: self, x, start, out });
            for (i, value) in out.iter_mut().enumerate() {
                if !value.is_finite() {
                    *value = self.decide_with_care(x, start + i / m, i % m);
                }
            }
        }
        Ok(Decisions { n_classes: self.n_classes, n_outputs: m, values })
    }

    /// A decision value whose terms overflow: summed at a smaller scale, which keeps its sign.
    #[cold]
    fn decide_with_care(&self, x: &Features, row: usize, output: usize) -> f64 {
        const SMALL: f64 = 1e-200;
        let weights = &self.weights[output * self.n_features..][..self.n_features];
        let mut largest = SMALL;
        let terms: Vec<f64> = (0..self.n_features)
            .map(|j| (x.column(j)[row] * SMALL) * (weights[j] * SMALL))
            .inspect(|t| largest = largest.max(t.abs()))
            .collect();
        let sum: f64 = terms.iter().map(|t| t / largest).sum();
        if sum.is_finite() { (sum * LARGEST).clamp(-LARGEST, LARGEST) } else { 0.0 }
    }
}

struct DecideBlock<'a> {
    model: &'a LinearModel,
    x: &'a Features,
    start: usize,
    out: &'a mut [f64],
}

impl Kernel for DecideBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let (p, m) = (self.model.n_features, self.model.intercepts.len());
        let rows = self.out.len() / m;
        let mut acc = [0.0; BLOCK];
        for k in 0..m {
            acc[..rows].fill(self.model.intercepts[k]);
            for j in 0..p {
                let w = self.model.weights[k * p + j];
                let column = &self.x.column(j)[self.start..self.start + rows];
                for (a, &value) in acc[..rows].iter_mut().zip(column) {
                    *a += w * value;
                }
            }
            for i in 0..rows {
                self.out[i * m + k] = acc[i];
            }
        }
    }
}

impl Decisions {
    /// The native decision: the largest value, or the sign for two classes.
    pub(crate) fn labels(&self) -> Labels {
        let label = |row: &[f64]| match row {
            [value] => u32::from(*value > 0.0),
            _ => {
                let best = (0..row.len()).fold(0, |b, k| if row[k] > row[b] { k } else { b });
                best as u32
            }
        };
        Labels::from_codes(self.values.chunks_exact(self.n_outputs).map(label), self.n_classes)
    }

    /// The logistic function of each value, normalised over the classes.
    pub(crate) fn one_vs_rest_probabilities(mut self) -> Probabilities {
        dispatch(Sigmoids(&mut self.values));
        if self.n_outputs == 1 {
            return self.two_columns();
        }
        for row in self.values.chunks_exact_mut(self.n_outputs) {
            let total: f64 = row.iter().sum();
            // No sigmoid is exactly zero, so the total is not either.
            row.iter_mut().for_each(|p| *p /= total);
        }
        Probabilities::from_rows(self.n_classes, self.values)
    }

    /// The softmax of the values; of 0 and the value for two classes.
    pub(crate) fn softmax_probabilities(mut self) -> Probabilities {
        if self.n_outputs == 1 {
            dispatch(Sigmoids(&mut self.values));
            return self.two_columns();
        }
        self.values.chunks_exact_mut(self.n_outputs).for_each(softmax);
        Probabilities::from_rows(self.n_classes, self.values)
    }

    fn two_columns(self) -> Probabilities {
        Probabilities::from_rows(2, self.values.iter().flat_map(|&p| [1.0 - p, p]).collect())
    }
}

/// `1 / (1 + exp(-v))` in place.
struct Sigmoids<'a>(&'a mut [f64]);

impl Kernel for Sigmoids<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let (quads, rest) = self.0.as_chunks_mut();
        let mut last = [0.0; 4];
        last[..rest.len()].copy_from_slice(rest);
        for quad in quads.iter_mut().chain([&mut last]) {
            let e = exp(l, l.sub(l.splat(0.0), l.load(quad)));
            *quad = l.store(l.div(l.splat(1.0), l.add(l.splat(1.0), e)));
        }
        let n = rest.len();
        rest.copy_from_slice(&last[..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_that_overflow_still_decide() {
        let model = LinearModel::new(
            "test",
            3,
            2,
            vec![(vec![1e10, -1e10], 0.0), (vec![1e200, 1.0], 1.0), (vec![0.0, 0.0], -1.0)],
        )
        .unwrap();
        let x = Features::from_columns(1, 2, vec![1e300, 1.1e300]);
        let decisions = model.decide(&x, &FitContext::unhurried()).unwrap();
        assert!(decisions.values[0] < -1e200 && decisions.values[1] > 1e200);
        assert_eq!(decisions.values[2], -1.0);
        assert_eq!(decisions.labels().codes(), [1]);
        let p = decisions.one_vs_rest_probabilities();
        assert!(p.values().iter().all(|p| p.is_finite()));
        assert!((p.values().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
