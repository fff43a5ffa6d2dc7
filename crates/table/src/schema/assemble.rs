//! From a table that was read to a dataset: which columns are features, of which kind, and which are not.

use std::collections::{HashMap, HashSet};

use super::cells::{Meant, meant};
use super::dates::{varying_parts, written_instant};
use super::index::orders_the_target;
use super::leaks::{contradictions, similar_classes, telling_columns};
use super::levels::{Coded, count, levels_of_text, merge_rare, parse_number};
use super::overrides::{check_finite, check_names, overridden};
use super::report::{ColumnReport, TableReport};
use super::target::{Classified, classify};
use super::{
    DependsOn, Input, Kind, LeftOut, Levels, Reading, Reason, Schema, SchemaError, SchemaOptions,
};
use crate::cell::{WordGroups, is_free_text};
use crate::{Buffer, Cells, Column, Dependence, Labels, Note, RawColumn, RawTable};

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
    pub(crate) dependence: Dependence,
    pub(crate) report: TableReport,
}

/// Takes a table apart into features and labels; `indices` are the columns that number its rows.
pub(crate) fn assemble(
    mut table: RawTable,
    options: &SchemaOptions,
    indices: Vec<(String, Reason)>,
) -> Result<Assembled, SchemaError> {
    check_names(&table, options)?;
    let mut indices: HashMap<String, Reason> = indices.into_iter().collect();
    let told = Told::of(options);
    let mut report = TableReport {
        n_rows: table.n_rows,
        notes: std::mem::take(&mut table.notes),
        ..TableReport::default()
    };
    let mut classified = None;
    if let Some(name) = &options.target
        && let Some(at) = table.columns.iter().position(|c| c.name == *name)
    {
        let column = table.columns.remove(at);
        check_finite(&column)?;
        classified = Some(classify(column, options)?);
    }
    let rows = classified.as_ref().and_then(|c| c.rows.as_deref());
    let dependence = dependence(&table, options, rows)?;
    let labels = classified.as_ref().map(|c| &c.labels);

    let delimiter = table.delimiter.map(char::from);
    let reading = Reading { missing: table.missing, header: table.has_header, delimiter };
    let mut schema = Schema { reading, ..Schema::default() };
    leave_out_unread(&mut schema, &mut report, options);
    let mut columns = Vec::new();
    for (position, column) in table.columns.into_iter().enumerate() {
        if options.cancel.is_time() {
            return Err(SchemaError::Cancelled);
        }
        let RawColumn { name, cells } = overridden(column, options)?;
        let index = indices.remove(&name);
        let is_as_told = told.is_typed(&name) || told.exclude.contains(name.as_str());
        let Meant { cells, rule, notes } = match is_as_told || index.is_some() {
            true => Meant::as_is(cells),
            false => meant(&name, cells),
        };
        let mut seen = ColumnReport::of(&name, &cells);
        if !is_as_told {
            report.notes.extend(stray_text(&name, &cells));
        }
        let taken = match index {
            Some(reason) => Err(reason),
            None => feature(
                &name,
                cells,
                Known { rows, labels, told: &told },
                options,
                &mut report.notes,
            ),
        };
        match taken {
            Ok((kind, features)) => {
                report.notes.extend(notes);
                columns.extend(features);
                schema.inputs.push(Input { name, kind, rule });
            }
            Err(reason) => {
                seen.left_out = Some(reason.clone());
                report.notes.push(Note::LeftOut { column: name.clone(), reason: reason.clone() });
                schema.left_out.push(LeftOut { name, reason, position: Some(position) });
            }
        }
        report.columns.push(seen);
    }
    note_possible_codes(&mut report);
    if columns.is_empty() {
        report.notes.push(Note::NothingToLearnFrom);
    }
    let mut labels = None;
    if let Some(classified) = classified {
        report_target(&classified, table.missing_labels, &mut report);
        let classes = &classified.target.classes;
        report.notes.extend(similar_classes(&classified.target.name, classes));
        report.notes.extend(telling_columns(&schema.inputs, &columns, &classified.labels));
        // Rare texts that count as one, and texts as groups of words, make rows equal that were not.
        let is_exact = |input: &Input| match &input.kind {
            Kind::Numeric | Kind::Date(_) => true,
            Kind::Categorical(levels) => !levels.has_other(),
            Kind::FreeText(_) => false,
        };
        if schema.inputs.iter().all(is_exact) {
            report.notes.extend(contradictions(&columns, &classified.labels));
        }
        schema.target = Some(classified.target);
        labels = Some(classified.labels);
    }
    Ok(Assembled { schema, columns, labels, dependence, report })
}

