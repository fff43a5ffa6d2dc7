//! The project's own chores.

mod add_estimator;
mod agreement;
mod bench;
mod cluster;
mod corpus;
mod experiment;
mod fuzz;
mod golden;
mod parity;
mod published;
mod python;
mod reference;
mod surrogate;
mod tests;
#[cfg(unix)]
mod torture;
mod wheel;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's chores: tests, golden files, benchmarks.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every test, setting up all they need.
    Test,
    /// Run what CI runs: formatting, lints, then every test.
    Ci,
    /// Compare our errors with the published tensor's, dataset by dataset.
    Agreement(agreement::Options),
    /// Measure speed next to scikit-learn.
    Bench(bench::Options),
    /// Record scikit-learn 1.1.3's answers anew in crates/learn/tests/golden.
    Golden(golden::Options),
    /// Compare mean errors over ten seeds with scikit-learn 1.1.3's; fail where they differ.
    Parity(parity::Options),
    /// Apply, build and test CONTRIBUTING.md's example of a new estimator, in a copy under target/.
    AddEstimator,
    /// Feed damaged tables to the readers.
    Fuzz(fuzz::Options),
    /// Run the paper's experiments on the published tensor: tables and figures into docs/results.
    Experiment(experiment::Options),
    /// Print the reference tables next to our own figures; fail when one is not reached.
    Reference(reference::Options),
    /// Run random commands on damaged files under signals, limits, closed pipes and full disks; fail on any finding.
    #[cfg(unix)]
    Torture(torture::Options),
    /// Build the Python package: a wheel and a source distribution, in target/wheels.
    Wheel(wheel::Options),
    /// Make the store in data/meta and the surrogate inside the program anew.
    Surrogate(surrogate::Options),
}

fn main() -> ExitCode {
    let result = match Args::parse().chore {
        Chore::Test => tests::test(),
        Chore::Ci => tests::ci(),
        Chore::Agreement(options) => agreement::run(&options),
        Chore::Bench(options) => bench::run(&options),
        Chore::Golden(options) => golden::run(&options),
        Chore::Parity(options) => parity::run(&options),
        Chore::AddEstimator => add_estimator::add(),
        Chore::Fuzz(options) => fuzz::fuzz(&options),
        Chore::Experiment(options) => experiment::run(&options),
        Chore::Reference(options) => reference::run(&options),
        #[cfg(unix)]
        Chore::Torture(options) => torture::torture(&options),
        Chore::Wheel(options) => wheel::make(&options),
        Chore::Surrogate(options) => surrogate::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
