//! From a table that was read to a dataset: which columns are features, of which kind, and which are not.

use super::dates::{varying_parts, written_instant};
use super::levels::{Coded, count, levels_of_text, merge_rare, parse_number};
use super::overrides::{check_finite, check_names, overridden};
use super::report::{ColumnReport, Report};
use super::target::{Classified, classify};
use super::{Input, Kind, LeftOut, Levels, Reading, Reason, Schema, SchemaError, SchemaOptions};
use crate::{Buffer, Cells, Column, Labels, RawColumn, RawTable};

/// Text with more different values than this must repeat itself to be categories: see [`Reason::FreeText`].
const MANY_TEXTS: usize = 50;

/// A class with fewer rows than this is missing from some fold of the usual three.
const RARE_CLASS: usize = 3;

/// All that a table turned into.
pub(crate) struct Assembled {
    pub(crate) schema: Schema,
    pub(crate) columns: Vec<Column>,
    /// Where a target was named.
    pub(crate) labels: Option<Labels>,
    pub(crate) report: Report,
}

/// Takes a table apart into features and labels.
pub(crate) fn assemble(
    mut table: RawTable,
    options: &SchemaOptions,
) -> Result<Assembled, SchemaError> {
    check_names(&table, options)?;
    let mut report = Report { n_rows: table.n_rows, notes: table.notes, ..Report::default() };
    let mut classified = None;
    if let Some(name) = &options.target
        && let Some(at) = table.columns.iter().position(|c| c.name == *name)
    {
        let column = table.columns.remove(at);
        check_finite(&column)?;
        classified = Some(classify(column, options)?);
    }
    let rows = classified.as_ref().and_then(|c| c.rows.as_deref());

    let reading = Reading { missing: table.missing, header: None };
    let mut schema = Schema { reading, ..Schema::default() };
    let mut columns = Vec::new();
    for column in table.columns {
        let RawColumn { name, cells } = overridden(column, options)?;
        let mut seen = ColumnReport::of(&name, &cells);
        if !options.categorical.contains(&name) && !options.exclude.contains(&name) {
            report.warnings.extend(stray_text(&name, &cells));
        }
        match feature(&name, cells, rows, options, &mut report.notes) {
            Ok((kind, features)) => {
                columns.extend(features);
                schema.inputs.push(Input { name, kind });
            }
            Err(reason) => {
                seen.left_out = Some(reason.clone());
                schema.left_out.push(LeftOut { name, reason });
            }
        }
        report.columns.push(seen);
    }
    note_possible_codes(&mut report);
    if columns.is_empty() {
        report.warnings.push("no column is left to learn from".to_owned());
    }
    let mut labels = None;
    if let Some(classified) = classified {
        report_target(&classified, &mut report);
        schema.target = Some(classified.target);
        labels = Some(classified.labels);
    }
    Ok(Assembled { schema, columns, labels, report })
}

/// What a column is to training, with its features; or why it is nothing to it.
fn feature(
    name: &String,
    cells: Cells,
    rows: Option<&[usize]>,
    options: &SchemaOptions,
    notes: &mut Vec<String>,
) -> Result<(Kind, Vec<Column>), Reason> {
    if options.exclude.contains(name) {
        return Err(Reason::Excluded);
    }
    // Rows without a target are gone before anything is looked for in them.
    let cells = match rows {
        Some(rows) => cells.select(rows),
        None => cells,
    };
    if let Some(reason) = nothing_to_learn(&cells, options.categorical.contains(name)) {
        return Err(reason);
    }
    Ok(match cells {
        Cells::Numbers { values, .. } => (Kind::Numeric, vec![Column::numeric(values)]),
        Cells::Instants { seconds } => {
            let parts = varying_parts(&seconds);
            let features = parts.iter().map(|part| Column::numeric(part.of(&seconds))).collect();
            (Kind::Date(parts), features)
        }
        Cells::Nominal { codes, levels } => categorical(Levels::new(levels), codes),
        Cells::Text { codes, dictionary } => {
            let (names, codes) = levels_of_text(&codes, &dictionary);
            let Coded { levels, codes, n_merged } = merge_rare(names, codes);
            if n_merged > 0 {
                notes.push(format!(
                    "column {name:?} has {} different texts; the {n_merged} rarest count as one, {:?}",
                    n_merged + levels.len() - 1,
                    super::OTHER_LEVEL
                ));
            }
            categorical(levels, codes)
        }
    })
}

/// A text column most of whose cells are numbers is often one of numbers with a slip in it.
fn stray_text(name: &str, cells: &Cells) -> Option<String> {
    let Cells::Text { codes, dictionary } = cells else { return None };
    let is_number: Vec<bool> = dictionary.iter().map(|t| parse_number(t).is_some()).collect();
    let counts = count(codes, dictionary.len());
    let n_present: usize = counts.iter().sum();
    let n_numbers: usize =
        counts.iter().zip(&is_number).filter(|(_, is)| **is).map(|(n, _)| n).sum();
    let stray = |&code: &u32| is_number.get(code as usize) == Some(&false);
    if 2 * n_numbers <= n_present {
        return None;
    }
    let row = codes.iter().position(stray)?;
    Some(format!(
        "column {name:?} is taken as text: {n_numbers} of its {n_present} cells are numbers, but not {:?} \
         (row {}); correct it, or name the signs for missing cells with --missing",
        dictionary[codes[row] as usize],
        row + 1
    ))
}

