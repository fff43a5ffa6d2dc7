//! What went wrong, as the person who meets it reads it.

use std::fmt;

use pitchpipe_automl::offline::OfflineError;
use pitchpipe_automl::surrogate::SurrogateFileError;
use pitchpipe_table::{SchemaError, TableError};

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
}

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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        match &self.help {
            Some(help) => writeln!(f, "help: {help}"),
            None => Ok(()),
        }
    }
}