/// The classes of a table's rows and which of these hang together, before anything else is looked at.
pub(crate) struct TargetLabels {
    pub(crate) labels: Labels,
    /// The rows that have a class, ascending; `None`: all of them.
    pub(crate) rows: Option<Vec<usize>>,
    pub(crate) dependence: Dependence,
}

/// Reads the target alone.
pub(crate) fn target_labels(
    table: &RawTable,
    options: &SchemaOptions,
) -> Result<TargetLabels, SchemaError> {
    check_names(table, options)?;
    let is_target = |c: &&RawColumn| Some(&c.name) == options.target.as_ref();
    let Some(column) = table.columns.iter().find(is_target) else {
        let columns = table.columns.iter().map(|column| column.name.clone()).collect();
        return Err(SchemaError::NoTarget { columns });
    };
    check_finite(column)?;
    let Classified { labels, rows, .. } = classify(column.clone(), options)?;
    let dependence = dependence(table, options, rows.as_deref())?;
    Ok(TargetLabels { labels, rows, dependence })
}

/// Which of these rows hang together.
fn dependence(
    table: &RawTable,
    options: &SchemaOptions,
    rows: Option<&[usize]>,
) -> Result<Dependence, SchemaError> {
    let Some(by) = &options.depends_on else { return Ok(Dependence::Independent) };
    let column = table.columns.iter().find(|c| c.name == *by.column());
    let Some(RawColumn { name, cells }) = column else { return Ok(Dependence::Independent) };
    let cells = match by {
        // Groups are told apart as they are written; times have an order.
        DependsOn::Group(_) => cells.clone(),
        DependsOn::TimeOrder(_) => meant(name, cells.clone()).cells,
    };
    by.read(&RawColumn { name: name.clone(), cells }, rows)
}

/// What could not be read, and was excluded on request anyway, is left out like any other column.
fn leave_out_unread(schema: &mut Schema, report: &mut TableReport, options: &SchemaOptions) {
    for note in &mut report.notes {
        let Note::Unreadable { column: name, .. } = note else { continue };
        let (name, reason) = (name.clone(), Reason::Excluded);
        if !options.exclude.contains(&name) {
            continue;
        }
        *note = Note::LeftOut { column: name.clone(), reason: reason.clone() };
        schema.left_out.push(LeftOut { name, reason, position: None });
    }
}

/// What is known of the rows when a column is looked at.
#[derive(Clone, Copy)]
struct Known<'a> {
    /// The rows that have a class; `None`: all of them.
    rows: Option<&'a [usize]>,
    /// Their classes, where there is a target.
    labels: Option<&'a Labels>,
    told: &'a Told<'a>,
}

/// The columns that the options name. There may be thousands, and each column asks.
struct Told<'a> {
    exclude: HashSet<&'a str>,
    include: HashSet<&'a str>,
    categorical: HashSet<&'a str>,
    numeric: HashSet<&'a str>,
}

impl<'a> Told<'a> {
    fn of(options: &'a SchemaOptions) -> Self {
        let set = |names: &'a [String]| names.iter().map(String::as_str).collect();
        Self {
            exclude: set(&options.exclude),
            include: set(&options.include),
            categorical: set(&options.categorical),
            numeric: set(&options.numeric),
        }
    }

    /// Whether a column's kind was said.
    fn is_typed(&self, name: &str) -> bool {
        self.categorical.contains(name) || self.numeric.contains(name)
    }
}

