//! Columns that a surrogate was not trained on: pipelines that join it without training it again.
//!
//! A new column starts as the weighted mean of its *kin*, known columns that it resembles. What was measured of
//! it moves it away from there, in three steps from coarse to fine: all new columns of its kind together, those
//! of its setting, the column alone. Each step has less to go by than the one before and is pulled harder
//! towards what that one says, so a column of which nothing was measured still learns from the others of its
//! kind, and a kind of which nothing was measured is its kin.
//!
//! [`Prior::with_columns`](crate::bayes::Prior::with_columns),
//! [`KernelModel::with_columns`](crate::complete::KernelModel::with_columns),
//! [`RuntimeModel::with_columns`](crate::runtime::RuntimeModel::with_columns) and [`embed_columns`] all take
//! [`NewColumns`].

mod lines;

use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView2, concatenate};

use crate::SurrogateError;
pub(crate) use lines::{Lines, fit_lines};

/// Columns to be added, in order.
#[derive(Clone, Debug, Default)]
pub struct NewColumns {
    /// Lists of kin: known columns with their weights. Several new columns may share a list.
    pub kin: Vec<Vec<(usize, f64)>>,
    /// The columns.
    pub columns: Vec<NewColumn>,
}

/// One new column.
#[derive(Clone, Debug, Default)]
pub struct NewColumn {
    /// Its list of kin, by position in [`NewColumns::kin`].
    pub kin: usize,
    /// Its kind: new columns of one kind leave their kin together.
    pub kind: usize,
    /// Its setting within all kinds: columns of one setting differ by what comes before the estimator.
    pub setting: usize,
    /// What was measured of it: values by position of the dataset.
    pub measured: Vec<(usize, f64)>,
}

impl NewColumns {
    /// How many values were measured.
    pub fn n_measured(&self) -> usize {
        self.columns.iter().map(|c| c.measured.len()).sum()
    }

    /// That kin are among `n_known` columns, and measurements of `n_datasets` datasets.
    pub(crate) fn check(&self, n_known: usize, n_datasets: usize) -> Result<(), SurrogateError> {
        for kin in &self.kin {
            if kin.is_empty() {
                return Err(SurrogateError::Empty { what: "list of kin" });
            }
            for (at, &(index, weight)) in kin.iter().enumerate() {
                if index >= n_known {
                    return Err(SurrogateError::OutOfRange { what: "kin", index, size: n_known });
                }
                if !(weight > 0.0 && weight.is_finite()) {
                    let what = "weights of kin";
                    return Err(SurrogateError::NotPositive { what, at, value: weight });
                }
            }
        }
        for column in &self.columns {
            if column.kin >= self.kin.len() {
                let (index, size) = (column.kin, self.kin.len());
                return Err(SurrogateError::OutOfRange { what: "list of kin", index, size });
            }
            for (at, &(index, value)) in column.measured.iter().enumerate() {
                if index >= n_datasets {
                    let what = "dataset";
                    return Err(SurrogateError::OutOfRange { what, index, size: n_datasets });
                }
                if !value.is_finite() {
                    let what = "measured values";
                    return Err(SurrogateError::NotFinite { what, at, value });
                }
            }
        }
        Ok(())
    }

    /// The mean of each list of kin, given what each known column has: lists x coordinates.
    pub(crate) fn kin_means(
        &self,
        n_coordinates: usize,
        mut of: impl FnMut(usize, usize) -> f64,
    ) -> Vec<Vec<f64>> {
        let mean = |kin: &Vec<(usize, f64)>| {
            let total: f64 = kin.iter().map(|k| k.1).sum();
            (0..n_coordinates)
                .map(|i| kin.iter().map(|&(j, weight)| weight * of(i, j)).sum::<f64>() / total)
                .collect()
        };
        self.kin.iter().map(mean).collect()
    }

    /// The columns of each kind, of each setting, and each alone.
    pub(crate) fn levels(&self) -> [Vec<Vec<usize>>; 3] {
        let by = |of: fn(&NewColumn) -> usize| {
            let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (j, column) in self.columns.iter().enumerate() {
                groups.entry(of(column)).or_default().push(j);
            }
            groups.into_values().collect()
        };
        [by(|c| c.kind), by(|c| c.setting), (0..self.columns.len()).map(|j| vec![j]).collect()]
    }
}

/// The paper's embeddings with those of new columns behind them: a regression of what was measured on the
/// embeddings of the datasets, pulled towards kin (ALGORITHMS §9).
///
/// `y` is rank x pipelines, `datasets` rank x datasets, and errors are `datasetsᵀ y`.
pub fn embed_columns(
    y: ArrayView2<f32>,
    datasets: ArrayView2<f32>,
    new: &NewColumns,
) -> Result<Array2<f32>, SurrogateError> {
    let lines = fit_lines(y, datasets, new)?;
    let added = lines.rows.mapv(|v| v as f32);
    Ok(concatenate(ndarray::Axis(1), &[y, added.view()]).expect("both have a row a coordinate"))
}
