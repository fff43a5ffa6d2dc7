//! Imputers: every missing cell of a column takes one number, a statistic of the training rows.
//!
//! Codes of categories are numbers here, as they are to scikit-learn's `SimpleImputer`, but to two of them, which fill
//! categories by their mode ([`Imputer::with_categories_by_mode`]). A column without a single value is dropped, except by
//! `constant`, which fills it (ALGORITHMS §17). One more fills nothing, for estimators that take missing cells as they are.

mod statistic;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Features, FitContext, FitError, RawFeatures};

/// The statistic that fills a column's missing cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Imputer {
    /// Zero.
    Constant,
    /// The mean.
    #[default]
    Mean,
    /// The median; half-way between the middle two of an even number.
    Median,
    /// The most frequent value; the smallest of those equally frequent.
    MostFrequent,
    /// None: missing cells stay.
    Keep,
    /// The mean of numbers, and the most frequent of categories: the paper's words for Oboe.
    MeanOrMode,
    /// The median of numbers, and the most frequent of categories.
    MedianOrMode,
}

/// What fills each column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedImputer {
    /// `None` drops the column.
    fills: Vec<Option<f64>>,
    categorical: Vec<bool>,
}

/// A matrix without missing cells, unless these are kept, that still knows which of its columns hold codes of categories.
#[derive(Clone, Debug, PartialEq)]
pub struct Imputed {
    /// The numbers.
    pub features: Arc<Features>,
    /// Which columns hold codes.
    pub categorical: Vec<bool>,
}

impl Imputer {
    /// All imputers.
    pub const ALL: [Self; 7] = [
        Self::Constant,
        Self::Mean,
        Self::Median,
        Self::MostFrequent,
        Self::Keep,
        Self::MeanOrMode,
        Self::MedianOrMode,
    ];

    /// Those that fill all missing cells, in the order of the paper's space.
    pub const FILLING: [Self; 4] = [Self::Constant, Self::Mean, Self::Median, Self::MostFrequent];

    /// Takes the statistic of every column.
    pub fn fit(self, x: &RawFeatures<'_>, ctx: &FitContext) -> Result<FittedImputer, FitError> {
        let categorical = x.categorical();
        let mut fills = Vec::with_capacity(x.n_cols());
        let mut present = Vec::with_capacity(x.n_rows());
        for j in 0..x.n_cols() {
            ctx.check_deadline()?;
            if let Some(fill) = self.fixed_fill() {
                fills.push(Some(fill));
                continue;
            }
            present.clear();
            x.extend(j, &mut present, |v| v);
            present.retain(|v| v.is_finite());
            fills.push((!present.is_empty()).then(|| match self.of_column(categorical[j]) {
                Self::Mean => statistic::mean(&present),
                Self::Median => statistic::median(&mut present),
                _ => statistic::most_frequent(&mut present),
            }));
        }
        if fills.iter().all(Option::is_none) {
            return Err(FitError::NoFeatures { component: "imputer" });
        }
        Ok(FittedImputer { fills, categorical })
    }

    /// The imputer whose statistic of a column is taken.
    fn of_column(self, is_categorical: bool) -> Self {
        match self {
            Self::MeanOrMode | Self::MedianOrMode if is_categorical => Self::MostFrequent,
            Self::MeanOrMode => Self::Mean,
            Self::MedianOrMode => Self::Median,
            other => other,
        }
    }

    /// The same, but for categories, which are filled by their mode where it takes a mean or a median.
    pub fn with_categories_by_mode(self) -> Self {
        match self {
            Self::Mean => Self::MeanOrMode,
            Self::Median => Self::MedianOrMode,
            other => other,
        }
    }

    /// What it fills in whatever the column holds, if that is so.
    fn fixed_fill(self) -> Option<f64> {
        match self {
            Self::Constant => Some(0.0),
            Self::Keep => Some(f64::NAN),
            Self::Mean
            | Self::Median
            | Self::MostFrequent
            | Self::MeanOrMode
            | Self::MedianOrMode => None,
        }
    }
}

impl FittedImputer {
    /// The imputer of a table without missing cells whose statistics nobody will ask for.
    pub(crate) fn for_complete_table(categorical: Vec<bool>) -> Self {
        Self { fills: vec![Some(0.0); categorical.len()], categorical }
    }

    /// Fills missing cells and drops columns that had no value. A category never met has no number, so
    /// that it counts as missing.
    pub fn transform(&self, x: &RawFeatures<'_>, ctx: &FitContext) -> Result<Imputed, FitError> {
        self.fill(x, |v| !v.is_finite(), ctx)
    }

    /// The same for a one-hot encoder, which has an answer for a category never met: it stays infinite.
    pub(crate) fn transform_for_one_hot(
        &self,
        x: &RawFeatures<'_>,
        ctx: &FitContext,
    ) -> Result<Imputed, FitError> {
        self.fill(x, f64::is_nan, ctx)
    }

    fn fill(
        &self,
        x: &RawFeatures<'_>,
        is_missing: impl Fn(f64) -> bool,
        ctx: &FitContext,
    ) -> Result<Imputed, FitError> {
        if x.categorical() != self.categorical {
            let (expected, got) = (self.categorical.len(), x.n_cols());
            return Err(FitError::OtherColumns { expected, got });
        }
        let kept: Vec<(usize, f64)> =
            self.fills.iter().enumerate().filter_map(|(j, fill)| Some((j, (*fill)?))).collect();
        ctx.check_memory("imputer", (kept.len() * x.n_rows() * 8) as u64)?;
        let mut values = Vec::with_capacity(kept.len() * x.n_rows());
        for &(j, fill) in &kept {
            ctx.check_deadline()?;
            x.extend(j, &mut values, |v| if is_missing(v) { fill } else { v });
        }
        Ok(Imputed {
            features: Arc::new(Features::from_columns(x.n_rows(), kept.len(), values)),
            categorical: kept.iter().map(|&(j, _)| self.categorical[j]).collect(),
        })
    }

    /// Whether two imputers give the same matrices where only `missing` columns have missing cells.
    pub(crate) fn agrees_with(&self, other: &Self, missing: &[bool]) -> bool {
        self.fills.iter().zip(&other.fills).zip(missing).all(|((a, b), &missing)| match (a, b) {
            (Some(a), Some(b)) => !missing || a == b,
            (None, None) => true,
            _ => false,
        })
    }

    /// How many columns come out of so many; `None` if it was fitted on others.
    pub(crate) fn n_cols_out(&self, n_raw: usize) -> Option<usize> {
        let is_sound = self.fills.len() == n_raw && self.categorical.len() == n_raw;
        is_sound.then(|| self.fills.iter().flatten().count())
    }

    /// Whether it was fitted on columns of these kinds.
    pub(crate) fn reads(&self, categorical: &[bool]) -> bool {
        self.categorical == categorical
    }

    /// How many columns it was fitted on.
    pub fn n_cols(&self) -> usize {
        self.fills.len()
    }
}

#[cfg(test)]
mod tests;
