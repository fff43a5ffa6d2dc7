//! A first set of pipelines that spans the space: column pivots of a QR factorization (paper, Algorithm 6).

use crate::panels::{Panels, WIDTH};
use crate::small::dot;

/// A pivot shorter than this, relative to the first, is no new direction: vectors are of single precision, and the
/// information matrix has the squares.
const SINGULAR: f64 = 1e-6;

/// Downdated squared norms carry an absolute error of about 1e-15 of the first; below this share of it
/// they are computed afresh.
const DOUBTFUL: f64 = 1e-8;

/// Pivots among `valid` columns, at most rank many, fewer where those columns span less, and the
/// orthonormal directions they span, one after the other.
pub(super) fn pivots(y: &Panels, valid: &[bool]) -> (Vec<usize>, Vec<Vec<f64>>) {
    let axes: Vec<Vec<f64>> = (0..y.rank())
        .map(|i| (0..y.rank()).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    let mut norms = y.quadratic_forms(&axes);
    for (norm, &valid) in norms.iter_mut().zip(valid) {
        if !valid {
            *norm = f64::NEG_INFINITY;
        }
    }
    let mut chosen: Vec<usize> = Vec::new();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut first = 0.0;
    while chosen.len() < y.rank() {
        let mut top = longest(&norms);
        if !basis.is_empty() && norms[top] < DOUBTFUL * first {
            recompute(y, &basis, &mut norms);
            top = longest(&norms);
        }
        let rest = orthogonal_part(y.column(top), &basis);
        let norm = dot(&rest, &rest);
        if basis.is_empty() {
            first = norm;
        }
        // Also stops at NaN-free zero vectors and when no valid column is left.
        if norms[top] == f64::NEG_INFINITY || norm <= SINGULAR * SINGULAR * first || norm == 0.0 {
            break;
        }
        let unit: Vec<f64> = rest.iter().map(|v| v / norm.sqrt()).collect();
        downdate(y, &unit, &mut norms);
        norms[top] = f64::NEG_INFINITY;
        chosen.push(top);
        basis.push(unit);
    }
    (chosen, basis)
}

/// The first of the largest.
fn longest(norms: &[f64]) -> usize {
    (1..norms.len()).fold(0, |top, j| if norms[j] > norms[top] { j } else { top })
}

/// Twice, because once leaves rounding of the size of what was taken away.
fn orthogonal_part(mut v: Vec<f64>, basis: &[Vec<f64>]) -> Vec<f64> {
    for _ in 0..2 {
        for b in basis {
            let c = dot(&v, b);
            v.iter_mut().zip(b).for_each(|(v, b)| *v -= c * b);
        }
    }
    v
}

fn downdate(y: &Panels, unit: &[f64], norms: &mut [f64]) {
    let n = norms.len();
    y.for_each(
        &[unit.to_vec()],
        #[inline(always)]
        |p, g| {
            let lanes = &mut norms[p * WIDTH..n.min((p + 1) * WIDTH)];
            for (norm, g) in lanes.iter_mut().zip(&g[0]) {
                *norm -= g * g;
            }
        },
    );
}

fn recompute(y: &Panels, basis: &[Vec<f64>], norms: &mut [f64]) {
    for (j, norm) in norms.iter_mut().enumerate().filter(|(_, n)| **n != f64::NEG_INFINITY) {
        let rest = orthogonal_part(y.column(j), basis);
        *norm = dot(&rest, &rest);
    }
}
