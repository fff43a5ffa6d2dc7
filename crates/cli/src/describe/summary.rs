//! A description for people: a page of plain text.

use pitchpipe_table::{ColumnReport, Note, TableReport, Values, written_instant};

use super::Description;
use crate::text::{aligned, counted, number, shown};

/// More columns or classes than this are cut short; `--json` has them all.
const MAX_COLUMNS: usize = 60;
const MAX_CLASSES: usize = 20;

const LONGEST_NAME: usize = 36;
const LONGEST_LEVEL: usize = 24;

pub(super) fn of(description: &Description<'_>) -> String {
    let report = description.report;
    let mut parts = vec![heading(description), columns(report)];
    if let Some(target) = description.target {
        parts.push(classes(target, report));
    }
    parts.push(left_out(report));
    let said = |warnings: bool| -> Vec<String> {
        let is_said =
            |note: &&Note| note.is_warning() == warnings && !matches!(note, Note::LeftOut { .. });
        report.notes.iter().filter(is_said).map(Note::to_string).collect()
    };
    parts.push(meta_features(description));
    parts.push(list("notes", &said(false)));
    parts.push(list("warnings", &said(true)));
    if description.target.is_none() {
        parts.push("name the column to predict with --target to see its classes\n".to_owned());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Names and values; those that the table does not have say so.
fn meta_features(description: &Description<'_>) -> String {
    if description.meta_features.is_empty() {
        return String::new();
    }
    let width = description.meta_features.iter().map(|f| f.0.len()).max().unwrap_or(0);
    let mut text = "meta-features\n".to_owned();
    for (name, value) in &description.meta_features {
        let value = value.map_or("none".to_owned(), |v| format!("{v:.4}"));
        text += &format!("  {name:width$}  {value}\n");
    }
    text
}

fn heading(description: &Description<'_>) -> String {
    let report = description.report;
    let kinds = [
        (report.n_numeric(), "numeric"),
        (report.n_categorical(), "categorical"),
        (report.n_dates(), if report.n_dates() == 1 { "date" } else { "dates" }),
    ];
    let kinds: Vec<String> =
        kinds.iter().filter(|(n, _)| *n > 0).map(|(n, kind)| format!("{n} {kind}")).collect();
    let features = match description.target {
        Some(_) => format!("{} besides the target", counted(report.n_features(), "column")),
        None => counted(report.n_features(), "column"),
    };
    let n_cells = report.n_rows * report.n_features();
    let missing = match report.n_missing_cells() {
        0 => "no cell is missing".to_owned(),
        n => format!("{} missing ({} of all)", counted(n, "cell"), percent(n, n_cells)),
    };
    let rows = counted(report.n_rows, "row");
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    format!("{}\n{rows}, {features}{kinds}; {missing}\n", description.file)
}

fn columns(report: &TableReport) -> String {
    let header = ["column", "kind", "missing", "values"].map(str::to_owned).to_vec();
    let rows = report.columns.iter().take(MAX_COLUMNS).map(|c| row(c, report.n_rows));
    let table: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let mut text =
        if report.columns.is_empty() { String::new() } else { aligned(&table, "", &[2]) };
    if report.columns.len() > MAX_COLUMNS {
        let more = counted(report.columns.len() - MAX_COLUMNS, "more column");
        text += &format!("… and {more}; --json lists them all\n");
    }
    text
}

fn row(column: &ColumnReport, n_rows: usize) -> Vec<String> {
    let missing = match column.n_missing {
        0 => "–".to_owned(),
        n => format!("{n} ({})", percent(n, n_rows)),
    };
    let kind = match column.left_out {
        Some(_) => "left out",
        None => column.values.kind(),
    };
    vec![shown(&column.name, LONGEST_NAME), kind.to_owned(), missing, values(&column.values)]
}

fn values(values: &Values) -> String {
    match values {
        Values::Numbers { range: None, .. } | Values::Dates { range: None, .. } => String::new(),
        Values::Numbers { range: Some((low, high)), integers, n_distinct } => {
            let whole = if *integers { ", whole" } else { "" };
            let few = match n_distinct {
                Some(n) if *n > 1 => format!(", {n} different"),
                _ => String::new(),
            };
            format!("{}{whole}{few}", span(number(*low), number(*high)))
        }
        Values::Categories { n_levels, most_frequent } => {
            let level =
                |(name, n): &(String, usize)| format!("{} ({n})", shown(name, LONGEST_LEVEL));
            let mut levels: Vec<String> = most_frequent.iter().map(level).collect();
            levels.extend((*n_levels > most_frequent.len()).then(|| "…".to_owned()));
            match *n_levels {
                0 => String::new(),
                n => format!("{}: {}", counted(n, "level"), levels.join(", ")),
            }
        }
        Values::Dates { range: Some((first, last)), parts } => {
            let parts: Vec<&str> = parts.iter().map(|part| part.name()).collect();
            let span = span(written_instant(*first), written_instant(*last));
            if parts.is_empty() { span } else { format!("{span}; as {}", parts.join(", ")) }
        }
    }
}

fn span(low: String, high: String) -> String {
    if low == high { low } else { format!("{low} to {high}") }
}

fn classes(target: &str, report: &TableReport) -> String {
    let n_rows: usize = report.classes.iter().map(|(_, n)| n).sum();
    let row = |(class, n): &(String, usize)| {
        vec![shown(class, LONGEST_NAME), n.to_string(), percent(*n, n_rows)]
    };
    let rows: Vec<Vec<String>> = report.classes.iter().take(MAX_CLASSES).map(row).collect();
    let name = shown(target, LONGEST_NAME);
    let mut text = format!("target {name}: {}\n", counted(report.classes.len(), "class"));
    text += &aligned(&rows, "  ", &[1, 2]);
    if report.classes.len() > MAX_CLASSES {
        let more = counted(report.classes.len() - MAX_CLASSES, "more class");
        text += &format!("  … and {more}; --json lists them all\n");
    }
    text
}

fn left_out(report: &TableReport) -> String {
    let all: Vec<Vec<String>> = report
        .left_out()
        .map(|(name, why)| vec![shown(name, LONGEST_NAME), shown(&why.to_string(), 80)])
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let mut text = format!("left out: {}\n", counted(all.len(), "column"));
    text += &aligned(&all[..all.len().min(MAX_COLUMNS)], "  ", &[]);
    if all.len() > MAX_COLUMNS {
        text += &format!("  … and {} more; --json lists them all\n", all.len() - MAX_COLUMNS);
    }
    text
}

fn list(title: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let line = |sentence: &String| format!("  - {}\n", shown(sentence, 400));
    format!("{title}\n{}", sentences.iter().map(line).collect::<String>())
}

fn percent(part: usize, whole: usize) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    match percent {
        p if part > 0 && p < 0.1 => "<0.1 %".to_owned(),
        p => format!("{p:.1} %"),
    }
}
