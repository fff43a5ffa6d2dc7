//! The hyperparameters that trees and their ensembles share.

use serde::{Deserialize, Serialize};

/// How many rows a node needs before it may be split.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum MinSamplesSplit {
    /// That many rows.
    Count(u32),
    /// That share of the training rows, rounded up.
    Fraction(f64),
}

impl Default for MinSamplesSplit {
    fn default() -> Self {
        Self::Count(2)
    }
}

impl MinSamplesSplit {
    /// The number of rows asked for when `n_rows` are there to train on: at least 2.
    pub(crate) fn rows(self, n_rows: usize) -> u32 {
        match self {
            Self::Count(count) => count.max(2),
            // A cast from float saturates, so a fraction above 1 or not a number is harmless.
            Self::Fraction(share) => ((share * n_rows as f64).ceil() as u32).max(2),
        }
    }
}

/// What a classification tree's splits lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Criterion {
    /// The chance that two rows drawn from a node differ in class.
    #[default]
    Gini,
    /// The entropy of a node's classes.
    Entropy,
}

/// How many features are looked at for each split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MaxFeatures {
    /// The binary logarithm of their number, rounded down, at least 1.
    Log2,
    /// All of them.
    #[default]
    All,
}

impl MaxFeatures {
    /// The number to look at when there are `n_cols`.
    pub(crate) fn count(self, n_cols: usize) -> usize {
        match self {
            Self::Log2 => (n_cols.max(1).ilog2() as usize).max(1),
            Self::All => n_cols,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_rounded_up_and_at_least_two() {
        assert_eq!(MinSamplesSplit::Fraction(1e-5).rows(150), 2);
        assert_eq!(MinSamplesSplit::Fraction(0.01).rows(1001), 11);
        assert_eq!(MinSamplesSplit::Count(1).rows(150), 2);
        assert_eq!(MinSamplesSplit::Fraction(f64::NAN).rows(150), 2);
    }

    #[test]
    fn log2_of_one_feature_is_one() {
        assert_eq!([1, 2, 3, 100].map(|p| MaxFeatures::Log2.count(p)), [1, 1, 1, 6]);
    }
}
