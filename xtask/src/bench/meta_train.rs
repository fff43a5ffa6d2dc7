//! `cargo xtask bench meta-train`: training on a made store of thousands of datasets, its time and its peak memory.
//!
//! Datasets are drawn from the prior inside the program, on which the entries of a real collection (the slice of 183
//! estimators in full, a random share of the rest) are measured with noise. Since their truth is known, what was trained is
//! judged on fresh datasets: how far off all pipelines are predicted from thirty of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use pitchpipe_automl::offline::{
    About, CONTENT, Collection, Entry, EntryScores, OfflineError, Scope, SearchSpace, Status,
    Store, batches,
};
use pitchpipe_automl::surrogate::{ErrorKind, Surrogate, TableSize};
use pitchpipe_surrogate::bayes::Scale;
use rayon::prelude::*;

use super::automl::process::{How, Place};
use crate::python::root;
use crate::tests;

/// Fresh datasets to judge by, and how many pipelines of each are looked at.
const N_JUDGES: usize = 100;
const N_LOOKS: usize = 30;
/// Datasets to judge by have numbers that no dataset of a store has.
const FIRST_JUDGE: u64 = 1 << 40;

/// What to make and train on.
#[derive(Args)]
pub(crate) struct Options {
    /// Datasets of the store
    #[arg(long, default_value_t = 10_000)]
    datasets: usize,

    /// The share of pipelines measured on each, besides the slice
    #[arg(long, default_value_t = 0.05)]
    fraction: f64,

    /// How many datasets are held at once: may be given several times, to train several times
    #[arg(long, default_value = "1000")]
    at_once: Vec<u32>,

    /// What to train: matrix, tensor, kernel, bayes or all
    #[arg(long, default_value = "all")]
    method: String,

    /// Seconds after which training is killed
    #[arg(long, default_value_t = 3600)]
    limit: u64,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    tests::run(Command::new("cargo").args(["build", "--release", "--bin", "pitchpipe"]))?;
    let folder = root().join("target/bench/meta-train");
    let store = folder.join(format!("{}-at-{}", options.datasets, options.fraction));
    let made = Made::new();
    if !store.join("complete").exists() {
        let began = Instant::now();
        let n_entries = made.store(&store, options).map_err(|e| e.to_string())?;
        fs::write(store.join("complete"), n_entries.to_string()).map_err(|e| e.to_string())?;
        eprintln!("made the store in {:.0} s", began.elapsed().as_secs_f64());
    }
    let n_entries = fs::read_to_string(store.join("complete")).map_err(|e| e.to_string())?;
    println!(
        "{} datasets x {} pipelines, {n_entries} entries, {:.0} MB on disk",
        options.datasets,
        made.space.n_pipelines(),
        bytes_under(&store)? as f64 / 1e6
    );
    for &at_once in &options.at_once {
        let out = folder.join(format!("{}-at-once-{at_once}.surrogate", options.datasets));
        train(&store, &out, at_once, options)?;
        if let Some(off) = made.judge(&out)? {
            println!(
                "{N_JUDGES} fresh datasets after {N_LOOKS} pipelines: off by {off:.5} (root mean square)"
            );
        }
    }
    if let Some(off) = made.off_by(&made.known)? {
        println!("the prior that datasets were drawn from: off by {off:.5}");
    }
    Ok(())
}

/// Trains in a process of its own, and prints what it said and took.
fn train(store: &Path, out: &Path, at_once: u32, options: &Options) -> Result<(), String> {
    let mut command = Command::new(root().join("target/release/pitchpipe"));
    command.args(["meta", "train", "--force", "--store"]).arg(store).arg("--out").arg(out);
    command.args(["--method", &options.method, "--at-once", &at_once.to_string()]);
    // Threads as the command takes them; `Place` would keep it to one.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    command.env("RAYON_NUM_THREADS", cores.to_string());
    let (said, erred) = (out.with_extension("txt"), out.with_extension("err"));
    let place = Place { core: None, stop: &std::sync::atomic::AtomicBool::new(false) };
    let ended = place.run(&command, Duration::from_secs(options.limit), &said, &erred)?;
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    println!("\n--at-once {at_once}, {cores} threads\n{}{}", text(&said), text(&erred));
    println!(
        "{:.0} s, {:.0} CPU s, peak memory {:.0} MB",
        ended.wall.as_secs_f64(),
        ended.cpu.as_secs_f64(),
        ended.peak_bytes as f64 / 1e6
    );
    if ended.how == How::Succeeded { Ok(()) } else { Err(format!("training: {:?}", ended.how)) }
}

/// The model that datasets are drawn from.
struct Made {
    space: Arc<SearchSpace>,
    known: Arc<Surrogate>,
    mean: Vec<f64>,
    /// What deciding changes on average, on the scale of roots.
    decided: Vec<f64>,
    /// Pipelines x rank.
    factor: Vec<f32>,
    rank: usize,
    noise: Vec<f64>,
}

impl Made {
    fn new() -> Self {
        let known = Surrogate::embedded();
        let space = SearchSpace::paper();
        let n = space.n_pipelines();
        let native = known.prior(ErrorKind::Native).expect("the program has priors");
        let decided = known.prior(ErrorKind::Decided).expect("the program has priors");
        let factor = native.factor();
        let rank = factor.nrows();
        let by_pipeline = (0..n * rank).map(|at| factor[(at % rank, at / rank)]).collect();
        let change = decided.mean().iter().zip(native.mean()).map(|(d, m)| d - m).take(n).collect();
        Self {
            space,
            mean: native.mean()[..n].to_vec(),
            decided: change,
            factor: by_pipeline,
            rank,
            noise: native.noise()[..n].to_vec(),
            known,
        }
    }

