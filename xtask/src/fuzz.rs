//! `cargo xtask fuzz TARGET`: damaged tables and models against the readers.

use std::process::Command;

use clap::Args;

use crate::python::root;
use crate::tests::run;

/// What to fuzz, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// csv, arff, gzip (and Zstandard), parquet or arrow; or models.
    target: String,
    /// How long; models are counted instead.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Where the random numbers begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many model files.
    #[arg(long, default_value_t = 100_000)]
    files: u64,
    /// Keep small inputs with new outcomes in the corpus that the tests replay.
    #[arg(long)]
    keep: bool,
}

/// Builds the fuzzer and runs it.
pub(crate) fn fuzz(options: &Options) -> Result<(), String> {
    run(Command::new("cargo").args(["build", "--release", "--workspace", "--examples"]))?;
    if options.target == "models" {
        return run(Command::new(root().join("target/release/examples/fuzz_models"))
            .args([options.files.to_string(), options.seed.to_string()]));
    }
    let seconds = (options.minutes * 60.0).round() as u64;
    run(Command::new(root().join("target/release/examples/fuzz_read"))
        .current_dir(root())
        .args([&options.target, &seconds.to_string(), &options.seed.to_string()])
        .arg("crates/table/tests/fuzz_corpus")
        .args(options.keep.then_some("keep")))
}
