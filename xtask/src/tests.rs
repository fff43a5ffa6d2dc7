//! `cargo xtask test` and `cargo xtask ci`.

use std::process::Command;

use crate::{experiment, python, wheel};

/// Formatting, lints, then every test.
pub(crate) fn ci() -> Result<(), String> {
    run(Command::new("cargo").args(["fmt", "--all", "--check"]))?;
    run(Command::new("cargo").args([
        "clippy",
        "--release",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    every_test(true)
}

/// Every test: Rust's, then Python's.
pub(crate) fn test() -> Result<(), String> {
    every_test(false)
}

/// The same; in CI nothing is left out for want of a browser or of Ray.
fn every_test(in_ci: bool) -> Result<(), String> {
    run(Command::new("cargo").args(["test", "--release", "--workspace"]))?;
    // The Python tests run programs among them.
    run(Command::new("cargo").args(["build", "--release", "--workspace", "--examples"]))?;
    let pytest = |environment: &str, what: &str| {
        let python = python::environment(environment)?;
        let mut command = Command::new(python);
        command.args(["-m", "pytest", "-q", what]).current_dir(python::root());
        if in_ci {
            command.env("PITCHPIPE_NEEDS_BROWSER", "1");
        }
        run(&mut command)
    };
    pytest("tests", "tests/python")?;
    // Exported scripts run on the oldest and on the newest scikit-learn that `export --help` names.
    pytest("export-oldest", "tests/python/test_export.py")?;
    pytest("export-newest", "tests/python/test_export.py")?;
    wheel::test(in_ci)?;
    // The paper's claims that must hold, on a small part of each experiment.
    experiment::check()
}

/// Runs a command, echoing it first; fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}").replace('"', "");
    eprintln!("$ {shown}");
    let status = command.status().map_err(|e| format!("could not start {shown}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed: {status}")) }
}
