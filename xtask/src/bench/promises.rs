//! `cargo xtask bench budget`, `bench interrupt`, `bench first`, `bench large` and `bench classes`: is what the command promises
//! kept?

use std::process::Command;

use clap::Args;

use crate::python::{environment, root};
use crate::tests::run;

/// How much to check.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// How many runs there are in all, a dozen by default and every table for `first`; those that are recorded are
    /// not run again
    #[arg(long)]
    runs: Option<usize>,

    /// The seed of tables, budgets and moments
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// How many runs of `budget` go on side by side, one by default: each has a harder time of it
    #[arg(long)]
    jobs: Option<usize>,

    /// The most cells of a table of `budget`, 200 million by default
    #[arg(long)]
    most_cells: Option<usize>,
}

/// A large table, and what stands beside.
#[derive(Args)]
pub(crate) struct Large {
    /// The table: of numbers, or with categories and gaps
    #[arg(long, default_value = "both", value_parser = ["plain", "mixed", "both"])]
    table: String,

    /// Peers beside: lightgbm-100, lightgbm-400, hist-gradient-boosting, flaml, autogluon
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,

    /// Seconds for pitchpipe, and for peers that take a budget
    #[arg(long, default_value_t = 60)]
    time_budget: u64,

    /// Threads for all of them [default: one a core]
    #[arg(long)]
    threads: Option<usize>,

    /// The seed of the systems
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Which promise is checked.
#[derive(Clone, Copy)]
pub(crate) enum Promise {
    /// Time budget and memory ceiling.
    Budget,
    /// A model or a message after Ctrl-C.
    Interrupt,
    /// A first model within a second on every table.
    First,
    /// A model of 100,000 rows of 1,000 classes in a minute and 4 GB.
    Classes,
}

/// Builds the command and checks it from outside, as one process after another.
pub(crate) fn check(promise: Promise, options: &Options) -> Result<(), String> {
    run(Command::new("cargo").args(["build", "--release", "--workspace"]))?;
    let script = match promise {
        Promise::Budget => "bench/promises/budget.py",
        Promise::Interrupt => "bench/promises/interrupt.py",
        Promise::First => "bench/promises/first.py",
        Promise::Classes => "bench/promises/classes.py",
    };
    let mut check = Command::new("python3");
    check.current_dir(root()).arg(script).args(["--seed", &options.seed.to_string()]);
    let own = if matches!(promise, Promise::Budget) {
        [("--jobs", options.jobs), ("--most-cells", options.most_cells)]
    } else {
        [("--jobs", None), ("--most-cells", None)]
    };
    for (name, value) in own.into_iter().chain([("--runs", options.runs)]) {
        if let Some(value) = value {
            check.args([name, &value.to_string()]);
        }
    }
    run(&mut check)
}

/// Builds the command and fits the large tables, peers beside it.
pub(crate) fn large(options: &Large) -> Result<(), String> {
    run(Command::new("cargo").args(["build", "--release", "--workspace"]))?;
    let Large { table, peers, time_budget, threads, seed } = options;
    let mut check = Command::new("python3");
    check.current_dir(root()).arg("bench/promises/large.py").args(["--table", table]);
    check.args(["--seed", &seed.to_string(), "--time-budget", &time_budget.to_string()]);
    if let Some(threads) = threads {
        check.args(["--threads", &threads.to_string()]);
    }
    if !peers.is_empty() {
        check.args(["--peers", &peers.join(",")]);
        for peer in peers {
            // AutoGluon wants an older pandas than the others have.
            let name = if peer == "autogluon" { "automl-autogluon" } else { "automl-flaml" };
            check.arg("--python").arg(format!("{peer}={}", environment(name)?.display()));
        }
    }
    run(&mut check)
}
