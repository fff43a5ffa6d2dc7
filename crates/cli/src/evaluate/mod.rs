//! `pitchpipe evaluate`: how good a model is on a table with the target.

mod text;

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pitchpipe_automl::{Evaluation, Predictions};
use pitchpipe_table::{CancelCheck, Decision, Metric, Source};
use serde::Serialize;

use crate::decision::DecisionArg;
use crate::failure::Failure;
use crate::model_table::{AsText, Labelled, labelled, load, matched, read_for, schema_of};
use crate::notes::{Remark, Voice};
use crate::table_args::ReadingArgs;
use crate::threads::ThreadsArg;

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

    /// How probabilities become labels
    #[arg(long, value_enum, default_value_t)]
    decision: DecisionArg,

    /// Print one JSON object instead of text (docs/json.md)
    #[arg(long)]
    json: bool,

    /// Say nothing but the result, warnings and errors
    #[arg(long)]
    quiet: bool,

    #[command(flatten)]
    threads: ThreadsArg,

    #[command(flatten)]
    reading: ReadingArgs,
}

/// What a model is worth on a table.
#[derive(Serialize)]
struct Evaluated<'a> {
    model: &'a str,
    file: &'a str,
    /// How many rows had no class, or one that the model does not know.
    n_rows_left_out: usize,
    decision: Decision,
    #[serde(flatten)]
    evaluation: Evaluation,
    notes: Vec<Remark>,
    #[serde(skip)]
    optimised: Metric,
}

pub(crate) fn run(args: &EvaluateArgs) -> Result<String, Failure> {
    args.threads.run(|| evaluate(args))
}

fn evaluate(args: &EvaluateArgs) -> Result<String, Failure> {
    let model = load(&args.model)?;
    let schema = schema_of(&model)?;
    let file = Source::from_argument(&args.file).name();
    let table = read_for(schema, &args.file, &args.reading, AsText::NONE, &CancelCheck::never())?;
    let Labelled { rows, remarks } = match args.json {
        // They are in the object.
        true => matched(schema, &file, table)?,
        false => labelled(schema, &file, table, Voice::text(args.quiet))?,
    };
    let unable = |error| Failure::of_prediction(&file, &error);
    let Predictions { probabilities, .. } = model.predict(rows.dataset.frame()).map_err(unable)?;
    let decision = args.decision.of(&model);
    let labels = model.decide(decision, &probabilities);
    let evaluated = Evaluated {
        model: &args.model.display().to_string(),
        file: &file,
        n_rows_left_out: rows.n_left_out,
        decision,
        evaluation: model.evaluation(rows.dataset.labels(), &labels, probabilities.values()),
        notes: remarks,
        optimised: model.report().metric,
    };
    Ok(match args.json {
        true => serde_json::to_string(&evaluated).expect("an evaluation is plain data") + "\n",
        false => text::of(&evaluated),
    })
}
