//! The four steps before the estimator, named and fitted.

use std::sync::Arc;

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::encode::{Encoder, FittedEncoder};
use crate::impute::{FittedImputer, Imputer};
use crate::reduce::{FittedReducer, Reducer};
use crate::scale::{FittedScaler, Scaler};
use crate::{Features, FitContext, FitError, RawFeatures, shared};

/// One component for each step before the estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Preparation {
    /// Fills missing cells.
    pub imputer: Imputer,
    /// Turns categories into numbers.
    pub encoder: Encoder,
    /// Brings columns to one scale.
    pub scaler: Scaler,
    /// Reduces the number of columns.
    pub reducer: Reducer,
}

/// A fitted [`Preparation`]; its parts may be shared with others fitted on the same rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedPreparation {
    #[serde(with = "shared")]
    pub(crate) imputer: Arc<FittedImputer>,
    #[serde(with = "shared")]
    pub(crate) encoder: Arc<FittedEncoder>,
    #[serde(with = "shared")]
    pub(crate) scaler: Arc<FittedScaler>,
    #[serde(with = "shared")]
    pub(crate) reducer: Arc<FittedReducer>,
}

impl Preparation {
    /// The preparation that the paper's Oboe has before every estimator: one-hot, standardised, all columns.
    pub const fn of_oboe(imputer: Imputer) -> Self {
        let (encoder, scaler, reducer) = (Encoder::OneHot, Scaler::Standardise, Reducer::None);
        Self { imputer, encoder, scaler, reducer }
    }

    /// Missing cells and categories as they are, for an estimator that takes them.
    pub const AS_IT_IS: Self = Self {
        imputer: Imputer::Keep,
        encoder: Encoder::Categories,
        scaler: Scaler::None,
        reducer: Reducer::None,
    };

    /// Whether missing cells or categories come out as they are.
    pub fn keeps_gaps(&self) -> bool {
        self.imputer == Imputer::Keep || self.encoder == Encoder::Categories
    }

    /// Refuses steps that do not go together: what keeps gaps keeps categories, scales and columns as well, as no
    /// scaler and no reducer has an answer for them.
    pub fn check(&self) -> Result<(), FitError> {
        if self.keeps_gaps() && *self != Self::AS_IT_IS {
            return Err(FitError::Gaps { component: "one of the steps before the estimator" });
        }
        Ok(())
    }

    /// Fits each step on what the one before makes of the training rows, and prepares these.
    pub fn fit(
        &self,
        x: &RawFeatures<'_>,
        y: &Labels,
        ctx: &FitContext,
    ) -> Result<(FittedPreparation, Arc<Features>), FitError> {
        self.check()?;
        let imputer = self.imputer.fit(x, ctx)?;
        let imputed = imputer.transform(x, ctx)?;
        let encoder = self.encoder.fit(&imputed, ctx)?;
        let encoded = encoder.transform(&imputed, ctx)?;
        let scaler = self.scaler.fit(&encoded, ctx)?;
        let scaled = scaler.transform(&encoded, ctx)?;
        let reducer = self.reducer.fit(&scaled, y, x.n_cols(), ctx)?;
        let reduced = reducer.transform(&scaled, ctx)?;
        let fitted = FittedPreparation {
            imputer: imputer.into(),
            encoder: encoder.into(),
            scaler: scaler.into(),
            reducer: reducer.into(),
        };
        Ok((fitted, reduced))
    }
}

impl FittedPreparation {
    /// How many columns come out, given so many; `None` where the steps do not fit together.
    pub(crate) fn n_cols(&self, n_raw: usize) -> Option<usize> {
        let n = self.imputer.n_cols_out(n_raw)?;
        let n = self.encoder.n_cols_out(n)?;
        let n = self.scaler.n_cols_out(n)?;
        self.reducer.n_cols_out(n)
    }

    /// Prepares rows, seen or new.
    pub fn transform(
        &self,
        x: &RawFeatures<'_>,
        ctx: &FitContext,
    ) -> Result<Arc<Features>, FitError> {
        let imputed = match *self.encoder {
            FittedEncoder::OneHot(_) => self.imputer.transform_for_one_hot(x, ctx)?,
            FittedEncoder::None | FittedEncoder::Categories => self.imputer.transform(x, ctx)?,
        };
        let encoded = self.encoder.transform(&imputed, ctx)?;
        let scaled = self.scaler.transform(&encoded, ctx)?;
        self.reducer.transform(&scaled, ctx)
    }
}
