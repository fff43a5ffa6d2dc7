//! Delimited text: comma, tab, semicolon or pipe.
//!
//! The file is gone through in blocks that fit the cache. In each, one scan finds where the cells end
//! ([`records`]), then each column is parsed on its own ([`columns`]) as the type that a sample of the
//! first rows suggests. A column whose later cells contradict the sample is parsed again, alone, from the
//! start.

mod columns;
mod dialect;
mod records;
mod sample;
mod scan;

use std::collections::BTreeMap;

use columns::{Kind, Parsing};
use dialect::Dialect;
use records::{Block, Records};

use super::missing::MissingTokens;
use super::names::{check_names, forced_columns};
use super::{CancelCheck, DEFAULT_MISSING, ReadOptions};
use crate::{Cells, Limits, MISSING_CODE, Note, RawColumn, RawTable, TableError};

/// A text column this long, with this share of numbers, is a column of numbers with a slip.
const SLIP_MIN_CELLS: usize = 20;
const SLIP_NUMBERS: f64 = 0.95;

/// Reads delimited text; whatever had to be decided goes into the notes.
pub(super) fn read(
    text: &str,
    file: &str,
    options: &ReadOptions,
    cancel: &CancelCheck,
    notes: &mut Vec<Note>,
) -> Result<RawTable, TableError> {
    let data = text.as_bytes();
    check_delimiter(options.delimiter)?;
    let missing = MissingTokens::choose(options, &DEFAULT_MISSING);
    let dialect = Dialect::detect(data, file, options, &missing)?;
    notes.extend(dialect.notes());
    let names = dialect.names(data);
    check_names(&names, file)?;
    let mut forced = forced_columns(&names, &options.categorical, file)?;
    for (forced, name) in forced.iter_mut().zip(&names) {
        *forced |= options.as_written.contains(name);
    }
    let row_bytes = options.limits.row_bytes.min(Limits::MOST_ROW_BYTES);
    let records = Records::new(data, &dialect, &names, file, row_bytes);
    let target = names.iter().position(|name| options.target.as_ref() == Some(name));
    let context = Context { data, file, names: &names, missing: &missing, dialect: &dialect };
    let mut table = RawTable {
        has_header: Some(dialect.has_header),
        delimiter: Some(dialect.delimiter),
        unnamed: dialect.unnamed(data),
        ..RawTable::default()
    };
    if options.allow_no_rows && !records.clone().next_block(&mut Block::default())? {
        let nothing = || Cells::Numbers { values: [].into(), integers: false };
        table.columns =
            names.into_iter().map(|name| RawColumn { name, cells: nothing() }).collect();
        return Ok(table);
    }
    let asked = Asked { forced: &forced, target, bytes: options.limits.bytes };
    let (n_rows, columns) = parse(&context, records.clone(), asked, cancel, notes)?;
    if let Some(target) = target {
        table.missing_labels = missing_words(&context, records, target, &columns[target])?;
    }
    table.n_rows = n_rows;
    let columns = names.into_iter().zip(columns);
    table.columns = columns.map(|(name, cells)| RawColumn { name, cells }).collect();
    Ok(table)
}

fn check_delimiter(asked: Option<u8>) -> Result<(), TableError> {
    let cannot = |b: &u8| !b.is_ascii() || matches!(b, 0 | b'"' | b'\n' | b'\r');
    match asked.filter(cannot) {
        Some(delimiter) => Err(TableError::BadDelimiter { delimiter: delimiter.into() }),
        None => Ok(()),
    }
}

/// What every column's parsing needs to know.
struct Context<'a> {
    data: &'a [u8],
    file: &'a str,
    names: &'a [String],
    missing: &'a MissingTokens,
    dialect: &'a Dialect,
}

/// What was said about the columns, and what all may take.
struct Asked<'a> {
    forced: &'a [bool],
    target: Option<usize>,
    bytes: Option<u64>,
}

