//! `cargo xtask bench memory`: which types of estimators run on 1,000,000 rows by 100 columns under 8 GiB, and why the others do
//! not. Each is cross-validated by a process of its own, whose peak is what the system says.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pitchpipe_learn::encode::Encoder;
use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::scale::Scaler;
use pitchpipe_learn::{
    MemoryPool, Outcome, Pipeline, Preparation, SearchSpace, Stream, Validation,
};
use pitchpipe_table::{Column, Dataset, Labels, MISSING_CODE};

use super::automl::process::{How, Place};
use crate::python::root;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Types of estimators, all of them by default
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    kinds: Vec<String>,
    /// The rows of the table
    #[arg(long, default_value_t = 1_000_000)]
    rows: usize,
    /// Its columns, of which a fifth are categories
    #[arg(long, default_value_t = 100)]
    columns: usize,
    /// The ceiling in bytes
    #[arg(long, default_value_t = 8 << 30)]
    memory: u64,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// How long each may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    seconds: u64,
    /// The one type that this process is to run
    #[arg(long, hide = true)]
    only: Option<String>,
}

/// Of the ceiling, what all fits together are granted beyond their shares, as a search has it.
const GRANTED: f64 = 0.9;

const MISSING_SHARE: f64 = 0.03;

const N_LEVELS: u32 = 40;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Some(only) = &options.only {
        let kind = kind_named(only)?;
        println!("{}", evaluated(options, kind)?);
        return Ok(());
    }
    let kinds = match &options.kinds[..] {
        [] => EstimatorKind::ALL.to_vec(),
        names => names.iter().map(|name| kind_named(name)).collect::<Result<_, _>>()?,
    };
    let folder = root().join("target/bench/memory");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let Options { rows, columns, memory, threads, .. } = options;
    println!(
        "{rows} rows, {columns} columns, 3 folds, {threads} threads, {:.1} GB",
        *memory as f64 / 1e9
    );
    println!("{:<22} {:>8} {:>8}   what became of it", "type", "seconds", "peak GB");
    let mut n_over = 0;
    for kind in kinds {
        let (what, secs, peak) = alone(options, kind, &folder)?;
        n_over += usize::from(peak > options.memory);
        println!("{:<22} {secs:>8.1} {:>8.2}   {what}", kind.name(), peak as f64 / 1e9);
    }
    if n_over == 0 { Ok(()) } else { Err(format!("{n_over} took more than the ceiling")) }
}

fn kind_named(name: &str) -> Result<EstimatorKind, String> {
    let found = EstimatorKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("there is no type of estimator called {name}"))
}

/// What a process of its own says, its seconds, and its peak.
fn alone(
    options: &Options,
    kind: EstimatorKind,
    folder: &Path,
) -> Result<(String, f64, u64), String> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let mut command = Command::new(env::current_exe().map_err(|e| e.to_string())?);
    command.args(["bench", "memory", "--only", kind.name()]);
    for (flag, value) in [
        ("--rows", options.rows as u64),
        ("--columns", options.columns as u64),
        ("--memory", options.memory),
        ("--threads", options.threads as u64),
        ("--seconds", options.seconds),
    ] {
        command.arg(flag).arg(value.to_string());
    }
    let place = Place { core: None, stop: &AtomicBool::new(false) };
    let limit = Duration::from_secs(2 * options.seconds + 120);
    let ended = place.run(&command, limit, &out, &err)?;
    let said = |path: &Path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let what = match ended.how {
        How::Succeeded => said(&out),
        how => format!("{how:?}: {}", said(&err)),
    };
    Ok((what, ended.wall.as_secs_f64(), ended.peak_bytes))
}

/// Cross-validates the first pipeline of a type on the made table, and says what became of it.
fn evaluated(options: &Options, kind: EstimatorKind) -> Result<String, String> {
    let space = SearchSpace::all();
    let plain = Preparation {
        imputer: Imputer::Mean,
        encoder: Encoder::None,
        scaler: Scaler::Standardise,
        reducer: Reducer::None,
    };
    let wanted = if kind.character().takes_gaps { Preparation::AS_IT_IS } else { plain };
    let is_wanted = |p: &Pipeline| p.estimator.kind() == kind && p.preparation == wanted;
    let pipeline = space.ids().map(|id| space.pipeline(id)).find(is_wanted);
    let pipeline = pipeline.ok_or_else(|| format!("no pipeline of {}", kind.name()))?;
    let dataset = table(options);
    let validation = Validation {
        threads: options.threads,
        memory_limit: Some(options.memory),
        memory: Some(MemoryPool::new((GRANTED * options.memory as f64) as u64, resident)),
        deadline: Some(Instant::now() + Duration::from_secs(options.seconds)),
        keep_predictions: true,
        keep_models: true,
        ..Validation::default()
    };
    let outcomes = validation
        .outcomes(&dataset, std::slice::from_ref(&pipeline))
        .map_err(|e| e.to_string())?;
    Ok(match outcomes.into_iter().next() {
        Some(Outcome::Finished(e)) => format!("error {:.4}: {pipeline}", e.error),
        Some(Outcome::OutOfTime { after }) => {
            format!("out of time after {:.0} s: {pipeline}", after.as_secs_f64())
        }
        Some(Outcome::Failed(error)) => format!("refused: {error}: {pipeline}"),
        None => "nothing was said".to_owned(),
    })
}

/// Numbers and categories with gaps, and two classes that some of them tell of.
fn table(options: &Options) -> Dataset {
    let (n, stream) = (options.rows, Stream::new(0).named("memory"));
    let n_categories = options.columns / 5;
    let mut scores = vec![0.0; n];
    // Between zero and one.
    let draw = |column: Stream, row: usize| column.child(row as u64).key() as f64 / u64::MAX as f64;
    let columns = (0..options.columns).map(|j| {
        let (own, gaps) = (stream.child(j as u64), stream.named("gaps").child(j as u64));
        let weight = if j % 7 == 0 { 1.0 } else { 0.0 };
        let is_gap = |row: usize| draw(gaps, row) < MISSING_SHARE;
        if j < n_categories {
            let code =
                |row: usize| ((draw(own, row) * f64::from(N_LEVELS)) as u32).min(N_LEVELS - 1);
            let effect = |code: u32| (f64::from(code * 7 % 11) - 5.0) / 5.0;
            scores.iter_mut().enumerate().for_each(|(i, s)| *s += weight * effect(code(i)));
            let cell = |row: usize| if is_gap(row) { MISSING_CODE } else { code(row) };
            return Column::categorical((0..n).map(cell).collect::<Vec<u32>>(), N_LEVELS);
        }
        let number = |row: usize| 2.0 * draw(own, row) - 1.0;
        scores.iter_mut().enumerate().for_each(|(i, s)| *s += weight * number(i));
        let cell = |row: usize| if is_gap(row) { f64::NAN } else { number(row) };
        Column::numeric((0..n).map(cell).collect::<Vec<f64>>())
    });
    let columns = columns.collect();
    let noise = stream.named("noise");
    let class = |(i, score): (usize, &f64)| u32::from(score + 2.0 * draw(noise, i) > 1.0);
    let codes: Vec<u32> = scores.iter().enumerate().map(class).collect();
    Dataset::new(columns, Labels::from_codes(codes, 2))
}

/// What the process holds.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
