//! The size of a dataset, as runtimes depend on it.

use pitchpipe_table::{Column, Dataset};

/// One-hot encoding makes at most so many columns of one.
const MOST_ENCODED: usize = 256;

/// Rows, features before and after one-hot encoding, and classes.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TableSize {
    /// Rows.
    pub n_rows: usize,
    /// Columns as they are: what pipelines that keep integer codes work on.
    pub n_features: usize,
    /// Columns after one-hot encoding: what the other half of the pipelines works on.
    pub n_encoded: usize,
    /// Classes, where they are known.
    pub n_classes: Option<usize>,
    /// The largest standard deviation of a numeric column, where it is known: left as they are, columns of
    /// large numbers keep solvers from converging.
    #[serde(default)]
    pub largest_scale: Option<f64>,
}

impl TableSize {
    /// The size of a dataset.
    pub fn of(dataset: &Dataset) -> Self {
        let encoded = |column: &Column| match column {
            Column::Numeric(_) => 1,
            Column::Categorical { n_levels, .. } => (*n_levels as usize).min(MOST_ENCODED),
        };
        Self {
            n_rows: dataset.n_rows(),
            n_features: dataset.columns().len(),
            n_encoded: dataset.columns().iter().map(encoded).sum(),
            n_classes: Some(dataset.labels().n_classes()),
            largest_scale: Some(dataset.columns().iter().map(scale).fold(0.0, f64::max)),
        }
    }

    /// The logarithm of the largest scale, a few units in size.
    pub(super) fn log_scale(&self) -> Option<f64> {
        self.largest_scale.map(|scale| scale.clamp(1e-3, 1e9).ln() / 3.0)
    }

    /// The same with another number of rows: a sample of the dataset.
    pub fn with_rows(self, n_rows: usize) -> Self {
        Self { n_rows, ..self }
    }

    /// As the polynomials want it, with the features that this encoder leaves.
    pub(crate) fn for_encoder(&self, encoder: usize) -> pitchpipe_surrogate::runtime::DatasetSize {
        let n_features = if encoder == 0 { self.n_encoded } else { self.n_features };
        pitchpipe_surrogate::runtime::DatasetSize {
            n_rows: self.n_rows.max(1) as f64,
            n_features: n_features.max(1) as f64,
            n_classes: self.n_classes.map(|k| k.max(1) as f64),
        }
    }
}

/// The standard deviation of a column of numbers; codes are small.
fn scale(column: &Column) -> f64 {
    let Column::Numeric(values) = column else { return 1.0 };
    let known = || values.iter().filter(|v| v.is_finite());
    let n = known().count().max(1) as f64;
    let mean = known().sum::<f64>() / n;
    let variance = known().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    if variance.is_finite() { variance.sqrt() } else { f64::MAX }
}
