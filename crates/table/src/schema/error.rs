//! What can stand between a table that was read and a dataset.

use thiserror::Error;

use crate::error::shell_word;

/// Why a table cannot be learnt from, or does not match the one that was.
///
/// Rows are counted from 1, header aside. Messages do not name the file; whoever knows it does.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A dataset needs a target, and none was named.
    #[error("no target column was named")]
    NoTarget {
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A column was named that the table does not have.
    #[error("there is no column {column:?}, given as --{option}")]
    UnknownColumn {
        /// The name given.
        column: String,
        /// Where it was given: `target`, `exclude`, `include`, `categorical`, `numeric`, `group` or `time-order`.
        option: &'static str,
        /// The name that was probably meant.
        similar: Option<String>,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A column was named that is there and was not read.
    #[error("column {column:?}, given as --{option}, is of type {data_type}, which is not read")]
    Unreadable {
        /// The column.
        column: String,
        /// Where it was given: `include`, `numeric`, `group` or `time-order`.
        option: &'static str,
        /// Its type, in its format's words.
        data_type: String,
    },
    /// One column was given two roles that exclude each other.
    #[error("column {column:?} is given as --{first} and as --{second}")]
    Contradiction {
        /// The column.
        column: String,
        /// One option.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Rows are to be split by a column that has one value only.
    #[error(
        "column {column:?}, given as --{option}, has one value only, so rows cannot be split by it"
    )]
    OneUnit {
        /// The column.
        column: String,
        /// Where it was given: `group` or `time-order`.
        option: &'static str,
    },
    /// The share of rows to hold out is none of them.
    #[error("the share given as --holdout is none of {n_rows} rows")]
    NoneHeldOut {
        /// How many rows there are.
        n_rows: usize,
    },
    /// Too few rows are left beside those held out.
    #[error(
        "--holdout leaves {left} of {n_rows} rows to learn from, and at least {needed} are needed"
    )]
    AllHeldOut {
        /// How many are left.
        left: usize,
        /// Of how many.
        n_rows: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Rows are to be put in order, and one has no time.
    #[error("column {column:?} has no time in row {row}")]
    NoTime {
        /// The column.
        column: String,
        /// The row.
        row: usize,
    },
    /// Rows are to be put in the order of something that has none.
    #[error("column {column:?} holds {value:?} in row {row}, which is no time")]
    NotATime {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// What it holds.
        value: String,
    },
    /// No row has a value in the target column.
    #[error("the target {column:?} has no value in any of the {n_rows} rows")]
    TargetMissing {
        /// The target.
        column: String,
        /// How many rows there are.
        n_rows: usize,
    },
    /// All rows are of one class.
    #[error(
        "the target {column:?} is {class:?} in all {n_rows} rows, so there is nothing to tell apart"
    )]
    TargetConstant {
        /// The target.
        column: String,
        /// The class.
        class: String,
        /// How many rows have it.
        n_rows: usize,
    },
    /// The target holds so many different numbers that it looks like a quantity.
    #[error(
        "the target {column:?} holds {n_distinct} different numbers in {n_rows} rows: it looks like a quantity, and pitchpipe predicts classes"
    )]
    TargetContinuous {
        /// The target.
        column: String,
        /// How many different numbers there are.
        n_distinct: usize,
        /// In how many rows.
        n_rows: usize,
    },
    /// The target holds dates.
    #[error("the target {column:?} holds dates, and pitchpipe predicts classes")]
    TargetDate {
        /// The target.
        column: String,
    },
    /// The target holds so many different texts that it looks like names or free text.
    #[error(
        "the target {column:?} holds {n_distinct} different texts in {n_rows} rows: it looks like names or free text, and pitchpipe predicts classes"
    )]
    TargetFreeText {
        /// The target.
        column: String,
        /// How many different texts there are.
        n_distinct: usize,
        /// In how many rows.
        n_rows: usize,
    },
    /// There are more classes than anybody has asked for.
    #[error("the target {column:?} has {n_classes} classes, and the limit is {limit}")]
    TooManyClasses {
        /// The target.
        column: String,
        /// How many classes there are.
        n_classes: usize,
        /// How many there may be.
        limit: usize,
    },
    /// No column but the target has something to learn from.
    #[error("no column is left to learn from: {}", reasons(left_out))]
    NoFeatures {
        /// The columns, with the reason why each is left out.
        left_out: Vec<(String, String)>,
    },
    /// A number is infinite.
    #[error("column {column:?} holds {value} in row {row}, but numbers must be finite")]
    NotFinite {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// The cell.
        value: String,
    },
    /// A column given as `--numeric` holds something else.
    #[error("column {column:?} holds {value:?} in row {row}, which is not a number")]
    NotANumber {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// The cell.
        value: String,
    },
    /// Columns of the training table are missing from the one at hand.
    #[error("{} that the model was trained on {} missing: {}",
        plural(columns.len(), "a column", "columns"), plural(columns.len(), "is", "are"),
        listed(columns, |name| format!("{name:?}")))]
    MissingColumns {
        /// The missing columns, in the training table's order.
        columns: Vec<String>,
    },
    /// Columns hold something else than in the training table.
    #[error("{} not what the model was trained on: {}",
        plural(columns.len(), "a column is", "columns are"), listed(columns, Mismatch::to_string))]
    WrongType {
        /// The columns, in the training table's order.
        columns: Vec<Mismatch>,
    },
    /// The caller's cancel check said to stop.
    #[error("the work on the table was stopped")]
    Cancelled,
}

