//! A description for machines: one JSON object.

use pitchpipe_table::{ColumnReport, Note, Values};
use serde::{Serialize, Serializer};

use super::Description;

/// `rows` to `missing_cells` count the table as read, the target aside, before anything is left out.
#[derive(Serialize)]
struct Object<'a> {
    file: &'a str,
    target: Option<&'a str>,
    rows: usize,
    features: usize,
    numeric: usize,
    categorical: usize,
    dates: usize,
    missing_cells: usize,
    rows_without_target: usize,
    left_out: InOrder<'a, String>,
    classes: InOrder<'a, usize>,
    columns: Vec<ColumnObject<'a>>,
    notes: Vec<String>,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta_features: Option<InOrder<'a, Option<f64>>>,
}

#[derive(Serialize)]
struct ColumnObject<'a> {
    name: &'a str,
    kind: &'static str,
    missing: usize,
    #[serde(flatten)]
    values: ValuesObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ValuesObject {
    Numbers { min: Option<f64>, max: Option<f64>, integers: bool },
    Categories { levels: usize },
    Dates { first_seconds: Option<f64>, last_seconds: Option<f64>, parts: Vec<&'static str> },
}

/// A map in the order of the table, not of the alphabet.
struct InOrder<'a, V>(Vec<(&'a str, V)>);

impl<V: Serialize> Serialize for InOrder<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

pub(super) fn of(description: &Description<'_>) -> String {
    let report = description.report;
    // Columns that are left out have a field of their own.
    let said = |warnings: bool| -> Vec<String> {
        let is_said =
            |note: &&Note| note.is_warning() == warnings && !matches!(note, Note::LeftOut { .. });
        report.notes.iter().filter(is_said).map(Note::to_string).collect()
    };
    let object = Object {
        file: description.file,
        target: description.target,
        rows: report.n_rows,
        features: report.n_features(),
        numeric: report.n_numeric(),
        categorical: report.n_categorical(),
        dates: report.n_dates(),
        missing_cells: report.n_missing_cells(),
        rows_without_target: report.n_rows_without_target,
        left_out: InOrder(report.left_out().map(|(name, why)| (name, why.to_string())).collect()),
        classes: InOrder(report.classes.iter().map(|(class, n)| (class.as_str(), *n)).collect()),
        columns: report.columns.iter().map(column).collect(),
        notes: said(false),
        warnings: said(true),
        meta_features: Some(&description.meta_features)
            .filter(|features| !features.is_empty())
            .map(|features| InOrder(features.clone())),
    };
    serde_json::to_string_pretty(&object).expect("names are strings and numbers finite") + "\n"
}

fn column(column: &ColumnReport) -> ColumnObject<'_> {
    let values = match &column.values {
        Values::Numbers { range, integers, .. } => ValuesObject::Numbers {
            min: range.map(|r| r.0),
            max: range.map(|r| r.1),
            integers: *integers,
        },
        Values::Categories { n_levels, .. } => ValuesObject::Categories { levels: *n_levels },
        Values::Dates { range, parts } => ValuesObject::Dates {
            first_seconds: range.map(|r| r.0),
            last_seconds: range.map(|r| r.1),
            parts: parts.iter().map(|part| part.name()).collect(),
        },
    };
    ColumnObject {
        name: &column.name,
        kind: column.values.kind(),
        missing: column.n_missing,
        values,
        left_out: column.left_out.as_ref().map(ToString::to_string),
    }
}