    /// Roots of a dataset's true errors.
    fn truth(&self, dataset: u64) -> impl Fn(usize) -> f64 {
        let x: Vec<f64> = (0..self.rank).map(|k| normal(dataset, k as u64)).collect();
        move |j: usize| {
            let factor = &self.factor[j * self.rank..(j + 1) * self.rank];
            let along = factor.iter().zip(&x).map(|(&l, x)| f64::from(l) * x);
            (self.mean[j] + along.sum::<f64>()).clamp(0.0, 1.0)
        }
    }

    /// Writes the store; gives its number of entries.
    fn store(&self, folder: &Path, options: &Options) -> Result<usize, OfflineError> {
        let collection = Collection { space: Arc::clone(&self.space), ..Collection::default() };
        let store = Store::open_or_create(folder, &collection.facts())?;
        let scope = Scope { fraction: options.fraction, ..Scope::default() };
        let of_dataset = |dataset: usize| {
            let (name, number) = (format!("made-{dataset:05}"), dataset as u64);
            let size = size(number);
            let secs = self.known.runtimes().predict_secs(&size);
            let truth = self.truth(number);
            let entry = |j: usize| {
                let place = (1 << 20) + j as u64;
                let root = truth(j) + self.noise[j].sqrt() * normal(number, place);
                let error = |root: f64| (root.clamp(0.0, 1.0).powi(2) * 1e4).round() as f32 / 1e4;
                let scores = EntryScores {
                    error: error(root),
                    fold_errors: Vec::new(),
                    balanced_decision_error: error(root + self.decided[j]),
                    accuracy: f32::NAN,
                    log_loss: f32::NAN,
                    auc: f32::NAN,
                    macro_f1: f32::NAN,
                };
                let runtime_s = (secs[j] * (0.3 * normal(number, place << 20)).exp()) as f32;
                let (pipeline, status) = (j as u32, Status::Finished(scores));
                Entry { pipeline, status, runtime_s, marginal_s: runtime_s }
            };
            let planned = batches(&self.space, &scope, &name).into_iter().flatten();
            let entries: Vec<Entry> = planned.map(|id| entry(id.index())).collect();
            let content = format!("{number:016x}");
            let facts = [(CONTENT.to_owned(), content.clone())].into();
            let n_entries = entries.len();
            store.append(&name, facts, entries)?;
            store.describe(&name, &About { content: Some(content), size })?;
            Ok::<usize, OfflineError>(n_entries)
        };
        (0..options.datasets).into_par_iter().map(of_dataset).sum()
    }

    /// How far off a surrogate is on fresh datasets; none without a prior.
    fn judge(&self, path: &Path) -> Result<Option<f64>, String> {
        self.off_by(&Surrogate::read(path).map_err(|e| e.to_string())?)
    }

    fn off_by(&self, surrogate: &Surrogate) -> Result<Option<f64>, String> {
        let Some(prior) = surrogate.prior(ErrorKind::Native) else { return Ok(None) };
        let n = self.space.n_pipelines();
        let of_judge = |judge: usize| {
            let number = FIRST_JUDGE + judge as u64;
            let truth = self.truth(number);
            let looks: Vec<usize> =
                (0..N_LOOKS).map(|k| hash(number, (1 << 50) + k as u64) as usize % n).collect();
            let seen = |&j: &usize| {
                let place = (1 << 20) + j as u64;
                Scale::Root.undo(truth(j) + self.noise[j].sqrt() * normal(number, place))
            };
            let errors: Vec<f64> = looks.iter().map(seen).collect();
            let mut posterior = prior.posterior();
            posterior.observe(&looks, &errors).map_err(|e| e.to_string())?;
            let predicted = posterior.predict();
            let off = |j: usize| (predicted[j] - truth(j).powi(2)).powi(2);
            Ok((0..n).map(off).sum::<f64>() / n as f64)
        };
        let squares: Vec<f64> =
            (0..N_JUDGES).into_par_iter().map(of_judge).collect::<Result<_, String>>()?;
        Ok(Some((squares.iter().sum::<f64>() / N_JUDGES as f64).sqrt()))
    }
}

/// The size of a made dataset: rows from hundreds to hundreds of thousands, columns from a few to hundreds.
fn size(dataset: u64) -> TableSize {
    let spread = |place: u64, middle: f64, by: f64| {
        (middle.ln() + by * normal(dataset, place)).exp().round().max(2.0) as usize
    };
    let n_features = spread(1 << 40, 20.0, 1.0);
    TableSize {
        n_rows: spread(1 << 41, 2000.0, 1.5).max(50),
        n_features,
        n_encoded: n_features + spread(1 << 42, 6.0, 1.0),
        n_classes: Some(2 + (hash(dataset, 1 << 43) % 6) as usize),
        largest_scale: Some(spread(1 << 44, 50.0, 2.0) as f64),
    }
}

/// A normal deviate that depends on the two numbers alone.
fn normal(dataset: u64, place: u64) -> f64 {
    let uniform = |at: u64| (hash(dataset, at) >> 11) as f64 / (1_u64 << 53) as f64;
    let (a, b) = (uniform(2 * place), uniform(2 * place + 1));
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

fn hash(dataset: u64, place: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&dataset.to_le_bytes());
    bytes[8..].copy_from_slice(&place.to_le_bytes());
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

fn bytes_under(folder: &Path) -> Result<u64, String> {
    let mut total = 0;
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
            let entry = entry.map_err(|e| e.to_string())?;
            let about = entry.metadata().map_err(|e| e.to_string())?;
            if about.is_dir() {
                folders.push(entry.path());
            } else {
                total += about.len();
            }
        }
    }
    Ok(total)
}
