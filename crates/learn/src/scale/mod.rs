//! Standardizers: columns to comparable scales.

mod standardise;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Features, FitContext, FitError};
pub use standardise::FittedStandardise;

/// What becomes of the columns' scales.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scaler {
    /// Mean zero and standard deviation one; a constant column is centred only.
    #[default]
    Standardise,
    /// They stay.
    None,
}

/// A fitted [`Scaler`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FittedScaler {
    /// See [`Scaler::Standardise`].
    Standardise(FittedStandardise),
    /// See [`Scaler::None`].
    None,
}

impl Scaler {
    /// The standardizers in the order of the search space.
    pub const ALL: [Self; 2] = [Self::Standardise, Self::None];

    /// Learns means and standard deviations.
    pub fn fit(self, x: &Features, ctx: &FitContext) -> Result<FittedScaler, FitError> {
        match self {
            Self::Standardise => Ok(FittedScaler::Standardise(FittedStandardise::fit(x, ctx)?)),
            Self::None => Ok(FittedScaler::None),
        }
    }
}

impl FittedScaler {
    /// How many columns come out of so many; `None` if it was fitted on others.
    pub(crate) fn n_cols_out(&self, n_cols: usize) -> Option<usize> {
        match self {
            Self::Standardise(standardise) => standardise.is_of(n_cols).then_some(n_cols),
            Self::None => Some(n_cols),
        }
    }

    /// Scales rows, seen or new.
    pub fn transform(
        &self,
        x: &Arc<Features>,
        ctx: &FitContext,
    ) -> Result<Arc<Features>, FitError> {
        match self {
            Self::Standardise(standardise) => Ok(Arc::new(standardise.transform(x, ctx)?)),
            Self::None => Ok(Arc::clone(x)),
        }
    }
}
