//! `cargo xtask bench automl`: whole systems on the test corpus, within a time budget, on one core each.
//!
//! bench/automl/README.md says what is measured and how to run it.

pub(super) mod baseline;
mod datasets;
pub(super) mod export;
mod plan;
pub(super) mod process;
mod record;
mod report;
mod score;
mod systems;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, thread};

use export::Split;
use plan::{Choice, Contender, Run, System};
use process::Place;
use record::{Outcome, Record, Records};
use systems::{Builds, Pair, Programs};

use crate::corpus::Entry;
use crate::python::root;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The part of the corpus: `test`, or `large` for the eight tables of 19,000 rows and more
    #[arg(long, default_value = "test", value_parser = ["test", "large", "train"])]
    corpus: String,
    /// Datasets of the corpus; `twelve` and `ten` are fixed choices of the test corpus [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    datasets: Vec<String>,
    /// Only datasets of at least so many rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_rows: usize,
    /// Systems, or the groups ours, sklearn, lightgbm, peers, all
    #[arg(long, value_delimiter = ',', value_name = "NAME", default_value = "ours,sklearn")]
    systems: Vec<Choice>,
    /// Time budgets in seconds [default: 5,15,30; in a report: all that are recorded]
    #[arg(long, value_delimiter = ',', value_name = "SECONDS")]
    budgets: Vec<u64>,
    /// Seeds of the splits and of the systems [default: 0; in a report: all that are recorded]
    #[arg(long, value_delimiter = ',', value_name = "SEED")]
    seeds: Vec<u64>,
    /// How many runs go on side by side, each on a core of its own
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Go dataset by dataset instead of system by system, so that an interrupted run is balanced
    #[arg(long)]
    interleave: bool,
    /// Only print the tables of what is recorded
    #[arg(long)]
    report: bool,
    /// Also print the errors dataset by dataset
    #[arg(long)]
    details: bool,
    /// The system that the others are compared with
    #[arg(long, value_name = "NAME", default_value = "auto")]
    against: Choice,
    /// Run again what another build of a system has recorded
    #[arg(long)]
    stale: bool,
    /// Run again what failed or was killed
    #[arg(long)]
    retry: bool,
    /// Keep the folder of every run: models, and what was printed
    #[arg(long)]
    keep: bool,
    /// The record of runs [default: target/bench/automl/runs.jsonl]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The program to run [default: target/release/pitchpipe]
    #[arg(long, value_name = "FILE")]
    pitchpipe: Option<PathBuf>,
    /// Another build of the program: whatever pitchpipe runs is run by both, in turns, and compared
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// A surrogate of that build, or of this one where no other is named: with one of fewer blocks, what the search is without
    /// the others
    #[arg(long, value_name = "FILE")]
    before_surrogate: Option<PathBuf>,
    /// Only write the splits, and print which builds would run.
    #[arg(long, hide = true)]
    prepare: bool,
}

impl Options {
    fn programs(&self) -> Pair {
        let default = || root().join("target/release/pitchpipe");
        let present = self.pitchpipe.clone().unwrap_or_else(default);
        let before_surrogate = self.before_surrogate.clone();
        Pair { present, before: self.before.clone(), before_surrogate }
    }

    fn seeds(&self) -> Vec<u64> {
        if self.seeds.is_empty() { vec![0] } else { self.seeds.clone() }
    }

    fn budgets(&self) -> Vec<u64> {
        if self.budgets.is_empty() { vec![5, 15, 30] } else { self.budgets.clone() }
    }
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let folder = root().join("target/bench/automl");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let path = options.record.clone().unwrap_or_else(|| folder.join("runs.jsonl"));
    let mut systems: Vec<System> = options.systems.iter().flat_map(|c| c.0.clone()).collect();
    systems.sort();
    systems.dedup();
    let mut datasets = datasets::chosen(&options.corpus, &options.datasets)?;
    datasets.retain(|entry| entry.n_rows >= options.min_rows);
    let has_before = options.before.is_some() || options.before_surrogate.is_some();
    let contenders = Contender::all(&systems, has_before);
    if options.prepare {
        return prepare(options, &contenders, &datasets);
    }
    if !options.report {
        Benchmark::prepare(options, &contenders, &datasets, path.clone())?.run_all(options.jobs)?;
    }
    let mut records = Records::read(&path)?;
    records.retain(|r| datasets.iter().any(|d| d.name == r.run.dataset));
    records.retain(|r| options.seeds.is_empty() || options.seeds.contains(&r.run.seed));
    let mut budgets: BTreeSet<u64> = options.budgets.iter().copied().collect();
    if budgets.is_empty() {
        budgets.extend(records.iter().filter_map(|r| r.run.budget_secs));
    }
    // Systems without a budget can also stand alone.
    let budgets: Vec<Option<u64>> =
        if budgets.is_empty() { vec![None] } else { budgets.into_iter().map(Some).collect() };
    let [against] = options.against.0[..] else { return Err("--against names one system".into()) };
    print!("{}", report::text(&records, &budgets, &systems, against, options.details));
    Ok(())
}

