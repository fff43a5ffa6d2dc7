//! The offline phase: the error tensor of the meta-training datasets, recorded or published.

pub mod corpus;
pub mod published;

mod collect;
mod compact;
mod entry;
mod error;
mod import;
mod plan;
mod seen;
mod shard;
mod store;
pub mod train;

pub use collect::{Collection, Event, Summary, WorkItem, estimator_types, search_space_key};
pub use compact::{Compacted, compact};
pub use entry::{Entry, Scores, Status};
pub use error::OfflineError;
pub use import::{PUBLISHED, import};
pub use plan::{Scope, batches};
pub use seen::Seen;
pub use shard::Shard;
pub use store::{About, CONTENT, Facts, SOURCE, Store};

use std::sync::LazyLock;

use pitchpipe_learn::Pipeline;
use pitchpipe_learn::search_space::PipelineId;

/// The readable settings of all pipelines, made once: a store names them millions of times.
static SETTINGS: LazyLock<Vec<[String; 5]>> = LazyLock::new(|| {
    let settings = |pipeline: Pipeline| {
        [
            pipeline.preparation.imputer.to_string(),
            pipeline.preparation.encoder.to_string(),
            pipeline.preparation.scaler.to_string(),
            pipeline.preparation.reducer.to_string(),
            pipeline.estimator.to_string(),
        ]
    };
    PipelineId::all().map(|id| settings(id.pipeline())).collect()
});

/// The readable setting of one of a pipeline's five components.
fn setting_of(pipeline: u32, step: usize) -> &'static str {
    SETTINGS.get(pipeline as usize).map_or("unknown", |settings| &settings[step])
}
