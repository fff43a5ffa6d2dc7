//! The convex relaxation: every pipeline in to a degree between 0 and 1 (paper, eq. `ED_number_v`).
//!
//! Solved by Frank-Wolfe: the linear problem over the box and one budget is a fractional knapsack, solved
//! by sorting, and its value bounds how far the present point is from the best.

use faer::{Mat, Side};
use ndarray::ArrayView2;

use crate::design::{Design, check_limit, check_positive};
use crate::error::SurrogateError;

/// Which scalarization of the covariance of the estimate is made small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalarization {
    /// Its determinant.
    D,
    /// Its trace: the mean squared error.
    A,
    /// Its largest eigenvalue, through the trace of its 16th power, which is within a factor `rank^(1/16)`.
    E,
}

impl Scalarization {
    /// Kiefer's family: the trace of the covariance's `p`-th power; `None` is the limit 0, the determinant.
    fn power(self) -> Option<i32> {
        match self {
            Self::D => None,
            Self::A => Some(1),
            Self::E => Some(16),
        }
    }
}

/// Enough steps for a design that rounds well; the gap says how far it is from optimal.
const MOST_STEPS: usize = 1000;

/// Stops when the objective is within this of its optimum.
const GAP: f64 = 1e-4;

/// A relaxed design.
#[derive(Clone, Debug, PartialEq)]
pub struct Relaxed {
    /// To which degree each pipeline is in, between 0 and 1.
    pub shares: Vec<f64>,
    /// The objective, to be maximized: log-determinant of the information, or minus the log of the
    /// trace of the covariance's power, per power.
    pub objective: f64,
    /// The objective is at most this far from the best there is.
    pub gap: f64,
}

impl Relaxed {
    /// A proper design: the largest shares first, while they fit.
    pub fn round(&self, secs: &[f64], limit_secs: f64) -> Design {
        let mut order: Vec<usize> = (0..self.shares.len()).collect();
        order.sort_by(|&a, &b| self.shares[b].total_cmp(&self.shares[a]));
        let mut design = Design::default();
        for j in order {
            if design.secs + secs[j] <= limit_secs {
                design.secs += secs[j];
                design.pipelines.push(j);
            }
        }
        design
    }
}

/// Solves the relaxation for vectors `y`, rank x pipelines, under `Σ vⱼ tⱼ <= limit`; with all times 1 the
/// limit is on the number of pipelines.
pub fn relax(
    y: ArrayView2<f32>,
    secs: &[f64],
    limit_secs: f64,
    criterion: Scalarization,
) -> Result<Relaxed, SurrogateError> {
    let (k, n) = y.dim();
    if y.is_empty() {
        return Err(SurrogateError::Empty { what: "design vectors" });
    }
    if secs.len() != n {
        return Err(SurrogateError::Size {
            what: "predicted runtimes",
            wanted: n,
            got: secs.len(),
        });
    }
    check_positive("predicted runtimes", secs)?;
    check_limit(limit_secs)?;
    if let Some((at, &value)) = y.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        let value = f64::from(value);
        return Err(SurrogateError::NotFinite { what: "design vectors", at, value });
    }
    let y = Mat::from_fn(k, n, |i, j| f64::from(y[(i, j)]));
    let start = (limit_secs / secs.iter().sum::<f64>()).min(0.5);
    let mut shares = vec![start; n];
    let mut information = weigh(&y, &shares);
    let singular =
        SurrogateError::NotConverged { what: "design: its vectors do not span the space" };
    let (mut objective, mut gradient) = value(&y, &information, criterion).ok_or(singular)?;
    let mut gap = f64::INFINITY;
    for _ in 0..MOST_STEPS {
        let corner = knapsack(&gradient, secs, limit_secs);
        gap = gradient.iter().zip(corner.iter().zip(&shares)).map(|(g, (c, v))| g * (c - v)).sum();
        if gap < GAP {
            break;
        }
        let there = weigh(&y, &corner);
        let Some(step) = line_search(&information, &there, objective, criterion) else { break };
        shares.iter_mut().zip(&corner).for_each(|(v, c)| *v += step * (c - *v));
        information = blend(&information, &there, step);
        let Some(next) = value(&y, &information, criterion) else { break };
        (objective, gradient) = next;
    }
    Ok(Relaxed { shares, objective, gap })
}

