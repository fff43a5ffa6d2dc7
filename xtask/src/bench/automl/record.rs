//! The record of runs: one JSON line each, appended when the run ends, so that an interrupted benchmark
//! goes on where it was.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::plan::Run;
use super::score::Scores;

/// One run and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(flatten)]
    pub(super) run: Run,
    /// Which build of the system ran: another program, other packages or another pipeline gives another.
    pub(super) build: String,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    /// The whole process that fits, from its start to its end. With peers it also predicts.
    pub(super) wall_secs: f64,
    /// The call that fits alone, where the process can tell.
    pub(super) fit_secs: Option<f64>,
    /// CPU time of the process and its children; well below the wall time if the core was shared.
    pub(super) cpu_secs: f64,
    /// The most memory that one process of it had resident.
    pub(super) peak_memory_mb: f64,
    /// How many models it evaluated, where it says so.
    pub(super) n_evaluated: Option<u64>,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It gave predictions.
    Scored(Scores),
    /// It was killed, long after its budget.
    Killed,
    /// It ended without predictions.
    Failed { message: String },
}

/// All that is recorded, the last record of each run.
#[derive(Default)]
pub(super) struct Records {
    by_run: BTreeMap<Run, Record>,
}

impl Records {
    /// What the file holds; nothing if there is none. A last line that an interruption cut short is passed
    /// over.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let mut records = Self::default();
        if !path.exists() {
            return Ok(records);
        }
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        for (i, line) in text.split_inclusive('\n').enumerate() {
            if !line.ends_with('\n') {
                break;
            }
            let record = serde_json::from_str(line)
                .map_err(|e| format!("{}: line {}: {e}", path.display(), i + 1))?;
            records.insert(record);
        }
        Ok(records)
    }

    pub(super) fn insert(&mut self, record: Record) {
        self.by_run.insert(record.run.clone(), record);
    }

    pub(super) fn get(&self, run: &Run) -> Option<&Record> {
        self.by_run.get(run)
    }

    pub(super) fn retain(&mut self, is_wanted: impl Fn(&Record) -> bool) {
        self.by_run.retain(|_, record| is_wanted(record));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.by_run.values()
    }
}

/// Appends a record, and cuts off first what an interruption left of a line.
pub(super) fn append(path: &Path, record: &Record) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    if let Ok(bytes) = fs::read(path) {
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        if whole < bytes.len() {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            file.set_len(whole as u64).map_err(failed)?;
        }
    }
    let mut file: File = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
    let mut line = serde_json::to_string(record).expect("a record is plain data");
    line.push('\n');
    file.write_all(line.as_bytes()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::super::plan::System;
    use super::*;

    fn record(seed: u64, wall_secs: f64) -> Record {
        Record {
            run: Run {
                contender: System::Auto.into(),
                dataset: "d".into(),
                budget_secs: Some(5),
                seed,
            },
            build: "1".into(),
            outcome: Outcome::Killed,
            wall_secs,
            fit_secs: None,
            cpu_secs: 1.0,
            peak_memory_mb: 10.0,
            n_evaluated: None,
        }
    }

    #[test]
    fn an_interrupted_line_is_passed_over_and_the_last_of_a_run_counts() {
        let folder = std::env::temp_dir().join(format!("pitchpipe-records-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("records.jsonl");
        let _ = fs::remove_file(&path);
        for one in [record(0, 1.0), record(1, 2.0), record(0, 3.0)] {
            append(&path, &one).unwrap();
        }
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"system\":\"auto\",\"data");
        fs::write(&path, &text).unwrap();
        let records = Records::read(&path).unwrap();
        assert_eq!(records.iter().count(), 2);
        assert_eq!(records.get(&record(0, 0.0).run), Some(&record(0, 3.0)));
        append(&path, &record(2, 4.0)).unwrap();
        assert_eq!(Records::read(&path).unwrap().iter().count(), 3);
        fs::remove_dir_all(folder).unwrap();
    }
}
