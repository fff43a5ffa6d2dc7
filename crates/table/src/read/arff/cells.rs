//! The columns of an ARFF file, filled cell by cell.

use std::collections::HashMap;

use super::super::missing::MissingTokens;
use super::super::number;
use super::super::text::TextBuilder;
use super::date_format::DateFormat;
use super::header::Kind;
use super::token::Token;
use crate::{Cells, MISSING_CODE, Note};

/// A column being read.
pub(super) enum Builder {
    Numbers { values: Vec<f64>, integers: bool, declared_integer: bool, wide: bool },
    Nominal { codes: Vec<u32>, lookup: HashMap<String, u32>, levels: Vec<String> },
    Instants { seconds: Vec<f64>, format: DateFormat },
    Text { texts: TextBuilder, omitted: Option<String> },
}

/// What is wrong with a cell.
pub(super) enum Fault {
    /// It is not what the declaration asks for.
    Not(&'static str),
    /// It is an infinite number.
    Infinite,
}

impl Builder {
    /// For a declared column; `forced` if the user wants it to be text. Numbers of the target are kept as text, too.
    pub(super) fn new(kind: Kind, forced: bool, is_target: bool) -> Self {
        let text = |omitted| Self::Text { texts: TextBuilder::with_capacity(0), omitted };
        match kind {
            Kind::Numeric | Kind::Integer if forced || is_target => text(Some("0".to_owned())),
            Kind::Numeric => Self::numbers(false),
            Kind::Integer => Self::numbers(true),
            Kind::Nominal(levels) => {
                let codes = levels.iter().cloned().zip(0..);
                Self::Nominal { codes: Vec::new(), lookup: codes.collect(), levels }
            }
            Kind::Date(_) if forced => text(None),
            Kind::Date(format) => Self::Instants { seconds: Vec::new(), format },
            Kind::Text => text(None),
        }
    }

    fn numbers(declared_integer: bool) -> Self {
        Self::Numbers { values: Vec::new(), integers: true, declared_integer, wide: false }
    }

    /// Appends a cell.
    pub(super) fn push(&mut self, cell: &Token<'_>, missing: &MissingTokens) -> Result<(), Fault> {
        let bare = !cell.quoted && (cell.text.is_empty() || cell.text == "?");
        let is_missing = bare || (!cell.text.is_empty() && missing.contains(cell.text.as_bytes()));
        if is_missing {
            self.push_missing();
            return Ok(());
        }
        match self {
            Self::Numbers { values, integers, declared_integer, wide } => {
                let Some(number) = number::parse(cell.text.as_bytes(), b'.') else {
                    if cell.text.eq_ignore_ascii_case("nan") {
                        values.push(f64::NAN);
                        return Ok(());
                    }
                    return Err(Fault::Not("a number"));
                };
                if number.value.is_infinite() {
                    return Err(Fault::Infinite);
                }
                let typed = number.integer || (*declared_integer && number.value.fract() == 0.0);
                *integers &= typed;
                *wide |= typed && number.value.abs() > number::MOST_EXACT as f64;
                values.push(number.value);
            }
            Self::Nominal { codes, lookup, .. } => match lookup.get(&*cell.text) {
                Some(&code) => codes.push(code),
                None => return Err(Fault::Not("one of its declared values")),
            },
            Self::Instants { seconds, format } => match format.parse(&cell.text) {
                Some(instant) => seconds.push(instant),
                None => return Err(Fault::Not("a date of the declared form")),
            },
            Self::Text { texts, .. } => {
                // What stands for missing was told apart above, quotes considered.
                texts.push_text(cell.text.as_bytes());
            }
        }
        Ok(())
    }

    fn push_missing(&mut self) {
        match self {
            Self::Numbers { values, .. } => values.push(f64::NAN),
            Self::Nominal { codes, .. } => codes.push(MISSING_CODE),
            Self::Instants { seconds, .. } => seconds.push(f64::NAN),
            Self::Text { texts, .. } => texts.push_missing(),
        }
    }

    /// Appends what a sparse row leaves out: zero, which is also the first declared value. Strings have
    /// no such value and are missing.
    pub(super) fn push_omitted(&mut self) {
        match self {
            Self::Numbers { values, .. } => values.push(0.0),
            Self::Nominal { codes, levels, .. } => {
                codes.push(if levels.is_empty() { MISSING_CODE } else { 0 });
            }
            Self::Instants { seconds, .. } => seconds.push(0.0),
            Self::Text { texts, omitted } => match omitted {
                Some(text) => texts.push_text(text.as_bytes()),
                None => texts.push_missing(),
            },
        }
    }

    /// What the user should know about the column.
    pub(super) fn note(&self, name: &str) -> Option<Note> {
        matches!(self, Self::Numbers { wide: true, .. })
            .then(|| Note::RoundedIntegers { column: name.to_owned() })
    }

    /// The column's cells.
    pub(super) fn finish(self) -> Cells {
        match self {
            Self::Numbers { values, integers, .. } => {
                let any = values.iter().any(|v| !v.is_nan());
                Cells::Numbers { integers: integers && any, values: values.into() }
            }
            Self::Nominal { codes, levels, .. } => Cells::Nominal { codes: codes.into(), levels },
            Self::Instants { seconds, .. } => Cells::Instants { seconds: seconds.into() },
            Self::Text { texts, .. } => texts.into_cells(),
        }
    }
}
