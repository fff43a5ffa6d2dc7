//! `pitchpipe predict`: the class of each row of a table.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pitchpipe_automl::{Model, Predictions};
use pitchpipe_table::{
    CancelCheck, OutputCells, OutputColumn, OutputFormat, Source, check_writable, write_atomically,
};

use crate::failure::Failure;
use crate::model_table::{load, read_for, schema_of, warn};
use crate::table_args::ReadingArgs;
use crate::text::counted;

/// Predict the class of each row of a table.
///
/// Columns are found by name, in whatever order; the target need not be there, and more columns than the model
/// knows are ignored. Rows keep their order.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe predict model.pp new.csv
  pitchpipe predict model.pp new.csv --proba --out predictions.parquet
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

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

pub(crate) fn run(args: &PredictArgs) -> Result<String, Failure> {
    // What is wrong with the output is said before the work, not after it.
    let out = args.out.as_ref().filter(|out| out.as_os_str() != "-");
    let format = out.map_or(Ok(OutputFormat::Csv), |out| OutputFormat::of_path(out))?;
    if let Some(out) = out {
        check_writable(out)?;
    }
    let model = load(&args.model)?;
    let schema = schema_of(&model)?;
    let file = Source::from_argument(&args.file).name();
    let missing = model.missing_cells();
    let table = read_for(schema, &args.file, &args.reading, missing, &CancelCheck::never())?;
    let answer =
        model.predict_table(table).map_err(|error| Failure::of_prediction(&file, &error))?;
    warn(&file, &answer.notes);
    let columns = columns(&model, answer.predictions, args.proba);
    let n_rows = columns[0].cells.len();
    let bytes = format.encode(&columns)?;
    match out {
        None => crate::print(&bytes).map(|()| String::new()),
        Some(out) => {
            write_atomically(out, &bytes)?;
            Ok(format!("{}: {} predicted\n", out.display(), counted(n_rows, "row")))
        }
    }
}

fn columns(model: &Model, predictions: Predictions, proba: bool) -> Vec<OutputColumn> {
    let classes = model.class_names().expect("a model with a schema names its classes");
    let Predictions { labels, probabilities, .. } = predictions;
    let cells = OutputCells::Text { codes: labels.codes().to_vec(), texts: classes.to_vec() };
    let mut columns = vec![OutputColumn { name: "prediction".to_owned(), cells }];
    if proba {
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
