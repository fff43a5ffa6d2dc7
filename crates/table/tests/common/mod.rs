//! Shorthand for reading tables from text.
#![allow(dead_code, reason = "each test file uses some of it")]

use pitchpipe_table::{
    CancelCheck, Cells, MISSING_CODE, RawTable, ReadOptions, Source, TableError, read,
};

/// Reads bytes under a name.
pub(crate) fn read_as(
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<RawTable, TableError> {
    let source = Source::Bytes { name: name.to_owned(), bytes: bytes.to_vec() };
    read(&source, options, &CancelCheck::never())
}

/// Reads bytes that are a good table.
pub(crate) fn table(bytes: impl AsRef<[u8]>) -> RawTable {
    read_as("t.csv", bytes.as_ref(), &ReadOptions::default()).expect("the table is good")
}

/// The error that bytes lead to, with its help.
pub(crate) fn complaint(bytes: impl AsRef<[u8]>) -> String {
    complaint_with(bytes, &ReadOptions::default())
}

/// The same under options.
pub(crate) fn complaint_with(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    let err = read_as("t.csv", bytes.as_ref(), options).expect_err("the table is bad");
    match err.help() {
        Some(help) => format!("{err}\n{help}"),
        None => err.to_string(),
    }
}

/// What the reader said.
pub(crate) fn said(table: &RawTable) -> Vec<String> {
    table.notes.iter().map(ToString::to_string).collect()
}

/// The names of the columns.
pub(crate) fn names(table: &RawTable) -> Vec<&str> {
    table.columns.iter().map(|c| c.name.as_str()).collect()
}

/// A column's cells as text, `-` for missing; the type in front.
pub(crate) fn show(table: &RawTable, column: usize) -> String {
    let number = |v: &f64| if v.is_nan() { "-".to_owned() } else { v.to_string() };
    let level = |code: &u32, levels: &[String]| match *code {
        MISSING_CODE => "-".to_owned(),
        code => levels[code as usize].clone(),
    };
    let (kind, cells): (&str, Vec<String>) = match &table.columns[column].cells {
        Cells::Numbers { values, integers: true } => ("int", values.iter().map(number).collect()),
        Cells::Numbers { values, .. } => ("num", values.iter().map(number).collect()),
        Cells::Instants { seconds } => ("instant", seconds.iter().map(number).collect()),
        Cells::Text { codes, dictionary } => {
            ("text", codes.iter().map(|c| level(c, dictionary)).collect())
        }
        Cells::Nominal { codes, levels } => {
            ("nominal", codes.iter().map(|c| level(c, levels)).collect())
        }
    };
    format!("{kind}: {}", cells.join(" "))
}
