//! ARFF, Weka's and OpenML's text format: declared columns, then dense or sparse rows.

mod cells;
mod date_format;
mod header;
mod rows;
mod token;

use super::missing::MissingTokens;
use super::names::{check_names, forced_columns};
use super::{CancelCheck, ReadOptions};
use crate::{Note, RawColumn, RawTable, TableError};

use cells::Builder;
use header::Header;

/// So many rows are read between two cancel checks.
const ROWS_PER_CHECK: usize = 4096;

/// Reads ARFF text; whatever had to be decided goes into the notes.
pub(super) fn read(
    text: &str,
    file: &str,
    options: &ReadOptions,
    cancel: &CancelCheck,
    notes: &mut Vec<Note>,
) -> Result<RawTable, TableError> {
    let limit = options.limits.n_columns;
    let header = Header::parse(text, file, limit)?;
    let names: Vec<String> = header.attributes.iter().map(|a| a.name.clone()).collect();
    check_names(&names, file)?;
    let forced = forced_columns(&names, &options.categorical, file)?;
    // The question mark is the format's own sign and counts only where it is not quoted; other tokens
    // are the user's wish.
    let missing = MissingTokens::choose(options, &[]);
    let attributes = header.attributes.into_iter().zip(forced);
    let is_target = |name: &String| options.target.as_ref() == Some(name);
    let mut builders: Vec<Builder> = attributes
        .zip(&names)
        .map(|((attribute, forced), name)| Builder::new(attribute.kind, forced, is_target(name)))
        .collect();
    let context = rows::Context { file, names: &names, missing: &missing };
    let mut n_rows = 0;
    let mut has_weights = false;
    for (i, line) in text[header.data_start..].lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('%') {
            continue;
        }
        if n_rows % ROWS_PER_CHECK == 0 {
            cancel.check()?;
        }
        let place = rows::Place { row: n_rows + 1, line: header.data_line + i };
        has_weights |= rows::append(&context, &mut builders, line, place)?;
        n_rows += 1;
    }
    if n_rows == 0 && !options.allow_no_rows {
        return Err(TableError::NoRows { file: file.to_owned(), n_columns: names.len() });
    }
    if has_weights {
        notes.push(Note::InstanceWeights);
    }
    let columns = names.into_iter().zip(builders);
    let columns = columns.map(|(name, builder)| {
        notes.extend(builder.note(&name));
        RawColumn { name, cells: builder.finish() }
    });
    Ok(RawTable { n_rows, columns: columns.collect(), ..RawTable::default() })
}