/// A column that holds something else than in the training table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The column.
    pub column: String,
    /// What it held: `numbers`, `categories` or `dates`.
    pub expected: &'static str,
    /// What it holds, with the first cell that does not fit.
    pub found: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} held {}, but here it holds {}", self.column, self.expected, self.found)
    }
}

impl SchemaError {
    /// The next thing to try.
    pub fn help(&self) -> String {
        match self {
            Self::NoTarget { columns } => format!("pass --target with one of {}", names(columns)),
            Self::UnknownColumn { similar: Some(similar), .. } => format!("did you mean {similar:?}?"),
            Self::UnknownColumn { columns, .. } => format!("the columns are {}", names(columns)),
            Self::Unreadable { .. } => {
                "turn it into plain columns, or leave the option out".to_owned()
            }
            Self::Contradiction { .. } => "give it as one of them".to_owned(),
            Self::Cancelled => "let it run to its end".to_owned(),
            Self::OneUnit { option, .. } => format!("leave --{option} out, or name another column"),
            Self::NoneHeldOut { .. } => "give a larger share, such as 0.2".to_owned(),
            Self::AllHeldOut { .. } => {
                "give a smaller share, leave --holdout out, or add rows".to_owned()
            }
            Self::NoTime { .. } => "fill in the cell, or leave the row out".to_owned(),
            Self::NotATime { .. } => "name a column of numbers or dates".to_owned(),
            Self::TargetMissing { .. } => {
                "name another target, or check which cells count as missing (--missing)".to_owned()
            }
            Self::TargetConstant { .. } => {
                "name another target, or add rows of another class".to_owned()
            }
            Self::TargetContinuous { column, .. } => format!(
                "replace the numbers by ranges (such as low, middle, high) or name another target; if \
                 each number is a class of its own, pass --categorical {}",
                shell_word(column)
            ),
            Self::TargetDate { .. } => {
                "name another target, or replace the dates by classes (such as a season)".to_owned()
            }
            Self::TargetFreeText { column, .. } => format!(
                "name another target; if each text is a class of its own, pass --categorical {}",
                shell_word(column)
            ),
            Self::TooManyClasses { n_classes, .. } => format!(
                "make rare classes one, or pass --max-classes {n_classes} if it is meant so"
            ),
            Self::NoFeatures { left_out } if left_out.is_empty() => {
                "add columns to learn from".to_owned()
            }
            Self::NoFeatures { .. } => {
                "add columns that differ from row to row; --include takes in a text or a number for each row"
                    .to_owned()
            }
            Self::NotFinite { .. } => "correct the cell, or leave it empty".to_owned(),
            Self::NotANumber { value, .. } => format!(
                "correct the cell, or pass --missing {} if it stands for a missing value",
                shell_word(value)
            ),
            Self::MissingColumns { .. } => {
                "add them (empty cells count as missing), under the names of the training table".to_owned()
            }
            Self::WrongType { .. } => "give these columns as they were in the training table".to_owned(),
        }
    }
}

/// Enough names to find one's own among; not ten thousand.
fn names(columns: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut list = columns[..columns.len().min(SHOWN)].to_vec();
    if columns.len() > SHOWN {
        list.push(format!("and {} more", columns.len() - SHOWN));
    }
    list.join(", ")
}

/// Why each column is left out, a few of them.
fn reasons(left_out: &[(String, String)]) -> String {
    const SHOWN: usize = 10;
    if left_out.is_empty() {
        return "the table has no column but the target".to_owned();
    }
    let mut list: Vec<String> =
        left_out.iter().take(SHOWN).map(|(name, reason)| format!("{name:?} ({reason})")).collect();
    if left_out.len() > SHOWN {
        list.push(format!("and {} more", left_out.len() - SHOWN));
    }
    list.join(", ")
}

/// All of them: an error that stands in the way names everything that has to go.
fn listed<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn plural(n: usize, one: &'static str, more: &'static str) -> &'static str {
    if n == 1 { one } else { more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let columns: Vec<String> = (0..10_000).map(|i| format!("x{i}")).collect();
        let help = SchemaError::NoTarget { columns }.help();
        assert!(help.ends_with("x18, x19, and 9980 more"), "{help}");
    }

    #[test]
    fn all_missing_columns_are_named() {
        let of = |columns: &[&str]| {
            SchemaError::MissingColumns { columns: columns.iter().map(|&c| c.into()).collect() }
                .to_string()
        };
        assert_eq!(of(&["a"]), "a column that the model was trained on is missing: \"a\"");
        assert_eq!(
            of(&["a", "b"]),
            "columns that the model was trained on are missing: \"a\", \"b\""
        );
    }
}
