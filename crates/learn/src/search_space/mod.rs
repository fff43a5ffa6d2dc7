//! The search space: 4 imputers, 2 encoders, 2 standardizers, 8 reducers and 183 estimators make
//! 23,424 pipelines, in the order of the published error tensor (ALGORITHMS §2).

mod grid;
mod names;

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::Pipeline;
use crate::encode::Encoder;
use crate::estimate::EstimatorSpec;
use crate::impute::Imputer;
use crate::preparation::Preparation;
use crate::reduce::Reducer;
use crate::scale::Scaler;

/// How many components each step has, in the order of the tensor's axes.
pub const AXES: [usize; 5] = [4, 2, 2, 8, N_ESTIMATORS];

/// How many estimators there are.
pub const N_ESTIMATORS: usize = 183;

/// How many pipelines there are.
pub const N_PIPELINES: usize = 4 * 2 * 2 * 8 * N_ESTIMATORS;

static ESTIMATORS: LazyLock<Vec<EstimatorSpec>> = LazyLock::new(grid::estimators);

/// The estimators in the order of the search space.
pub fn estimators() -> &'static [EstimatorSpec] {
    &ESTIMATORS
}

/// A pipeline's place in the search space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct PipelineId(u16);

impl PipelineId {
    /// The pipeline at a flat index, if there is one.
    pub fn new(index: usize) -> Option<Self> {
        (index < N_PIPELINES).then_some(Self(index as u16))
    }

    /// The flat index.
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// All of them, in order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        (0..N_PIPELINES as u16).map(Self)
    }

    /// The pipeline with the given component at each step, if there is one.
    pub fn from_positions(positions: [usize; 5]) -> Option<Self> {
        let mut index = 0;
        for (position, size) in positions.into_iter().zip(AXES) {
            if position >= size {
                return None;
            }
            index = index * size + position;
        }
        Self::new(index)
    }

    /// The component's position at each step.
    pub fn positions(self) -> [usize; 5] {
        let mut rest = self.index();
        let mut positions = [0; 5];
        for (position, size) in positions.iter_mut().zip(AXES).rev() {
            *position = rest % size;
            rest /= size;
        }
        positions
    }

    /// The pipeline itself.
    pub fn pipeline(self) -> Pipeline {
        let [imputer, encoder, scaler, reducer, estimator] = self.positions();
        Pipeline {
            preparation: Preparation {
                imputer: Imputer::ALL[imputer],
                encoder: Encoder::ALL[encoder],
                scaler: Scaler::ALL[scaler],
                reducer: Reducer::ALL[reducer],
            },
            estimator: estimators()[estimator].clone(),
        }
    }

    /// The place of a pipeline, if it is in the search space.
    pub fn of(pipeline: &Pipeline) -> Option<Self> {
        let Preparation { imputer, encoder, scaler, reducer } = pipeline.preparation;
        Self::from_positions([
            Imputer::ALL.iter().position(|&c| c == imputer)?,
            Encoder::ALL.iter().position(|&c| c == encoder)?,
            Scaler::ALL.iter().position(|&c| c == scaler)?,
            Reducer::ALL.iter().position(|&c| c == reducer)?,
            estimators().iter().position(|c| c == &pipeline.estimator)?,
        ])
    }

    /// The 183 pipelines of Oboe's fixed preparation, one-hot and standardised, with this imputer.
    pub fn oboe_slice(imputer: Imputer) -> impl ExactSizeIterator<Item = Self> {
        let imputer = Imputer::ALL.iter().position(|&c| c == imputer).expect("ALL holds every one");
        (0..N_ESTIMATORS).map(move |estimator| {
            Self::from_positions([imputer, 0, 0, 7, estimator]).expect("positions are in range")
        })
    }
}

impl fmt::Display for PipelineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<u32> for PipelineId {
    type Error = String;

    fn try_from(index: u32) -> Result<Self, String> {
        Self::new(index as usize)
            .ok_or_else(|| format!("there are {N_PIPELINES} pipelines, so none is number {index}"))
    }
}

impl From<PipelineId> for u32 {
    fn from(id: PipelineId) -> Self {
        id.0.into()
    }
}

#[cfg(test)]
mod tests;
