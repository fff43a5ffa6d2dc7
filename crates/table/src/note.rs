//! What the reader and the schema decided, as values: to be printed, counted, or sent on as JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Reason;
use crate::error::{named, shell_word};

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A decision that is right in most tables.
    Information,
    /// Something that the owner of the table should look into.
    Warning,
}

/// Something that was decided about a table. Rows and lines are counted from 1, rows without the header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// The file was compressed.
    Decompressed {
        /// How.
        with: String,
    },
    /// The text is not UTF-8.
    Encoding {
        /// What it was read as.
        encoding: String,
        /// The first line that is not UTF-8, where the encoding is a guess.
        first_line: Option<usize>,
    },
    /// Cells are not separated by commas.
    Delimiter {
        /// What separates them.
        delimiter: String,
    },
    /// Every delimiter is followed by a space.
    SpaceAfterDelimiter,
    /// Numbers are written with decimal commas.
    DecimalCommas,
    /// The file has no header.
    FirstRowIsData {
        /// How many columns there are.
        n_columns: usize,
    },
    /// Lines without anything between the rows.
    BlankLines {
        /// How many.
        n: usize,
        /// The first of them.
        first_line: usize,
    },
    /// Rows of an ARFF file are weighted.
    InstanceWeights,
    /// Integers that a double cannot hold.
    RoundedIntegers {
        /// The column.
        column: String,
    },
    /// Numbers with leading zeros.
    LeadingZeros {
        /// The column.
        column: String,
    },
    /// A column that training does not use.
    LeftOut {
        /// The column.
        column: String,
        /// Why not.
        reason: Reason,
    },
    /// Text that is read as something else.
    ReadAs {
        /// The column.
        column: String,
        /// What it is read as.
        what: String,
        /// A cell.
        example: String,
        /// What it says.
        value: String,
        /// Whether it could be read otherwise.
        is_guess: bool,
    },
    /// Cells that are not what the others of their column are.
    OddCells {
        /// The column.
        column: String,
        /// What the others are.
        what: String,
        /// How many are not.
        n_odd: usize,
        /// Of how many.
        n_present: usize,
        /// The first of them.
        value: String,
        /// Its row.
        row: usize,
    },
    /// A column of free text.
    FreeText {
        /// The column.
        column: String,
        /// How many groups of words are told apart.
        n_groups: usize,
    },
    /// A column of a type that is not read.
    Unreadable {
        /// The column.
        column: String,
        /// Its type, in its format's words.
        data_type: String,
    },
    /// A column that alone says the class of nearly every row.
    TellingColumn {
        /// The column.
        column: String,
        /// Of how many rows.
        n_right: usize,
        /// Of how many that were looked at.
        n_rows: usize,
    },
    /// Classes whose names differ in case, spaces and the like only.
    SimilarClasses {
        /// The target.
        target: String,
        /// The classes.
        classes: Vec<String>,
    },
    /// Rows that are equal in all columns and differ in class.
    Contradictions {
        /// How many.
        n_contradicting: usize,
        /// Of how many.
        n_rows: usize,
    },
    /// Text with very many levels.
    RareLevels {
        /// The column.
        column: String,
        /// How many different texts there are.
        n_distinct: usize,
        /// How many of them count as one.
        n_merged: usize,
    },
    /// Text that is numbers for the most part.
    StrayText {
        /// The column.
        column: String,
        /// How many cells are numbers.
        n_numbers: usize,
        /// How many cells there are.
        n_present: usize,
        /// The first cell that is not.
        value: String,
        /// Its row.
        row: usize,
    },
    /// Whole numbers that may be codes of categories.
    PossibleCodes {
        /// The columns.
        columns: Vec<String>,
    },
    /// Rows that have no class.
    RowsWithoutTarget {
        /// The target.
        target: String,
        /// How many were left out.
        n_left_out: usize,
        /// Of how many.
        n_rows: usize,
        /// The first of them.
        first_rows: Vec<usize>,
        /// What these cells say, each with its number of rows; empty where the reader was not asked.
        words: Vec<(String, usize)>,
    },
    /// Labels that are one number written differently.
    MergedClasses {
        /// The target.
        target: String,
        /// How the class is called.
        kept: String,
        /// How else it is written.
        merged: Vec<String>,
    },
    /// Declared classes that no row has.
    UnusedClasses {
        /// The classes.
        classes: Vec<String>,
    },
    /// Classes with very few rows.
    RareClasses {
        /// The classes, each with its number of rows.
        classes: Vec<(String, usize)>,
        /// How many rows would do.
        needed: usize,
    },
    /// Every column is left out.
    NothingToLearnFrom,
    /// Columns that the training table did not have.
    ExtraColumns {
        /// The columns.
        columns: Vec<String>,
    },
    /// Categories that the training table did not have.
    UnseenCategories {
        /// The column.
        column: String,
        /// The first few of them.
        texts: Vec<String>,
        /// How many different ones there are.
        n_distinct: usize,
        /// In how many rows.
        n_unseen: usize,
        /// Of how many.
        n_rows: usize,
    },
}