/// Writes the splits and prints the builds.
fn prepare(options: &Options, contenders: &[Contender], datasets: &[Entry]) -> Result<(), String> {
    for dataset in datasets {
        for seed in options.seeds() {
            Split::of(dataset, seed).write_once(dataset, seed)?;
        }
    }
    let builds = systems::builds(contenders, &options.programs())?;
    println!("{}", serde_json::to_string(&builds).expect("builds are plain data"));
    Ok(())
}

/// Has [`prepare`] done by a process of its own. What a process measures as its peak memory begins with
/// that of the process that started it, so this one must stay small.
fn prepared() -> Result<Builds, String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(this)
        .args(std::env::args_os().skip(1))
        .arg("--prepare")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err("the splits could not be prepared".to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("builds: {e}"))
}

/// What is still to be run, and all that it takes.
struct Benchmark {
    programs: Programs,
    splits: BTreeMap<(String, u64), Split>,
    runs: Vec<Run>,
    record: PathBuf,
    folder: PathBuf,
    keep: bool,
}

impl Benchmark {
    fn prepare(
        options: &Options,
        contenders: &[Contender],
        datasets: &[Entry],
        record: PathBuf,
    ) -> Result<Self, String> {
        let programs = Programs::prepare(contenders, options.programs(), prepared()?)?;
        let records = Records::read(&record)?;
        let is_open = |run: &Run| match records.get(run) {
            None => true,
            Some(done) => {
                (options.stale && done.build != programs.build(run.contender))
                    || (options.retry && !matches!(done.outcome, Outcome::Scored(_)))
            }
        };
        let names: Vec<String> = datasets.iter().map(|d| d.name.clone()).collect();
        let mut runs = plan::plan(
            contenders,
            &names,
            &options.budgets(),
            &options.seeds(),
            options.interleave,
        );
        let n_planned = runs.len();
        runs.retain(is_open);
        eprintln!("{} of {n_planned} runs are recorded already", n_planned - runs.len());
        let mut splits = BTreeMap::new();
        for dataset in datasets {
            for seed in options.seeds() {
                splits.insert((dataset.name.clone(), seed), Split::of(dataset, seed));
            }
        }
        let folder = root().join("target/bench/automl/work");
        Ok(Self { programs, splits, runs, record, folder, keep: options.keep })
    }

    /// Runs all, `n_jobs` at a time; stops at the first that cannot be run or recorded, and at Ctrl-C.
    fn run_all(&self, n_jobs: usize) -> Result<(), String> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|e| e.to_string())?;
        }
        let pinned = process::has_taskset();
        if !pinned {
            eprintln!("note: there is no taskset here, so runs are not kept to one core");
        }
        let queue = Mutex::new(self.runs.iter().collect::<VecDeque<&Run>>());
        let lock = Mutex::new(());
        let n_done = AtomicUsize::new(0);
        let work = |core: usize| -> Result<(), String> {
            let place = Place { core: pinned.then_some(core), stop: &stop };
            while !stop.load(Ordering::Relaxed) {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some(run) = next else { return Ok(()) };
                let Some(record) = self.run_one(run, place)? else { return Ok(()) };
                let _one_at_a_time = lock.lock().unwrap_or_else(PoisonError::into_inner);
                record::append(&self.record, &record)?;
                let n = n_done.fetch_add(1, Ordering::Relaxed) + 1;
                eprintln!("[{n}/{}] {}", self.runs.len(), line(&record));
            }
            Ok(())
        };
        let results: Vec<Result<(), String>> = thread::scope(|scope| {
            let one = |core| {
                let (work, stop) = (&work, &stop);
                scope.spawn(move || work(core).inspect_err(|_| stop.store(true, Ordering::Relaxed)))
            };
            let workers: Vec<_> = (0..n_jobs.max(1)).map(one).collect();
            workers.into_iter().map(|w| w.join().expect("a worker does not panic")).collect()
        });
        results.into_iter().collect::<Result<(), String>>()?;
        if stop.load(Ordering::Relaxed) {
            return Err("interrupted; the same command goes on where it was".to_owned());
        }
        Ok(())
    }

    fn run_one(&self, run: &Run, place: Place<'_>) -> Result<Option<Record>, String> {
        let folder = self.folder.join(run.to_string());
        let named = |e: std::io::Error| format!("{}: {e}", folder.display());
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(named)?;
        }
        fs::create_dir_all(&folder).map_err(named)?;
        let split = &self.splits[&(run.dataset.clone(), run.seed)];
        let record = self.programs.run(run, split, place, &folder)?;
        let scored = record.as_ref().is_some_and(|r| matches!(r.outcome, Outcome::Scored(_)));
        // What failed is kept to be looked at.
        if scored && !self.keep {
            fs::remove_dir_all(&folder).map_err(named)?;
        }
        Ok(record)
    }
}

/// One run in one line.
fn line(record: &Record) -> String {
    let outcome = match &record.outcome {
        Outcome::Scored(scores) => format!("error {:.4}", scores.balanced_error),
        Outcome::Killed => "killed".to_owned(),
        Outcome::Failed { message } => format!("failed: {message}"),
    };
    let (wall, memory) = (record.wall_secs, record.peak_memory_mb);
    format!("{}: {outcome}, {wall:.2} s, {memory:.0} MB", record.run)
}
