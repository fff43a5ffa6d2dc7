//! `cargo xtask test` and `cargo xtask ci`.

use std::process::Command;

use crate::python;

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
    test()
}

/// Every test: Rust's, then Python's.
pub(crate) fn test() -> Result<(), String> {
    run(Command::new("cargo").args(["test", "--release", "--workspace"]))?;
    // The Python tests run programs among them.
    run(Command::new("cargo").args(["build", "--release", "--workspace", "--examples"]))?;
    let python = python::environment("tests")?;
    run(Command::new(python)
        .args(["-m", "pytest", "-q", "tests/python"])
        .current_dir(python::root()))
}

/// Runs a command, echoing it first; fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}").replace('"', "");
    eprintln!("$ {shown}");
    let status = command.status().map_err(|e| format!("could not start {shown}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed: {status}")) }
}
