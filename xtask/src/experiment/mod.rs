//! `cargo xtask experiment`: every experiment of the paper that the published tensor can answer, each a table and a
//! figure under docs/results.
//!
//! One file an experiment: a function from [`Context`] to a [`Csv`]; adding one is a file, a line in [`EXPERIMENTS`] and
//! a figure in xtask/figures.

mod claims;
mod completion;
mod counts;
mod csv;
mod designs;
mod landscapes;
mod ranks;
mod replays;
mod runtimes;
mod sigma;
mod spectrum;
mod systems;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use pitchpipe_automl::offline::published::{AXES, Published};
use pitchpipe_surrogate::complete::{EmOptions, complete_tucker};

use crate::reference::partial;
use crate::tests::run as run_command;
use crate::{published, python};
use csv::Csv;

/// What every experiment works on.
pub(crate) struct Context {
    /// The 215 datasets of the paper, in its order.
    paper: Published,
    /// Only what takes seconds.
    quick: bool,
    /// Folds of the datasets that systems are replayed on, of ten.
    n_folds: usize,
}

type Experiment = (&'static str, fn(&Context) -> Result<Csv, String>);

/// Every experiment, by its name; the files of its table and figure have it, too.
const EXPERIMENTS: &[Experiment] = &[
    ("singular-values", spectrum::singular_values),
    ("best-estimators", counts::best_estimators),
    ("runtime-distribution", counts::runtime_distribution),
    ("rank-heatmaps", ranks::heatmaps),
    ("tensor-against-matrix", ranks::tensor_against_matrix),
    ("missing-by-runtime", completion::by_runtime),
    ("missing-at-random", completion::at_random),
    ("sigma", sigma::deviations_of_pipelines),
    ("runtime-prediction", runtimes::table),
    ("runtime-panels", runtimes::panels),
    ("designs-slice", designs::slice),
    ("designs-whole", designs::whole),
    ("landscapes", landscapes::landscapes),
    ("systems", systems::whole_tensor),
    ("systems-sparse", systems::sparse_tensors),
];

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which experiments; `all` for every one.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// The wheel `oboe-0.2.0-py3-none-any.whl`; fetched by package name when left out.
    #[arg(long, value_name = "WHEEL")]
    tensor: Option<PathBuf>,
    /// Only what takes seconds, into target/experiment instead of docs/results; fails where a claim that must hold does not.
    #[arg(long)]
    quick: bool,
    /// Replay systems on so many of the ten folds of datasets.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=10))]
    folds: u8,
    /// Leave experiments alone whose table is already there, as after a run that was stopped.
    #[arg(long)]
    resume: bool,
    /// Draw the figures of the tables there are, and compute nothing.
    #[arg(long)]
    draw: bool,
}

/// Runs the experiments asked for and draws their figures.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let known: Vec<&str> = EXPERIMENTS.iter().map(|(name, _)| *name).collect();
    if let Some(name) = options.names.iter().find(|n| *n != "all" && !known.contains(&n.as_str())) {
        return Err(format!("no experiment is called {name}; there are {}", known.join(", ")));
    }
    let folder = folder(options.quick);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let is_wanted = |name: &str| options.names.iter().any(|n| n == "all" || n == name);
    let wanted: Vec<&Experiment> = EXPERIMENTS.iter().filter(|(name, _)| is_wanted(name)).collect();
    if !options.draw {
        compute(options, &folder, &wanted)?;
    }
    let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).collect();
    draw(&folder, &names)
}

fn compute(options: &Options, folder: &Path, wanted: &[&Experiment]) -> Result<(), String> {
    let wheel = match &options.tensor {
        Some(path) => path.clone(),
        None => published::wheel()?,
    };
    let all = Published::read(&wheel).map_err(|e| e.to_string())?;
    let paper = all.of_the_paper().map_err(|e| e.to_string())?;
    drop(all);
    let n_folds = if options.quick { 1 } else { usize::from(options.folds) };
    let context = Context { paper, quick: options.quick, n_folds };
    for (name, experiment) in wanted {
        let path = folder.join(format!("{name}.csv"));
        if options.resume && path.exists() {
            eprintln!("{name}: already there");
            continue;
        }
        let started = Instant::now();
        let csv = experiment(&context)?;
        let command = command_line(name, options);
        csv.write(&path, &command)?;
        if options.quick {
            claims::check(name, &csv)?;
        }
        println!("{name}: {:.0} s, {}", started.elapsed().as_secs_f64(), path.display());
    }
    Ok(())
}

/// Where tables and figures go.
pub(crate) fn folder(quick: bool) -> PathBuf {
    python::root().join(if quick { "target/experiment" } else { "docs/results" })
}

fn command_line(name: &str, options: &Options) -> String {
    let quick = if options.quick { " --quick" } else { "" };
    let folds = if name.starts_with("systems") && !options.quick && options.folds < 10 {
        format!(" --folds {}", options.folds)
    } else {
        String::new()
    };
    format!("cargo xtask experiment {name}{quick}{folds}")
}

/// The figures are drawn by a program of its own: its plotting library would otherwise change the features, and so the
/// build, of everything else.
fn draw(folder: &Path, names: &[&str]) -> Result<(), String> {
    let manifest = python::root().join("xtask/figures/Cargo.toml");
    run_command(
        Command::new("cargo")
            .args(["run", "--release", "--quiet", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(python::root().join("target/figures"))
            .arg("--")
            .arg(folder)
            .args(names),
    )
}

/// The tensor of the paper, completed at this rank of datasets and estimators by plain EM-Tucker.
fn completed(published: &Published, rank: usize) -> Result<ndarray::Array2<f32>, String> {
    let observed = partial(published, f32::INFINITY)?;
    let [a, b, c, d, _] = AXES;
    let done = complete_tucker(&observed, &[rank, a, b, c, d, rank], &EmOptions::plain())
        .map_err(|e| e.to_string())?;
    let values = done.values.iter().map(|v| v.clamp(0.0, 1.0)).collect();
    ndarray::Array2::from_shape_vec(published.errors.dim(), values).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests;
