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
    /// What separated the cells of a text table. Its encoding is not kept: each file says by its own bytes how it is
    /// encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
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
        if let Some(table) = self.read_as_separated(&source, &options, cancel) {
            return Ok(table);
        }
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

    /// The table with cells separated as the training table's were, unless `options` say how they are. `None` where the
    /// columns are then not there: tables of one kind come as comma and as tab separated text.
    fn read_as_separated(
        &self,
        source: &Source,
        options: &ReadOptions,
        cancel: &CancelCheck,
    ) -> Option<RawTable> {
        let delimiter = u8::try_from(self.reading.delimiter?).ok();
        if options.delimiter.is_some() || delimiter.is_none() {
            return None;
        }
        let table = read(source, &ReadOptions { delimiter, ..options.clone() }, cancel).ok()?;
        let has = |name: &String| table.columns.iter().any(|column| column.name == *name);
        self.inputs.iter().all(|input| has(&input.name)).then_some(table)
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
