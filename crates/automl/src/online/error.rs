//! Why there is no model.

use std::time::Duration;

use pitchpipe_learn::FitError;
use pitchpipe_surrogate::SurrogateError;
use thiserror::Error;

/// Why a search gave no model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AutoMlError {
    /// The table has too few rows to hold some of them out.
    #[error("the table has {n_rows} rows with a target, but at least {needed} are needed")]
    TooFewRows {
        /// How many there are.
        n_rows: usize,
        /// How many are needed.
        needed: usize,
    },
    /// There is nothing to tell apart.
    #[error("all rows are of one class, so there is nothing to learn")]
    OneClass,
    /// There are more classes than probabilities of them could be kept.
    #[error("there are {n_classes} classes, and a search takes at most {limit}")]
    TooManyClasses {
        /// How many there are.
        n_classes: usize,
        /// How many there may be.
        limit: usize,
    },
    /// All rows hang together.
    #[error(
        "all rows are of one group or one instant, so that none can be measured apart from the others"
    )]
    OneUnit,
    /// There is nothing to learn from.
    #[error("the table has no column to learn from")]
    NoFeatures,
    /// The validation table does not go with the training table.
    #[error(
        "the validation table has {got} columns or classes where the training table has {wanted}, or other kinds of them"
    )]
    OtherValidation {
        /// What the training table has.
        wanted: usize,
        /// What the validation table has.
        got: usize,
    },
    /// A setting that makes no sense.
    #[error("{name} is {value}, but must be {wanted}")]
    Setting {
        /// Which setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// The time was over before anything had finished.
    #[error(
        "no pipeline finished within the time budget of {}",
        in_words(*budget)
    )]
    OutOfTime {
        /// The budget.
        budget: Duration,
        /// How many pipelines were begun.
        n_started: usize,
    },
    /// The caller cancelled the search before anything had finished.
    #[error("cancelled before any pipeline had finished")]
    Cancelled,
    /// Everything that was tried failed.
    #[error("all {n_failed} pipelines that were tried failed; the first said: {first}")]
    AllFailed {
        /// How many failed.
        n_failed: usize,
        /// What the first one said.
        first: FitError,
    },
    /// The memory allowed is less than a search takes.
    #[error(
        "{} of memory are allowed, but with the table in memory a search takes at least {}",
        in_mb(*limit),
        in_mb(*needed)
    )]
    TooLittleMemory {
        /// Bytes that are allowed.
        limit: u64,
        /// Bytes that are needed.
        needed: u64,
    },
    /// The shell allows the process fewer addresses than a search asks for.
    #[error(
        "the limit on the address space is {} (ulimit -v), but a search on {} takes at least {}",
        in_mb(*limit),
        in_threads(*n_threads),
        in_mb(*needed)
    )]
    TooLittleAddressSpace {
        /// Bytes that are allowed.
        limit: u64,
        /// Bytes that are needed.
        needed: u64,
        /// Threads of the search.
        n_threads: usize,
    },
    /// The model is larger than it may be.
    #[error("the smallest model found takes {bytes} bytes, but the limit is {limit}")]
    TooLarge {
        /// What it takes.
        bytes: u64,
        /// What it may take.
        limit: u64,
    },
    /// The surrogate lacks what the method needs.
    #[error("the surrogate holds nothing for the method {method}")]
    NotInSurrogate {
        /// The method.
        method: super::Method,
    },
    /// The surrogate lacks what an option needs.
    #[error("the surrogate holds nothing for {what}")]
    OptionNotInSurrogate {
        /// The option.
        what: &'static str,
    },
    /// A computation of the surrogate failed.
    #[error(transparent)]
    Surrogate(#[from] SurrogateError),
    /// The engine could not begin.
    #[error(transparent)]
    Engine(#[from] FitError),
}

/// Bytes as a person writes them.
fn in_mb(bytes: u64) -> String {
    format!("{}MB", bytes.div_ceil(1_000_000))
}

fn in_threads(n: usize) -> String {
    if n == 1 { "one thread".to_owned() } else { format!("{n} threads") }
}

/// A duration as a person writes it.
fn in_words(duration: Duration) -> String {
    match duration.as_secs_f64() {
        secs if secs > 0.0 && secs < 1.0 => format!("{}ms", secs * 1e3),
        secs if secs.fract() == 0.0 => format!("{secs}s"),
        secs => format!("{secs:.1}s"),
    }
}
