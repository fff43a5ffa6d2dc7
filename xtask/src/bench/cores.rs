//! `cargo xtask bench cores`: what more threads give. Pipelines finished in a fixed time, the share of the cores that was
//! used, and errors on rows held out, for the default search and the paper's systems.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;
use std::time::Duration;

use serde_json::Value;

use super::automl::process::{How, Place};
use super::honesty::tables;
use crate::python::root;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Numbers of threads [default: 1, 2, 4 and so on up to the number of cores]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    threads: Vec<usize>,
    /// Methods of `pitchpipe fit`
    #[arg(long, value_delimiter = ',', value_name = "METHOD", default_values_t =
        ["auto", "oboe", "tensor-oboe", "kernel-oboe"].map(String::from))]
    methods: Vec<String>,
    /// Datasets of the corpus
    #[arg(long, value_delimiter = ',', value_name = "NAME", default_values_t =
        ["segment", "splice", "page-blocks", "satimage", "pendigits"].map(String::from))]
    datasets: Vec<String>,
    /// The time budget of a search in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 6.0)]
    budget: f64,
    /// Seeds of the splits and of the searches
    #[arg(long, value_delimiter = ',', default_values_t = [0])]
    seeds: Vec<u64>,
    /// Also runs as many searches side by side as there are threads, each with one: what the machine itself gives
    #[arg(long)]
    side_by_side: bool,
    /// Also runs one thread for as many times the budget as there are threads, all tables at once: what perfect threads
    /// would finish, since pipelines become slower as a search goes on
    #[arg(long)]
    as_long: bool,
    /// The program to measure [default: target/release/pitchpipe]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder of the corpus, with its INDEX.tsv [default: ../shared/corpus/test]
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
}

/// What became of one search.
#[derive(Clone, Copy, Debug)]
struct Done {
    n_pipelines: f64,
    /// CPU seconds of the whole process over its wall-clock time and threads.
    used: f64,
    /// On the rows held out.
    error: f64,
    late_secs: f64,
}

/// Searches by method, number of threads, and table with seed.
type All = BTreeMap<(String, usize), BTreeMap<(String, u64), Done>>;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let folder = root().join("target/bench/cores");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let corpus = options.corpus.clone().unwrap_or_else(|| root().join("../shared/corpus/test"));
    let names = tables::names(&corpus, &options.datasets)?;
    let threads =
        if options.threads.is_empty() { powers_of_two() } else { options.threads.clone() };
    let mut all = All::new();
    println!(
        "{:<20} {:>4} {:<12} {:>7} {:>9} {:>5} {:>6} {:>6}",
        "table", "seed", "method", "threads", "pipelines", "used", "error", "late"
    );
    for &seed in &options.seeds {
        for &n in threads.iter().filter(|_| options.as_long) {
            let method = "as long";
            let budget = n as f64 * options.budget;
            let all_tables = at_once(&names, |name| {
                let own = folder.join(format!("long-{name}"));
                fs::create_dir_all(&own).map_err(|e| format!("{}: {e}", own.display()))?;
                let split = tables::write(&corpus, name, seed, &own)?;
                search(options, &split, (&options.methods[0], 1, budget), seed, &own)
            })?;
            for (name, done) in names.iter().zip(all_tables) {
                keep(&mut all, (name, seed), (method, n), done);
            }
        }
        for name in &names {
            let split = tables::write(&corpus, name, seed, &folder)?;
            for method in &options.methods {
                for &n in &threads {
                    let done = search(options, &split, (method, n, options.budget), seed, &folder)?;
                    keep(&mut all, (name, seed), (method, n), done);
                }
            }
            for &n in threads.iter().filter(|_| options.side_by_side) {
                let done = side_by_side(options, &split, n, seed, &folder)?;
                keep(&mut all, (name, seed), ("side by side", n), done);
            }
        }
    }
    print_summary(&all, threads[0]);
    Ok(())
}

fn keep(all: &mut All, (name, seed): (&str, u64), (method, n): (&str, usize), done: Done) {
    println!(
        "{name:<20} {seed:>4} {method:<12} {n:>7} {:>9} {:>5.2} {:>6.4} {:>6.3}",
        done.n_pipelines, done.used, done.error, done.late_secs
    );
    let of = all.entry((method.to_string(), n)).or_default();
    of.insert((name.to_string(), seed), done);
}

/// One search of each of these, as many at the same time as there are cores.
fn at_once<T: Sync>(
    of: &[T],
    search: impl Fn(&T) -> Result<Done, String> + Sync,
) -> Result<Vec<Done>, String> {
    let n_cores = available_parallelism().map_or(1, |n| n.get());
    let mut done = Vec::with_capacity(of.len());
    for some in of.chunks(n_cores) {
        let some: Result<Vec<Done>, String> = std::thread::scope(|scope| {
            let search = &search;
            let all: Vec<_> = some.iter().map(|one| scope.spawn(move || search(one))).collect();
            let ended = all.into_iter().map(|one| one.join().map_err(|_| "a search panicked"));
            ended.map(|done| done?).collect()
        });
        done.extend(some?);
    }
    Ok(done)
}

