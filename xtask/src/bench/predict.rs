//! `cargo xtask bench predict`: rows a second, and one row's time, of a model of a minute's search on 1,000,000 rows by 50 columns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use pitchpipe_automl::{Model, on_threads};
use pitchpipe_table::{CancelCheck, ReadOptions, Source};

use crate::python::root;
use crate::tests::run as run_command;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A model that is there already, instead of one that is fitted
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// The table to predict, and to fit on [default: the mixed table of `bench large`, written where it is missing]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// The time budget of the search in seconds
    #[arg(long, default_value_t = 60)]
    time_budget: u64,
    /// Also fit with --fast-predict, and compare
    #[arg(long)]
    fast: bool,
    /// Threads of the search and of predictions
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The seed of the search
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// What is promised.
const ROWS_A_SECOND: f64 = 200_000.0;
const ONE_ROW_SECS: f64 = 5e-3;

/// Single rows that are predicted one after the other.
const SINGLE_ROWS: usize = 200;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let folder = root().join("target/bench/promises/tables");
    let table = match &options.table {
        Some(table) => table.clone(),
        None => {
            let python = "import sys; sys.path.insert(0, 'bench/promises'); import large; large.tables('mixed')";
            run_command(Command::new("python3").current_dir(root()).args(["-c", python]))?;
            folder.join("large-mixed-1000000x50.csv")
        }
    };
    println!(
        "{:<10} {:>9} {:>12} {:>14} {:>14} {:>13} {:>12} {:>9}",
        "model",
        "learners",
        "rows",
        "whole process",
        "rows a second",
        "predicting",
        "rows/s of it",
        "one row"
    );
    let mut kept = true;
    let fits: &[bool] =
        if options.fast && options.model.is_none() { &[false, true] } else { &[false] };
    for &is_fast in fits {
        let model = match &options.model {
            Some(model) => model.clone(),
            None => fitted(options, &table, is_fast)?,
        };
        let name = if is_fast { "fast" } else { "default" };
        kept &= measure(options, name, &model, &table)?;
    }
    if kept { Ok(()) } else { Err("slower than promised".to_owned()) }
}

fn fitted(options: &Options, table: &Path, is_fast: bool) -> Result<PathBuf, String> {
    let folder = root().join("target/bench/predict");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let model = folder.join(if is_fast { "fast.pp" } else { "default.pp" });
    let mut fit = Command::new(root().join("target/release/pitchpipe"));
    fit.arg("fit")
        .arg(table)
        .args(["--target", "class", "--quiet", "--force", "--out"])
        .arg(&model);
    fit.args(["--time-budget", &format!("{}s", options.time_budget)]);
    fit.args(["--threads", &options.threads.to_string(), "--seed", &options.seed.to_string()]);
    if is_fast {
        fit.arg("--fast-predict");
    }
    run_command(&mut fit)?;
    Ok(model)
}

/// One model; whether it is as fast as promised.
fn measure(options: &Options, name: &str, file: &Path, table: &Path) -> Result<bool, String> {
    let (out, threads) = (file.with_extension("csv"), options.threads.to_string());
    let mut predict = Command::new(root().join("target/release/pitchpipe"));
    predict.arg("predict").arg(file).arg(table).args(["--threads", &threads, "--out"]).arg(&out);
    drop(fs::remove_file(&out));
    let begun = Instant::now();
    run_command(predict.stderr(std::process::Stdio::null()))?;
    let whole_secs = begun.elapsed().as_secs_f64();
    drop(fs::remove_file(&out));

    let text = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let model = Model::read(file).map_err(|e| text(&e))?;
    let source = Source::Path(table.to_owned());
    let raw = model
        .read_table(&source, ReadOptions::default(), &CancelCheck::never())
        .map_err(|e| text(&e))?;
    let schema = model.schema().ok_or("the model has no schema")?;
    let frame = schema.apply(raw).map_err(|e| text(&e))?.frame;
    let begun = Instant::now();
    on_threads(options.threads, || model.predict(&frame))
        .map_err(|e| text(&e))?
        .map_err(|e| text(&e))?;
    let secs = begun.elapsed().as_secs_f64();

    let mut singles: Vec<f64> = Vec::new();
    for row in 0..SINGLE_ROWS.min(frame.n_rows()) {
        let one = frame.select(&[row]);
        let begun = Instant::now();
        model.predict(&one).map_err(|e| text(&e))?;
        singles.push(begun.elapsed().as_secs_f64());
    }
    singles.sort_by(f64::total_cmp);
    let (n_rows, one_row_secs) = (frame.n_rows() as f64, singles[singles.len() / 2]);
    println!(
        "{name:<10} {:>9} {n_rows:>12} {:>13.2}s {:>14.0} {:>12.2}s {:>12.0} {:>6.2} ms",
        model.base_learners().len(),
        whole_secs,
        n_rows / whole_secs,
        secs,
        n_rows / secs,
        1e3 * one_row_secs,
    );
    Ok(n_rows / whole_secs >= ROWS_A_SECOND && one_row_secs < ONE_ROW_SECS)
}
