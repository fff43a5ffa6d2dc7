//! The offline phase: the error tensor of the meta-training datasets, recorded or published.

pub mod corpus;
pub mod published;

mod collect;
mod entry;
mod error;
mod plan;
mod shard;
mod store;

pub use collect::{Collection, Event, Summary, WorkItem, estimator_types, search_space_key};
pub use entry::{Entry, Scores, Status};
pub use error::OfflineError;
pub use plan::{Scope, batches};
pub use shard::Shard;
pub use store::{CONTENT, Facts, Store};

use pitchpipe_learn::search_space::PipelineId;

/// The readable settings of a pipeline's five components.
fn settings_of(pipeline: u32) -> [String; 5] {
    match PipelineId::new(pipeline as usize).map(PipelineId::pipeline) {
        Some(pipeline) => [
            pipeline.preparation.imputer.to_string(),
            pipeline.preparation.encoder.to_string(),
            pipeline.preparation.scaler.to_string(),
            pipeline.preparation.reducer.to_string(),
            pipeline.estimator.to_string(),
        ],
        None => std::array::from_fn(|_| "unknown".to_owned()),
    }
}
