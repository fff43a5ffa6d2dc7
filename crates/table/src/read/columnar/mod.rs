//! Formats that carry their types: Parquet and Arrow IPC, decoded by `parquet` and `arrow`.

mod column;
mod ipc;
mod parquet;
mod quiet;
mod text;

use std::borrow::Cow;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::missing::MissingTokens;
use super::names::{check_names, forced_columns};
use super::{CancelCheck, Format, ReadOptions};
use crate::{Note, RawColumn, RawTable, TableError};

use column::Builder;

/// A file may always grow to this many bytes …
const ALWAYS_ALLOWED: usize = 1 << 31;

/// … and beyond it to this many times its size: a few bytes can declare any number of equal cells.
const MOST_EXPANSION: usize = 800;

/// What a number takes.
const CELL_BYTES: usize = 8;

/// The most bytes that a file of some size may grow to.
fn byte_limit(size: usize) -> usize {
    ALWAYS_ALLOWED.max(size.saturating_mul(MOST_EXPANSION))
}

/// Reads a Parquet or Arrow file; whatever had to be decided goes into the notes.
pub(super) fn read(
    format: Format,
    bytes: Cow<'_, [u8]>,
    file: &str,
    options: &ReadOptions,
    cancel: &CancelCheck,
    notes: &mut Vec<Note>,
) -> Result<RawTable, TableError> {
    let budget = byte_limit(bytes.len()) / CELL_BYTES;
    let mut collector =
        Collector { size: bytes.len(), budget, ..Collector::new(file, options, cancel) };
    let decoded = quiet::catch(|| match format {
        Format::Parquet => parquet::decode(bytes, &mut collector),
        _ => ipc::decode(bytes, &mut collector),
    });
    decoded.unwrap_or_else(|| {
        let format = if format == Format::Parquet { parquet::NAME } else { ipc::NAME };
        Err(corrupt(file, format, "its parts do not fit together"))
    })?;
    collector.finish(notes)
}

/// A table from record batches handed over in memory, under the name that messages give it. Columns of doubles
/// that come in one batch and have no nulls are shared, not copied.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
/// use pitchpipe_table::{ReadOptions, from_batches};
///
/// let ages: ArrayRef = Arc::new(Float64Array::from(vec![31.0, 40.5]));
/// let cities: ArrayRef = Arc::new(StringArray::from(vec![Some("Oslo"), None]));
/// let batch = RecordBatch::try_from_iter([("age", ages), ("city", cities)])?;
/// let table = from_batches("people", &[batch], &ReadOptions::default())?;
/// assert_eq!((table.n_rows, table.columns.len()), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_batches(
    name: &str,
    batches: &[RecordBatch],
    options: &ReadOptions,
) -> Result<RawTable, TableError> {
    from_batches_until(name, batches, options, &CancelCheck::never())
}

/// The same, unless the check says to stop.
pub fn from_batches_until(
    name: &str,
    batches: &[RecordBatch],
    options: &ReadOptions,
    cancel: &CancelCheck,
) -> Result<RawTable, TableError> {
    let mut collector = Collector::new(name, options, cancel);
    let schema = batches.first().map_or_else(|| Schema::empty().into(), RecordBatch::schema);
    collector.begin(&schema)?;
    for batch in batches {
        if batch.schema().fields() != schema.fields() {
            return Err(corrupt(name, "Arrow", "its record batches have different columns"));
        }
        collector.append(batch)?;
    }
    let mut notes = Vec::new();
    let table = collector.finish(&mut notes)?;
    Ok(RawTable { notes, ..table })
}

/// Takes the record batches as they are decoded.
struct Collector<'a> {
    file: &'a str,
    options: &'a ReadOptions,
    cancel: &'a CancelCheck,
    /// A column for each field; `None` where its type is not read.
    columns: Vec<(String, Option<Builder>)>,
    /// The columns that are not read, each with its type.
    unreadable: Vec<(String, String)>,
    n_rows: usize,
    /// The size of the file, and the most cells it may hold.
    size: usize,
    budget: usize,
}

