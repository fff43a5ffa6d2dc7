//! Later tables are read by the rules that the training table was read by.

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::Schema;
use crate::{
    CancelCheck, MissingCells, RawTable, ReadOptions, Source, TableError, from_batches, read,
};

/// How the training table was read, as far as it matters to later ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Which cells stood for missing values.
    #[serde(default)]
    pub missing: MissingCells,
    /// Whether the first row of a text table held names.
    #[serde(default)]
    pub header: Option<bool>,
}

impl Schema {
    /// How the training table was read.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// The same schema of a table that was read so.
    pub fn with_reading(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// Reads a later table by the rules of the training table; what `options` say goes first. Categories are read as
    /// text, so that a code such as `007` keeps its zeros, and so is what `options` name beside them.
    pub fn read(
        &self,
        source: &Source,
        options: ReadOptions,
        cancel: &CancelCheck,
    ) -> Result<RawTable, TableError> {
        let options = self.reading_options(options);
        let source = source.kept()?;
        match read(&source, &options, cancel) {
            // The reader names one column that is not there; the schema names them all.
            Err(TableError::NoSuchColumn { .. }) => {
                read(&source, &ReadOptions { categorical: Vec::new(), ..options }, cancel)
            }
            result => result,
        }
    }

    /// The same for a table that is in memory.
    pub fn read_batches(
        &self,
        name: &str,
        batches: &[RecordBatch],
        options: ReadOptions,
    ) -> Result<RawTable, TableError> {
        let options = self.reading_options(options);
        match from_batches(name, batches, &options) {
            Err(TableError::NoSuchColumn { .. }) => {
                from_batches(name, batches, &ReadOptions { categorical: Vec::new(), ..options })
            }
            result => result,
        }
    }

    fn reading_options(&self, options: ReadOptions) -> ReadOptions {
        let header = options.header.or(self.reading.header);
        let mut options = ReadOptions { header, ..options };
        options.categorical.extend(self.categorical_columns());
        options.as_written.extend(self.written_columns());
        options.target = self.target.as_ref().map(|target| target.name.clone());
        self.reading.missing.add_to(&mut options);
        options
    }
}
