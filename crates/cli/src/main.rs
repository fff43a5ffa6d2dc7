//! The pitchpipe command: arguments, wording and exit codes. It is the one room that prints.
//!
//! Results go to standard output, all else to standard error. The exit code is 0 when the work is done, 1
//! when it failed, 2 when the command line was wrong, and 3 when Ctrl-C ended a fit and the best model so far
//! was written.

mod args;
mod decision;
mod describe;
mod evaluate;
mod export;
mod failure;
mod fit;
mod help_files;
mod inspect;
mod meta;
mod model_table;
mod predict;
mod scores;
mod table_args;
mod text;
mod values;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;

/// What a command that did its work leaves to be printed.
pub(crate) struct Done {
    /// The result, for standard output.
    text: String,
    /// Whether Ctrl-C ended the work early, with something to show for it.
    ended_early: bool,
}

impl From<String> for Done {
    fn from(text: String) -> Self {
        Self { text, ended_early: false }
    }
}

/// Ctrl-C ended a fit, and the best model so far was written.
const ENDED_EARLY: u8 = 3;

fn main() -> ExitCode {
    // A time budget begins with the process.
    let started = Instant::now();
    let args = Args::parse();
    let result = match &args.command {
        Command::Fit(args) => fit::run(args, started),
        Command::Predict(args) => predict::run(args).map(Done::from),
        Command::Evaluate(args) => evaluate::run(args).map(Done::from),
        Command::Inspect(args) => inspect::run(args).map(Done::from),
        Command::Export(args) => export::run(args).map(Done::from),
        Command::Describe(args) => describe::run(args).map(Done::from),
        Command::Meta(args) => meta::run(args).map(Done::from),
        Command::Completions(args) => Ok(help_files::completions(args).into()),
        Command::Man(args) => help_files::man(args).map(Done::from),
    };
    match result.and_then(|done| print(done.text.as_bytes()).map(|()| done.ended_early)) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(ENDED_EARLY),
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a result. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn print(output: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(output).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}
