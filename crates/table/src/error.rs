//! What can be wrong with a table, in the words of the person who meets it.

use thiserror::Error;

/// Why a table could not be read or used.
///
/// Rows are counted from 1, header aside; lines are those of the file. [`TableError::help`] names the
/// next thing to try, where there is one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// There is nothing at the path.
    #[error("{file}: no such file")]
    NotFound {
        /// The path as given.
        file: String,
    },
    /// The path is a directory.
    #[error("{file} is a directory, not a table")]
    IsDirectory {
        /// The path as given.
        file: String,
    },
    /// The file may not be read.
    #[error("{file}: permission denied")]
    PermissionDenied {
        /// The path as given.
        file: String,
    },
    /// Reading failed for another reason.
    #[error("{file}: could not be read: {source}")]
    Io {
        /// The file's name.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// There are no bytes, or only blank lines.
    #[error("{file} is empty")]
    Empty {
        /// The file's name.
        file: String,
    },
    /// There are names but no rows.
    #[error("{file} has {n_columns} column{} but no rows", if *n_columns == 1 { "" } else { "s" })]
    NoRows {
        /// The file's name.
        file: String,
        /// How many columns are named.
        n_columns: usize,
    },
    /// Blank lines in succession would make too many empty cells.
    #[error("{file}: {n} blank lines in succession (from line {line}) are no rows of a table")]
    TooManyBlankLines {
        /// The file's name.
        file: String,
        /// The first of them.
        line: usize,
        /// How many there are.
        n: usize,
    },
    /// The file has rows but no columns.
    #[error("{file} has no columns")]
    NoColumns {
        /// The file's name.
        file: String,
    },
    /// A row has more or fewer cells than there are columns.
    #[error("{file}: row {row} (line {line}) has {got} cells, but there are {expected} columns")]
    RaggedRow {
        /// The file's name.
        file: String,
        /// The row.
        row: usize,
        /// The line it begins on.
        line: usize,
        /// How many columns the table has.
        expected: usize,
        /// How many cells the row has.
        got: usize,
    },
    /// A quote opens and never closes.
    #[error(
        "{file}: row {row} (line {line}), column {column:?}: a quote opens and is never closed"
    )]
    UnclosedQuote {
        /// The file's name.
        file: String,
        /// The row.
        row: usize,
        /// The line the row begins on.
        line: usize,
        /// The column's name.
        column: String,
    },
    /// A row takes more bytes than a row can.
    #[error("{file}: row {row} (line {line}) is longer than {limit} bytes")]
    RowTooLong {
        /// The file's name.
        file: String,
        /// The row.
        row: usize,
        /// The line it begins on.
        line: usize,
        /// The longest row that is read.
        limit: usize,
    },
    /// There are more columns than anybody has asked for.
    #[error("{file} has {n_columns} columns, and the limit is {limit}")]
    TooManyColumns {
        /// The file's name.
        file: String,
        /// How many there are; of a text table, in the first row.
        n_columns: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Two columns have one name.
    #[error("{file}: columns {first} and {second} are both named {column:?}")]
    DuplicateColumn {
        /// The file's name.
        file: String,
        /// The name.
        column: String,
        /// The position of the first, from 1.
        first: usize,
        /// The position of the second, from 1.
        second: usize,
    },
    /// A column was asked for that the table does not have.
    #[error("{file} has no column {column:?}")]
    NoSuchColumn {
        /// The file's name.
        file: String,
        /// The name asked for.
        column: String,
        /// A name in the table that is spelled much like it.
        similar: Option<String>,
    },
    /// One cell of a column of numbers is not a number.
    #[error(
        "{file}: column {column:?} holds {value:?} in row {row}, but its other cells are numbers"
    )]
    NotANumber {
        /// The file's name.
        file: String,
        /// The column's name.
        column: String,
        /// The row.
        row: usize,
        /// The cell.
        value: String,
    },
    /// A number is infinite, or too large for a double.
    #[error("{file}: column {column:?} holds {value:?} in row {row}, but numbers must be finite")]
    NotFinite {
        /// The file's name.
        file: String,
        /// The column's name.
        column: String,
        /// The row.
        row: usize,
        /// The cell.
        value: String,
    },
    /// A NUL byte in what should be text.
    #[error("{file}: line {line}, column {column} holds a NUL byte, so this is not text")]
    NulByte {
        /// The file's name.
        file: String,
        /// The line.
        line: usize,
        /// The column's position, from 1.
        column: usize,
    },
    /// The delimiter asked for cannot be one.
    #[error("{delimiter:?} cannot separate cells")]
    BadDelimiter {
        /// The delimiter.
        delimiter: char,
    },
    /// The bytes are not in the encoding they announce.
    #[error("{file} begins as {encoding}, but line {line} holds bytes that are not")]
    BadEncoding {
        /// The file's name.
        file: String,
        /// The encoding announced.
        encoding: &'static str,
        /// The line of the first bad bytes.
        line: usize,
    },
    /// The file ends before its contents do.
    #[error("{file} ends before its {format} data does")]
    Truncated {
        /// The file's name.
        file: String,
        /// The format it is in.
        format: &'static str,
    },
    /// The bytes break the rules of their format.
    #[error("{file} is damaged: its {format} data cannot be decoded ({reason})")]
    Corrupt {
        /// The file's name.
        file: String,
        /// The format it is in.
        format: &'static str,
        /// What the decoder said.
        reason: String,
    },
    /// Decompressing the file yields more than any table would.
    #[error("{file} grows beyond {limit} bytes when decompressed, from {compressed}")]
    TooLarge {
        /// The file's name.
        file: String,
        /// The size of the file.
        compressed: usize,
        /// The most that is accepted.
        limit: usize,
    },
    /// Delimited text and the cells read from it would take more memory than they may.
    #[error("{file} takes some {} MB of memory to be read, and {} MB are allowed", bytes.div_ceil(1_000_000), limit / 1_000_000)]
    BeyondMemory {
        /// The file's name.
        file: String,
        /// What it would take.
        bytes: u64,
        /// What it may.
        limit: u64,
    },
    /// The file is in a format that is not read.
    #[error("{file} is {format}, which is not read")]
    UnsupportedFormat {
        /// The file's name.
        file: String,
        /// What the file looks like, with its article.
        format: &'static str,
    },
    /// A column has a type that is neither numbers, text nor dates.
    #[error("{file}: column {column:?} is of type {kind}, which is not read")]
    UnsupportedType {
        /// The file's name.
        file: String,
        /// The column's name.
        column: String,
        /// The type, in its format's words.
        kind: String,
    },
    /// A line of an ARFF file does not follow the format.
    #[error("{file}: line {line}: expected {expected}, found {found:?}")]
    ArffSyntax {
        /// The file's name.
        file: String,
        /// The line.
        line: usize,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A cell is not among its column's declared values, or not of its declared type.
    #[error("{file}: column {column:?} holds {value:?} in row {row}, which is not {expected}")]
    BadCell {
        /// The file's name.
        file: String,
        /// The column's name.
        column: String,
        /// The row.
        row: usize,
        /// The cell.
        value: String,
        /// What the declaration asks for.
        expected: &'static str,
    },
    /// The caller's cancel check said to stop.
    #[error("reading was stopped")]
    Cancelled,
}

