//! Class probabilities, row by row.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

/// `n_rows` by `n_classes` probabilities, row-major; rows sum to one; never NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probabilities {
    n_classes: usize,
    values: Vec<f64>,
}

impl Probabilities {
    /// Probabilities from numbers that are already rows summing to one.
    ///
    /// # Panics
    /// If the numbers do not fill whole rows.
    pub fn from_rows(n_classes: usize, values: Vec<f64>) -> Self {
        assert!(n_classes > 0 && values.len().is_multiple_of(n_classes), "whole rows");
        Self { n_classes, values }
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.values.len() / self.n_classes
    }

    /// All numbers, row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.n_classes..(i + 1) * self.n_classes]
    }

    /// The most probable class of each row; the smallest wins a draw.
    pub fn argmax(&self) -> Labels {
        let largest = |row: &[f64]| {
            let mut best = 0;
            for (k, &p) in row.iter().enumerate() {
                if p > row[best] {
                    best = k;
                }
            }
            best as u32
        };
        Labels::from_codes(self.values.chunks_exact(self.n_classes).map(largest), self.n_classes)
    }
}
