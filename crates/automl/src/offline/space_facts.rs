//! What a store says of its search space: a key, and the blocks that its numbers are of.
//!
//! `search_space` is the key of all components; every shard carries it. `search_space_blocks` is the manifest, in
//! `store.json` alone, by which a difference can be named. Stores of pitchpipe 0.1 have a key of an older kind and
//! no manifest: they are of the paper's space.

use std::path::Path;
use std::sync::Arc;

use pitchpipe_learn::SearchSpace;
use pitchpipe_learn::search_space::{Manifest, SpaceMismatch};

use super::error::OfflineError;
use super::store::Facts;

/// The fact that every shard has.
pub(super) const KEY: &str = "search_space";
/// The fact that `store.json` has beside it.
pub const BLOCKS: &str = "search_space_blocks";

/// The key that pitchpipe 0.1 had for the paper's space.
const KEY_OF_0_1: &str = "23424-aa15877a";

/// The key of the paper's search space, as surrogates of pitchpipe 0.1 have it.
pub fn search_space_key() -> String {
    KEY_OF_0_1.to_owned()
}

/// The facts that say what numbers are of.
pub(super) fn facts_of(space: &SearchSpace) -> [(String, String); 2] {
    let manifest = space.manifest();
    let blocks = serde_json::to_string(&manifest).expect("plain data is always written");
    [(KEY.to_owned(), manifest.key()), (BLOCKS.to_owned(), blocks)]
}

/// The space of a store with these facts; blocks that `known` has must be the same there.
pub(super) fn space_of(
    facts: &Facts,
    known: &SearchSpace,
    folder: &Path,
) -> Result<Arc<SearchSpace>, OfflineError> {
    let key = facts.get(KEY).map_or("(none)", String::as_str);
    let differs = |wanted: String| OfflineError::StoreDiffers {
        path: folder.to_owned(),
        name: KEY.to_owned(),
        found: key.to_owned(),
        wanted,
    };
    let manifest: Manifest = match facts.get(BLOCKS) {
        Some(text) => serde_json::from_str(text).map_err(|source| OfflineError::Facts {
            path: folder.join(super::store::FACTS_FILE),
            source,
        })?,
        None if key == KEY_OF_0_1 => SearchSpace::paper().manifest(),
        None => return Err(differs(known.key())),
    };
    if facts.contains_key(BLOCKS) && manifest.key() != key {
        return Err(differs(manifest.key()));
    }
    let other = |source: SpaceMismatch| OfflineError::OtherSpace {
        path: folder.to_owned(),
        source: Box::new(source),
    };
    manifest.space(known).map(Arc::new).map_err(other)
}

/// The first space, with those blocks of the second added that it does not have.
pub(super) fn joined(
    first: &Arc<SearchSpace>,
    second: &SearchSpace,
) -> Result<Arc<SearchSpace>, SpaceMismatch> {
    let new: Vec<_> =
        second.blocks().iter().filter(|b| first.range_of(b.name()).is_none()).cloned().collect();
    let whole = if new.is_empty() {
        Arc::clone(first)
    } else {
        Arc::new(SearchSpace::new(first.blocks().iter().cloned().chain(new).collect())?)
    };
    // Blocks that both have must be the same.
    second.manifest().check(&whole)?;
    Ok(whole)
}
