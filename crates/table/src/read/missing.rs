//! Which cells of a text format stand for a missing value.

use serde::{Deserialize, Serialize};

use super::ReadOptions;
use crate::{Cells, RawTable};

/// What stands for a missing value in CSV when the user says nothing, besides the empty cell.
pub const DEFAULT_MISSING: [&str; 5] = ["NA", "NaN", "null", "None", "?"];

/// What a user said about cells that stand for missing values, kept with a model so that later tables are
/// read in the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingCells {
    /// The tokens instead of the format's own, where the user gave some.
    pub instead: Option<Vec<String>>,
    /// Tokens besides those.
    pub also: Vec<String>,
}

impl MissingCells {
    /// What the options of a reader say.
    pub fn of(options: &ReadOptions) -> Self {
        Self { instead: options.missing.clone(), also: options.also_missing.clone() }
    }

    /// Adds what was said then to what is said now.
    pub fn add_to(&self, options: &mut ReadOptions) {
        options.missing = options.missing.take().or_else(|| self.instead.clone());
        options.also_missing.extend(self.also.iter().cloned());
    }

    /// The tokens in a CSV file.
    pub fn tokens(&self) -> Vec<String> {
        let usual = || DEFAULT_MISSING.map(str::to_owned).to_vec();
        let mut tokens = self.instead.clone().unwrap_or_else(usual);
        tokens.extend(self.also.iter().cloned());
        tokens
    }
}

/// The tokens in force. Spaces around a token do not count, and an empty cell is always missing.
pub(super) struct MissingTokens {
    tokens: Vec<Vec<u8>>,
}

impl MissingTokens {
    pub(super) fn new<S: AsRef<str>>(tokens: &[S]) -> Self {
        let bytes = |t: &S| t.as_ref().trim_ascii().as_bytes().to_vec();
        Self { tokens: tokens.iter().map(bytes).collect() }
    }

    /// The user's tokens, or else the format's; with those that the user adds.
    pub(super) fn choose(options: &ReadOptions, format: &[&str]) -> Self {
        let mut chosen = match &options.missing {
            Some(asked) => Self::new(asked),
            None => Self::new(format),
        };
        chosen.tokens.extend(Self::new(&options.also_missing).tokens);
        chosen
    }

    /// The numbers among the tokens.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let number = |token: &Vec<u8>| std::str::from_utf8(token).ok()?.parse().ok();
        self.tokens.iter().filter_map(number).collect()
    }

    /// Whether the cell stands for a missing value.
    pub(super) fn contains(&self, cell: &[u8]) -> bool {
        let cell = cell.trim_ascii();
        cell.is_empty() || self.tokens.iter().any(|t| t == cell)
    }
}

/// Makes numbers that the user's tokens spell (such as -99) missing. The CSV reader's fast path asks for
/// tokens only where a cell is no number; hardly any table needs this second look.
pub(super) fn blank_numbers(table: &mut RawTable, options: &ReadOptions) {
    for token in MissingTokens::choose(options, &[]).numbers() {
        for column in &mut table.columns {
            if let Cells::Numbers { values, .. } = &mut column.cells {
                let blanked = |&v: &f64| if v == token { f64::NAN } else { v };
                *values = values.iter().map(blanked).collect();
            }
        }
    }
}
