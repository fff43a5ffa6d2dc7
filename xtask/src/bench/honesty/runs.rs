//! One search, what it reported, and what its model is worth; recorded as a JSON line when it ends.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pitchpipe_table::Metric;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::super::automl::process::{How, Place};
use super::{Reports, noise, tables};

/// One search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) table: String,
    pub(super) seed: u64,
    pub(super) budget_secs: f64,
    /// Further arguments.
    pub(super) with: String,
}

impl Run {
    /// What tells it apart, fit for the name of a folder.
    pub(super) fn key(&self) -> String {
        let with = xxh3_64(self.with.as_bytes());
        format!("{}-{}-{}-{with:x}", self.table, self.seed, self.budget_secs)
    }
}

/// A search that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Done {
    #[serde(flatten)]
    pub(super) run: Run,
    /// Of the program's bytes.
    pub(super) build: String,
    /// The scores that the search reported, under the metrics' names.
    pub(super) reported: BTreeMap<String, f64>,
    /// Their standard errors, where the program gives them.
    pub(super) standard_errors: BTreeMap<String, f64>,
    /// The model's scores on the rows held out; none on noise.
    pub(super) held_out: BTreeMap<String, f64>,
    /// Their standard errors, where the program gives them.
    #[serde(default)]
    pub(super) held_out_errors: BTreeMap<String, f64>,
    pub(super) wall_secs: f64,
}

/// What searches are run with.
pub(super) struct Runner {
    pub(super) program: PathBuf,
    pub(super) build: String,
    pub(super) reports: Reports,
    pub(super) corpus: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) record: PathBuf,
}

/// Tells one program from another.
pub(super) fn build_of(program: &Path) -> Result<String, String> {
    let bytes = fs::read(program).map_err(|e| format!("{}: {e}", program.display()))?;
    Ok(format!("{:016x}", xxh3_64(&bytes)))
}

/// What a build has recorded. A last line that an interruption cut short is passed over.
pub(super) fn recorded(path: &Path, build: &str) -> Result<Vec<Done>, String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let all: Result<Vec<Done>, _> = whole.map(serde_json::from_str).collect();
    let all = all.map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(all.into_iter().filter(|done| done.build == build).collect())
}

impl Runner {
    /// Searches and evaluates; `None` where that was interrupted.
    pub(super) fn run(&self, run: &Run, place: Place<'_>) -> Result<Option<Done>, String> {
        let folder = self.folder.join("work").join(format!("{}-{}", run.key(), self.build));
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let split = match noise::n_rows(&run.table) {
            Some(n_rows) => {
                let train = folder.join("train.csv");
                noise::write(&train, n_rows, run.seed)?;
                tables::Split { test: train.clone(), train }
            }
            None => tables::write(&self.corpus, &run.table, run.seed, &folder)?,
        };
        let model = folder.join("model.pp");
        let mut fit = Command::new(&self.program);
        fit.arg("fit").arg(&split.train).args(["--target", "class", "--threads", "1", "--json"]);
        fit.args(["--time-budget", &format!("{}s", run.budget_secs)]);
        fit.args(["--seed", &run.seed.to_string(), "--out"]).arg(&model);
        fit.args(run.with.split_whitespace());
        let limit = Duration::from_secs_f64(3.0 * run.budget_secs + 60.0);
        let Some((said, wall)) = self.output(run, &fit, place, limit, &folder)? else {
            return Ok(None);
        };
        let last = said.lines().rev().find_map(|line| {
            serde_json::from_str::<Value>(line).ok().filter(|event| event["event"] == "saved")
        });
        let saved = last.ok_or(format!("{}: nothing was saved", run.key()))?;
        let (mut held_out, mut held_out_errors) = (BTreeMap::new(), BTreeMap::new());
        if noise::n_rows(&run.table).is_none() {
            let mut evaluate = Command::new(&self.program);
            evaluate.arg("evaluate").arg(&model).arg(&split.test).arg("--json");
            let Some((said, _)) = self.output(run, &evaluate, place, limit, &folder)? else {
                return Ok(None);
            };
            let object: Value =
                serde_json::from_str(&said).map_err(|e| format!("{}: {e}", run.key()))?;
            held_out = numbers(&object["scores"]);
            held_out_errors = numbers(&object["standard_errors"]);
        }
        fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Some(Done {
            run: run.clone(),
            build: self.build.clone(),
            reported: self.reported(&saved["report"]),
            standard_errors: numbers(&saved["report"]["standard_errors"]),
            held_out,
            held_out_errors,
            wall_secs: wall.as_secs_f64(),
        }))
    }

    /// The scores in a report.
    fn reported(&self, report: &Value) -> BTreeMap<String, f64> {
        match self.reports {
            Reports::Scores => numbers(&report["scores"]),
            Reports::Errors => {
                let score = |(name, error): (String, f64)| {
                    let metric: Option<Metric> = name.parse().ok();
                    let is_score = metric.is_some_and(Metric::higher_is_better);
                    (name, if is_score { 1.0 - error } else { error })
                };
                numbers(&report["ensemble"]).into_iter().map(score).collect()
            }
        }
    }

    /// What a command prints, and the time it took.
    fn output(
        &self,
        run: &Run,
        command: &Command,
        place: Place<'_>,
        limit: Duration,
        folder: &Path,
    ) -> Result<Option<(String, Duration)>, String> {
        let (out, err) = (folder.join("out"), folder.join("err"));
        let ended = place.run(command, limit, &out, &err)?;
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        match ended.how {
            How::Succeeded => Ok(Some((text(&out), ended.wall))),
            How::Interrupted => Ok(None),
            How::Failed | How::Late => Err(format!("{}: {}", run.key(), text(&err))),
        }
    }

    /// Records a search.
    pub(super) fn append(&self, done: &Done) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", self.record.display());
        let mut file =
            OpenOptions::new().create(true).append(true).open(&self.record).map_err(failed)?;
        let line = serde_json::to_string(done).expect("a record is plain data");
        file.write_all(format!("{line}\n").as_bytes()).map_err(failed)
    }
}

/// The numbers of an object.
fn numbers(object: &Value) -> BTreeMap<String, f64> {
    let pairs = object.as_object().into_iter().flatten();
    pairs.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}
