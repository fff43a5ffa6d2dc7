//! `pitchpipe evaluate`: how good a model is on a table with the target.

mod text;

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pitchpipe_automl::Scores;
use pitchpipe_table::{CancelCheck, ConfusionMatrix, Source};
use serde_json::json;

use crate::failure::Failure;
use crate::model_table::{labelled, load, read_for, schema_of, warn};
use crate::table_args::ReadingArgs;

/// Measure a model on a table that has the target.
///
/// Prints the scores by all metrics, those of each class, and how often each class was taken for which.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe evaluate model.pp test.csv
  pitchpipe evaluate model.pp test.csv --json")]
pub(crate) struct EvaluateArgs {
    /// The model that `pitchpipe fit` wrote
    model: PathBuf,

    /// The table: CSV, TSV, ARFF, Parquet or Arrow, text also as .gz or .zst; `-` is standard input
    file: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    reading: ReadingArgs,
}

/// What a model is worth on a table.
struct Evaluation<'a> {
    model: &'a str,
    file: &'a str,
    optimised: pitchpipe_table::Metric,
    classes: &'a [String],
    scores: Scores,
    confusion: ConfusionMatrix,
}

pub(crate) fn run(args: &EvaluateArgs) -> Result<String, Failure> {
    let model = load(&args.model)?;
    let schema = schema_of(&model)?;
    let file = Source::from_argument(&args.file).name();
    let missing = model.missing_cells();
    let table = read_for(schema, &args.file, &args.reading, missing, &CancelCheck::never())?;
    let rows = labelled(schema, &file, table)?;
    warn(&file, &rows.notes);
    let predictions = model
        .predict(rows.dataset.frame())
        .map_err(|error| Failure::of_prediction(&file, &error))?;
    let (truth, labels) = (rows.dataset.labels(), &predictions.labels);
    let probabilities = predictions.probabilities.values();
    let evaluation = Evaluation {
        model: &args.model.display().to_string(),
        file: &file,
        optimised: model.report().metric,
        classes: &schema.target().expect("a model has a target").classes,
        scores: Scores::of(truth, labels, probabilities),
        confusion: ConfusionMatrix::new(truth, labels),
    };
    Ok(if args.json { as_json(&evaluation) } else { text::of(&evaluation) })
}

fn as_json(evaluation: &Evaluation<'_>) -> String {
    let confusion = &evaluation.confusion;
    let n = confusion.n_classes();
    let counts: Vec<Vec<usize>> =
        (0..n).map(|t| (0..n).map(|p| confusion.count(t, p)).collect()).collect();
    let object = json!({
        "model": evaluation.model,
        "file": evaluation.file,
        "rows": confusion.n_rows(),
        "scores": evaluation.scores,
        "classes": evaluation.classes,
        "confusion": counts,
    });
    format!("{object}\n")
}
