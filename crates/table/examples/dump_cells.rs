//! Prints every cell of a table as JSON: `dump_cells FILE [MISSING_TOKEN…]`.
//!
//! Used by `tests/python/test_cells.py` to compare cells with pandas and pyarrow.

use std::path::Path;
use std::process::ExitCode;

use pitchpipe_table::{CancelCheck, Cells, RawColumn, ReadOptions, Source, read};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: dump_cells FILE [MISSING_TOKEN…]");
    let tokens: Vec<String> = arguments.collect();
    let missing = (!tokens.is_empty()).then_some(tokens);
    let options = ReadOptions { missing, ..ReadOptions::default() };
    let source = Source::from_argument(Path::new(&file));
    match read(&source, &options, &CancelCheck::never()) {
        Ok(table) => {
            let columns: Vec<Value> = table.columns.iter().map(column).collect();
            println!(
                "{}",
                json!({ "n_rows": table.n_rows, "columns": columns, "notes": table.notes.iter().map(ToString::to_string).collect::<Vec<_>>() })
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn column(column: &RawColumn) -> Value {
    // NaN becomes null.
    let numbers = |values: &[f64]| json!(values);
    let texts = |codes: &[u32], levels: &[String]| {
        codes.iter().map(|&c| levels.get(c as usize).map_or(Value::Null, |l| json!(l))).collect()
    };
    let (kind, cells) = match &column.cells {
        Cells::Numbers { values, integers: true } => ("integers", numbers(values)),
        Cells::Numbers { values, .. } => ("numbers", numbers(values)),
        Cells::Instants { seconds } => ("instants", numbers(seconds)),
        Cells::Text { codes, dictionary } => ("text", texts(codes, dictionary)),
        Cells::Nominal { codes, levels } => ("nominal", texts(codes, levels)),
    };
    json!({ "name": column.name, "kind": kind, "cells": cells })
}