impl TableError {
    /// The next thing to try, if there is one.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { .. } => "check the path".into(),
            Self::IsDirectory { .. } => "name a file in it".into(),
            Self::PermissionDenied { .. } => "make the file readable, or copy it".into(),
            Self::Empty { .. } | Self::NoRows { .. } | Self::NoColumns { .. } => {
                "check that the export that wrote it was complete".into()
            }
            Self::TooManyBlankLines { .. } => "take them out of the file".into(),
            Self::RaggedRow { expected, got, .. } if *got == expected + 1 => {
                "correct the row, quote cells that hold the delimiter, or name the first column if \
                 the header leaves it out"
                    .into()
            }
            Self::RaggedRow { .. } => {
                "correct the row, or pass --delimiter if the wrong one was detected".into()
            }
            Self::UnclosedQuote { .. } => {
                "close the quote, or double it if it belongs to the cell".into()
            }
            Self::RowTooLong { limit, .. } => format!(
                "close a quote that opens there, or pass --max-row {}MB if rows are meant to be so long",
                limit.div_ceil(500_000)
            ),
            Self::TooManyColumns { n_columns, .. } => format!(
                "pass --delimiter if the wrong one was detected, or --max-columns {n_columns} if it is meant so"
            ),
            Self::DuplicateColumn { .. } => {
                "rename one of them, or pass --no-header if the first row is data".into()
            }
            Self::NoSuchColumn { similar, .. } => {
                format!("did you mean {:?}?", similar.as_ref()?)
            }
            Self::NotANumber { column, value, .. } => format!(
                "correct the cell, or pass --categorical {}, or --missing {} if it stands for a \
                 missing value",
                shell_word(column),
                shell_word(value)
            ),
            Self::NotFinite { value, .. } => {
                format!(
                    "correct the cell, or pass --missing {} to read it as missing",
                    shell_word(value)
                )
            }
            Self::BadDelimiter { .. } => {
                "pass a comma, semicolon, tab, pipe or another ASCII character".into()
            }
            Self::NulByte { .. } => "save the table as UTF-8 text, or as Parquet".into(),
            Self::BadEncoding { .. } => "save the table as UTF-8".into(),
            Self::Truncated { .. } | Self::Corrupt { .. } => {
                "copy or download the file again".into()
            }
            Self::TooLarge { .. } => "decompress it first, if it is meant to be so large".into(),
            Self::BeyondMemory { bytes, .. } => format!(
                "allow more (--memory {}MB leaves some for the search), or give it fewer rows or columns",
                (2 * bytes).div_ceil(1_000_000)
            ),
            Self::UnsupportedFormat { .. } => "save the table as CSV or Parquet".into(),
            Self::UnsupportedType { column, .. } => {
                format!("leave {column:?} out of the file, or turn it into plain columns")
            }
            Self::ArffSyntax { .. } => {
                "correct the line; names and values with spaces or commas need quotes".into()
            }
            Self::BadCell { .. } => "correct the cell, or the column's declaration".into(),
            Self::Io { .. } | Self::Cancelled => return None,
        })
    }
}

/// A name without quotes, its control characters shown rather than obeyed.
pub(crate) fn named(name: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    name.chars().map(shown).collect()
}

/// A word as one would type it in a shell.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+:,=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_word_among_numbers_is_explained() {
        let err = TableError::NotANumber {
            file: "churn.csv".into(),
            column: "age".into(),
            row: 18,
            value: "thirty".into(),
        };
        assert_eq!(
            err.to_string(),
            "churn.csv: column \"age\" holds \"thirty\" in row 18, but its other cells are numbers"
        );
        assert_eq!(
            err.help().unwrap(),
            "correct the cell, or pass --categorical age, or --missing thirty if it stands for a \
             missing value"
        );
    }

    #[test]
    fn words_are_quoted_for_the_shell_where_needed() {
        assert_eq!(shell_word("age"), "age");
        assert_eq!(shell_word("my age"), "'my age'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
