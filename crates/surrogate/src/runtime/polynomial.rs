//! Polynomials in a few variables, standardized, and their ridge regression.

use crate::error::SurrogateError;
use crate::small::{Square, dot};

/// What a term without spread is divided by: not infinity, which text formats cannot write.
const NEVER_VARIES: f64 = 1e300;

/// All products of at most `degree` variables, each standardized over the datasets it was made from; the
/// constant comes first.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Terms {
    /// Each term as the variables it multiplies.
    products: Vec<Vec<usize>>,
    shift: Vec<f64>,
    scale: Vec<f64>,
}

impl Terms {
    pub(super) fn new(variables: &[Vec<f64>], degree: usize) -> Self {
        let n_variables = variables.first().map_or(0, Vec::len);
        let mut products = vec![Vec::new()];
        let mut last = products.clone();
        for _ in 0..degree {
            // Each product once: only by variables not before its last.
            last = last
                .iter()
                .flat_map(|product| {
                    let from = product.last().copied().unwrap_or(0);
                    (from..n_variables).map(move |v| {
                        let mut longer = product.clone();
                        longer.push(v);
                        longer
                    })
                })
                .collect();
            products.extend(last.iter().cloned());
        }
        let plain =
            Self { shift: vec![0.0; products.len()], scale: vec![1.0; products.len()], products };
        let rows: Vec<Vec<f64>> = variables.iter().map(|v| plain.of(v)).collect();
        let m = rows.len() as f64;
        let (mut shift, mut scale) = (plain.shift.clone(), plain.scale.clone());
        for t in 1..plain.products.len() {
            let mean = rows.iter().map(|r| r[t]).sum::<f64>() / m;
            let variance = rows.iter().map(|r| (r[t] - mean).powi(2)).sum::<f64>() / m;
            shift[t] = mean;
            // A term that never varies carries nothing; leave it at zero, all but.
            scale[t] = if variance > 1e-24 * mean * mean { variance.sqrt() } else { NEVER_VARIES };
        }
        Self { shift, scale, ..plain }
    }

    /// That terms read from somewhere can be applied to so many variables.
    pub(super) fn check(&self, n_variables: usize) -> Result<(), SurrogateError> {
        let wanted = self.products.len();
        for (what, got) in
            [("shifts of terms", self.shift.len()), ("scales of terms", self.scale.len())]
        {
            if got != wanted {
                return Err(SurrogateError::Size { what, wanted, got });
            }
        }
        if let Some(&index) = self.products.iter().flatten().find(|&&v| v >= n_variables) {
            return Err(SurrogateError::OutOfRange { what: "variable", index, size: n_variables });
        }
        if let Some(at) = self.scale.iter().position(|s| !s.is_finite() || *s <= 0.0) {
            let value = self.scale[at];
            return Err(SurrogateError::NotPositive { what: "scales of terms", at, value });
        }
        match self.shift.iter().position(|s| !s.is_finite()) {
            Some(at) => {
                let (what, value) = ("shifts of terms", self.shift[at]);
                Err(SurrogateError::NotFinite { what, at, value })
            }
            None => Ok(()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.products.len()
    }

    /// The terms at some values of the variables.
    pub(super) fn of(&self, variables: &[f64]) -> Vec<f64> {
        let term = |product: &Vec<usize>| product.iter().map(|&v| variables[v]).product::<f64>();
        (0..self.products.len())
            .map(|t| (term(&self.products[t]) - self.shift[t]) / self.scale[t])
            .collect()
    }
}

/// As [`fit_ridge`], with residuals beyond `bend` counting linearly only (Huber), by reweighting: a dataset on
/// which a solver never converged should not bend the polynomial of all others.
pub(super) fn fit_robustly(
    rows: &[Vec<f64>],
    runs: &[(usize, f64)],
    target: &[f64],
    pull: f64,
    bend: f64,
) -> Result<Vec<f64>, SurrogateError> {
    let mut weights = vec![1.0; runs.len()];
    let mut coefficients = fit_weighted(rows, runs, &weights, target, pull)?;
    for _ in 0..2 {
        for (weight, &(i, y)) in weights.iter_mut().zip(runs) {
            *weight = (bend / (y - dot(&rows[i], &coefficients)).abs().max(1e-12)).min(1.0);
        }
        coefficients = fit_weighted(rows, runs, &weights, target, pull)?;
    }
    Ok(coefficients)
}

/// Coefficients that minimize the squares over `runs` (dataset, value) plus `pull` times the squared
/// distance to `target`.
pub(super) fn fit_ridge(
    rows: &[Vec<f64>],
    runs: &[(usize, f64)],
    target: &[f64],
    pull: f64,
) -> Result<Vec<f64>, SurrogateError> {
    fit_weighted(rows, runs, &vec![1.0; runs.len()], target, pull)
}

fn fit_weighted(
    rows: &[Vec<f64>],
    runs: &[(usize, f64)],
    weights: &[f64],
    target: &[f64],
    pull: f64,
) -> Result<Vec<f64>, SurrogateError> {
    if runs.is_empty() {
        return Ok(target.to_vec());
    }
    let k = target.len();
    let mut normal = Square::zeros(k);
    let mut right = vec![0.0; k];
    for (&(i, y), &weight) in runs.iter().zip(weights) {
        normal.add_outer(weight, &rows[i]);
        let rest = weight * (y - dot(&rows[i], target));
        right.iter_mut().zip(&rows[i]).for_each(|(r, x)| *r += rest * x);
    }
    for t in 0..k {
        normal.set(t, t, normal.at(t, t) + pull.max(1e-9));
    }
    let factor =
        normal.cholesky().ok_or(SurrogateError::NotConverged { what: "regression of runtimes" })?;
    let change = factor.solve_transposed(&factor.solve(&right));
    Ok(target.iter().zip(change).map(|(t, c)| t + c).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degree_three_in_three_variables_has_twenty_terms_and_two_in_two_six() {
        let at = |k: usize| vec![vec![1.0; k], vec![2.0; k]];
        assert_eq!(Terms::new(&at(3), 3).len(), 20);
        assert_eq!(Terms::new(&at(2), 2).len(), 6);
    }

    #[test]
    fn a_polynomial_is_recovered_and_no_runs_give_the_target() {
        let variables: Vec<Vec<f64>> =
            (0..30).map(|i| vec![f64::from(i).sin(), (1.7 * f64::from(i)).cos()]).collect();
        let terms = Terms::new(&variables, 2);
        let rows: Vec<Vec<f64>> = variables.iter().map(|v| terms.of(v)).collect();
        let truth = |v: &[f64]| 1.0 + v[0] - 2.0 * v[0] * v[1];
        let runs: Vec<(usize, f64)> = (0..30).map(|i| (i, truth(&variables[i]))).collect();
        let coefficients = fit_ridge(&rows, &runs, &[0.0; 6], 0.0).unwrap();
        let at = [0.3, -0.4];
        assert!((dot(&coefficients, &terms.of(&at)) - truth(&at)).abs() < 1e-6);
        assert_eq!(fit_ridge(&rows, &[], &[2.0; 6], 1.0).unwrap(), [2.0; 6]);
    }
}
