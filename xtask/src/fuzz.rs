//! `cargo xtask fuzz TARGET`: damaged tables against the readers.

use std::process::Command;

use clap::Args;

use crate::python::root;
use crate::tests::run;

/// What to fuzz, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// csv, arff, gzip (and Zstandard), parquet or arrow.
    target: String,
    /// How long.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Where the random numbers begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep small inputs with new outcomes in the corpus that the tests replay.
    #[arg(long)]
    keep: bool,
}

/// Builds the fuzzer and runs it.
pub(crate) fn fuzz(options: &Options) -> Result<(), String> {
    run(Command::new("cargo").args(["build", "--release", "--workspace", "--examples"]))?;
    let seconds = (options.minutes * 60.0).round() as u64;
    run(Command::new(root().join("target/release/examples/fuzz_read"))
        .current_dir(root())
        .args([&options.target, &seconds.to_string(), &options.seed.to_string()])
        .arg("crates/table/tests/fuzz_corpus")
        .args(options.keep.then_some("keep")))
}
