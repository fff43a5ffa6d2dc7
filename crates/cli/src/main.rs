//! The pitchpipe command: arguments, wording and exit codes. It is the one room that prints.
//!
//! Results go to standard output, all else to standard error. The exit code is 0 when the work is done, 1
//! when it failed, 2 when the command line was wrong.

mod args;
mod describe;
mod failure;
mod meta;
mod text;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Describe(args) => describe::run(args),
        Command::Meta(args) => meta::run(args),
    };
    match result.and_then(|output| print(&output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a result. A reader that has seen enough (`| head`) is no failure.
fn print(output: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(output.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}
