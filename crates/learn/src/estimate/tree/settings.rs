//! The hyperparameters that trees and their ensembles share.

use std::fmt;
use std::num::ParseFloatError;
use std::str::FromStr;

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

impl fmt::Display for MinSamplesSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Fraction(share) => {
                let text = share.to_string();
                // A share of 1 is not one row.
                let looks_like_a_count = text.parse::<u32>().is_ok();
                write!(f, "{text}{}", if looks_like_a_count { ".0" } else { "" })
            }
        }
    }
}

impl FromStr for MinSamplesSplit {
    type Err = ParseFloatError;

    fn from_str(text: &str) -> Result<Self, ParseFloatError> {
        match text.parse() {
            Ok(count) => Ok(Self::Count(count)),
            Err(_) => text.parse().map(Self::Fraction),
        }
    }
}

impl MinSamplesSplit {
    /// As scikit-learn takes it: a whole number is a count.
    pub(crate) fn in_python(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Fraction(share) => format!("{share:?}"),
        }
    }

    /// The number of rows asked for when `n_rows` are there to train on: at least 2.
    pub(crate) fn rows(self, n_rows: usize) -> u32 {
        match self {
            Self::Count(count) => count.max(2),
            // A cast from float saturates, so a fraction above 1 or not a number is harmless.
            Self::Fraction(share) => ((share * n_rows as f64).ceil() as u32).max(2),
        }
    }
}

/// The part of a tree's rough cost that its setting decides: deeper trees cost more.
pub(crate) fn split_cost(split: MinSamplesSplit, n_rows: usize) -> f64 {
    1.0 / f64::from(split.rows(n_rows)).sqrt()
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

words!(Criterion { Gini => "gini", Entropy => "entropy" });

/// How many features are looked at for each split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MaxFeatures {
    /// The binary logarithm of their number, rounded down, at least 1.
    Log2,
    /// All of them.
    #[default]
    All,
}

words!(MaxFeatures { Log2 => "log2", All => "all" });

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
