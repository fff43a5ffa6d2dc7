//! The project's own chores.

mod bench;
mod fuzz;
mod golden;
mod published;
mod python;
mod reference;
mod tests;

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
    /// Record scikit-learn 1.1.3's answers anew in crates/learn/tests/golden.
    Golden,
    /// Time something next to its peers.
    Bench {
        /// What to time.
        what: bench::What,
    },
    /// Feed damaged tables to the readers.
    Fuzz(fuzz::Options),
    /// Print the reference tables next to our own figures; fail when one is not reached.
    Reference(reference::Options),
}

fn main() -> ExitCode {
    let result = match Args::parse().chore {
        Chore::Test => tests::test(),
        Chore::Ci => tests::ci(),
        Chore::Golden => golden::run(),
        Chore::Bench { what } => bench::bench(what),
        Chore::Fuzz(options) => fuzz::fuzz(&options),
        Chore::Reference(options) => reference::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
