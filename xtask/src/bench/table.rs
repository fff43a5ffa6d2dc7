//! `cargo xtask bench table`: reading tables next to pyarrow and pandas.

use std::process::Command;

use crate::python::{environment, root};
use crate::tests::run;

/// Builds what is needed and prints the timings.
pub(crate) fn bench() -> Result<(), String> {
    run(Command::new("cargo").args(["build", "--release", "--workspace", "--examples"]))?;
    let examples = root().join("target/release/examples");
    run(Command::new(environment("tests")?)
        .current_dir(root())
        .arg("bench/table/bench.py")
        .arg("--reader")
        .arg(examples.join("time_read"))
        .args(["--folder", "target/bench/table"]))
}