fn powers_of_two() -> Vec<usize> {
    let n_cores = available_parallelism().map_or(1, |n| n.get());
    std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n <= n_cores).collect()
}

/// One search, and its model on the rows held out.
fn search(
    options: &Options,
    split: &tables::Split,
    (method, threads, budget): (&str, usize, f64),
    seed: u64,
    folder: &Path,
) -> Result<Done, String> {
    let program =
        options.program.clone().unwrap_or_else(|| root().join("target/release/pitchpipe"));
    let model = folder.join("model.pp");
    let mut fit = Command::new(&program);
    fit.arg("fit").arg(&split.train).args(["--target", "class", "--json", "--method", method]);
    fit.args(["--time-budget", &format!("{budget}s")]);
    fit.args(["--threads", &threads.to_string(), "--seed", &seed.to_string(), "--out"]).arg(&model);
    let (said, wall, cpu) = output(&fit, budget, folder)?;
    let last = said.lines().rev().find_map(|line| {
        serde_json::from_str::<Value>(line).ok().filter(|event| event["event"] == "saved")
    });
    let saved = last.ok_or("nothing was saved")?;
    let mut evaluate = Command::new(&program);
    evaluate.arg("evaluate").arg(&model).arg(&split.test).arg("--json");
    let (said, ..) = output(&evaluate, budget, folder)?;
    let scores: Value = serde_json::from_str(&said).map_err(|e| e.to_string())?;
    let number = |value: &Value, what: &str| value.as_f64().ok_or(format!("there is no {what}"));
    Ok(Done {
        n_pipelines: number(&saved["report"]["n_evaluated"], "number of pipelines")?,
        used: cpu / (wall * threads as f64),
        error: 1.0 - number(&scores["scores"]["balanced_accuracy"], "balanced accuracy")?,
        late_secs: wall - budget,
    })
}

/// As many searches of one thread each as there would be threads, at once: no search of several can finish more.
fn side_by_side(
    options: &Options,
    split: &tables::Split,
    n: usize,
    seed: u64,
    folder: &Path,
) -> Result<Done, String> {
    let numbers: Vec<usize> = (0..n).collect();
    let each = at_once(&numbers, |i| {
        let own = folder.join(format!("beside-{i}"));
        fs::create_dir_all(&own).map_err(|e| format!("{}: {e}", own.display()))?;
        search(options, split, (&options.methods[0], 1, options.budget), seed, &own)
    })?;
    let sum = |of: &dyn Fn(&Done) -> f64| each.iter().map(of).sum::<f64>();
    Ok(Done {
        n_pipelines: sum(&|d| d.n_pipelines),
        used: sum(&|d| d.used) / n as f64,
        error: sum(&|d| d.error) / n as f64,
        late_secs: each.iter().map(|d| d.late_secs).fold(f64::NEG_INFINITY, f64::max),
    })
}

/// What a command prints, and its seconds on the clock and of work.
fn output(command: &Command, budget: f64, folder: &Path) -> Result<(String, f64, f64), String> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let place = Place { core: None, stop: &AtomicBool::new(false) };
    let ended = place.run(command, Duration::from_secs_f64(3.0 * budget + 60.0), &out, &err)?;
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    match ended.how {
        How::Succeeded => Ok((text(&out), ended.wall.as_secs_f64(), ended.cpu.as_secs_f64())),
        _ => Err(format!("{command:?}: {}", text(&err))),
    }
}

/// Beside the searches with the fewest threads.
fn print_summary(all: &All, base: usize) {
    println!(
        "\n{:<12} {:>7} {:>12} {:>8} {:>9} {:>10} {:>5} {:>10}",
        "method", "threads", "pipelines x", "least x", "used", "mean error", "worse", "latest"
    );
    for ((method, n), runs) in all {
        let Some(before) = all.get(&(method.clone(), base)) else { continue };
        let pairs: Vec<(&Done, &Done)> =
            runs.iter().filter_map(|(at, done)| Some((before.get(at)?, done))).collect();
        let ratios: Vec<f64> =
            pairs.iter().map(|(b, d)| d.n_pipelines / b.n_pipelines.max(1.0)).collect();
        let mean = |of: &dyn Fn(&Done) -> f64| {
            runs.values().map(of).sum::<f64>() / runs.len().max(1) as f64
        };
        let geometric =
            (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let n_worse = pairs.iter().filter(|(b, d)| d.error > b.error).count();
        let latest = runs.values().map(|d| d.late_secs).fold(f64::NEG_INFINITY, f64::max);
        println!(
            "{method:<12} {n:>7} {geometric:>12.2} {least:>8.2} {:>9.2} {:>10.4} {n_worse:>5} {latest:>10.3}",
            mean(&|d| d.used),
            mean(&|d| d.error),
        );
    }
    println!(
        "pipelines x: the geometric mean over tables of how many times as many finished as with {base}; worse: tables \
         with a larger error than with {base}; latest: seconds beyond the budget; as long: one thread with so many \
         times the budget; side by side: as many searches of one thread at once"
    );
}
