//! Encoders: codes of categories to numbers that a distance or a weight can use.

mod one_hot;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::impute::Imputed;
use crate::{Features, FitContext, FitError};
pub use one_hot::FittedOneHot;

/// What becomes of the codes of categories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoder {
    /// One column for each category met in the training rows; these columns come first.
    OneHot,
    /// The codes stay, as numbers.
    #[default]
    None,
    /// The codes stay, as categories.
    Categories,
}

/// A fitted [`Encoder`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FittedEncoder {
    /// See [`Encoder::OneHot`].
    OneHot(FittedOneHot),
    /// See [`Encoder::None`].
    None,
    /// See [`Encoder::Categories`].
    Categories,
}

impl Encoder {
    /// All encoders.
    pub const ALL: [Self; 3] = [Self::OneHot, Self::None, Self::Categories];

    /// Those that make numbers, in the order of the paper's space.
    pub const OF_NUMBERS: [Self; 2] = [Self::OneHot, Self::None];

    /// Learns the categories.
    pub fn fit(self, x: &Imputed, ctx: &FitContext) -> Result<FittedEncoder, FitError> {
        match self {
            Self::OneHot => Ok(FittedEncoder::OneHot(FittedOneHot::fit(x, ctx)?)),
            Self::None => Ok(FittedEncoder::None),
            Self::Categories => Ok(FittedEncoder::Categories),
        }
    }
}

impl FittedEncoder {
    /// How many columns come out of so many; `None` if it was fitted on others.
    pub(crate) fn n_cols_out(&self, n_cols: usize) -> Option<usize> {
        match self {
            Self::OneHot(one_hot) => one_hot.n_cols_out(n_cols),
            Self::None | Self::Categories => Some(n_cols),
        }
    }

    /// Encodes rows, seen or new.
    pub fn transform(&self, x: &Imputed, ctx: &FitContext) -> Result<Arc<Features>, FitError> {
        match self {
            Self::OneHot(one_hot) => one_hot.transform(x, ctx),
            Self::None => Ok(Arc::clone(&x.features)),
            Self::Categories => Ok(Arc::new(x.features.with_categories(x.categorical.clone()))),
        }
    }
}

#[cfg(test)]
mod tests;
