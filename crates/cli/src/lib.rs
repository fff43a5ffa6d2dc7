//! The pitchpipe command: arguments, wording and exit codes. It is the one room that prints.
//!
//! The program and the Python package's command are both [`main_with_args`]; the package also speaks of errors in the
//! words of [`Failure`].
//!
//! Results go to standard output, all else to standard error. The exit code is 0 when the work is done, 1
//! when it failed, 2 when the command line was wrong, and 3 when Ctrl-C ended a fit and the best model so far
//! was written. What can be saved is saved before it is told, and nothing that cannot be told ends the work.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod compare;
mod console;
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
mod notes;
mod output;
mod predict;
mod replay;
mod report;
mod scores;
#[cfg_attr(not(unix), path = "signals_elsewhere.rs")]
mod signals;
mod table_args;
mod text;
mod threads;
mod values;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Parser;

use args::{Args, Command};
pub use failure::Failure;
pub use inspect::schema_json;
pub use meta::{Cluster, Engine};
pub use notes::without_cells as notes_without_cells;
pub use pitchpipe_report::report_json;

/// What a command that did its work leaves to be printed.
pub(crate) struct Done {
    /// The result, for standard output.
    text: String,
    /// Whether the result is in a file, and the text only says so.
    is_saved: bool,
    /// Whether Ctrl-C ended the work early, with something to show for it.
    ended_early: bool,
}

impl Done {
    /// The text is the result.
    pub(crate) fn printed(text: String) -> Self {
        Self { text, is_saved: false, ended_early: false }
    }

    /// The result is in a file; the text says so.
    pub(crate) fn saved(text: String) -> Self {
        Self { text, is_saved: true, ended_early: false }
    }
}

impl From<String> for Done {
    fn from(text: String) -> Self {
        Self::printed(text)
    }
}

/// Ctrl-C ended a fit, and the best model so far was written.
const ENDED_EARLY: u8 = 3;

/// The work failed.
const FAILED: u8 = 1;

/// Runs a command line, the program's name first, and gives the exit code. A command line that is wrong, or that asks for
/// help, ends the process.
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> u8 {
    main_with_engine(args, None)
}

/// The same, with an engine that carries work to a cluster.
pub fn main_with_engine(
    args: impl IntoIterator<Item = OsString>,
    engine: Option<Engine<'_>>,
) -> u8 {
    // A time budget begins with the process.
    let started = Instant::now();
    let args = Args::parse_from(args);
    let result = signals::listen(args.command.is_patient())
        .and_then(|stop| run(&args.command, started, &stop, engine));
    match result.and_then(print) {
        Ok(false) => 0,
        Ok(true) => ENDED_EARLY,
        Err(failure) => {
            console::say(failure);
            FAILED
        }
    }
}

/// Runs a command; `stop` is raised when it is to end and keep what it has.
fn run(
    command: &Command,
    started: Instant,
    stop: &Arc<AtomicBool>,
    engine: Option<Engine<'_>>,
) -> Result<Done, Failure> {
    match command {
        Command::Fit(args) => fit::run(args, started, stop),
        Command::Predict(args) => predict::run(args),
        Command::Evaluate(args) => evaluate::run(args).map(Done::from),
        Command::Inspect(args) => inspect::run(args).map(Done::from),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Export(args) => export::run(args),
        Command::Describe(args) => describe::run(args).map(Done::from),
        Command::Meta(args) => meta::run(args, stop, engine),
        Command::Completions(args) => Ok(help_files::completions(args).into()),
        Command::Man(args) => help_files::man(args).map(Done::saved),
    }
}

/// Prints what a command leaves; whether it ended early. What is saved is no failure because nobody could be told.
fn print(done: Done) -> Result<bool, Failure> {
    match console::print(text::harmless(&done.text).as_bytes()) {
        Err(failure) if !done.is_saved => Err(failure),
        _ => Ok(done.ended_early),
    }
}
