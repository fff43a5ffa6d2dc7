//! `cargo xtask golden`: scikit-learn's answers, recorded for our tests to meet.

use std::process::Command;

use crate::python;
use crate::tests;

/// Writes every golden file anew; about ten minutes, most of them scikit-learn's digits.
pub(crate) fn run() -> Result<(), String> {
    let python = python::environment("golden")?;
    let folder = python::root().join("crates/learn/tests/golden");
    tests::run(
        single_thread(&mut Command::new(python))
            .arg(python::root().join("bench/sklearn/golden.py"))
            .arg(folder),
    )
}

/// One thread for numpy's and scikit-learn's own pools.
pub(crate) fn single_thread(command: &mut Command) -> &mut Command {
    command.env("OMP_NUM_THREADS", "1").env("OPENBLAS_NUM_THREADS", "1")
}
