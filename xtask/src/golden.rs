//! `cargo xtask golden`: scikit-learn's answers, recorded for our tests to meet.

use std::process::Command;

use crate::python;
use crate::tests;

/// Which files to write.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Components, e.g. `knn stochastic`; all of them if none is named, in about ten minutes.
    components: Vec<String>,
}

/// Writes golden files anew.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let python = python::environment("golden")?;
    let folder = python::root().join("crates/learn/tests/golden");
    tests::run(
        single_thread(&mut Command::new(python))
            .arg(python::root().join("bench/sklearn/golden.py"))
            .arg(folder)
            .args(&options.components),
    )
}

/// One thread for numpy's and scikit-learn's own pools.
pub(crate) fn single_thread(command: &mut Command) -> &mut Command {
    command.env("OMP_NUM_THREADS", "1").env("OPENBLAS_NUM_THREADS", "1")
}
