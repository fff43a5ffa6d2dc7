//! How each system is run on a split, and what is recorded of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use super::baseline;
use super::export::{Split, TARGET};
use super::plan::{Contender, Run, System};
use super::process::{Ended, How, Place};
use super::record::{Outcome, Record};
use super::score::Predictions;
use crate::python::{self, root};

/// How long a process may take that has no budget, or that only predicts.
const PATIENCE: Duration = Duration::from_secs(600);

/// The programs that run the systems.
pub(super) struct Programs {
    pitchpipe: Pair,
    interpreters: BTreeMap<System, PathBuf>,
    builds: Builds,
}

/// A key of what runs each contender.
pub(super) type Builds = Vec<(Contender, String)>;

/// The program under test, and the one that it is compared with.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) present: PathBuf,
    pub(super) before: Option<PathBuf>,
    /// What the latter takes in place of its own surrogate.
    pub(super) before_surrogate: Option<PathBuf>,
}

impl Pair {
    fn of(&self, contender: Contender) -> &Path {
        let before = self.before.as_deref().filter(|_| contender.is_before);
        before.unwrap_or(&self.present)
    }

    fn surrogate_of(&self, contender: Contender) -> Option<&Path> {
        self.before_surrogate.as_deref().filter(|_| contender.is_before)
    }
}

impl Programs {
    /// Finds what the systems need; makes the Python environments that are not there yet.
    pub(super) fn prepare(
        contenders: &[Contender],
        pitchpipe: Pair,
        builds: Builds,
    ) -> Result<Self, String> {
        let mut interpreters = BTreeMap::new();
        for &Contender { system, .. } in contenders {
            if let Some(name) = system.environment() {
                interpreters.insert(system, python::environment(name)?);
            }
        }
        Ok(Self { pitchpipe, interpreters, builds })
    }

    pub(super) fn build(&self, contender: Contender) -> &str {
        self.builds.iter().find(|b| b.0 == contender).map_or("", |b| &b.1)
    }

    /// Runs one; `None` where it was interrupted. `folder` is its own and is empty.
    pub(super) fn run(
        &self,
        run: &Run,
        split: &Split,
        place: Place<'_>,
        folder: &Path,
    ) -> Result<Option<Record>, String> {
        let job = Job { run, split, place, folder };
        let system = run.contender.system;
        let (ended, predictions) = match self.interpreters.get(&system) {
            Some(python) => job.peer(Command::new(python).arg(peer()).arg(system.name()))?,
            None if system == System::Baseline => {
                let this = std::env::current_exe().map_err(|e| e.to_string())?;
                job.peer(Command::new(this).args(["bench", "automl-baseline"]))?
            }
            None => {
                let (program, of) = (self.pitchpipe.of(run.contender), run.contender);
                job.pitchpipe(program, self.pitchpipe.surrogate_of(of))?
            }
        };
        let truth = split.truth()?;
        let scored = predictions.and_then(|p| Ok((p.score(&truth)?, p)));
        let (outcome, said) = match (ended.how, scored) {
            (How::Interrupted, _) => return Ok(None),
            (How::Late, _) => (Outcome::Killed, None),
            (_, Ok((scores, said))) => (Outcome::Scored(scores), Some(said)),
            (_, Err(message)) => (Outcome::Failed { message }, None),
        };
        Ok(Some(Record {
            run: run.clone(),
            build: self.build(run.contender).to_owned(),
            outcome,
            wall_secs: ended.wall.as_secs_f64(),
            fit_secs: said.as_ref().and_then(|s| s.fit_secs),
            cpu_secs: ended.cpu.as_secs_f64(),
            peak_memory_mb: ended.peak_bytes as f64 / 1e6,
            n_evaluated: said.as_ref().and_then(|s| s.n_evaluated),
        }))
    }
}

/// Looks at what runs each contender.
pub(super) fn builds(contenders: &[Contender], pitchpipe: &Pair) -> Result<Builds, String> {
    let bytes = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let build = |&contender: &Contender| {
        let what_runs = match contender.system.environment() {
            Some(name) => {
                let packages = root().join("requirements").join(format!("{name}.txt"));
                [bytes(&packages)?, bytes(&peer())?].concat()
            }
            // This program runs it, and changes for many other reasons.
            None if contender.system == System::Baseline => {
                baseline::pipeline().to_string().into_bytes()
            }
            None => {
                let surrogate = pitchpipe.surrogate_of(contender).map(bytes).transpose()?;
                [bytes(pitchpipe.of(contender))?, surrogate.unwrap_or_default()].concat()
            }
        };
        Ok((contender, format!("{:016x}", xxh3_64(&what_runs))))
    };
    contenders.iter().map(build).collect()
}

