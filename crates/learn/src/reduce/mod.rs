//! Dimensionality reducers: fewer columns, or better ones.
//!
//! How many columns stay is a share of the *raw* features, before one-hot encoding; a share of none is
//! not applicable and fails as [`FitError::NoFeatures`] (ALGORITHMS §2).

pub(crate) mod pca;
pub(crate) mod select_k_best;
mod selection;
mod variance_threshold;

use std::sync::Arc;

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::{Features, FitContext, FitError};
pub use pca::FittedPca;
pub use selection::FittedSelection;
pub(crate) use variance_threshold::varying_columns;

/// A share of the raw features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Share {
    /// 25 %.
    Quarter,
    /// 50 %.
    Half,
    /// 75 %.
    ThreeQuarters,
}

impl Share {
    /// The shares in ascending order.
    pub const ALL: [Self; 3] = [Self::Quarter, Self::Half, Self::ThreeQuarters];

    /// The share in percent.
    pub fn percent(self) -> usize {
        match self {
            Self::Quarter => 25,
            Self::Half => 50,
            Self::ThreeQuarters => 75,
        }
    }

    /// The share of `n`, rounded down.
    pub fn of(self, n: usize) -> usize {
        n * self.percent() / 100
    }
}

/// What becomes of the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reducer {
    /// The leading principal components.
    Pca(Share),
    /// The columns with the largest ANOVA F.
    SelectKBest(Share),
    /// The columns that are not constant.
    VarianceThreshold,
    /// All of them stay.
    #[default]
    None,
}

/// A fitted [`Reducer`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FittedReducer {
    /// See [`Reducer::Pca`].
    Pca(FittedPca),
    /// See [`Reducer::SelectKBest`] and [`Reducer::VarianceThreshold`].
    Selection(FittedSelection),
    /// See [`Reducer::None`].
    None,
}

impl Reducer {
    /// The reducers in the order of the search space.
    pub const ALL: [Self; 8] = [
        Self::Pca(Share::Quarter),
        Self::Pca(Share::Half),
        Self::Pca(Share::ThreeQuarters),
        Self::SelectKBest(Share::Quarter),
        Self::SelectKBest(Share::Half),
        Self::SelectKBest(Share::ThreeQuarters),
        Self::VarianceThreshold,
        Self::None,
    ];

    /// How many columns come out of `x`, where that is known before looking at the numbers.
    ///
    /// scikit-learn turns away counts above the number of columns, which can happen only where
    /// columns without any value were dropped; here all columns stay instead.
    pub fn n_features(self, n_raw: usize, x: &Features) -> Result<Option<usize>, FitError> {
        let (n, component) = match self {
            Self::Pca(share) => (share.of(n_raw).min(x.n_rows()), "pca"),
            Self::SelectKBest(share) => (share.of(n_raw), "select k best"),
            Self::VarianceThreshold | Self::None => return Ok(None),
        };
        if n == 0 { Err(FitError::NoFeatures { component }) } else { Ok(Some(n.min(x.n_cols()))) }
    }

    /// Learns which columns or directions stay; `n_raw` is the number of features before encoding.
    pub fn fit(
        self,
        x: &Arc<Features>,
        y: &Labels,
        n_raw: usize,
        ctx: &FitContext,
    ) -> Result<FittedReducer, FitError> {
        let n = self.n_features(n_raw, x)?.unwrap_or(x.n_cols());
        match self {
            Self::Pca(_) => {
                let (pca, _) = pca::Decomposition::of(x, ctx)?.reducer(n, ctx)?;
                Ok(FittedReducer::Pca(pca))
            }
            Self::SelectKBest(_) => {
                let scores = select_k_best::f_scores(x, y, ctx)?;
                Ok(FittedReducer::Selection(select_k_best::best(&scores, n)))
            }
            Self::VarianceThreshold => Ok(FittedReducer::Selection(varying_columns(x, ctx)?)),
            Self::None => Ok(FittedReducer::None),
        }
    }
}

impl FittedReducer {
    /// How many columns come out of so many; `None` if it was fitted on others.
    pub(crate) fn n_cols_out(&self, n_cols: usize) -> Option<usize> {
        match self {
            Self::Pca(pca) => pca.is_of(n_cols).then(|| pca.n_components()),
            Self::Selection(selection) => selection.is_of(n_cols).then(|| selection.kept().len()),
            Self::None => Some(n_cols),
        }
    }

    /// Reduces rows, seen or new.
    pub fn transform(
        &self,
        x: &Arc<Features>,
        ctx: &FitContext,
    ) -> Result<Arc<Features>, FitError> {
        match self {
            Self::Pca(pca) => Ok(Arc::new(pca.transform(x, ctx)?)),
            Self::Selection(selection) => selection.transform(x, ctx),
            Self::None => Ok(Arc::clone(x)),
        }
    }
}

#[cfg(test)]
mod tests;
