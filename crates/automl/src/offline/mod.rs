//! The offline phase: the error tensor of the meta-training datasets, recorded or published.

pub mod corpus;
pub mod published;
pub mod share;

mod collect;
mod compact;
mod entry;
mod error;
mod import;
mod listed;
mod orders;
mod plan;
mod seen;
mod shard;
mod space_facts;
mod store;
pub mod train;

pub use collect::{Collection, Event, Summary, WorkItem};
pub use compact::{Compacted, compact};
pub use entry::{Entry, EntryScores, Status};
pub use error::OfflineError;
pub use import::{PUBLISHED, import};
pub use listed::{Listed, listed_in};
pub use plan::{Scope, batches};
pub use seen::Seen;
pub use shard::Shard;
pub use space_facts::{BLOCKS as SPACE_BLOCKS, search_space_key};
pub use store::{About, CONTENT, Facts, SOURCE, Store};

pub use pitchpipe_learn::estimate::EstimatorKind;
pub use pitchpipe_learn::{Preparation, SearchSpace};

/// The components of a space in words, made once: a store names them millions of times.
struct ComponentNames<'a> {
    space: &'a SearchSpace,
    preparations: Vec<[String; 4]>,
    estimators: Vec<String>,
}

impl<'a> ComponentNames<'a> {
    fn of(space: &'a SearchSpace) -> Self {
        let names = |p: &Preparation| {
            let (imputer, encoder) = (p.imputer.to_string(), p.encoder.to_string());
            [imputer, encoder, p.scaler.to_string(), p.reducer.to_string()]
        };
        Self {
            space,
            preparations: space.preparations().iter().map(names).collect(),
            estimators: space.estimators().iter().map(ToString::to_string).collect(),
        }
    }

    /// The component of one of a pipeline's five steps.
    fn get(&self, pipeline: u32, step: usize) -> &str {
        let Some(id) = self.space.id(pipeline as usize) else { return "unknown" };
        match step {
            4 => &self.estimators[self.space.estimator_index(id)],
            step => &self.preparations[self.space.preparation_index(id)][step],
        }
    }
}
