//! The size of a dataset, as runtimes depend on it.

use pitchpipe_table::{Column, Dataset};

/// Rows, features before and after one-hot encoding, and classes.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DatasetSize {
    /// Rows.
    pub n_rows: usize,
    /// Columns as they are: what pipelines that keep integer codes work on.
    pub n_features: usize,
    /// Columns after one-hot encoding: what the other half of the pipelines works on.
    pub n_encoded: usize,
    /// Classes, where they are known.
    pub n_classes: Option<usize>,
}

impl DatasetSize {
    /// The size of a dataset.
    pub fn of(dataset: &Dataset) -> Self {
        let encoded = |column: &Column| match column {
            Column::Numeric(_) => 1,
            Column::Categorical { n_levels, .. } => *n_levels as usize,
        };
        Self {
            n_rows: dataset.n_rows(),
            n_features: dataset.columns().len(),
            n_encoded: dataset.columns().iter().map(encoded).sum(),
            n_classes: Some(dataset.labels().n_classes()),
        }
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
