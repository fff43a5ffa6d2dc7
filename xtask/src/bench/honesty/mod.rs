//! `cargo xtask bench honesty`: are the scores that a search reports those of its model on rows it has never seen?
//!
//! Two kinds of tables: those of the test corpus, of which 30 % of the rows are held out, and noise, on which no model
//! is better than chance. The program is run as its users run it, so that any build can be measured.

mod noise;
mod report;
mod runs;
pub(super) mod tables;

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use clap::ValueEnum;

use super::automl::process;
use super::automl::process::Place;
use crate::python::root;
use runs::{Run, Runner};

/// Which tables are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Tables {
    /// The test corpus: reported scores beside those on rows held out
    Test,
    /// Labels that have nothing to do with the columns: a balanced accuracy of .5 is the truth
    Noise,
}

/// What stands in a report under the name of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Reports {
    Scores,
    /// As programs before 0.2 have it: one minus the score
    Errors,
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which tables are searched
    #[arg(long, value_enum, default_value = "test")]
    tables: Tables,
    /// The program to measure [default: target/release/pitchpipe]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// What the program's report holds under the names of scores
    #[arg(long, value_enum, default_value = "scores")]
    reports: Reports,
    /// How many searches go on side by side, each on a core of its own
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Seeds of the splits, of the noise and of the searches [default: 0 to 2; on noise 0 to 19]
    #[arg(long, value_delimiter = ',', value_name = "SEED")]
    seeds: Vec<u64>,
    /// The time budget of a search in seconds [default: 3; on noise 1]
    #[arg(long, value_name = "SECONDS")]
    budget: Option<f64>,
    /// Rows of the tables of noise
    #[arg(long, value_delimiter = ',', default_values_t = [50, 100, 300])]
    rows: Vec<usize>,
    /// Datasets of the corpus [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    datasets: Vec<String>,
    /// Further arguments of `pitchpipe fit`, such as `--with "--holdout 0.2"`
    #[arg(long, value_name = "ARGUMENTS", default_value = "", allow_hyphen_values = true)]
    with: String,
    /// Begin no search after so many seconds; the same command goes on where it was
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Only print what is recorded
    #[arg(long)]
    report: bool,
    /// Also print a line for each table
    #[arg(long)]
    details: bool,
    /// The folder of the corpus, with its INDEX.tsv [default: ../shared/corpus/test]
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    /// Where splits, models and the record are kept [default: target/bench/honesty]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Options {
    fn budget(&self) -> f64 {
        self.budget.unwrap_or(if self.tables == Tables::Noise { 1.0 } else { 3.0 })
    }

    fn seeds(&self) -> Vec<u64> {
        let n = if self.tables == Tables::Noise { 20 } else { 3 };
        if self.seeds.is_empty() { (0..n).collect() } else { self.seeds.clone() }
    }

    /// The names of the tables, seed by seed, so that an interrupted measurement is balanced.
    fn runs(&self) -> Result<Vec<Run>, String> {
        let names: Vec<String> = match self.tables {
            Tables::Noise => self.rows.iter().map(|n| noise::name(*n)).collect(),
            Tables::Test => tables::names(&self.corpus(), &self.datasets)?,
        };
        let run = |table: &String, seed: u64| Run {
            table: table.clone(),
            seed,
            budget_secs: self.budget(),
            with: self.with.clone(),
        };
        Ok(self.seeds().iter().flat_map(|&seed| names.iter().map(move |t| run(t, seed))).collect())
    }

    fn corpus(&self) -> PathBuf {
        self.corpus.clone().unwrap_or_else(|| root().join("../shared/corpus/test"))
    }
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let folder = options.folder.clone().unwrap_or_else(|| root().join("target/bench/honesty"));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let program = options.program.clone();
    let program = program.unwrap_or_else(|| root().join("target/release/pitchpipe"));
    let build = runs::build_of(&program)?;
    let record = folder.join("runs.jsonl");
    let planned = options.runs()?;
    let runner = Runner {
        program: fs::canonicalize(&program).map_err(|e| format!("{}: {e}", program.display()))?,
        build: build.clone(),
        reports: options.reports,
        corpus: options.corpus(),
        folder,
        record: record.clone(),
    };
    if !options.report {
        let done = runs::recorded(&record, &build)?;
        let is_open = |run: &&Run| !done.iter().any(|d| d.run == **run);
        let open: Vec<&Run> = planned.iter().filter(is_open).collect();
        eprintln!("{} of {} runs are recorded already", planned.len() - open.len(), planned.len());
        let limit = options.seconds.map(Duration::from_secs);
        run_all(&runner, open, options.jobs, limit)?;
    }
    let wanted: BTreeSet<String> = planned.iter().map(Run::key).collect();
    let mut done = runs::recorded(&record, &build)?;
    done.retain(|d| wanted.contains(&d.run.key()));
    let missing = planned.len() - done.len();
    if missing > 0 {
        println!("{missing} of {} runs are not there yet", planned.len());
    }
    print!("{}", report::text(options.tables, &done, options.details));
    Ok(())
}

/// Runs all, `n_jobs` at a time, until the limit; stops at the first that cannot be run, and at Ctrl-C.
fn run_all(
    runner: &Runner,
    open: Vec<&Run>,
    n_jobs: usize,
    limit: Option<Duration>,
) -> Result<(), String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|e| e.to_string())?;
    }
    let pinned = process::has_taskset();
    let (start, n_open) = (Instant::now(), open.len());
    let queue = Mutex::new(VecDeque::from(open));
    let (lock, n_done) = (Mutex::new(()), AtomicUsize::new(0));
    let work = |core: usize| -> Result<(), String> {
        let place = Place { core: pinned.then_some(core), stop: &stop };
        while !stop.load(Ordering::Relaxed) && limit.is_none_or(|l| start.elapsed() < l) {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(run) = next else { return Ok(()) };
            let Some(done) = runner.run(run, place)? else { return Ok(()) };
            let _one_at_a_time = lock.lock().unwrap_or_else(PoisonError::into_inner);
            runner.append(&done)?;
            let n = n_done.fetch_add(1, Ordering::Relaxed) + 1;
            eprintln!("[{n}/{n_open}] {}", report::line(&done));
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
    results.into_iter().collect()
}
