//! What the principal components of the prepared rows look like.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use crate::reduce::pca::lapack::eigen;
use crate::{Features, FitContext, FitError};

/// How much variance the counted components hold.
const SHARE: f64 = 0.95;
/// A factorisation cannot be interrupted: tables both longer and wider are turned away.
const LARGEST: usize = 2000;

/// Features of the principal components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Components {
    /// The fewest components that hold 95 % of the variance, over the number of columns.
    pub(super) fraction: f64,
    /// The excess kurtosis of the rows along the first.
    pub(super) kurtosis: Option<f64>,
    /// Their skewness; the row farthest out counts as lying on the positive side.
    pub(super) skewness: Option<f64>,
}

/// `None` where no column varies.
pub(super) fn components(x: &Features, ctx: &FitContext) -> Result<Option<Components>, FitError> {
    let (n, p) = (x.n_rows(), x.n_cols());
    let side = n.min(p);
    ctx.check_memory("pca", 8 * (n * p + 2 * side * side) as u64)?;
    if side > LARGEST {
        let (component, limit) = ("pca", 8 * LARGEST as u64 * LARGEST as u64);
        return Err(FitError::OutOfMemory {
            component,
            needed: 8 * side as u64 * side as u64,
            limit,
        });
    }
    let mean = |j: usize| x.column(j).iter().sum::<f64>() / n as f64;
    let means: Vec<f64> = (0..p).map(mean).collect();
    let centred = Mat::from_fn(n, p, |i, j| x.column(j)[i] - means[j]);
    ctx.check_deadline()?;
    let mut gram = Mat::<f64>::zeros(side, side);
    let (a, b) = if p <= n {
        (centred.transpose(), centred.as_ref())
    } else {
        (centred.as_ref(), centred.transpose())
    };
    matmul(gram.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    let (values, vectors) = eigen(&gram)?;
    ctx.check_deadline()?;
    let total: f64 = values.iter().map(|v| v.max(0.0)).sum();
    if total <= 0.0 {
        return Ok(None);
    }
    let (mut held, mut count) = (0.0, 0);
    while held < SHARE && count < side {
        held += values[count].max(0.0) / total;
        count += 1;
    }
    let first: Vec<f64> = if p <= n {
        (0..n).map(|i| (0..p).map(|j| centred[(i, j)] * vectors[(j, 0)]).sum()).collect()
    } else {
        (0..n).map(|i| vectors[(i, 0)] * values[0].sqrt()).collect()
    };
    let farthest = first.iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
    let (skewness, kurtosis) = moments(&first);
    Ok(Some(Components {
        fraction: count as f64 / p as f64,
        kurtosis,
        skewness: skewness.map(|s| if farthest < 0.0 { -s } else { s }),
    }))
}

/// Biased skewness and excess kurtosis, where the numbers vary.
fn moments(values: &[f64]) -> (Option<f64>, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |power: i32| values.iter().map(|v| (v - mean).powi(power)).sum::<f64>() / n;
    let variance = moment(2);
    if variance <= 0.0 {
        return (None, None);
    }
    (Some(moment(3) / variance.powf(1.5)), Some(moment(4) / (variance * variance) - 3.0))
}