impl Note {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Self::BlankLines { .. }
            | Self::StrayText { .. }
            | Self::RowsWithoutTarget { .. }
            | Self::MergedClasses { .. }
            | Self::RareClasses { .. }
            | Self::NothingToLearnFrom
            | Self::ReadAs { is_guess: true, .. }
            | Self::OddCells { .. }
            | Self::Unreadable { .. }
            | Self::TellingColumn { .. }
            | Self::SimilarClasses { .. }
            | Self::Contradictions { .. }
            | Self::UnseenCategories { .. } => Severity::Warning,
            Self::Decompressed { .. }
            | Self::Encoding { .. }
            | Self::Delimiter { .. }
            | Self::SpaceAfterDelimiter
            | Self::DecimalCommas
            | Self::FirstRowIsData { .. }
            | Self::InstanceWeights
            | Self::RoundedIntegers { .. }
            | Self::LeadingZeros { .. }
            | Self::LeftOut { .. }
            | Self::ReadAs { .. }
            | Self::FreeText { .. }
            | Self::RareLevels { .. }
            | Self::PossibleCodes { .. }
            | Self::UnusedClasses { .. }
            | Self::ExtraColumns { .. } => Severity::Information,
        }
    }

    /// Whether the owner of the table should look into it.
    pub fn is_warning(&self) -> bool {
        self.severity() == Severity::Warning
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decompressed { with } => write!(f, "decompressed with {with}"),
            Self::Encoding { encoding, first_line: None } => {
                write!(f, "the text is encoded in {encoding}")
            }
            Self::Encoding { encoding, first_line: Some(line) } => write!(
                f,
                "the text is not UTF-8 (first seen on line {line}), so it was read as {encoding}"
            ),
            Self::Delimiter { delimiter } => write!(f, "cells are separated by {delimiter}"),
            Self::SpaceAfterDelimiter => f.write_str("the space after each delimiter was left off"),
            Self::DecimalCommas => f.write_str("commas in numbers were read as decimal commas"),
            Self::FirstRowIsData { n_columns } => write!(
                f,
                "the first row was read as data, not as names; columns are named column_1 to column_{n_columns}"
            ),
            Self::BlankLines { n: 1, first_line } => {
                write!(f, "line {first_line} is blank and counts as a row of missing cells")
            }
            Self::BlankLines { n, first_line } => write!(
                f,
                "{n} lines are blank (line {first_line} is the first) and count as rows of missing cells"
            ),
            Self::InstanceWeights => f.write_str("the rows' instance weights were left out"),
            Self::RoundedIntegers { column } => write!(
                f,
                "column {column:?} holds integers beyond 2^53, which were rounded to the nearest double"
            ),
            Self::LeadingZeros { column } => write!(
                f,
                "column {column:?} is written with leading zeros but was read as numbers; if they are \
                 codes, pass --categorical {}",
                shell_word(column)
            ),
            Self::LeftOut { column, reason } => {
                write!(f, "column {column:?} is left out: {reason}")?;
                match reason.can_be_included() {
                    true => write!(f, "; --include {} takes it in", shell_word(column)),
                    false => Ok(()),
                }
            }
            Self::ReadAs { column, what, example, value, is_guess } => {
                let doubt = match is_guess {
                    true => {
                        ", a guess: every cell could be day first as well; if it is wrong, write year-month-day"
                    }
                    false => "",
                };
                write!(f, "column {column:?} is read as {what}: {example:?} is {value}{doubt}")?;
                write!(f, "; --categorical {} keeps it as text", shell_word(column))
            }
            Self::OddCells { column, what, n_odd, n_present, value, row } => write!(
                f,
                "column {column:?} is read as {what}, but {n_odd} of its {n_present} cells are none, such as \
                 {value:?} (row {row}), and count as missing"
            ),
            Self::FreeText { column, n_groups } => write!(
                f,
                "column {column:?} is free text: what is learnt from is its length, its number of words and \
                 {n_groups} groups of words; --exclude {} leaves it out",
                shell_word(column)
            ),
            Self::Unreadable { column, data_type } => {
                write!(
                    f,
                    "column {column:?} is left out: it is of type {data_type}, which is not read"
                )
            }
            Self::TellingColumn { column, n_right, n_rows } => write!(
                f,
                "column {column:?} alone says the class of {n_right} of {n_rows} rows; if it is not known when \
                 you predict, pass --exclude {}",
                shell_word(column)
            ),
            Self::SimilarClasses { target, classes } => write!(
                f,
                "in the target {target:?} {} are different classes; if they are one, write them alike",
                shortened(classes, |class| format!("{class:?}"), "class")
            ),
            Self::Contradictions { n_contradicting, n_rows } => write!(
                f,
                "{n_contradicting} of {n_rows} rows are equal to a row of another class in every column that is learnt \
                 from, so no model can be right about all of them"
            ),
            Self::RareLevels { column, n_distinct, n_merged } => write!(
                f,
                "column {column:?} has {n_distinct} different texts; the {n_merged} rarest count as one, {:?}",
                crate::OTHER_LEVEL
            ),
            Self::StrayText { column, n_numbers, n_present, value, row } => write!(
                f,
                "column {column:?} is taken as text: {n_numbers} of its {n_present} cells are numbers, but \
                 not {value:?} (row {row}); correct it, or name the signs for missing cells with --missing"
            ),
            Self::PossibleCodes { columns } => {
                let (verb, which) = match columns.len() {
                    1 => ("holds", "if they are codes of categories"),
                    _ => ("hold", "where they are codes of categories"),
                };
                let names = shortened(columns, |name| named(name), "column");
                write!(
                    f,
                    "{names} {verb} few different whole numbers, taken as numbers; {which}, pass --categorical"
                )
            }
            Self::RowsWithoutTarget { target, n_left_out, n_rows, first_rows, words } => {
                let rows: Vec<String> = first_rows.iter().map(usize::to_string).collect();
                let noun = if *n_left_out == 1 { "row" } else { "rows" };
                let more = if first_rows.len() < *n_left_out { ", …" } else { "" };
                write!(
                    f,
                    "left out {n_left_out} of {n_rows} rows without a value in {target:?} ({noun} {}{more})",
                    rows.join(", ")
                )?;
                write_words(f, words)
            }
            Self::MergedClasses { target, kept, merged } => {
                let merged = shortened(merged, |m| format!("{m:?}"), "spelling");
                write!(
                    f,
                    "in the target {target:?} {merged} and {kept:?} are one number and so one class, \
                     {kept:?}; if not, pass --categorical {}",
                    shell_word(target)
                )
            }
            Self::UnusedClasses { classes } => {
                write!(
                    f,
                    "no row has the declared class {}",
                    shortened(classes, |name| named(name), "class")
                )
            }
            Self::RareClasses { classes, needed } => {
                let counted = |(class, n): &(String, usize)| format!("{class:?} ({n})");
                write!(
                    f,
                    "classes with fewer than {needed} rows can hardly be learnt or measured: {}",
                    shortened(classes, counted, "class")
                )
            }
            Self::NothingToLearnFrom => f.write_str("no column is left to learn from"),
            Self::ExtraColumns { columns } => match columns.as_slice() {
                [column] => write!(f, "column {column:?} was not there in training and is ignored"),
                _ => write!(
                    f,
                    "columns {} were not there in training and are ignored",
                    shortened(columns, |c| format!("{c:?}"), "column")
                ),
            },
            Self::UnseenCategories { column, texts, n_distinct, n_unseen, n_rows } => {
                let shown: Vec<String> = texts.iter().map(|t| format!("{t:?}")).collect();
                let more = if *n_distinct > texts.len() { ", …" } else { "" };
                write!(
                    f,
                    "column {column:?} holds categories never met in training: {}{more} ({n_unseen} of \
                     {n_rows} rows)",
                    shown.join(", ")
                )
            }
        }
    }
}

