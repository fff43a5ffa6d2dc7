//! What went wrong, as the person who meets it reads it.

use std::fmt;
use std::path::Path;

use pitchpipe_automl::offline::OfflineError;
use pitchpipe_automl::online::address_space_limit;
use pitchpipe_automl::surrogate::SurrogateFileError;
use pitchpipe_automl::{AutoMlError, ModelFileError, PredictError};
use pitchpipe_table::{SchemaError, TableError, WriteError};

use crate::text::harmless;
use crate::values::{written_duration, written_size};

/// An error and, where there is one, the next thing to try.
#[derive(Debug)]
pub struct Failure {
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

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The next thing to try, in the flags of the command line.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The system gave no more memory.
    pub(crate) fn out_of_memory() -> Self {
        let message = match address_space_limit() {
            Some(limit) => {
                format!("out of memory: the limit is {} (ulimit -v)", written_size(limit))
            }
            None => "out of memory: the system gave no more".to_owned(),
        };
        let help = "raise the limit, use fewer --threads, or take fewer rows or columns";
        Self::with_help(message, help.to_owned())
    }

    /// The same, without proposals of flags that say what columns are: a model knows that, and the commands that take
    /// one have no such flags.
    pub(crate) fn of_a_models_table(mut self) -> Self {
        const FOREIGN: [&str; 4] = ["--categorical ", "--numeric ", "--exclude ", "--include "];
        if let Some(help) = &self.help {
            let is_foreign = |clause: &&str| FOREIGN.iter().any(|flag| clause.contains(flag));
            let clauses: Vec<&str> =
                help.split(", ").filter(|clause| !is_foreign(clause)).collect();
            let help = clauses.join(", ").replace(", or --", ", or pass --");
            self.help = (!help.is_empty()).then_some(help);
        }
        self
    }

    /// What is wrong with the columns of a file.
    pub fn of_schema(file: &str, error: &SchemaError) -> Self {
        Self { message: format!("{file}: {error}"), help: Some(error.help()) }
    }

    /// Why a model could not be read.
    pub fn of_model_file(path: &Path, error: &ModelFileError) -> Self {
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
    pub fn of_prediction(table: &str, error: &PredictError) -> Self {
        match error {
            PredictError::Schema(error) => Self::of_schema(table, error),
            PredictError::Table(error) => Self { message: error.to_string(), help: error.help() },
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
    pub fn of_search(file: &str, error: &AutoMlError) -> Self {
        let help = match error {
            AutoMlError::OutOfTime { budget, .. } => {
                format!("try --time-budget {}", written_duration((*budget * 5).max(LEAST_SENSIBLE)))
            }
            AutoMlError::TooFewRows { .. } => "add rows that have a value in the target".to_owned(),
            AutoMlError::TooManyClasses { .. } => {
                "make rare classes one, or leave the rows of rare classes out".to_owned()
            }
            AutoMlError::Cancelled => return Self::new(NOTHING_YET.to_owned()),
            AutoMlError::TooLarge { .. } => {
                "try a longer --time-budget, or another --seed".to_owned()
            }
            AutoMlError::NotInSurrogate { .. } => {
                "choose another --method, or a --surrogate that was trained for it".to_owned()
            }
            AutoMlError::OptionNotInSurrogate { .. } => {
                "leave the option out, or name a --surrogate that this pitchpipe trained".to_owned()
            }
            AutoMlError::TooLittleMemory { needed, .. } => {
                format!("give it more, such as --memory {}", written_size(needed.saturating_mul(2)))
            }
            AutoMlError::TooLittleAddressSpace { needed, .. } => format!(
                "raise it (ulimit -v {}), or use fewer --threads",
                needed.saturating_mul(2) / 1024
            ),
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
        // Names of files and columns are part of it, and must not steer the terminal.
        writeln!(f, "error: {}", harmless(&self.message))?;
        match &self.help {
            Some(help) => writeln!(f, "help: {}", harmless(help)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_proposes_flags_that_it_has() {
        let help = |text: &str| {
            Failure::with_help(String::new(), text.to_owned()).of_a_models_table().help
        };
        let all = "correct the cell, or pass --categorical age, or --missing thirty if it stands for a missing value";
        let own = "correct the cell, or pass --missing thirty if it stands for a missing value";
        assert_eq!(help(all).as_deref(), Some(own));
        assert_eq!(help("correct the row").as_deref(), Some("correct the row"));
    }
}
