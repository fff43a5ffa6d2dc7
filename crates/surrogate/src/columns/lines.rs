//! New columns as linear functions of the datasets' embeddings, fitted from coarse to fine.
//!
//! A column's value on dataset `d` is `aⱼ · f_d` and noise, with `f_d` the dataset's embedding (and a 1, where
//! columns have means). `aⱼ` is the mean of its kin's, and a deviation for its kind, for its setting and of its
//! own; deviations are Gaussian with a share of the variance that known columns have among themselves, direction
//! by direction. Each step is the posterior mean given what was measured, with the means over a group's columns
//! for data: `b = s V F (s Fᵀ V F + noise)⁻¹ r`, as large as there are datasets measured.

use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::NewColumns;
use crate::SurrogateError;
use crate::small::Square;

/// How far columns leave what the step before says, as shares of the variance among known columns
/// (docs/decisions/0051-new-columns.md).
#[derive(Clone, Copy, Debug)]
struct Step {
    /// As a function of the datasets' embeddings.
    explained: f64,
    /// Beyond it, on each dataset anew.
    beyond: f64,
}

/// Kind, setting, column.
const STEPS: [Step; 3] = [
    Step { explained: 1.0, beyond: 0.2 },
    Step { explained: 0.5, beyond: 0.2 },
    Step { explained: 0.05, beyond: 0.1 },
];

/// Measured datasets that what is assumed of variances counts as.
const PRIOR_DATASETS: f64 = 4.0;

/// What is known of new columns.
pub(crate) struct Lines {
    /// Coordinates x new columns.
    pub(crate) rows: Array2<f64>,
    /// The columns of each kind, and how they vary together beyond their lines.
    pub(crate) kinds: Vec<Together>,
    /// Variance of each column about all of that, besides the noise that its kin have.
    pub(crate) apart: Vec<f64>,
}

/// Columns of one kind, and their common deviation from their lines.
pub(crate) struct Together {
    pub(crate) members: Vec<usize>,
    /// Its variance on a new dataset.
    pub(crate) variance: f64,
    /// Its expected value on the datasets measured.
    pub(crate) on: BTreeMap<usize, f64>,
}

/// The posterior of one group's deviation.
struct Fitted {
    /// Coordinates of the line.
    line: Vec<f64>,
    /// By dataset: what is expected beyond the line, and the mean's error had the dataset been left out, squared.
    on: BTreeMap<usize, (f64, f64)>,
}

struct Regression<'a> {
    features: &'a Array2<f64>,
    /// Variance among known columns in each coordinate.
    spread: Vec<f64>,
    /// `Fᵀ V F`, datasets x datasets.
    gram: Array2<f64>,
    /// Variance among known columns on a usual dataset.
    total: f64,
}

/// Fits lines to new columns, given coordinates x known columns and coordinates x datasets.
pub(crate) fn fit_lines(
    known: ArrayView2<f32>,
    features: ArrayView2<f32>,
    new: &NewColumns,
) -> Result<Lines, SurrogateError> {
    let (wanted, got) = (known.nrows(), features.nrows());
    if wanted != got {
        return Err(SurrogateError::Size { what: "embeddings of datasets", wanted, got });
    }
    new.check(known.ncols(), features.ncols())?;
    let features = features.mapv(f64::from);
    let regression = Regression::new(known, &features);
    let kin = new.kin_means(wanted, |i, j| f64::from(known[(i, j)]));
    let mut rows =
        Array2::from_shape_fn((wanted, new.columns.len()), |(i, j)| kin[new.columns[j].kin][i]);
    let mut rest: Vec<Vec<(usize, f64)>> = new
        .columns
        .iter()
        .enumerate()
        .map(|(j, column)| {
            let expected = |d: usize| rows.column(j).dot(&features.column(d));
            column.measured.iter().map(|&(d, value)| (d, value - expected(d))).collect()
        })
        .collect();
    let mut kinds = Vec::new();
    let mut apart = vec![0.0; new.columns.len()];
    for (level, groups) in new.levels().into_iter().enumerate() {
        let fitted: Vec<Option<Fitted>> = groups
            .par_iter()
            .map(|members| regression.fit(level, members, &rest))
            .collect::<Result<_, _>>()?;
        for (members, fitted) in groups.into_iter().zip(fitted) {
            if let Some(fitted) = &fitted {
                for &j in &members {
                    rows.column_mut(j).iter_mut().zip(&fitted.line).for_each(|(a, b)| *a += b);
                    for (d, value) in &mut rest[j] {
                        let at = features.column(*d);
                        *value -= at.iter().zip(&fitted.line).map(|(f, b)| f * b).sum::<f64>();
                        // What a kind has in common beyond its line becomes a direction of its own.
                        *value -= if level == 0 { fitted.on[d].0 } else { 0.0 };
                    }
                }
            }
            let variance = regression.variance(level, fitted.as_ref());
            match level {
                0 => {
                    let on = fitted.map(|f| f.on).unwrap_or_default();
                    let on = on.into_iter().map(|(d, (value, _))| (d, value)).collect();
                    kinds.push(Together { members, variance, on });
                }
                2 => apart[members[0]] = variance,
                _ => {}
            }
        }
    }
    Ok(Lines { rows, kinds, apart })
}

