//! The command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use pitchpipe_table::{Format, ReadOptions, SchemaOptions, Source};

use crate::meta::MetaArgs;

/// AutoML within a time budget.
#[derive(Debug, Parser)]
#[command(name = "pitchpipe", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Describe(DescribeArgs),
    Meta(MetaArgs),
}

/// Say what a table holds, before anything is learnt from it.
///
/// Shows what was read and how it was understood: each column's kind, its missing cells, the classes of the
/// target, and the columns that training would leave out, with the reason.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe describe penguins.csv
  pitchpipe describe penguins.csv --target species
  pitchpipe describe survey.csv --target answer --categorical region --missing -99
  pitchpipe describe measurements.parquet --json
  curl -s https://example.org/data.csv | pitchpipe describe -

What to look for: codes that are taken for numbers (--categorical), a sign for missing cells that is
taken for a value (--missing), a column that gives the answer away (--exclude).")]
pub(crate) struct DescribeArgs {
    /// The column to predict: its classes are counted
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to read a table and what its columns are; whatever is not said is detected.
#[derive(Debug, ClapArgs)]
pub(crate) struct TableArgs {
    /// The table: CSV, TSV, ARFF, Parquet or Arrow, text also as .gz or .zst; `-` is standard input
    pub(crate) file: PathBuf,

    /// A column to leave out; can be repeated
    #[arg(long, value_name = "COLUMN")]
    exclude: Vec<String>,

    /// A column of categories, even if they are numbers; can be repeated
    #[arg(long, value_name = "COLUMN")]
    categorical: Vec<String>,

    /// A column of numbers, even if they are declared as categories; can be repeated
    #[arg(long, value_name = "COLUMN")]
    numeric: Vec<String>,

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

    pub(crate) fn read_options(&self) -> ReadOptions {
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
            categorical: self.categorical.clone(),
        }
    }

    pub(crate) fn schema_options(&self, target: Option<&String>) -> SchemaOptions {
        SchemaOptions {
            target: target.cloned(),
            exclude: self.exclude.clone(),
            categorical: self.categorical.clone(),
            numeric: self.numeric.clone(),
        }
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

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
        let options = args.table.read_options();
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
