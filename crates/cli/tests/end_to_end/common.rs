//! Running the command.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A file of the example data.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(name)
}

/// Runs the command in a folder.
pub(crate) fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pitchpipe")).args(args).current_dir(folder).output().unwrap()
}

/// Runs the command in a folder; it must succeed. What it printed.
pub(crate) fn succeed(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the command in a folder; it must fail with code 1. What it said.
pub(crate) fn fail(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}
