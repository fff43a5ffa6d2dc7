//! What a worker does: read a table, and run a share of the pipelines on it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pitchpipe_learn::SearchSpace;
use pitchpipe_table::{Dataset, Source};
use serde::{Deserialize, Serialize};

use crate::offline::collect::{about, shard_facts, target_of};
use crate::offline::{
    About, CONTENT, Entry, Facts, OfflineError, Shard, WorkItem, corpus, space_facts,
};

/// What a driver wants to know of a table before it plans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Its size and the hash of its content.
    pub about: About,
    /// The column to predict.
    pub target: String,
}

/// Reads a table of a corpus from wherever its bytes are.
pub fn read(source: &Source, target: Option<&str>) -> Result<Dataset, OfflineError> {
    corpus::load_from(source, target)
}

/// What is to be known of a table.
pub fn measure(dataset: &Dataset) -> Measured {
    Measured { about: about(dataset), target: target_of(dataset) }
}

/// The space whose numbers a store with these facts speaks in, made of this program's components.
///
/// # Errors
/// If this program has not the same components: all machines need the same version.
pub fn space(facts: &Facts) -> Result<Arc<SearchSpace>, OfflineError> {
    space_facts::space_of(facts, &SearchSpace::all(), Path::new("the driver's store"))
}

/// Runs pipelines on a table for at most `limit`, on one thread, and gives a shard as bytes. Pipelines that the limit cut
/// short are not in it.
pub fn work(
    facts: &Facts,
    space: &SearchSpace,
    name: &str,
    dataset: &Dataset,
    item: &WorkItem,
    limit: Duration,
) -> Result<Vec<u8>, OfflineError> {
    let mut entries: Vec<Entry> = Vec::new();
    let keep = |more: Vec<Entry>| {
        entries.extend(more);
        Ok(())
    };
    let never = Arc::new(AtomicBool::new(false));
    item.run(space, dataset, 1, Some(Instant::now() + limit), &never, keep)?;
    let mut facts = shard_facts(facts);
    facts.extend(about(dataset).content.map(|content| (CONTENT.to_owned(), content)));
    Shard { dataset: name.to_owned(), facts, entries }.to_bytes(space)
}
