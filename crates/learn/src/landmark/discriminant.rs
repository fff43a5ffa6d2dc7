//! Linear discriminant analysis, as scikit-learn's `svd` solver does it: directions in which the classes
//! hardly vary are left out rather than inverted.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use pitchpipe_table::Labels;

use crate::reduce::pca::lapack::eigen;
use crate::{Features, FitContext, FitError};

/// Directions whose standard deviation within the classes is below this, each feature's own being 1, do
/// not count.
const TOLERANCE: f64 = 1e-4;
/// A factorisation cannot be interrupted: wider tables are turned away.
const WIDEST: usize = 2000;

/// The labels that the discriminant gives to `test`.
pub(super) fn labels(
    x: &Features,
    y: &Labels,
    test: &Features,
    ctx: &FitContext,
) -> Result<Vec<u32>, FitError> {
    let (n, p, k) = (x.n_rows(), x.n_cols(), y.n_classes());
    ctx.check_memory("lda", 8 * (2 * p * p + n * p) as u64)?;
    if p > WIDEST {
        let (component, limit) = ("lda", 8 * WIDEST as u64 * WIDEST as u64);
        return Err(FitError::OutOfMemory { component, needed: 8 * p as u64 * p as u64, limit });
    }
    if n <= k {
        return Err(FitError::TooFewRows { component: "lda", needed: k + 1, got: n });
    }
    let counts = y.counts();
    let mut means = Mat::<f64>::zeros(k, p);
    let mut within = Mat::<f64>::zeros(n, p);
    let mut scale = vec![1.0; p];
    for j in 0..p {
        for (&v, &c) in x.column(j).iter().zip(y.codes()) {
            means[(c as usize, j)] += v / counts[c as usize] as f64;
        }
        let mut squares = 0.0;
        for (i, (&v, &c)) in x.column(j).iter().zip(y.codes()).enumerate() {
            within[(i, j)] = v - means[(c as usize, j)];
            squares += within[(i, j)] * within[(i, j)];
        }
        let deviation = (squares / n as f64).sqrt();
        if deviation > 0.0 {
            scale[j] = 1.0 / deviation;
        }
        let weight = scale[j] / ((n - k) as f64).sqrt();
        (0..n).for_each(|i| within[(i, j)] *= weight);
    }
    ctx.check_deadline()?;
    let mut covariance = Mat::<f64>::zeros(p, p);
    matmul(covariance.as_mut(), Accum::Replace, within.transpose(), within.as_ref(), 1.0, Par::Seq);
    let (values, vectors) = eigen(&covariance)?;
    ctx.check_deadline()?;
    let rank = values.iter().take_while(|v| **v > TOLERANCE * TOLERANCE).count();
    // Columns that whiten: distances in them are Mahalanobis distances.
    let whiten = Mat::from_fn(p, rank, |j, r| scale[j] * vectors[(j, r)] / values[r].sqrt());
    let centres = &means * &whiten;
    let rows = Mat::from_fn(test.n_rows(), p, |i, j| test.column(j)[i]) * &whiten;
    let score = |i: usize, c: usize| {
        let distance: f64 = (0..rank).map(|r| (rows[(i, r)] - centres[(c, r)]).powi(2)).sum();
        (counts[c] as f64 / n as f64).ln() - distance / 2.0
    };
    let best = |i: usize| {
        let mut best = (0, score(i, 0));
        for c in 1..k {
            let own = score(i, c);
            if own > best.1 {
                best = (c, own);
            }
        }
        best.0 as u32
    };
    Ok((0..test.n_rows()).map(best).collect())
}
