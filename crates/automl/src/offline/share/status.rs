//! How far a shared collection is, in a file beside the store that others may read.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::offline::OfflineError;
use crate::offline::error::at;
use crate::offline::store::write_whole;

const FILE: &str = "status.json";

/// How far a collection is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whether it has ended.
    pub is_over: bool,
    /// Seconds since it began.
    pub elapsed_secs: f64,
    /// Seconds since 1970 at which this was written: a driver that was lost writes no more.
    pub written_at: f64,
    /// Tables of the corpus.
    pub n_tables: usize,
    /// Tables of which all is done.
    pub n_tables_done: usize,
    /// Entries asked for of the tables that were measured.
    pub n_planned: usize,
    /// Of these, how many are in the store.
    pub n_done: usize,
    /// Entries that this run added.
    pub n_added: usize,
    /// CPU seconds that they took.
    pub cpu_secs: f64,
    /// Entries added per second.
    pub entries_per_sec: f64,
    /// CPU seconds that what is left of the measured tables is expected to take.
    pub secs_left: f64,
    /// Workers.
    pub n_workers: usize,
    /// Tasks that run or wait for a worker.
    pub n_in_flight: usize,
    /// Tasks that came back.
    pub n_tasks: usize,
    /// Tasks that were lost or failed, and were asked for again.
    pub n_retries: usize,
    /// What was given up.
    pub given_up: Vec<GivenUp>,
    /// Tables that could not be read, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Tables with the content of another table of the corpus.
    pub duplicates: Vec<(String, String)>,
}

/// Pipelines that were not run on a table, after all attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GivenUp {
    /// The table.
    pub dataset: String,
    /// The pipelines, by their numbers in the store's space.
    pub pipelines: Vec<u32>,
    /// What happened at the last attempt.
    pub reason: String,
}

/// Writes the status of a store.
pub(super) fn write_status(store: &Path, status: &Status) -> Result<(), OfflineError> {
    let text = serde_json::to_vec_pretty(status).expect("a status is plain data");
    write_whole(&store.join(FILE), &text)
}

/// How far the last shared collection into a store is; none if there was none.
pub fn read_status(store: &Path) -> Result<Option<Status>, OfflineError> {
    let path = store.join(FILE);
    match std::fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|source| OfflineError::Facts { path, source }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(at(path)(e)),
    }
}
