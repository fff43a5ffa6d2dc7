//! What was understood of a table, for its owner to check.

use super::dates::varying_parts;
use super::levels::count;
use super::{DatePart, Reason};
use crate::{Cells, MISSING_CODE, Note};

/// Whole numbers with no more different values than this may be codes rather than quantities.
const FEW_VALUES: usize = 10;

/// What was read and what became of it. Counts are those of the table as read, the target aside, before
/// any row or column was left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableReport {
    /// How many rows were read.
    pub n_rows: usize,
    /// The columns in the table's order, without the target.
    pub columns: Vec<ColumnReport>,
    /// The classes in the order of their codes, each with its number of rows; empty without a target.
    pub classes: Vec<(String, usize)>,
    /// How many rows were left out because their target is missing.
    pub n_rows_without_target: usize,
    /// What the reader and the schema decided, and what the owner of the table should look into.
    pub notes: Vec<Note>,
}

/// One column as read.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnReport {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub values: Values,
    /// How many cells are missing.
    pub n_missing: usize,
    /// Why it is left out, if it is.
    pub left_out: Option<Reason>,
}

/// What a column holds, in short.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers.
    Numbers {
        /// The smallest and the largest; `None` where all are missing.
        range: Option<(f64, f64)>,
        /// Whether all of them are integers.
        integers: bool,
        /// How many different ones there are, where they are few.
        n_distinct: Option<usize>,
    },
    /// Categories.
    Categories {
        /// How many there are, declared ones without rows included.
        n_levels: usize,
        /// The most frequent, each with its number of rows.
        most_frequent: Vec<(String, usize)>,
    },
    /// Dates or times, in seconds since the start of 1970.
    Dates {
        /// The earliest and the latest; `None` where all are missing.
        range: Option<(f64, f64)>,
        /// The parts that vary.
        parts: Vec<DatePart>,
    },
}

impl TableReport {
    /// How many columns there are besides the target.
    pub fn n_features(&self) -> usize {
        self.columns.len()
    }

    /// How many of them hold numbers.
    pub fn n_numeric(&self) -> usize {
        self.count(|values| matches!(values, Values::Numbers { .. }))
    }

    /// How many of them hold categories.
    pub fn n_categorical(&self) -> usize {
        self.count(|values| matches!(values, Values::Categories { .. }))
    }

    /// How many of them hold dates.
    pub fn n_dates(&self) -> usize {
        self.count(|values| matches!(values, Values::Dates { .. }))
    }

    /// How many of their cells are missing.
    pub fn n_missing_cells(&self) -> usize {
        self.columns.iter().map(|column| column.n_missing).sum()
    }

    /// The columns left out, with their reasons.
    pub fn left_out(&self) -> impl Iterator<Item = (&str, &Reason)> {
        self.columns.iter().filter_map(|c| Some((c.name.as_str(), c.left_out.as_ref()?)))
    }

    /// What the owner of the table should look into.
    pub fn warnings(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| note.is_warning())
    }

    fn count(&self, holds: impl Fn(&Values) -> bool) -> usize {
        self.columns.iter().filter(|column| holds(&column.values)).count()
    }
}

impl ColumnReport {
    /// Looks at a column.
    pub(super) fn of(name: &str, cells: &Cells) -> Self {
        let n_missing = match cells {
            Cells::Numbers { values: v, .. } | Cells::Instants { seconds: v } => {
                v.iter().filter(|v| v.is_nan()).count()
            }
            Cells::Text { codes, .. } | Cells::Nominal { codes, .. } => {
                codes.iter().filter(|&&code| code == MISSING_CODE).count()
            }
        };
        Self { name: name.to_owned(), values: Values::of(cells), n_missing, left_out: None }
    }

    /// Whether it holds few different whole numbers, each many times: perhaps codes of categories.
    pub(super) fn may_be_codes(&self, n_rows: usize) -> bool {
        match self.values {
            Values::Numbers { integers: true, n_distinct: Some(n), .. } => {
                n > 2 && n_rows - self.n_missing >= 5 * n
            }
            _ => false,
        }
    }
}

impl Values {
    /// `numeric`, `categorical` or `date`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Numbers { .. } => "numeric",
            Self::Categories { .. } => "categorical",
            Self::Dates { .. } => "date",
        }
    }

    fn of(cells: &Cells) -> Self {
        match cells {
            Cells::Numbers { values, integers } => Self::Numbers {
                range: range(values),
                integers: *integers,
                n_distinct: few_distinct(values),
            },
            Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
                Self::Categories {
                    n_levels: texts.len(),
                    most_frequent: most_frequent(codes, texts),
                }
            }
            Cells::Instants { seconds } => {
                Self::Dates { range: range(seconds), parts: varying_parts(seconds) }
            }
        }
    }
}

fn range(values: &[f64]) -> Option<(f64, f64)> {
    let widen = |(low, high): (f64, f64), v: &f64| (low.min(*v), high.max(*v));
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), widen);
    (low <= high).then_some((low, high))
}

fn few_distinct(values: &[f64]) -> Option<usize> {
    let mut met: Vec<f64> = Vec::new();
    for &value in values.iter().filter(|v| !v.is_nan()) {
        if !met.contains(&value) {
            met.push(value);
            if met.len() > FEW_VALUES {
                return None;
            }
        }
    }
    Some(met.len())
}

fn most_frequent(codes: &[u32], texts: &[String]) -> Vec<(String, usize)> {
    const SHOWN: usize = 3;
    let counts = count(codes, texts.len());
    let mut order: Vec<usize> = (0..texts.len()).filter(|&i| counts[i] > 0).collect();
    // The text itself decides a draw, so that the order of the rows does not.
    order.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then_with(|| texts[a].cmp(&texts[b])));
    order.into_iter().take(SHOWN).map(|i| (texts[i].clone(), counts[i])).collect()
}
