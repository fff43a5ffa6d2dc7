//! What a command line says about a table: how to read it, and what its columns are.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use pitchpipe_table::{Format, Limits, ReadOptions, SchemaOptions, Source};

use crate::values::size;

/// A table and what its columns are; whatever is not said is detected.
#[derive(Debug, ClapArgs)]
pub(crate) struct TableArgs {
    /// The table: CSV, TSV, ARFF, Parquet or Arrow, text also as .gz or .zst; `-` is standard input
    pub(crate) file: PathBuf,

    #[command(flatten)]
    columns: ColumnArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// What the columns are.
#[derive(Debug, ClapArgs)]
struct ColumnArgs {
    /// A column to leave out; can be repeated
    #[arg(long, value_name = "COLUMN")]
    exclude: Vec<String>,

    /// A column to learn from although it would be left out, such as a number for each row; can be repeated
    #[arg(long, value_name = "COLUMN")]
    include: Vec<String>,

    /// A column of categories, even if they are numbers; can be repeated
    #[arg(long, value_name = "COLUMN")]
    categorical: Vec<String>,

    /// A column of numbers, even if they are declared as categories; can be repeated
    #[arg(long, value_name = "COLUMN")]
    numeric: Vec<String>,

    /// How many classes the target may have
    #[arg(long, value_name = "N", default_value_t = Limits::default().n_classes)]
    max_classes: usize,

    /// How many categories of a column are told apart; the rarest of more count as one
    #[arg(long, value_name = "N", default_value_t = Limits::default().n_levels, value_parser = levels)]
    max_levels: usize,
}

/// How to read a table.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ReadingArgs {
    /// A cell that stands for a missing value, besides the usual ones (CSV: empty, NA, NaN, null, None, ?);
    /// can be repeated
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    missing: Vec<String>,

    /// The usual signs for missing values are values: only empty cells and those of --missing are missing
    #[arg(long)]
    no_usual_missing: bool,

    /// The format, instead of the one that the contents suggest
    #[arg(long, value_enum)]
    format: Option<FormatArg>,

    /// What separates the cells of a text table: a character, or one of tab, comma, semicolon, pipe, space
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,

    /// The first row of a text table holds names, even if it does not look like it
    #[arg(long, conflicts_with = "no_header")]
    header: bool,

    /// The first row of a text table holds data, even if it looks like names
    #[arg(long)]
    no_header: bool,

    /// How many columns the table may have
    #[arg(long, value_name = "N", default_value_t = Limits::default().n_columns)]
    max_columns: usize,

    /// How long a row of a text table may be, at most 2GiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = row_size)]
    max_row: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArg {
    /// Delimited text: CSV, TSV and the like
    Csv,
    /// Weka's and OpenML's ARFF
    Arff,
    /// Apache Parquet
    Parquet,
    /// Arrow IPC, Feather
    Arrow,
}

impl TableArgs {
    pub(crate) fn source(&self) -> Source {
        Source::from_argument(&self.file)
    }

    pub(crate) fn read_options(&self, target: Option<&String>) -> ReadOptions {
        let options = self.reading.options(self.columns.categorical.clone());
        ReadOptions { target: target.cloned(), ..options }
    }

    pub(crate) fn schema_options(&self, target: Option<&String>) -> SchemaOptions {
        SchemaOptions {
            target: target.cloned(),
            exclude: self.columns.exclude.clone(),
            include: self.columns.include.clone(),
            categorical: self.columns.categorical.clone(),
            numeric: self.columns.numeric.clone(),
            limits: Limits {
                n_classes: self.columns.max_classes,
                n_levels: self.columns.max_levels,
                ..Limits::default()
            },
            ..SchemaOptions::default()
        }
    }
}

impl ReadingArgs {
    /// The options of a reader that takes these columns for text.
    pub(crate) fn options(&self, categorical: Vec<String>) -> ReadOptions {
        ReadOptions {
            format: self.format.map(|format| match format {
                FormatArg::Csv => Format::Csv,
                FormatArg::Arff => Format::Arff,
                FormatArg::Parquet => Format::Parquet,
                FormatArg::Arrow => Format::Arrow,
            }),
            missing: self.no_usual_missing.then(Vec::new),
            also_missing: self.missing.clone(),
            delimiter: self.delimiter,
            header: (self.header || self.no_header).then_some(self.header),
            categorical,
            limits: Limits {
                n_columns: self.max_columns,
                row_bytes: self.max_row,
                ..Limits::default()
            },
            ..ReadOptions::default()
        }
    }
}

fn levels(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 2..=1_000_000) => Ok(n),
        _ => Err("it must be a number from 2 to 1000000".to_owned()),
    }
}

fn row_size(text: &str) -> Result<usize, String> {
    match usize::try_from(size(text)?) {
        Ok(bytes) if bytes <= Limits::MOST_ROW_BYTES => Ok(bytes),
        _ => Err("no row can be longer than 2GiB".to_owned()),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "comma" => Ok(b','),
        "semicolon" => Ok(b';'),
        "pipe" => Ok(b'|'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [b'"' | b'\n' | b'\r'] => Err("quotes and line ends cannot separate cells".to_owned()),
            [byte] if byte.is_ascii() => Ok(*byte),
            _ => Err("it must be one ASCII character, or tab, comma, semicolon, pipe or space"
                .to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    #[test]
    fn delimiters_have_names() {
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert_eq!(delimiter("\\t"), Ok(b'\t'));
        assert_eq!(delimiter(";"), Ok(b';'));
        assert!(delimiter("").is_err() && delimiter("ab").is_err() && delimiter("é").is_err());
        assert!(delimiter("\"").is_err());
    }

    #[test]
    fn what_is_said_reaches_the_reader() {
        let line = "pitchpipe describe - --missing -99 --missing x --no-usual-missing --no-header \
                    --delimiter pipe --format csv --categorical a";
        let args = Args::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Describe(args) = args.command else { panic!("describe was said") };
        let options = args.table.read_options(None);
        assert_eq!(options.missing, Some(Vec::new()));
        assert_eq!(options.also_missing, ["-99", "x"]);
        assert_eq!((options.header, options.delimiter), (Some(false), Some(b'|')));
        assert_eq!(
            (options.format, options.categorical),
            (Some(Format::Csv), vec!["a".to_owned()])
        );
        assert_eq!(args.table.source(), Source::Stdin);
    }
}
