//! `cargo xtask experiment`: every experiment of the paper that the published tensor can answer, each a table and a
//! figure under docs/results.
//!
//! One file an experiment: a function from [`Context`] to a [`Csv`]; adding one is a file, a line in [`EXPERIMENTS`] and
//! a figure in xtask/figures.

mod category_fill;
mod claims;
mod compare;
mod completion;
mod counts;
mod csv;
mod designs;
mod landscapes;
mod meta_features;
mod meta_prior;
mod ranks;
mod regression;
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

use crate::reference::{Kept, partial};
use crate::tests::run as run_command;
use crate::{published, python};
use csv::{Csv, Origin};

/// What every experiment works on.
pub(crate) struct Context {
    /// The 215 datasets of the paper, in its order.
    paper: Published,
    /// Only what takes seconds.
    quick: bool,
    /// Folds of the datasets that systems are replayed on, of ten.
    n_folds: usize,
    /// What was computed already, so that a run that was stopped goes on where it was.
    kept: Kept,
}

/// One experiment.
struct Experiment {
    /// The files of its table and figure have it, too.
    name: &'static str,
    /// What makes the table.
    run: fn(&Context) -> Result<Csv, String>,
    /// What that takes on one core, about.
    secs: f64,
    needs: Needs,
}

/// What there must be beside the published tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// The training tables of the corpus.
    Corpus,
}

const fn on_tensor(
    name: &'static str,
    run: fn(&Context) -> Result<Csv, String>,
    secs: f64,
) -> Experiment {
    Experiment { name, run, secs, needs: Needs::Nothing }
}

const fn on_corpus(
    name: &'static str,
    run: fn(&Context) -> Result<Csv, String>,
    secs: f64,
) -> Experiment {
    Experiment { name, run, secs, needs: Needs::Corpus }
}

/// Every experiment.
const EXPERIMENTS: &[Experiment] = &[
    on_tensor("singular-values", spectrum::singular_values, 4.0),
    on_tensor("best-estimators", counts::best_estimators, 4.0),
    on_tensor("runtime-distribution", counts::runtime_distribution, 1.0),
    on_tensor("rank-heatmaps", ranks::heatmaps, 14.0),
    on_tensor("tensor-against-matrix", ranks::tensor_against_matrix, 12.0),
    on_tensor("missing-by-runtime", completion::by_runtime, 14.0),
    on_tensor("missing-at-random", completion::at_random, 32.0),
    on_tensor("sigma", sigma::deviations_of_pipelines, 4.0),
    on_tensor("runtime-prediction", runtimes::table, 4.0),
    on_tensor("runtime-panels", runtimes::panels, 4.0),
    on_tensor("designs-slice", designs::slice, 15.0),
    on_tensor("designs-whole", designs::whole, 60.0),
    on_tensor("landscapes", landscapes::landscapes, 5.0),
    on_tensor("systems", systems::whole_tensor, 220.0),
    on_tensor("systems-no-floor", systems::without_floor, 0.1),
    on_tensor("systems-options", systems::options, 220.0),
    on_tensor("systems-sparse", systems::sparse_tensors, 150.0),
    on_tensor("systems-paired", systems::paired, 0.1),
    on_corpus("category-fill", category_fill::table, 60.0),
    on_corpus("meta-features", meta_features::table, 300.0),
    on_corpus("meta-prior", meta_prior::table, 30.0),
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
    /// Go on where an earlier run of the same build was stopped.
    #[arg(long)]
    resume: bool,
    /// Draw the figures of the tables there are, and compute nothing.
    #[arg(long)]
    draw: bool,
}

/// Runs the experiments asked for and draws their figures.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let known: Vec<&str> = EXPERIMENTS.iter().map(|e| e.name).collect();
    if let Some(name) = options.names.iter().find(|n| *n != "all" && !known.contains(&n.as_str())) {
        return Err(format!("no experiment is called {name}; there are {}", known.join(", ")));
    }
    let folder = folder(options.quick);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let is_wanted = |name: &str| options.names.iter().any(|n| n == "all" || n == name);
    let has_corpus = crate::corpus::index("train").map(|_| ());
    let mut wanted: Vec<&Experiment> = EXPERIMENTS.iter().filter(|e| is_wanted(e.name)).collect();
    if let (Err(why), false) = (has_corpus, options.draw) {
        // One that was asked for by name must not be passed over.
        let needs = |e: &Experiment| e.needs == Needs::Corpus;
        if let Some(e) =
            wanted.iter().find(|e| needs(e) && options.names.iter().any(|n| n == e.name))
        {
            return Err(format!("{} needs the tables of the corpus: {why}", e.name));
        }
        let left: Vec<&str> = wanted.iter().filter(|e| needs(e)).map(|e| e.name).collect();
        println!("left out, as the corpus is not here ({why}): {}", left.join(", "));
        wanted.retain(|e| !needs(e));
    }
    if !options.draw {
        compute(options, &folder, &wanted)?;
    }
    let names: Vec<&str> = wanted.iter().map(|e| e.name).collect();
    draw(&folder, &names)
}

/// A small part of every experiment, and the claims that must hold on it.
pub(crate) fn check() -> Result<(), String> {
    run(&Options {
        names: vec!["all".to_owned()],
        tensor: None,
        quick: true,
        folds: 10,
        resume: false,
        draw: false,
    })
}

fn compute(options: &Options, folder: &Path, wanted: &[&Experiment]) -> Result<(), String> {
    let (commit, is_clean) = csv::commit();
    if !options.quick && !is_clean {
        return Err("commit what is changed in crates and xtask first: a table names the commit that made it".to_owned());
    }
    let wheel = match &options.tensor {
        Some(path) => path.clone(),
        None => published::wheel()?,
    };
    let all = Published::read(&wheel).map_err(|e| e.to_string())?;
    let paper = all.of_the_paper().map_err(|e| e.to_string())?;
    drop(all);
    let n_folds = if options.quick { 1 } else { usize::from(options.folds) };
    // Its parts are not those of a whole run.
    let kept_in = if options.quick { "experiment/quick" } else { "experiment/kept" };
    let kept = Kept::within(kept_in, options.resume)?;
    let context = Context { paper, quick: options.quick, n_folds, kept };
    if !options.quick {
        let secs: f64 = wanted.iter().map(|e| e.secs).sum();
        println!("about {:.0} minutes on one core", (secs / 60.0).ceil());
    }
    let began = Instant::now();
    for Experiment { name, run, .. } in wanted {
        let path = folder.join(format!("{name}.csv"));
        let started = Instant::now();
        let command = command_line(name, options);
        let (csv, secs): (Csv, f64) = context
            .kept
            .or(&command, || run(&context).map(|csv| (csv, started.elapsed().as_secs_f64())))?;
        csv.write(&path, &Origin { commit: commit.clone(), command, secs })?;
        if options.quick {
            claims::check(name, &csv)?;
        }
        println!("{name}: {:.1} s, {}", started.elapsed().as_secs_f64(), path.display());
    }
    println!("{:.1} minutes in all", began.elapsed().as_secs_f64() / 60.0);
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