impl<'a> Collector<'a> {
    /// For what is in memory already, and so needs no bounds.
    fn new(file: &'a str, options: &'a ReadOptions, cancel: &'a CancelCheck) -> Self {
        let (columns, unreadable, budget) = (Vec::new(), Vec::new(), usize::MAX);
        Self { file, options, cancel, columns, unreadable, n_rows: 0, size: 0, budget }
    }

    /// Prepares a column for each field, refusing what cannot be read before anything is.
    fn begin(&mut self, schema: &Schema) -> Result<(), TableError> {
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        if names.is_empty() {
            return Err(TableError::NoColumns { file: self.file.to_owned() });
        }
        let limit = self.options.limits.n_columns;
        if names.len() > limit {
            let (file, n_columns) = (self.file.to_owned(), names.len());
            return Err(TableError::TooManyColumns { file, n_columns, limit });
        }
        check_names(&names, self.file)?;
        let forced = forced_columns(&names, &self.options.categorical, self.file)?;
        for ((name, field), forced) in names.into_iter().zip(schema.fields()).zip(forced) {
            let is_target = self.options.target.as_ref() == Some(&name);
            let builder = Builder::new(field.data_type(), forced, is_target);
            if builder.is_none() {
                let data_type = field.data_type().to_string();
                // What the user speaks of must be there; the rest of the table can be read without the others.
                if is_target || forced {
                    return Err(self.unsupported(name, data_type));
                }
                self.unreadable.push((name.clone(), data_type));
            }
            self.columns.push((name, builder));
        }
        if self.columns.iter().all(|(_, builder)| builder.is_none()) {
            let (name, data_type) = self.unreadable.swap_remove(0);
            return Err(self.unsupported(name, data_type));
        }
        Ok(())
    }

    /// The positions of the columns that are read.
    fn readable(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|&at| self.columns[at].1.is_some()).collect()
    }

    fn unsupported(&self, column: String, kind: String) -> TableError {
        TableError::UnsupportedType { file: self.file.to_owned(), column, kind }
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let n_rows = self.n_rows.saturating_add(batch.num_rows());
        if n_rows.saturating_mul(self.columns.len()) > self.budget {
            let (file, compressed) = (self.file.to_owned(), self.size);
            return Err(TableError::TooLarge { file, compressed, limit: self.budget * CELL_BYTES });
        }
        let missing = MissingTokens::choose(self.options, &[]);
        // Text is compared with the user's tokens only: a typed format has nulls of its own.
        let has_tokens = self.options.missing.is_some() || !self.options.also_missing.is_empty();
        let missing = has_tokens.then_some(&missing);
        // Whoever decodes may have left out what is not read.
        let is_part = batch.num_columns() < self.columns.len();
        let columns = self.columns.iter_mut().filter(|(_, builder)| !is_part || builder.is_some());
        for ((name, builder), array) in columns.zip(batch.columns()) {
            // A batch may be all of a large table.
            self.cancel.check()?;
            let Some(builder) = builder else { continue };
            builder
                .append(array, missing)
                .map_err(|fault| fault.explain(self.file, name, self.n_rows))?;
        }
        self.n_rows = n_rows;
        Ok(())
    }

    fn finish(self, notes: &mut Vec<Note>) -> Result<RawTable, TableError> {
        if self.n_rows == 0 && !self.options.allow_no_rows {
            let (file, n_columns) = (self.file.to_owned(), self.columns.len());
            return Err(TableError::NoRows { file, n_columns });
        }
        let unreadable = self.unreadable.into_iter();
        notes.extend(unreadable.map(|(column, data_type)| Note::Unreadable { column, data_type }));
        let columns = self.columns.into_iter().filter_map(|(name, builder)| {
            let builder = builder?;
            notes.extend(builder.note(&name));
            Some(RawColumn { name, cells: builder.finish() })
        });
        Ok(RawTable { n_rows: self.n_rows, columns: columns.collect(), ..RawTable::default() })
    }
}

fn truncated(file: &str, format: &'static str) -> TableError {
    TableError::Truncated { file: file.to_owned(), format }
}

fn corrupt(file: &str, format: &'static str, reason: &str) -> TableError {
    let reason = reason.lines().next().unwrap_or_default().chars().take(200).collect();
    TableError::Corrupt { file: file.to_owned(), format, reason }
}
