//! Class labels as small integers.

use serde::{Deserialize, Serialize};

/// One class per row, as a code in `0..n_classes`.
///
/// The names of the classes live in the schema; a subset of rows keeps the full number of classes, so
/// that a code means the same class everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    codes: Vec<u32>,
    n_classes: usize,
}

impl Labels {
    /// Labels from class codes.
    ///
    /// # Panics
    /// If a code is not below `n_classes`.
    pub fn from_codes(codes: impl IntoIterator<Item = u32>, n_classes: usize) -> Self {
        let codes: Vec<u32> = codes.into_iter().collect();
        assert!(codes.iter().all(|&c| (c as usize) < n_classes), "a class code is out of range");
        Self { codes, n_classes }
    }

    /// The class of each row.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// How many classes there are, whether or not each has a row here.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// How many rows each class has.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.n_classes];
        for &code in &self.codes {
            counts[code as usize] += 1;
        }
        counts
    }

    /// Each class's share of the rows; all zero where there are no rows.
    pub fn priors(&self) -> Vec<f64> {
        let n = self.len().max(1) as f64;
        self.counts().into_iter().map(|count| count as f64 / n).collect()
    }

    /// The labels of the given rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { codes: rows.iter().map(|&r| self.codes[r]).collect(), n_classes: self.n_classes }
    }
}
