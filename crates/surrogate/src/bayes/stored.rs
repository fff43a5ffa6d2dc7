//! Priors as plain data, checked when read.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{Prior, Scale};
use crate::SurrogateError;

/// The parts of a [`Prior`], as [`Prior::from_parts`] takes them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PriorParts {
    scale: Scale,
    mean: Vec<f64>,
    rank: usize,
    /// rank x pipelines, row-major.
    factor: Vec<f32>,
    noise: Vec<f64>,
}

impl From<Prior> for PriorParts {
    fn from(prior: Prior) -> Self {
        let (rank, factor) = (prior.rank(), prior.factor.to_rows());
        Self { scale: prior.scale, mean: prior.mean, rank, factor, noise: prior.noise }
    }
}

impl TryFrom<PriorParts> for Prior {
    type Error = SurrogateError;

    fn try_from(parts: PriorParts) -> Result<Self, SurrogateError> {
        let PriorParts { scale, mean, rank, factor, noise } = parts;
        let (n, got) = (mean.len(), factor.len());
        let wrong = SurrogateError::Size {
            what: "factor of the prior",
            wanted: rank.saturating_mul(n),
            got,
        };
        let factor = Array2::from_shape_vec((rank, n), factor).map_err(|_| wrong)?;
        Self::from_parts(scale, mean, factor.view(), noise)
    }
}