/// `Y diag(v) Yᵀ`.
fn weigh(y: &Mat<f64>, shares: &[f64]) -> Mat<f64> {
    let mut x = Mat::zeros(y.nrows(), y.nrows());
    for (j, &v) in shares.iter().enumerate().filter(|(_, v)| **v > 0.0) {
        for a in 0..y.nrows() {
            for b in 0..y.nrows() {
                x[(a, b)] += v * y[(a, j)] * y[(b, j)];
            }
        }
    }
    x
}

fn blend(from: &Mat<f64>, to: &Mat<f64>, step: f64) -> Mat<f64> {
    Mat::from_fn(from.nrows(), from.ncols(), |i, j| {
        from[(i, j)] + step * (to[(i, j)] - from[(i, j)])
    })
}

/// The objective at an information matrix, from its eigenvalues; `None` where it is singular.
fn objective(eigenvalues: &[f64], criterion: Scalarization) -> Option<f64> {
    let largest = eigenvalues.iter().copied().fold(0.0, f64::max);
    if eigenvalues.iter().any(|&v| !v.is_finite() || v <= 1e-13 * largest) {
        return None;
    }
    Some(match criterion.power() {
        None => eigenvalues.iter().map(|v| v.ln()).sum(),
        Some(p) => {
            // -log(tr X^-p) / p, with the smallest eigenvalue factored out against overflow.
            let least = eigenvalues.iter().copied().fold(f64::INFINITY, f64::min);
            let ratio: f64 = eigenvalues.iter().map(|v| (least / v).powi(p)).sum();
            least.ln() - ratio.ln() / f64::from(p)
        }
    })
}

/// The objective and its gradient in the shares.
fn value(y: &Mat<f64>, x: &Mat<f64>, criterion: Scalarization) -> Option<(f64, Vec<f64>)> {
    let eigen = x.self_adjoint_eigen(Side::Lower).ok()?;
    let values: Vec<f64> = (0..x.nrows()).map(|i| eigen.S()[i]).collect();
    let objective = objective(&values, criterion)?;
    // d/dv of log det is yᵀ X⁻¹ y; of -log(tr X^-p)/p it is yᵀ X^-(p+1) y / tr X^-p.
    let weights: Vec<f64> = match criterion.power() {
        None => values.iter().map(|v| 1.0 / v).collect(),
        Some(p) => {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let trace: f64 = values.iter().map(|v| (least / v).powi(p)).sum();
            values.iter().map(|v| (least / v).powi(p) / (v * trace)).collect()
        }
    };
    let rotated = eigen.U().transpose() * y;
    let gradient = (0..y.ncols())
        .map(|j| (0..y.nrows()).map(|i| weights[i] * rotated[(i, j)].powi(2)).sum())
        .collect();
    Some((objective, gradient))
}

/// The corner of the feasible set farthest along a gradient that is nowhere negative: most gain per second
/// first, the last one in part.
fn knapsack(gradient: &[f64], secs: &[f64], limit_secs: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..secs.len()).collect();
    order.sort_by(|&a, &b| (gradient[b] / secs[b]).total_cmp(&(gradient[a] / secs[a])));
    let mut corner = vec![0.0; secs.len()];
    let mut left = limit_secs;
    for j in order {
        corner[j] = (left / secs[j]).clamp(0.0, 1.0);
        left -= corner[j] * secs[j];
        if left <= 0.0 {
            break;
        }
    }
    corner
}

/// The step to the best point between here and there, by golden section; `None` where none is better.
fn line_search(
    here: &Mat<f64>,
    there: &Mat<f64>,
    now: f64,
    criterion: Scalarization,
) -> Option<f64> {
    let at = |step: f64| {
        let values = blend(here, there, step).self_adjoint_eigenvalues(Side::Lower).ok();
        values.and_then(|v| objective(&v, criterion)).unwrap_or(f64::NEG_INFINITY)
    };
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (0.0, 1.0);
    let (mut a, mut b) = (1.0 - golden, golden);
    let (mut at_a, mut at_b) = (at(a), at(b));
    for _ in 0..24 {
        if at_a >= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - golden * (high - low);
            at_a = at(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + golden * (high - low);
            at_b = at(b);
        }
    }
    let step = 0.5 * (low + high);
    (at(step) > now).then_some(step)
}
