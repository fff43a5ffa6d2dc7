//! Why a model could not predict, or a model file not be written or read.

use std::io;

use pitchpipe_learn::FitError;
use pitchpipe_table::{SchemaError, TableError, WriteError};
use thiserror::Error;

/// Why a model gave no predictions.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The rows have other columns than those of training.
    #[error(
        "the model was trained on {wanted} columns, but column {at} is missing or of another kind"
    )]
    OtherColumns {
        /// How many columns there were.
        wanted: usize,
        /// The first that differs, from zero.
        at: usize,
    },
    /// The model was made from a dataset without names, so that no table can be matched to it.
    #[error("the model was made from columns without names, so it cannot be given a table")]
    NoSchema,
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The table lacks the column that is predicted, and so cannot be measured by.
    #[error("there is no column {column:?}, which the model predicts")]
    NoTarget {
        /// The column.
        column: String,
    },
    /// No row can be measured by.
    #[error("no row has one of the model's classes in column {column:?}")]
    NoKnownClass {
        /// The column.
        column: String,
        /// The model's classes.
        classes: Vec<String>,
    },
    /// The table does not match the schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A fold model could not be asked.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// Why a model file could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It does not begin as a model file does.
    #[error("is not a pitchpipe model")]
    NotAModel,
    /// It is of another format.
    #[error("has model format {found}; this pitchpipe reads formats 1 and {known}")]
    OtherFormat {
        /// The format of the file.
        found: u32,
        /// The newest format known.
        known: u32,
    },
    /// A part of it is of a later version.
    #[error("has version {found} of the section {name:?}; this pitchpipe reads version {known}")]
    OtherSection {
        /// Which part.
        name: &'static str,
        /// Its version in the file.
        found: u32,
        /// The version known.
        known: u32,
    },
    /// Some of it is missing.
    #[error("is cut short: {got} bytes where its header says {wanted}")]
    Truncated {
        /// How many bytes it says it has.
        wanted: u64,
        /// How many there are.
        got: u64,
    },
    /// There is more of it than there should be.
    #[error("is too long: {got} bytes where its header says {wanted}")]
    TooLong {
        /// How many bytes it says it has.
        wanted: u64,
        /// How many there are.
        got: u64,
    },
    /// A byte has changed.
    #[error("is damaged: its checksum does not match")]
    Checksum,
    /// It says that it is larger than any model can be.
    #[error("says that it unpacks to {bytes} bytes, but no model takes more than {limit}")]
    TooLarge {
        /// What it says.
        bytes: u64,
        /// What is believed.
        limit: u64,
    },
    /// Its parts do not fit together.
    #[error("is not a valid model: {what}")]
    Invalid {
        /// What is wrong.
        what: String,
    },
}
