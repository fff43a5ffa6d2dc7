//! `cargo xtask bench boosting`: boosting on histograms beside its peers, with equal rounds, leaves and bins.

mod tables;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use cpu_time::ProcessTime;
use pitchpipe_learn::estimate::HistogramBoosting;
use pitchpipe_learn::{Classifier, Estimator, FitContext, FitError};
use serde::Deserialize;

use super::peer::geometric_mean;
use crate::python;
use tables::{Made, Shape};

/// The tables, small to large.
const SHAPES: [Shape; 5] = [
    Shape { name: "20000x20", n_train: 20_000, n_cols: 20, n_categories: 0, n_classes: 2 },
    Shape { name: "200000x50", n_train: 200_000, n_cols: 50, n_categories: 0, n_classes: 2 },
    Shape { name: "1000000x50", n_train: 1_000_000, n_cols: 50, n_categories: 0, n_classes: 2 },
    Shape {
        name: "200000x30-categories",
        n_train: 200_000,
        n_cols: 30,
        n_categories: 15,
        n_classes: 2,
    },
    Shape {
        name: "50000x50-20-classes",
        n_train: 50_000,
        n_cols: 50,
        n_categories: 0,
        n_classes: 20,
    },
];

/// The peers; the first is the one whose speed is to be met.
const PEERS: [&str; 5] = ["lightgbm", "lightgbm-quantised", "xgboost", "catboost", "sklearn"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only tables whose name contains this
    #[arg(long)]
    table: Option<String>,
    /// Only these peers; an empty one means none
    #[arg(long, value_delimiter = ',', default_values_t = PEERS.map(str::to_owned))]
    peers: Vec<String>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,
    /// How often each is run; the fastest counts
    #[arg(long, default_value_t = 2)]
    repeats: usize,
    /// How many rounds there are
    #[arg(long, default_value_t = 100)]
    rounds: usize,
}

/// What ours and the peers are told alike.
#[derive(Clone, Copy)]
struct Settings {
    rounds: usize,
    leaves: usize,
    learning_rate: f64,
    min_rows: usize,
    l2: f64,
}

/// What a fit took, and how wrong it is on new rows.
#[derive(Clone, Copy, Deserialize)]
struct Fit {
    wall: f64,
    cpu: f64,
    error: f64,
}

impl Fit {
    /// The less of two runs.
    fn least(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu), error: self.error }
    }
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let settings =
        Settings { rounds: options.rounds, leaves: 31, learning_rate: 0.1, min_rows: 20, l2: 1.0 };
    let root = python::root().join("target/bench/boosting");
    let peers: Vec<&str> =
        options.peers.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let python = if peers.is_empty() { None } else { Some(python::environment("bench-boosting")?) };
    let mut ratios: BTreeMap<(usize, &str), Vec<f64>> = BTreeMap::new();
    println!(
        "seconds of a fit with its bins, {} rounds of 31 leaves: wall and CPU; theirs over ours",
        settings.rounds
    );
    for shape in
        SHAPES.iter().filter(|s| options.table.as_ref().is_none_or(|t| s.name.contains(t.as_str())))
    {
        let made = shape.make(settings, &root)?;
        for &threads in &options.threads {
            // One after the other, round after round: what else the machine does meets all of them.
            let mut fits: Vec<Option<Fit>> = vec![None; 1 + peers.len()];
            for _ in 0..options.repeats.max(1) {
                let mut note = |at: usize, fit: Fit| {
                    fits[at] = Some(fits[at].map_or(fit, |best| best.least(fit)));
                };
                note(0, ours(&made, settings, threads)?);
                for (at, peer) in peers.iter().enumerate() {
                    let python = python.as_deref().expect("there are peers");
                    note(1 + at, theirs(python, peer, &made.folder, threads)?);
                }
            }
            let ours = fits[0].expect("it was run");
            print_fit(shape.name, threads, "pitchpipe", ours, None);
            for (peer, fit) in peers.iter().zip(fits[1..].iter().flatten()) {
                print_fit(shape.name, threads, peer, *fit, Some(ours));
                ratios.entry((threads, peer)).or_default().push(ratio(*fit, ours, threads));
            }
        }
        // A million rows by fifty are 400 MB.
        std::fs::remove_dir_all(&made.folder).map_err(|e| e.to_string())?;
    }
    println!("\ntheirs over ours, geometric means (CPU with one thread, wall with more)");
    for ((threads, peer), ratios) in &ratios {
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{threads} threads  {peer:<20} {:>6.2}  least {least:>6.2}",
            geometric_mean(ratios.iter().copied())
        );
    }
    Ok(())
}

/// CPU time where there is one thread, as other programs run beside it; else the wall clock.
fn ratio(theirs: Fit, ours: Fit, threads: usize) -> f64 {
    if threads == 1 { theirs.cpu / ours.cpu } else { theirs.wall / ours.wall }
}

fn print_fit(table: &str, threads: usize, name: &str, fit: Fit, ours: Option<Fit>) {
    let Fit { wall, cpu, error } = fit;
    let ratio = ours
        .map_or(String::new(), |ours| format!("{:>6.2} {:>6.2}", wall / ours.wall, cpu / ours.cpu));
    println!("{table:<22} {threads} {name:<20} {wall:>8.2} {cpu:>8.2}  error {error:.4}  {ratio}");
}

fn ours(made: &Made, settings: Settings, threads: usize) -> Result<Fit, String> {
    let boosting = HistogramBoosting {
        learning_rate: settings.learning_rate,
        max_leaf_nodes: settings.leaves,
        min_samples_leaf: settings.min_rows,
        l2_regularization: settings.l2,
        max_iter: settings.rounds,
        ..HistogramBoosting::default()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let ctx = FitContext::unhurried();
    let ((x, y), (test, truth)) = (&made.train, &made.test);
    // A copy without the bins that an earlier fit left.
    let x = x.clone();
    let run = || -> Result<Fit, FitError> {
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        let model = boosting.fit(&x, y, &ctx)?;
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        let labels = model.predict(test, &ctx)?.labels;
        let wrong = labels.codes().iter().zip(truth.codes()).filter(|(a, b)| a != b).count();
        Ok(Fit { wall, cpu, error: wrong as f64 / truth.len() as f64 })
    };
    pool.map_err(|e| e.to_string())?.install(run).map_err(|e| e.to_string())
}

fn theirs(python: &Path, peer: &str, folder: &Path, threads: usize) -> Result<Fit, String> {
    let mut command = Command::new(python);
    command.arg(python::root().join("bench/boosting/peer.py")).arg(peer).arg(folder);
    command.arg(threads.to_string()).env("OMP_NUM_THREADS", threads.to_string());
    let told = command.output().map_err(|e| format!("{}: {e}", python.display()))?;
    let text = String::from_utf8_lossy(&told.stdout);
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|_| {
        format!(
            "{peer}: {}",
            String::from_utf8_lossy(&told.stderr).lines().last().unwrap_or("no answer")
        )
    })
}
