//! What the user should know about a table: what was left out or decided, and what may be wrong.
//!
//! It is said where the work is done, not only where someone asks: as text on standard error, as events for programs.
//! `--quiet` silences what is good to know, not what may be wrong.

use pitchpipe_table::{Note, Report};
use serde_json::json;

use super::FitArgs;
use crate::console::{print_event, say_line};

/// How much a sentence matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Weight {
    /// Good to know.
    Note,
    /// Something may be wrong.
    Warning,
}

/// So many sentences of a kind are said; programs are told all.
const MOST: usize = 8;

/// Tells of the training table.
pub(super) fn tell(args: &FitArgs, file: &str, report: &Report) {
    let (warnings, notes): (Vec<&Note>, Vec<&Note>) =
        report.notes.iter().partition(|note| note.is_warning());
    let (left_out, notes): (Vec<&Note>, Vec<&Note>) =
        notes.into_iter().partition(|note| matches!(note, Note::LeftOut { .. }));
    let sentences =
        |notes: Vec<&Note>| -> Vec<String> { notes.into_iter().map(Note::to_string).collect() };
    tell_all(args, file, Weight::Warning, &sentences(warnings));
    tell_all(args, file, Weight::Note, &sentences(notes));
    tell_all(args, file, Weight::Note, &sentences(left_out));
}

/// The notes on a table that may be kept in a file: no cell is quoted.
pub fn without_cells(report: &Report) -> Vec<String> {
    let sentence = |note: &Note| match note {
        // Columns that are left out have a place of their own.
        Note::LeftOut { .. } => None,
        Note::StrayText { column, n_numbers, n_present, .. } => Some(format!(
            "column {column:?} is text, though {n_numbers} of its {n_present} cells are numbers"
        )),
        Note::RowsWithoutTarget { target, n_left_out, n_rows, .. } => Some(format!(
            "{n_left_out} of {n_rows} rows have no class in column {target:?} and are left out"
        )),
        other => Some(other.to_string()),
    };
    report.notes.iter().filter_map(sentence).collect()
}

/// Tells sentences of one weight about a file.
pub(super) fn tell_all(args: &FitArgs, file: &str, weight: Weight, sentences: &[String]) {
    let word = match weight {
        Weight::Note => "note",
        Weight::Warning => "warning",
    };
    if args.json {
        for text in sentences {
            print_event(&json!({"event": word, "file": file, "text": text}));
        }
        return;
    }
    if args.quiet && weight == Weight::Note {
        return;
    }
    for text in sentences.iter().take(MOST) {
        say_line(format_args!("{word}: {file}: {text}"));
    }
    if let more @ 1.. = sentences.len().saturating_sub(MOST) {
        say_line(format_args!(
            "{word}: {file}: and {more} more; pitchpipe describe lists them all"
        ));
    }
}
