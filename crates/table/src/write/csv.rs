//! Delimited text: a cell is quoted where it would be read back as something else.

use std::io::Write;

use super::{OutputCells, OutputColumn};

pub(super) fn encode(columns: &[OutputColumn], n_rows: usize, delimiter: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 * columns.len() * (n_rows + 1));
    for (j, column) in columns.iter().enumerate() {
        separate(&mut bytes, j, delimiter);
        bytes.extend_from_slice(quoted(&column.name, delimiter).as_bytes());
    }
    bytes.push(b'\n');
    // Each text once, however many rows have it.
    let texts: Vec<Vec<String>> = columns.iter().map(|c| written_texts(c, delimiter)).collect();
    for row in 0..n_rows {
        for (j, column) in columns.iter().enumerate() {
            separate(&mut bytes, j, delimiter);
            match &column.cells {
                cells if cells.is_missing(row) => (),
                OutputCells::Text { codes, .. } | OutputCells::Written { codes, .. } => {
                    bytes.extend_from_slice(texts[j][codes[row] as usize].as_bytes());
                }
                OutputCells::Numbers(values) => {
                    write!(bytes, "{}", values[row]).expect("a vector takes every byte");
                }
            }
        }
        bytes.push(b'\n');
    }
    bytes
}

fn separate(bytes: &mut Vec<u8>, column: usize, delimiter: u8) {
    if column > 0 {
        bytes.push(delimiter);
    }
}

fn written_texts(column: &OutputColumn, delimiter: u8) -> Vec<String> {
    match &column.cells {
        OutputCells::Text { texts, .. } | OutputCells::Written { texts, .. } => {
            texts.iter().map(|t| quoted(t, delimiter)).collect()
        }
        OutputCells::Numbers(_) => Vec::new(),
    }
}

fn quoted(text: &str, delimiter: u8) -> String {
    let is_special = |b: u8| b == delimiter || matches!(b, b'"' | b'\n' | b'\r');
    let is_padded = text.trim() != text;
    if text.is_empty() || is_padded || text.bytes().any(is_special) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}