impl<'a> Regression<'a> {
    fn new(known: ArrayView2<f32>, features: &'a Array2<f64>) -> Self {
        let n = known.ncols().max(1) as f64;
        let spread: Vec<f64> = known
            .outer_iter()
            .map(|row| {
                let mean = row.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
                row.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n
            })
            .collect();
        let mut weighted = features.clone();
        weighted.axis_iter_mut(Axis(0)).zip(&spread).for_each(|(mut row, &v)| row *= v);
        let gram = features.t().dot(&weighted);
        // Without datasets, embeddings are taken to be of unit size.
        let total = gram.diag().mean().unwrap_or_else(|| spread.iter().sum());
        let total = total.max(f64::MIN_POSITIVE);
        Self { features, spread, gram, total }
    }

    /// The variance of one column's values about its group's mean, on one dataset.
    fn within(&self, level: usize) -> f64 {
        self.total * STEPS[level + 1..].iter().map(|s| s.explained + s.beyond).sum::<f64>()
    }

    /// The posterior of a group's deviation, where any of its columns was measured.
    fn fit(
        &self,
        level: usize,
        members: &[usize],
        rest: &[Vec<(usize, f64)>],
    ) -> Result<Option<Fitted>, SurrogateError> {
        let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for &(d, value) in members.iter().flat_map(|&j| &rest[j]) {
            let (sum, n) = sums.entry(d).or_default();
            *sum += value;
            *n += 1.0;
        }
        if sums.is_empty() {
            return Ok(None);
        }
        let Step { explained, beyond } = STEPS[level];
        let datasets: Vec<usize> = sums.keys().copied().collect();
        let mut system = Square::zeros(datasets.len());
        for (a, &d) in datasets.iter().enumerate() {
            for (b, &e) in datasets.iter().enumerate() {
                system.set(a, b, explained * self.gram[(d, e)]);
            }
            let noise = beyond * self.total + self.within(level) / sums[&d].1;
            system.set(a, a, system.at(a, a) + noise);
        }
        let factor =
            system.cholesky().ok_or(SurrogateError::NotConverged { what: "lines of columns" })?;
        let means: Vec<f64> = sums.values().map(|(sum, n)| sum / n).collect();
        let weights = factor.solve_transposed(&factor.solve(&means));
        let inverse = factor.inverse();
        let line = (0..self.spread.len())
            .map(|i| {
                let along: f64 =
                    datasets.iter().zip(&weights).map(|(&d, w)| w * self.features[(i, d)]).sum();
                explained * self.spread[i] * along
            })
            .collect();
        let on = datasets
            .iter()
            .enumerate()
            .map(|(a, &d)| {
                let left_out = (weights[a] / inverse.at(a, a)).powi(2);
                (d, (beyond * self.total * weights[a], left_out))
            })
            .collect();
        Ok(Some(Fitted { line, on }))
    }

    /// The variance of a group's columns about their line on a new dataset: what was assumed of it, and the
    /// errors on datasets left out.
    fn variance(&self, level: usize, fitted: Option<&Fitted>) -> f64 {
        let assumed = self.total * (STEPS[level].explained + STEPS[level].beyond);
        let (n, squares) = fitted.map_or((0.0, 0.0), |fitted| {
            let squares = fitted.on.values().map(|(_, square)| square).sum::<f64>();
            (fitted.on.len() as f64, squares)
        });
        (PRIOR_DATASETS * assumed + squares) / (PRIOR_DATASETS + n)
    }
}
