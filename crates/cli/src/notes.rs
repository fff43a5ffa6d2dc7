//! What the user should know about a table: what was left out or decided, and what may be wrong.
//!
//! It is said where the work is done, not only where someone asks: as text on standard error, as events for programs.
//! `--quiet` silences what is good to know, not what may be wrong.

use pitchpipe_table::{Note, TableReport};
use serde::Serialize;
use serde_json::json;

use crate::console::{print_event, say_line};

/// How much a sentence matters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Weight {
    /// Good to know.
    Note,
    /// Something may be wrong.
    Warning,
}

impl Weight {
    fn of(note: &Note) -> Self {
        if note.is_warning() { Self::Warning } else { Self::Note }
    }
}

/// A sentence about a table, for programs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Remark {
    pub(crate) severity: Weight,
    pub(crate) text: String,
}

impl From<&Note> for Remark {
    fn from(note: &Note) -> Self {
        Self { severity: Weight::of(note), text: note.to_string() }
    }
}

/// How a command says things.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Voice {
    /// As events on standard output.
    pub(crate) json: bool,
    /// No more than warnings.
    pub(crate) quiet: bool,
    /// Whether `describe` says all of it.
    pub(crate) is_described: bool,
}

impl Voice {
    /// As text; no more than warnings where it is to be quiet.
    pub(crate) fn text(quiet: bool) -> Self {
        Self { quiet, ..Self::default() }
    }
}

/// So many sentences of a kind are said; programs are told all.
const MOST: usize = 8;

/// Tells what is to be said of a table: what may be wrong first, columns that are left out last.
pub(crate) fn tell(voice: Voice, file: &str, notes: &[Note]) {
    let (warnings, notes): (Vec<&Note>, Vec<&Note>) =
        notes.iter().partition(|note| note.is_warning());
    let (left_out, notes): (Vec<&Note>, Vec<&Note>) =
        notes.into_iter().partition(|note| matches!(note, Note::LeftOut { .. }));
    let sentences =
        |notes: Vec<&Note>| -> Vec<String> { notes.into_iter().map(Note::to_string).collect() };
    tell_all(voice, file, Weight::Warning, &sentences(warnings));
    tell_all(voice, file, Weight::Note, &sentences(notes));
    tell_all(voice, file, Weight::Note, &sentences(left_out));
}

/// The notes on a table that may be kept in a file: no cell is quoted.
pub fn without_cells(report: &TableReport) -> Vec<String> {
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
pub(crate) fn tell_all(voice: Voice, file: &str, weight: Weight, sentences: &[String]) {
    let word = match weight {
        Weight::Note => "note",
        Weight::Warning => "warning",
    };
    if voice.json {
        for text in sentences {
            print_event(&json!({"event": word, "file": file, "text": text}));
        }
        return;
    }
    if voice.quiet && weight == Weight::Note {
        return;
    }
    for text in sentences.iter().take(MOST) {
        say_line(format_args!("{word}: {file}: {text}"));
    }
    if let more @ 1.. = sentences.len().saturating_sub(MOST) {
        say_line(format_args!(
            "{word}: {file}: and {more} more{}",
            if voice.is_described { "; pitchpipe describe lists them all" } else { "" }
        ));
    }
}
