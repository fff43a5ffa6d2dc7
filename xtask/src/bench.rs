//! `cargo xtask bench WHAT`: timings next to the peer, as ratios.

use std::process::Command;

use clap::ValueEnum;

use crate::python::{environment, root};
use crate::tests::run;

/// What to time.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum What {
    /// Reading 1,000,000 rows by 20 columns of CSV, next to pyarrow and pandas.
    Table,
}

/// Builds what is needed and prints the timings.
pub(crate) fn bench(what: What) -> Result<(), String> {
    run(Command::new("cargo").args(["build", "--release", "--workspace", "--examples"]))?;
    let examples = root().join("target/release/examples");
    match what {
        What::Table => run(Command::new(environment("tests")?)
            .current_dir(root())
            .arg("bench/table/bench.py")
            .arg("--reader")
            .arg(examples.join("time_read"))
            .args(["--folder", "target/bench/table"])),
    }
}
