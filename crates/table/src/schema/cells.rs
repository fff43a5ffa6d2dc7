//! Text that a rule reads as something else, and what is said about it.

use super::levels::count;
use super::written_instant;
use crate::cell::{CellRule, Found, find};
use crate::{Cells, MISSING_CODE, Note};

/// A column as its cells are meant.
pub(super) struct Meant {
    pub(super) cells: Cells,
    /// The rule that later tables are read by; `None` where the cells stay what they are, or are categories.
    pub(super) rule: Option<CellRule>,
    pub(super) notes: Vec<Note>,
}

/// Reads text by the rule that fits it, if one does.
pub(super) fn meant(name: &str, cells: Cells) -> Meant {
    let Cells::Text { codes, dictionary } = &cells else { return Meant::as_is(cells) };
    let counts = count(codes, dictionary.len());
    let Some(found) = find(dictionary, &counts) else { return Meant::as_is(cells) };
    let mut notes = vec![read_as(name, &found, codes, dictionary)];
    notes.extend(odd_cells(name, &found.rule, &found.values, codes, dictionary));
    let Found { rule, values, .. } = found;
    let cells = converted(&rule, &values, codes);
    let rule = (rule != CellRule::Boolean).then_some(rule);
    Meant { cells, rule, notes }
}

impl Meant {
    pub(super) fn as_is(cells: Cells) -> Self {
        Self { cells, rule: None, notes: Vec::new() }
    }
}

/// The cells that a rule makes of texts, by their values.
pub(super) fn converted(rule: &CellRule, values: &[Option<f64>], codes: &[u32]) -> Cells {
    let value = |&code: &u32| values.get(code as usize).copied().flatten().unwrap_or(f64::NAN);
    match rule {
        CellRule::Number(_) | CellRule::Duration(_) => {
            let values: Vec<f64> = codes.iter().map(value).collect();
            let integers = values.iter().all(|v| v.is_nan() || v.fract() == 0.0);
            Cells::Numbers { values: values.into(), integers }
        }
        CellRule::Date(_) => Cells::Instants { seconds: codes.iter().map(value).collect() },
        CellRule::Boolean => {
            let code = |code: &u32| match value(code) {
                truth if truth.is_nan() => MISSING_CODE,
                truth => truth as u32,
            };
            let levels = ["false", "true"].map(str::to_owned).to_vec();
            Cells::Nominal { codes: codes.iter().map(code).collect(), levels }
        }
    }
}

/// What was made of a column, by the example of one cell.
fn read_as(name: &str, found: &Found, codes: &[u32], texts: &[String]) -> Note {
    let read =
        |&code: &u32| Some((texts.get(code as usize)?, (*found.values.get(code as usize)?)?));
    // A cell that shows the rule at work rather than one that any rule would read.
    let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let shown = codes.iter().filter_map(read).find(|(text, _)| !is_plain(text));
    let (example, value) =
        shown.or_else(|| codes.iter().find_map(read)).unwrap_or((&texts[0], f64::NAN));
    let value = match &found.rule {
        CellRule::Date(_) => written_instant(value),
        CellRule::Boolean => (value == 1.0).to_string(),
        _ => value.to_string(),
    };
    Note::ReadAs {
        column: name.to_owned(),
        what: found.rule.in_words(),
        example: example.clone(),
        value,
        is_guess: found.is_guess,
    }
}

/// Cells that a column's rule does not fit.
pub(super) fn odd_cells(
    name: &str,
    rule: &CellRule,
    values: &[Option<f64>],
    codes: &[u32],
    texts: &[String],
) -> Option<Note> {
    let is_odd = |code: u32| values.get(code as usize).is_some_and(Option::is_none);
    let row = codes.iter().position(|&code| is_odd(code))?;
    Some(Note::OddCells {
        column: name.to_owned(),
        what: rule.noun().to_owned(),
        n_odd: codes.iter().filter(|&&code| is_odd(code)).count(),
        n_present: codes.iter().filter(|&&code| code != MISSING_CODE).count(),
        value: texts[codes[row] as usize].clone(),
        row: row + 1,
    })
}