fn categorical(levels: Levels, codes: impl Into<Buffer<u32>>) -> (Kind, Vec<Column>) {
    let n_levels = levels.len() as u32;
    (Kind::Categorical(levels), vec![Column::categorical(codes, n_levels)])
}

/// Why there is nothing to learn from a column, if there is nothing. A column of one value and missing
/// cells is kept: that a cell is missing can say something.
fn nothing_to_learn(cells: &Cells, is_told_categorical: bool) -> Option<Reason> {
    match cells {
        Cells::Numbers { values, .. } => nothing_in_numbers(values, |v| v.to_string()),
        Cells::Instants { seconds } => nothing_in_numbers(seconds, written_instant),
        Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
            let counts = count(codes, texts.len());
            let n_present: usize = counts.iter().sum();
            let n_distinct = counts.iter().filter(|&&n| n > 0).count();
            let is_text = matches!(cells, Cells::Text { .. }) && !is_told_categorical;
            match n_distinct {
                0 => Some(Reason::AllMissing),
                1 if n_present == codes.len() => {
                    let value = counts.iter().position(|&n| n > 0).map(|i| texts[i].clone());
                    Some(Reason::Constant { value: value.unwrap_or_default() })
                }
                _ if is_text && n_distinct == n_present => Some(Reason::UniqueText),
                _ if is_text && n_distinct > MANY_TEXTS && n_distinct > n_present / 2 => {
                    Some(Reason::FreeText { n_distinct, n_present })
                }
                _ => None,
            }
        }
    }
}

fn nothing_in_numbers(values: &[f64], written: impl Fn(f64) -> String) -> Option<Reason> {
    let Some(first) = values.iter().copied().find(|v| !v.is_nan()) else {
        return Some(Reason::AllMissing);
    };
    // NaN differs from everything, so that a missing cell makes a column vary.
    let is_constant = values.iter().all(|&v| v == first);
    is_constant.then(|| Reason::Constant { value: written(first) })
}

/// Few whole numbers stay numbers unless told otherwise; their owner should know.
fn note_possible_codes(report: &mut Report) {
    let is_kept = |c: &&ColumnReport| c.left_out.is_none() && c.may_be_codes(report.n_rows);
    let names: Vec<&str> = report.columns.iter().filter(is_kept).map(|c| c.name.as_str()).collect();
    let (verb, which) = match names.len() {
        0 => return,
        1 => ("holds", "if they are codes of categories, pass"),
        _ => ("hold", "where they are codes of categories, pass"),
    };
    let note = format!(
        "{} {verb} few different whole numbers, taken as numbers; {which} --categorical",
        shortened(&names)
    );
    report.notes.push(note);
}

fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more columns"),
    }
}

/// Counts the classes; rows and classes that go are named.
fn report_target(classified: &Classified, report: &mut Report) {
    let name = &classified.target.name;
    let counts = classified.labels.counts();
    report.classes = classified.target.classes.iter().cloned().zip(counts).collect();
    if let Some(rows) = &classified.rows {
        report.n_rows_without_target = report.n_rows - rows.len();
        let without = missing_from(rows, report.n_rows);
        report.warnings.push(format!(
            "left out {} of {} rows without a value in {name:?} ({without})",
            report.n_rows_without_target, report.n_rows
        ));
    }
    if !classified.unused.is_empty() {
        let unused: Vec<&str> = classified.unused.iter().map(String::as_str).collect();
        report.notes.push(format!("no row has the declared class {}", shortened(&unused)));
    }
    let rare: Vec<String> = report
        .classes
        .iter()
        .filter(|(_, n)| *n < RARE_CLASS)
        .map(|(class, n)| format!("{class:?} ({n})"))
        .collect();
    if !rare.is_empty() {
        let rare: Vec<&str> = rare.iter().map(String::as_str).collect();
        report.warnings.push(format!(
            "classes with fewer than {RARE_CLASS} rows can hardly be learnt or measured: {}",
            shortened(&rare)
        ));
    }
}

/// The first few rows, counted from 1, that are not among `rows`: `row 4`, or `rows 4, 9, …`.
fn missing_from(rows: &[usize], n_rows: usize) -> String {
    const SHOWN: usize = 5;
    let absent = (0..n_rows).filter(|row| rows.binary_search(row).is_err());
    let mut first: Vec<String> = absent.take(SHOWN + 1).map(|row| (row + 1).to_string()).collect();
    if first.len() > SHOWN {
        first[SHOWN] = "…".to_owned();
    }
    let noun = if first.len() == 1 { "row" } else { "rows" };
    format!("{noun} {}", first.join(", "))
}