/// What the cells without a class say, and how to make a word among them a class.
fn write_words(f: &mut fmt::Formatter<'_>, words: &[(String, usize)]) -> fmt::Result {
    const SHOWN: usize = 5;
    let spoken: Vec<&(String, usize)> = words.iter().filter(|(word, _)| !word.is_empty()).collect();
    let Some((first, _)) = spoken.first() else { return Ok(()) };
    let said = |(word, n): &(String, usize)| match word.is_empty() {
        true => format!("{n} empty"),
        false => format!("{n} {word:?}"),
    };
    let said: Vec<String> = words.iter().take(SHOWN).map(said).collect();
    write!(
        f,
        ": {}; if {first:?} is a class, pass --no-usual-missing, and --missing for what is none",
        said.join(", ")
    )
}

/// The first few, and how many more there are of what they are.
fn shortened<T>(items: &[T], show: impl Fn(&T) -> String, noun: &str) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = items.iter().take(SHOWN).map(show).collect();
    let shown = shown.join(", ");
    let plural = if noun.ends_with('s') { "es" } else { "s" };
    match items.len().saturating_sub(SHOWN) {
        0 => shown,
        1 => format!("{shown} and 1 more {noun}"),
        more => format!("{shown} and {more} more {noun}{plural}"),
    }
}
