//! `cargo xtask bench report`: the pages that people look at, measured in a browser.

use std::process::Command;

use crate::python::{environment, root};
use crate::tests;

/// Builds the command and drives a browser on its pages.
pub(crate) fn run() -> Result<(), String> {
    tests::run(Command::new("cargo").args(["build", "--release", "--workspace"]))?;
    let python = environment("tests")?;
    tests::run(Command::new(python).current_dir(root()).arg("bench/report/pages.py"))
}