fn parse(
    context: &Context<'_>,
    records: Records<'_>,
    asked: Asked<'_>,
    cancel: &CancelCheck,
    notes: &mut Vec<Note>,
) -> Result<(usize, Vec<Cells>), TableError> {
    let Asked { forced, target, bytes } = asked;
    let mut block = Block::default();
    let mut first = records.clone();
    first.next_block(&mut block)?;
    if block.n_rows() == 0 {
        let (file, n_columns) = (context.file.to_owned(), context.names.len());
        return Err(TableError::NoRows { file, n_columns });
    }
    let n_expected = records.estimate_rows(&block);
    let kind = |(column, &forced): (usize, &bool)| match forced {
        true => Kind::Text,
        // Labels stay as they are written.
        false if target == Some(column) => Kind::Text,
        false => columns::guess(context, &block, column),
    };
    let kinds: Vec<Kind> = forced.iter().enumerate().map(kind).collect();
    if let Some(limit) = bytes {
        let cell_bytes = kinds.iter().map(|kind| kind.cell_bytes() as u64).sum::<u64>();
        let bytes = context.data.len() as u64 + n_expected as u64 * cell_bytes;
        if bytes > limit {
            return Err(TableError::BeyondMemory { file: context.file.to_owned(), bytes, limit });
        }
    }
    let padded = |column: usize| columns::has_leading_zeros(context, &block, column);
    let padded: Vec<bool> = (0..kinds.len()).map(padded).collect();
    let start = |kind: Kind| Parsing::new(kind, n_expected);
    let mut parsings: Vec<Parsing> = kinds.into_iter().map(start).collect();

    let mut pass = records.clone();
    let mut active: Vec<usize> = (0..parsings.len()).collect();
    while !active.is_empty() {
        pass = records.clone();
        while pass.next_block(&mut block)? {
            cancel.check()?;
            for &column in &active {
                parsings[column].append(context, &block, column);
            }
        }
        active.retain(|&column| parsings[column].contradicted().is_some());
        for &column in &active {
            let kind = parsings[column].contradicted().expect("only the contradicted are left");
            parsings[column] = Parsing::new(kind, pass.n_rows());
        }
    }
    notes.extend(pass.blank_lines());
    let cells = parsings.into_iter().enumerate();
    let finish = |(column, parsing): (usize, Parsing)| {
        let cells = parsing.finish(context, column, notes)?;
        if !forced[column] {
            refuse_slips(context, column, &cells)?;
        }
        if padded[column] && matches!(cells, Cells::Numbers { .. }) {
            notes.push(Note::LeadingZeros { column: context.names[column].clone() });
        }
        Ok(cells)
    };
    Ok((pass.n_rows(), cells.map(finish).collect::<Result<_, TableError>>()?))
}

/// What the missing cells of a column say, the most frequent first.
fn missing_words(
    context: &Context<'_>,
    mut records: Records<'_>,
    column: usize,
    cells: &Cells,
) -> Result<Vec<(String, usize)>, TableError> {
    let Cells::Text { codes, .. } = cells else { return Ok(Vec::new()) };
    if !codes.contains(&MISSING_CODE) {
        return Ok(Vec::new());
    }
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    let mut block = Block::default();
    while records.next_block(&mut block)? {
        for (start, end) in block.spans(column) {
            let cell = context.dialect.text(&context.data[start..end]);
            if context.missing.contains(&cell) {
                let word = String::from_utf8_lossy(cell.trim_ascii()).into_owned();
                *words.entry(word).or_default() += 1;
            }
        }
    }
    let mut words: Vec<(String, usize)> = words.into_iter().collect();
    words.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    Ok(words)
}

/// Refuses a text column that would be one of numbers but for a few cells: taken as categories, it
/// would lose what its numbers say, without a word.
fn refuse_slips(context: &Context<'_>, column: usize, cells: &Cells) -> Result<(), TableError> {
    let Cells::Text { codes, dictionary } = cells else { return Ok(()) };
    let is_number = |level: &String| context.dialect.number(level.as_bytes()).is_some();
    let numeric: Vec<bool> = dictionary.iter().map(is_number).collect();
    if !numeric.contains(&true) {
        return Ok(());
    }
    let present = || codes.iter().filter_map(|&code| numeric.get(code as usize));
    let (n_cells, n_numbers) = (present().count(), present().filter(|&&n| n).count());
    if n_cells < SLIP_MIN_CELLS || (n_numbers as f64) < SLIP_NUMBERS * n_cells as f64 {
        return Ok(());
    }
    let slip = |&code: &u32| numeric.get(code as usize) == Some(&false);
    let Some(row) = codes.iter().position(slip) else { return Ok(()) };
    // `1,234` among `999` is no slip but a way to write numbers.
    let mut counts = vec![0; dictionary.len()];
    codes.iter().filter(|&&code| code != MISSING_CODE).for_each(|&code| counts[code as usize] += 1);
    if crate::cell::find(dictionary, &counts).is_some_and(|found| found.n_odd == 0) {
        return Ok(());
    }
    Err(TableError::NotANumber {
        file: context.file.to_owned(),
        column: context.names[column].clone(),
        row: row + 1,
        value: dictionary[codes[row] as usize].clone(),
    })
}