fn peer() -> PathBuf {
    root().join("bench/automl/peer.py")
}

/// A run under way. Its methods give the process that fitted, and the predictions or why there are none.
struct Job<'a> {
    run: &'a Run,
    split: &'a Split,
    place: Place<'a>,
    folder: &'a Path,
}

type Answer = (Ended, Result<Predictions, String>);

impl Job<'_> {
    /// One that fits and predicts in one process.
    fn peer(&self, command: &mut Command) -> Result<Answer, String> {
        let out = self.folder.join("predictions.json");
        command.args([&self.split.train, &self.split.test, &out]);
        command.arg(self.run.seed.to_string());
        command.args(self.run.budget_secs.map(|secs| secs.to_string()));
        command.current_dir(self.folder);
        let ended = self.start(command, self.limit(), "fit")?;
        let predictions = self.only_after(ended.how, "fit", || Predictions::read_json(&out));
        Ok((ended, predictions))
    }

    fn pitchpipe(&self, program: &Path, surrogate: Option<&Path>) -> Result<Answer, String> {
        let (model, out) = (self.folder.join("model.pp"), self.folder.join("predictions.parquet"));
        let budget = self.run.budget_secs.expect("every method of pitchpipe takes a budget");
        let mut fit = Command::new(program);
        fit.arg("fit").arg(&self.split.train).args(["--target", TARGET]);
        fit.arg("--time-budget").arg(format!("{budget}s"));
        fit.args(self.run.contender.system.arguments()).args(["--threads", "1"]);
        if let Some(surrogate) = surrogate {
            // Runs have folders of their own.
            let surrogate = std::path::absolute(surrogate).map_err(|e| e.to_string())?;
            fit.arg("--surrogate").arg(surrogate);
        }
        fit.arg("--seed").arg(self.run.seed.to_string());
        fit.arg("--out").arg(&model).arg("--quiet");
        let ended = self.start(&fit, self.limit(), "fit")?;
        if ended.how != How::Succeeded {
            let message = self.only_after(ended.how, "fit", || unreachable!("it did not succeed"));
            return Ok((ended, message));
        }
        let mut predict = Command::new(program);
        predict.arg("predict").arg(&model).arg(&self.split.test);
        predict.arg("--proba").arg("--out").arg(&out);
        let predicted = self.start(&predict, PATIENCE, "predict")?;
        let classes = self.split.truth()?.classes;
        let predictions = self
            .only_after(predicted.how, "predict", || Predictions::read_table(&out, &classes))
            .map(|p| Predictions { n_evaluated: self.n_evaluated(program, &model), ..p });
        let how = if predicted.how == How::Interrupted { How::Interrupted } else { ended.how };
        Ok((Ended { how, ..ended }, predictions))
    }

    /// What `pitchpipe inspect` says of the number of pipelines.
    fn n_evaluated(&self, program: &Path, model: &Path) -> Option<u64> {
        let mut inspect = Command::new(program);
        inspect.arg("inspect").arg(model).arg("--json");
        self.start(&inspect, PATIENCE, "inspect").ok()?;
        let text = fs::read_to_string(self.folder.join("inspect.out")).ok()?;
        let about: serde_json::Value = serde_json::from_str(&text).ok()?;
        about.get("report")?.get("n_evaluated")?.as_u64()
    }

    fn start(&self, command: &Command, limit: Duration, step: &str) -> Result<Ended, String> {
        let [out, err] = ["out", "err"].map(|end| self.folder.join(format!("{step}.{end}")));
        self.place.run(command, limit, &out, &err)
    }

    /// Late enough to see how late a system is, soon enough to finish the benchmark.
    fn limit(&self) -> Duration {
        self.run.budget_secs.map_or(PATIENCE, |secs| Duration::from_secs(2 * secs + 60))
    }

    /// What a step that succeeded gives; otherwise the last words of its standard error.
    fn only_after<T>(
        &self,
        how: How,
        step: &str,
        give: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        if how == How::Succeeded {
            return give();
        }
        let text = fs::read(self.folder.join(format!("{step}.err"))).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let last: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        Err(format!("{step}: {}", last[last.len().saturating_sub(2)..].join(" | ")))
    }
}
