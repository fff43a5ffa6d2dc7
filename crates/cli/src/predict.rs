//! `pitchpipe predict`: the class of each row of a table.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use pitchpipe_automl::{Model, Predictions};
use pitchpipe_table::{
    CancelCheck, Cells, OutputCells, OutputColumn, OutputFormat, RawColumn, RawTable, Source,
    check_writable, write_atomically,
};

use crate::Done;
use crate::console::print;
use crate::decision::DecisionArg;
use crate::failure::Failure;
use crate::model_table::{AsText, load, read_from, schema_of};
use crate::notes::{Voice, tell};
use crate::output::check_is_no_input;
use crate::table_args::ReadingArgs;
use crate::text::counted;
use crate::threads::ThreadsArg;

/// Predict the class of each row of a table.
///
/// Columns are found by name, in whatever order; the target need not be there, and more columns than the model
/// knows are ignored. Rows keep their order: one row out for each row in.
///
/// The label is the class that the model's rule decides on given the probabilities, and that need not be the most
/// probable one. A model made for balanced error, the default, makes rare classes count as much as common ones: of a class
/// that 1 % of the training rows have, a probability of 3 % is three times what was to be expected, and may win.
/// pitchpipe inspect names the model's rule; --decision chooses another.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe predict model.pp new.csv
  pitchpipe predict model.pp new.csv --keep id --proba --out predictions.parquet
  pitchpipe predict model.pp new.csv --decision most-probable
  cat new.csv | pitchpipe predict model.pp - > predictions.csv")]
pub(crate) struct PredictArgs {
    /// The model that `pitchpipe fit` wrote
    pub(crate) model: PathBuf,

    /// The table: CSV, TSV, ARFF, Parquet or Arrow, text also as .gz or .zst; `-` is standard input
    pub(crate) file: PathBuf,

    /// Where to write the predictions: .csv, .tsv, .parquet or .arrow; CSV to standard output if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Add a column for each class with its probability
    #[arg(long)]
    pub(crate) proba: bool,

    /// A column of the table to copy beside the predictions, such as an id; can be repeated; `all` copies all of them
    #[arg(long, value_name = "COLUMN")]
    keep: Vec<String>,

    /// How probabilities become labels
    #[arg(long, value_enum, default_value_t)]
    decision: DecisionArg,

    /// Say nothing but warnings and errors
    #[arg(long)]
    quiet: bool,

    #[command(flatten)]
    pub(crate) threads: ThreadsArg,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// What stands for all columns.
const ALL: &str = "all";

pub(crate) fn run(args: &PredictArgs) -> Result<Done, Failure> {
    args.threads.run(|| predict(args))
}

fn predict(args: &PredictArgs) -> Result<Done, Failure> {
    // What is wrong with the output is said before the work, not after it.
    let out = args.out.as_ref().filter(|out| out.as_os_str() != "-");
    let format = out.map_or(Ok(OutputFormat::Csv), |out| OutputFormat::of_path(out))?;
    if let Some(out) = out {
        check_is_no_input(out, &[&args.model, &args.file])?;
        check_writable(out)?;
    }
    let model = load(&args.model)?;
    let schema = schema_of(&model)?;
    let file = Source::from_argument(&args.file).name();
    // What is copied is copied as it is written.
    let as_text = match args.keep.iter().any(|name| name == ALL) {
        true => AsText::All,
        false => AsText::These(&args.keep),
    };
    let cancel = CancelCheck::never();
    let source = Source::from_argument(&args.file);
    let source = source.kept()?;
    // A format with types has numbers where the table has them.
    let has_types = matches!(format, OutputFormat::Parquet | OutputFormat::Arrow);
    let numeric = match has_types && !args.keep.is_empty() {
        true => numbers(&read_from(schema, &source, &args.reading, AsText::NONE, &cancel)?),
        false => HashSet::new(),
    };
    let table = read_from(schema, &source, &args.reading, as_text, &cancel)?;
    let mut columns = kept(args, &table, &numeric, &file)?;
    let answer =
        model.predict_table(table).map_err(|error| Failure::of_prediction(&file, &error))?;
    tell(Voice::text(args.quiet), &file, &answer.notes);
    columns.extend(predicted(&model, answer.predictions, args));
    if let Some(name) = repeated(&columns) {
        return Err(Failure::with_help(
            format!("{file} has a column {name:?}, as the predictions have"),
            "leave it out of --keep, or rename it".to_owned(),
        ));
    }
    let n_rows = columns[0].cells.len();
    let bytes = format.encode(&columns)?;
    match out {
        None => print(&bytes).map(|()| Done::printed(String::new())),
        Some(out) => {
            write_atomically(out, &bytes)?;
            let n_rows = counted(n_rows, "row");
            let said = format!("{}: {n_rows} predicted\n", out.display());
            Ok(Done::saved(if args.quiet { String::new() } else { said }))
        }
    }
}

/// The names of a table's columns of numbers.
fn numbers(table: &RawTable) -> HashSet<String> {
    let is_numeric = |column: &&RawColumn| matches!(column.cells, Cells::Numbers { .. });
    table.columns.iter().filter(is_numeric).map(|column| column.name.clone()).collect()
}

/// The columns of the table that are copied.
fn kept(
    args: &PredictArgs,
    table: &RawTable,
    numeric: &HashSet<String>,
    file: &str,
) -> Result<Vec<OutputColumn>, Failure> {
    let is_all = args.keep.iter().any(|name| name == ALL);
    let has = |name: &&String| table.columns.iter().any(|column| column.name == **name);
    if let Some(name) = args.keep.iter().filter(|_| !is_all).find(|name| !has(name)) {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        return Err(Failure::with_help(
            format!("{file} has no column {name:?} to keep"),
            format!("its columns are {}", names.join(", ")),
        ));
    }
    let is_kept = |name: &String| is_all || args.keep.contains(name);
    let columns = table.columns.iter().filter(|column| is_kept(&column.name));
    Ok(columns
        .map(|column| OutputColumn {
            name: column.name.clone(),
            cells: match OutputCells::from(column.cells.clone()) {
                OutputCells::Text { codes, texts } if numeric.contains(&column.name) => {
                    OutputCells::Written { codes, texts }
                }
                cells => cells,
            },
        })
        .collect())
}

fn repeated(columns: &[OutputColumn]) -> Option<&str> {
    let mut seen = HashSet::new();
    columns.iter().map(|column| column.name.as_str()).find(|name| !seen.insert(*name))
}

fn predicted(model: &Model, predictions: Predictions, args: &PredictArgs) -> Vec<OutputColumn> {
    let classes = model.class_names().expect("a model with a schema names its classes");
    let Predictions { probabilities, .. } = predictions;
    let labels = model.decide(args.decision.of(model), &probabilities);
    let cells = OutputCells::Text { codes: labels.codes().to_vec(), texts: classes.to_vec() };
    let mut columns = vec![OutputColumn { name: "prediction".to_owned(), cells }];
    if args.proba {
        let n_classes = classes.len();
        columns.extend(classes.iter().enumerate().map(|(k, class)| {
            let values = probabilities.values().iter().skip(k).step_by(n_classes).copied();
            OutputColumn {
                name: format!("probability_{class}"),
                cells: OutputCells::Numbers(values.collect()),
            }
        }));
    }
    columns
}
