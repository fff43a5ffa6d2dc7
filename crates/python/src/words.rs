//! Errors and notes in the words of the command line, with Python's names for its flags.

use std::io::ErrorKind;
use std::path::Path;

use pitchpipe_automl::offline::OfflineError;
use pitchpipe_automl::surrogate::SurrogateFileError;
use pitchpipe_automl::{AutoMlError, ModelFileError, PredictError};
use pitchpipe_cli::Failure;
use pitchpipe_table::{Note, SchemaError, TableError, WriteError};
use pyo3::create_exception;
use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

create_exception!(
    pitchpipe,
    OutOfTime,
    PyRuntimeError,
    "No pipeline finished within the time budget."
);

/// What tables are called in messages.
pub(crate) const TABLE: &str = "X";

/// A table that cannot be taken in.
pub(crate) fn of_table(error: TableError) -> PyErr {
    value_error(&Failure::from(error))
}

/// Columns that cannot be learnt from.
pub(crate) fn of_schema(error: &SchemaError) -> PyErr {
    value_error(&Failure::of_schema(TABLE, error))
}

/// A search without a model.
pub(crate) fn of_search(error: &AutoMlError) -> PyErr {
    let failure = Failure::of_search(TABLE, error);
    match error {
        AutoMlError::OutOfTime { .. } => OutOfTime::new_err(text(&failure)),
        _ => value_error(&failure),
    }
}

/// A table that a model cannot be applied to.
pub(crate) fn of_prediction(error: &PredictError) -> PyErr {
    value_error(&Failure::of_prediction(TABLE, error))
}

/// A model file that cannot be read or written.
pub(crate) fn of_model_file(path: &Path, error: &ModelFileError) -> PyErr {
    let failure = Failure::of_model_file(path, error);
    match error {
        ModelFileError::Io(e) => os_error(e.kind(), text(&failure)),
        ModelFileError::Write(e) => PyOSError::new_err(in_python(&e.to_string())),
        _ => value_error(&failure),
    }
}

/// A surrogate that cannot be read.
pub(crate) fn of_surrogate(error: SurrogateFileError) -> PyErr {
    match &error {
        SurrogateFileError::Io { source, .. } => {
            let kind = source.kind();
            os_error(kind, text(&Failure::from(error)))
        }
        _ => value_error(&Failure::from(error)),
    }
}

/// A store that cannot be read.
pub(crate) fn of_offline(error: OfflineError) -> PyErr {
    match &error {
        OfflineError::Io { source, .. } => {
            let kind = source.kind();
            os_error(kind, text(&Failure::from(error)))
        }
        OfflineError::NotAStore { .. } => {
            os_error(ErrorKind::NotFound, text(&Failure::from(error)))
        }
        _ => value_error(&Failure::from(error)),
    }
}

/// A page that cannot be written.
pub(crate) fn of_writing(error: WriteError) -> PyErr {
    PyOSError::new_err(text(&Failure::from(error)))
}

/// What Python is told of notes: whether each is a warning, and what it says.
pub(crate) fn of_notes(notes: &[Note]) -> Vec<(bool, String)> {
    notes.iter().map(|note| (note.is_warning(), in_python(&note.to_string()))).collect()
}

/// What the system said, by Python's names.
pub(crate) fn os_error(kind: ErrorKind, text: String) -> PyErr {
    match kind {
        ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        ErrorKind::IsADirectory => PyIsADirectoryError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}

fn value_error(failure: &Failure) -> PyErr {
    PyValueError::new_err(text(failure))
}

fn text(failure: &Failure) -> String {
    let message = in_python(failure.message());
    match failure.help().map(help_in_python).filter(|help| !help.is_empty()) {
        Some(help) => format!("{message}\nhelp: {help}"),
        None => message,
    }
}

/// Flags and what Python calls them; whether they take a list of names, a value, or stand alone here.
const NAMES: [(&str, &str, Takes); 17] = [
    ("--categorical", "categorical_features", Takes::Names),
    ("--numeric", "numeric_features", Takes::Names),
    ("--exclude", "exclude", Takes::Names),
    ("--include", "include", Takes::Names),
    ("--max-classes", "max_classes", Takes::Number),
    ("--max-levels", "max_levels", Takes::Number),
    ("--time-budget", "time_budget", Takes::Text),
    ("--memory", "memory_limit", Takes::Text),
    ("--threads", "n_jobs", Takes::Nothing),
    ("--seed", "random_state", Takes::Nothing),
    ("--method", "method", Takes::Nothing),
    ("--surrogate", "surrogate", Takes::Nothing),
    ("--holdout", "holdout", Takes::Nothing),
    ("--group", "group", Takes::Nothing),
    ("--time-order", "time_order", Takes::Nothing),
    ("--target", "y", Takes::Nothing),
    ("--missing", "missing_values", Takes::Names),
];

#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Names,
    Text,
    Number,
    Nothing,
}

/// What only a reader of files can be told, and so nobody who hands over a table.
const OF_FILES: [&str; 8] = [
    "--no-header",
    "--header",
    "--delimiter",
    "--format",
    "--no-usual-missing",
    "--max-columns",
    "--max-row",
    "--force",
];

/// What to try next, without what concerns files alone.
fn help_in_python(help: &str) -> String {
    let is_ours = |part: &&str| !OF_FILES.iter().any(|flag| part.contains(flag));
    let ours =
        |clause: &str| clause.split(", or ").filter(is_ours).collect::<Vec<_>>().join(", or ");
    let clauses = help.split("; ").map(ours).filter(|clause| !clause.is_empty());
    in_python(&clauses.collect::<Vec<_>>().join("; "))
}

/// A sentence with Python's names for the flags in it.
fn in_python(sentence: &str) -> String {
    let mut rest = sentence;
    let mut text = String::with_capacity(sentence.len());
    while let Some(at) = rest.find("--") {
        text += &rest[..at];
        rest = &rest[at..];
        let end = rest[2..].find(|c: char| !c.is_ascii_lowercase() && c != '-');
        let flag = rest[..end.map_or(rest.len(), |e| e + 2)].trim_end_matches('-');
        let known = NAMES.iter().find(|(name, ..)| *name == flag);
        let Some(&(_, name, takes)) = known else {
            text += "--";
            rest = &rest[2..];
            continue;
        };
        rest = &rest[flag.len()..];
        text += name;
        if takes == Takes::Nothing {
            continue;
        }
        if let Some((value, after)) = value_of(rest) {
            text += &match takes {
                Takes::Names => format!("=[{value:?}]"),
                Takes::Number => format!("={value}"),
                _ => format!("={value:?}"),
            };
            rest = after;
        }
    }
    text + rest
}

/// The word after a flag, quoted or not, and what follows it.
fn value_of(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(' ')?;
    if let Some(quoted) = text.strip_prefix('\'') {
        let end = quoted.find('\'')?;
        return Some((&quoted[..end], &quoted[end + 1..]));
    }
    // Where a sentence goes on, there is no value.
    let end = text.find([' ', ',', ';']).unwrap_or(text.len());
    let goes_on = ["if", "is", "or", "and", "for", "may", "takes"];
    (end > 0 && !goes_on.contains(&&text[..end])).then(|| text.split_at(end))
}
