//! What went wrong, as the person who meets it reads it.

use std::fmt;
use std::path::Path;

use pitchpipe_automl::offline::OfflineError;
use pitchpipe_automl::surrogate::SurrogateFileError;
use pitchpipe_automl::{AutoMlError, ModelFileError, PredictError};
use pitchpipe_table::{SchemaError, TableError, WriteError};

use crate::values::written_duration;

/// An error and, where there is one, the next thing to try.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    help: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: String) -> Self {
        Self { message, help: None }
    }

    pub(crate) fn with_help(message: String, help: String) -> Self {
        Self { message, help: Some(help) }
    }

    /// What is wrong with the columns of a file.
    pub(crate) fn of_schema(file: &str, error: &SchemaError) -> Self {
        Self { message: format!("{file}: {error}"), help: Some(error.help()) }
    }

    /// Why a model could not be read.
    pub(crate) fn of_model_file(path: &Path, error: &ModelFileError) -> Self {
        let file = path.display();
        let help = match error {
            ModelFileError::Io(e) => {
                let help = "check the path";
                return match e.kind() {
                    std::io::ErrorKind::NotFound => {
                        Self::with_help(format!("{file}: no such file"), help.to_owned())
                    }
                    std::io::ErrorKind::IsADirectory => Self::with_help(
                        format!("{file} is a directory, not a model"),
                        help.to_owned(),
                    ),
                    _ => Self::new(format!("{file}: could not be read: {e}")),
                };
            }
            ModelFileError::NotAModel => {
                "name the file that pitchpipe fit wrote (--out); tables come after the model"
            }
            ModelFileError::OtherFormat { .. } | ModelFileError::OtherSection { .. } => {
                "upgrade pitchpipe"
            }
            _ => "copy the file again, or fit the model anew",
        };
        Self::with_help(format!("{file} {error}"), help.to_owned())
    }

    /// Why a model could not be applied to a table.
    pub(crate) fn of_prediction(table: &str, error: &PredictError) -> Self {
        match error {
            PredictError::Schema(error) => Self::of_schema(table, error),
            PredictError::NoTarget { column } => Self::with_help(
                format!("{table} has no column {column:?}, which the model predicts"),
                "add the true classes, or use pitchpipe predict".to_owned(),
            ),
            PredictError::NoKnownClass { classes, .. } => Self::with_help(
                format!("{table}: {error}"),
                format!("the classes are {}", classes.join(", ")),
            ),
            other => Self::new(format!("{table}: {other}")),
        }
    }

    /// Why a search gave no model.
    pub(crate) fn of_search(file: &str, error: &AutoMlError) -> Self {
        let help = match error {
            AutoMlError::OutOfTime { budget, .. } => {
                format!("try --time-budget {}", written_duration((*budget * 5).max(LEAST_SENSIBLE)))
            }
            AutoMlError::TooFewRows { .. } => "add rows that have a value in the target".to_owned(),
            AutoMlError::Cancelled => return Self::new(NOTHING_YET.to_owned()),
            AutoMlError::TooLarge { .. } => {
                "try a longer --time-budget, or another --seed".to_owned()
            }
            AutoMlError::NotInSurrogate { .. } => {
                "choose another --method, or a --surrogate that was trained for it".to_owned()
            }
            AutoMlError::AllFailed { .. } => {
                "a larger --memory or --time-budget may help; see pitchpipe describe for the table"
                    .to_owned()
            }
            _ => return Self::new(format!("{file}: {error}")),
        };
        Self::with_help(format!("{file}: {error}"), help)
    }
}

/// A budget in which most tables get a model.
const LEAST_SENSIBLE: std::time::Duration = std::time::Duration::from_secs(5);

/// Ctrl-C came too early.
pub(crate) const NOTHING_YET: &str =
    "interrupted before any pipeline had finished, so there is no model and nothing was written";

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        Self { message: error.to_string(), help: error.help() }
    }
}

impl From<OfflineError> for Failure {
    fn from(error: OfflineError) -> Self {
        Self { message: error.to_string(), help: error.help() }
    }
}

impl From<SurrogateFileError> for Failure {
    fn from(error: SurrogateFileError) -> Self {
        Self { message: error.to_string(), help: error.help() }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self { message: error.to_string(), help: error.help() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        match &self.help {
            Some(help) => writeln!(f, "help: {help}"),
            None => Ok(()),
        }
    }
}
