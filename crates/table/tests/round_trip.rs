//! A random table, written and read again, has the same cells.

mod common;

use std::fmt::Write;

use common::read_as;
use pitchpipe_table::{Cells, MISSING_CODE, RawTable, ReadOptions};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A column to be written.
#[derive(Clone, Debug)]
enum Wanted {
    Integers(Vec<Option<i32>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    Days(Vec<Option<i32>>),
}

/// Any text but NUL, after a letter that keeps it from being a number, a date or a missing token.
fn text() -> impl Strategy<Value = String> {
    let wild = proptest::string::string_regex("[\\PC\n\r\t\"',;|{}%\\\\ ]{0,20}").unwrap();
    wild.prop_map(|s| format!("t{s}"))
}

fn column(n_rows: usize) -> impl Strategy<Value = Wanted> {
    let finite = prop_oneof![
        proptest::num::f64::NORMAL | proptest::num::f64::ZERO | proptest::num::f64::SUBNORMAL,
        (-1e6..1e6f64).prop_map(|v| (v * 100.0).round() / 100.0),
    ];
    prop_oneof![
        vec(option::of(any::<i32>()), n_rows).prop_map(Wanted::Integers),
        vec(option::of(finite), n_rows).prop_map(Wanted::Numbers),
        vec(option::of(text()), n_rows).prop_map(Wanted::Texts),
        vec(option::of(-700_000..2_900_000i32), n_rows).prop_map(Wanted::Days),
    ]
}

fn columns() -> impl Strategy<Value = Vec<Wanted>> {
    (1..40usize, 1..6usize).prop_flat_map(|(n_rows, n_columns)| vec(column(n_rows), n_columns))
}

impl Wanted {
    fn n_rows(&self) -> usize {
        match self {
            Self::Integers(v) | Self::Days(v) => v.len(),
            Self::Numbers(v) => v.len(),
            Self::Texts(v) => v.len(),
        }
    }

    /// The cell as it is written; numbers in one of two ways.
    fn cell(&self, row: usize, quote: impl Fn(&str) -> String) -> Option<String> {
        match self {
            Self::Integers(v) => v[row].map(|v| v.to_string()),
            Self::Numbers(v) if row.is_multiple_of(2) => v[row].map(|v| format!("{v:?}")),
            Self::Numbers(v) => v[row].map(|v| format!("{v:e}")),
            Self::Texts(v) => v[row].as_deref().map(quote),
            Self::Days(v) => v[row].map(day),
        }
    }

    /// Whether what was read is this.
    fn equals(&self, cells: &Cells) -> bool {
        let same = |values: &[f64], wanted: Vec<Option<f64>>| {
            values.len() == wanted.len()
                && values.iter().zip(wanted).all(|(v, w)| w.map_or(v.is_nan(), |w| *v == w))
        };
        match (self, cells) {
            (Self::Integers(want), Cells::Numbers { values, integers }) => {
                *integers == want.iter().any(Option::is_some)
                    && same(values, want.iter().map(|v| v.map(f64::from)).collect())
            }
            (Self::Numbers(want), Cells::Numbers { values, .. }) => same(values, want.clone()),
            (Self::Days(want), Cells::Instants { seconds }) => {
                same(seconds, want.iter().map(|d| d.map(|d| f64::from(d) * 86_400.0)).collect())
            }
            (Self::Texts(want), Cells::Text { codes, dictionary }) => {
                let read = codes.iter().map(|&c| dictionary.get(c as usize));
                codes.iter().all(|&c| c == MISSING_CODE || (c as usize) < dictionary.len())
                    && read.eq(want.iter().map(Option::as_ref))
            }
            // Nothing says what an empty column was.
            (Self::Texts(want), Cells::Numbers { values, .. }) => {
                want.iter().all(Option::is_none) && values.iter().all(|v| v.is_nan())
            }
            (Self::Days(want), Cells::Numbers { values, .. }) => {
                want.iter().all(Option::is_none) && values.iter().all(|v| v.is_nan())
            }
            _ => false,
        }
    }
}

fn day(days: i32) -> String {
    chrono::NaiveDate::from_epoch_days(days).unwrap().format("%Y-%m-%d").to_string()
}

fn check(columns: &[Wanted], names: &[String], read: &RawTable) -> Result<(), TestCaseError> {
    prop_assert_eq!(read.n_rows, columns[0].n_rows());
    for ((want, name), got) in columns.iter().zip(names).zip(&read.columns) {
        prop_assert_eq!(name, &got.name);
        prop_assert!(want.equals(&got.cells), "wanted {:?}, read {:?}", want, got.cells);
    }
    Ok(())
}

fn csv_quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn arff_quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        match c {
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\'' | '\\' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted + "'"
}

proptest! {
    #[test]
    fn csv_gives_back_what_was_written(
        columns in columns(),
        name in text(),
        delimiter in prop::sample::select(vec![b',', b';', b'\t', b'|']),
        crlf: bool,
        last_line_ends: bool,
    ) {
        let names: Vec<String> = (0..columns.len()).map(|i| format!("{name}{i}")).collect();
        let end = if crlf { "\r\n" } else { "\n" };
        let separator = char::from(delimiter).to_string();
        let mut lines = vec![names.iter().map(|n| csv_quoted(n)).collect::<Vec<_>>().join(&separator)];
        for row in 0..columns[0].n_rows() {
            // A lone empty cell would be a blank line, which is nothing at the end.
            let empty = if columns.len() == 1 { "\"\"" } else { "" };
            let cell = |c: &Wanted| c.cell(row, csv_quoted).unwrap_or_else(|| empty.to_owned());
            lines.push(columns.iter().map(cell).collect::<Vec<_>>().join(&separator));
        }
        let text = lines.join(end) + if last_line_ends { end } else { "" };
        let options = ReadOptions {
            delimiter: Some(delimiter), header: Some(true), ..ReadOptions::default()
        };
        let read = read_as("t.csv", text.as_bytes(), &options).unwrap();
        check(&columns, &names, &read)?;
    }

    #[test]
    fn arff_gives_back_what_was_written(columns in columns(), name in text(), sparse: bool) {
        let names: Vec<String> = (0..columns.len()).map(|i| format!("{name}{i}")).collect();
        let mut text = String::from("@relation r\n");
        for (name, column) in names.iter().zip(&columns) {
            let kind = match column {
                Wanted::Integers(_) => "integer",
                Wanted::Numbers(_) => "numeric",
                Wanted::Texts(_) => "string",
                Wanted::Days(_) => "date 'yyyy-MM-dd'",
            };
            writeln!(text, "@attribute {} {kind}", arff_quoted(name)).unwrap();
        }
        text += "@data\n";
        for row in 0..columns[0].n_rows() {
            let cell = |c: &Wanted| c.cell(row, arff_quoted).unwrap_or_else(|| "?".to_owned());
            let cells = columns.iter().map(cell);
            let line = if sparse {
                let pairs = cells.enumerate().map(|(i, cell)| format!("{i} {cell}"));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            } else {
                cells.collect::<Vec<_>>().join(",")
            };
            text += &line;
            text.push('\n');
        }
        let read = read_as("t.arff", text.as_bytes(), &ReadOptions::default()).unwrap();
        check(&columns, &names, &read)?;
    }
}
