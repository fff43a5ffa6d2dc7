//! `cargo xtask bench python`: what the Python package costs beside the command, and its predictions beside its peers'.

use std::fs;
use std::process::Command;

use clap::Args;
use serde::Deserialize;

use crate::python::{environment, root};
use crate::{tests, wheel};

/// What to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds that each system has to fit.
    #[arg(long, default_value_t = 30)]
    budget: u64,
    /// Rows to hand over and to predict.
    #[arg(long, default_value_t = 1_000_000)]
    rows: usize,
    /// Without the peers, whose environments take gigabytes.
    #[arg(long)]
    alone: bool,
}

/// Systems and the environments that they run in.
const SYSTEMS: [(&str, &str); 5] = [
    ("pitchpipe", "python-newest"),
    ("pitchpipe-fast", "python-newest"),
    ("autogluon", "automl-autogluon"),
    ("flaml", "automl-flaml"),
    ("forest", "automl-sklearn"),
];

/// What a system's run came to.
#[derive(Deserialize)]
struct Said {
    system: String,
    what: String,
    fit_secs: f64,
    fit_cpu_secs: f64,
    all_secs: f64,
    one_secs: f64,
    accuracy: f64,
}

/// Builds what is needed and prints the figures.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    tests::run(Command::new("cargo").args(["build", "--release", "--workspace"]))?;
    let python = environment("python-newest")?;
    wheel::install(&python, &wheel::build()?)?;
    let folder = root().join("target/bench/python");
    let script = |name: &str| root().join("bench/python").join(name);
    tests::run(
        Command::new(&python)
            .arg(script("handover.py"))
            .arg(root().join("target/release/pitchpipe"))
            .arg(&folder)
            .arg(options.rows.to_string()),
    )?;
    if options.alone {
        return Ok(());
    }
    tests::run(
        Command::new(&python).arg(script("tables.py")).arg(&folder).arg(options.rows.to_string()),
    )?;
    let mut all = Vec::new();
    for (system, name) in SYSTEMS {
        let out = folder.join(format!("{system}.json"));
        tests::run(
            Command::new(environment(name)?)
                .arg(script("predict.py"))
                .args([system.as_ref(), folder.as_os_str()])
                .arg(options.budget.to_string())
                .arg(&out)
                .current_dir(&folder),
        )?;
        let text = fs::read_to_string(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        all.push(serde_json::from_str::<Said>(&text).map_err(|e| e.to_string())?);
    }
    show(options, &all);
    Ok(())
}

fn show(options: &Options, all: &[Said]) {
    let rows = options.rows;
    println!(
        "\npredict_proba in CPU time on one core, models of {} s on 20,000 x 30 numbers",
        options.budget
    );
    println!(
        "{:<14} {:>6}  {:>6}  {:>12}  {:>10}  {:>8}  what",
        "",
        "fit",
        "CPU",
        format!("{rows} rows"),
        "one row",
        "accuracy"
    );
    for s in all {
        println!(
            "{:<14} {:>5.1}s  {:>5.1}s  {:>11.2}s  {:>8.2}ms  {:>8.4}  {}",
            s.system,
            s.fit_secs,
            s.fit_cpu_secs,
            s.all_secs,
            1e3 * s.one_secs,
            s.accuracy,
            s.what
        );
    }
}
