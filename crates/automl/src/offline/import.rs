//! Importing the authors' published tensor into a store, beside rows of our own.

use std::collections::BTreeMap;

use pitchpipe_learn::SearchSpace;
use rayon::prelude::*;

use super::entry::{Entry, EntryScores, Status};
use super::error::OfflineError;
use super::published::{Cell, N_PIPELINES, Published};
use super::space_facts;
use super::store::{About, Facts, SOURCE, Store};
use crate::surrogate::TableSize;

/// What a store of published entries says of their origin.
pub const PUBLISHED: &str = "oboe 0.2.0, scikit-learn components (BSD-3-Clause)";

/// Puts the published errors and runtimes into a store, a shard for each dataset that has entries, and
/// returns how many datasets and finished entries that were. Datasets that the store has are passed over.
pub fn import(published: &Published, store: &Store) -> Result<(usize, usize), OfflineError> {
    let known = store.datasets()?;
    let counts: Vec<usize> = (0..published.dataset_ids.len())
        .into_par_iter()
        .map(|row| {
            let id = published.dataset_ids[row];
            let name = format!("openml-{id}");
            let entries: Vec<Entry> = (0..N_PIPELINES).map(|j| entry(published, row, j)).collect();
            let finished = entries.iter().filter(|e| e.status.scores().is_some()).count();
            if finished == 0 || known.contains(&name) {
                return Ok(0);
            }
            if let Some(&(rows, columns)) = published.sizes.get(&id) {
                // The label is counted among the columns, which are one-hot encoded.
                let n_encoded = columns.saturating_sub(1).max(1);
                let n_features = n_encoded;
                let size = TableSize {
                    n_rows: rows,
                    n_features,
                    n_encoded,
                    n_classes: None,
                    largest_scale: None,
                };
                store.describe(&name, &About { content: None, size })?;
            }
            let mut facts = store.facts().clone();
            facts.remove(space_facts::BLOCKS);
            store.append(&name, facts, entries)?;
            Ok(finished)
        })
        .collect::<Result<_, OfflineError>>()?;
    Ok((counts.iter().filter(|&&n| n > 0).count(), counts.iter().sum()))
}

/// The facts of a store of published entries.
pub(crate) fn facts() -> Facts {
    let mut facts = BTreeMap::from([
        ("format".into(), "1".into()),
        ("folds".into(), "3".into()),
        ("time_cap_s".into(), "120".into()),
        (SOURCE.into(), PUBLISHED.into()),
    ]);
    facts.extend(space_facts::facts_of(&SearchSpace::paper()));
    facts
}

/// Only error and runtime were published; what was never measured is no number.
fn entry(published: &Published, row: usize, pipeline: usize) -> Entry {
    let (status, secs) = match published.cells[(row, pipeline)] {
        Cell::Observed => {
            let scores = EntryScores {
                error: published.errors[(row, pipeline)],
                fold_errors: Vec::new(),
                balanced_decision_error: f32::NAN,
                accuracy: f32::NAN,
                log_loss: f32::NAN,
                auc: f32::NAN,
                macro_f1: f32::NAN,
            };
            (Status::Finished(scores), published.runtimes_secs[(row, pipeline)])
        }
        Cell::Failed => (Status::Failed("out of time or failed, as published".into()), 0.0),
        Cell::NotApplicable => (Status::Failed("not applicable, as published".into()), 0.0),
    };
    Entry { pipeline: pipeline as u32, status, runtime_s: secs, marginal_s: secs }
}

impl Store {
    /// Opens, or makes, a store for published entries.
    pub fn for_published(folder: &std::path::Path) -> Result<Self, OfflineError> {
        Self::open_or_create(folder, &facts())
    }
}