/// What a column is to training, with its features; or why it is nothing to it.
fn feature(
    name: &String,
    cells: Cells,
    known: Known<'_>,
    options: &SchemaOptions,
    notes: &mut Vec<Note>,
) -> Result<(Kind, Vec<Column>), Reason> {
    if known.told.exclude.contains(name.as_str()) {
        return Err(Reason::Excluded);
    }
    match &options.depends_on {
        Some(DependsOn::Group(column)) if column == name => return Err(Reason::Group),
        Some(DependsOn::TimeOrder(column)) if column == name => return Err(Reason::TimeOrder),
        _ => {}
    }
    // Rows without a target are gone before anything is looked for in them.
    let cells = match known.rows {
        Some(rows) => cells.select(rows),
        None => cells,
    };
    if known.labels.is_some_and(|labels| orders_the_target(name, &cells, labels, options)) {
        return Err(Reason::OrdersTarget);
    }
    let is_told = known.told.categorical.contains(name.as_str())
        || known.told.include.contains(name.as_str());
    match nothing_to_learn(&cells, is_told) {
        Some(Reason::UniqueText | Reason::FreeText { .. }) if is_sentences(&cells) => {
            return Ok(free_text(name, cells, notes));
        }
        Some(reason) => return Err(reason),
        None => (),
    }
    let most = options.limits.n_levels;
    Ok(match cells {
        Cells::Numbers { values, .. } => (Kind::Numeric, vec![Column::numeric(values)]),
        Cells::Instants { seconds } => {
            let parts = varying_parts(&seconds);
            let features = parts.iter().map(|part| Column::numeric(part.of(&seconds))).collect();
            (Kind::Date(parts), features)
        }
        Cells::Nominal { codes, levels } if levels.len() <= most => {
            categorical(Levels::new(levels), codes)
        }
        Cells::Text { codes, dictionary } | Cells::Nominal { codes, levels: dictionary } => {
            let (names, codes) = levels_of_text(&codes, &dictionary);
            let Coded { levels, codes, n_merged } = merge_rare(names, codes, most);
            if n_merged > 0 {
                notes.push(Note::RareLevels {
                    column: name.clone(),
                    n_distinct: n_merged + levels.len() - 1,
                    n_merged,
                });
            }
            categorical(levels, codes)
        }
    })
}

/// Whether cells are text that reads like sentences.
fn is_sentences(cells: &Cells) -> bool {
    matches!(cells, Cells::Text { codes, dictionary } if is_free_text(codes, dictionary))
}

fn free_text(name: &str, cells: Cells, notes: &mut Vec<Note>) -> (Kind, Vec<Column>) {
    let (codes, texts) = WordGroups::texts(cells);
    let groups = WordGroups::of(&codes, &texts);
    let features = groups.features(&codes, &texts);
    let n_groups = groups.groups().len();
    notes.push(Note::FreeText { column: name.to_owned(), n_groups });
    (Kind::FreeText(groups), features)
}

/// A text column most of whose cells are numbers is often one of numbers with a slip in it.
fn stray_text(name: &str, cells: &Cells) -> Option<Note> {
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
    Some(Note::StrayText {
        column: name.to_owned(),
        n_numbers,
        n_present,
        value: dictionary[codes[row] as usize].clone(),
        row: row + 1,
    })
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
fn note_possible_codes(report: &mut TableReport) {
    let is_kept = |c: &&ColumnReport| c.left_out.is_none() && c.may_be_codes(report.n_rows);
    let columns: Vec<String> =
        report.columns.iter().filter(is_kept).map(|c| c.name.clone()).collect();
    if !columns.is_empty() {
        report.notes.push(Note::PossibleCodes { columns });
    }
}

/// Counts the classes; rows and classes that go are named.
fn report_target(classified: &Classified, words: Vec<(String, usize)>, report: &mut TableReport) {
    let name = &classified.target.name;
    let counts = classified.labels.counts();
    report.classes = classified.target.classes.iter().cloned().zip(counts).collect();
    if let Some(rows) = &classified.rows {
        report.n_rows_without_target = report.n_rows - rows.len();
        report.notes.push(Note::RowsWithoutTarget {
            target: name.clone(),
            n_left_out: report.n_rows_without_target,
            n_rows: report.n_rows,
            first_rows: first_absent(rows, report.n_rows),
            words,
        });
    }
    report.notes.extend(classified.merged.iter().cloned());
    if !classified.unused.is_empty() {
        report.notes.push(Note::UnusedClasses { classes: classified.unused.clone() });
    }
    let is_rare = |(_, n): &&(String, usize)| *n < RARE_CLASS;
    let classes: Vec<(String, usize)> = report.classes.iter().filter(is_rare).cloned().collect();
    if !classes.is_empty() {
        report.notes.push(Note::RareClasses { classes, needed: RARE_CLASS });
    }
}

/// The first few rows, counted from 1, that are not among `rows`.
fn first_absent(rows: &[usize], n_rows: usize) -> Vec<usize> {
    const SHOWN: usize = 5;
    let absent = (0..n_rows).filter(|row| rows.binary_search(row).is_err());
    absent.take(SHOWN).map(|row| row + 1).collect()
}
