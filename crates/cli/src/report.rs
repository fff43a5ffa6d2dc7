//! `pitchpipe report`: a model as a page to look at.

use std::fs;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use pitchpipe_automl::{Curves, Model, OutOfFold, Predictions, explain};
use pitchpipe_report::{HeldOut, ReportData};
use pitchpipe_table::{CancelCheck, Source, write_atomically};

use crate::Done;
use crate::failure::Failure;
use crate::model_table::{AsText, labelled, load, read_for, schema_of};
use crate::output::{self, ForceArgs, Product};
use crate::table_args::ReadingArgs;
use crate::text::counted;
use crate::values::written_size;

/// Write a page about a model, to open in a browser.
///
/// One file that needs no network: the verdict, how the search went, the leaderboard, the ensemble, confusion, curves and
/// calibration, what was known beforehand, the data, and how to do it again. With --table also what the model is worth on
/// that table, how much each column matters there, and how predictions depend on the most important ones.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe report model.pp
  pitchpipe report model.pp --table holdout.csv --out model.html")]
pub(crate) struct ReportArgs {
    /// The model that `pitchpipe fit` wrote
    model: PathBuf,

    /// A table with the target that the model was not fitted on
    #[arg(long, value_name = "TABLE")]
    table: Option<PathBuf>,

    /// Where to write the page
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,

    #[command(flatten)]
    force: ForceArgs,

    #[command(flatten)]
    reading: ReadingArgs,
}

pub(crate) fn run(args: &ReportArgs) -> Result<Done, Failure> {
    let inputs = [Some(&args.model), args.table.as_ref()].into_iter().flatten();
    let inputs: Vec<_> = inputs.map(PathBuf::as_path).collect();
    output::check(&args.out, &inputs, Product::Report, args.force)?;
    let model = load(&args.model)?;
    let n_bytes = fs::metadata(&args.model).ok().map(|facts| facts.len());
    let mut data = ReportData::of(&model, &args.model.display().to_string(), n_bytes);
    if args.table.is_some() {
        data = with_table(data, &model, args)?;
    }
    let page = data.to_html();
    write_atomically(&args.out, page.as_bytes())?;
    Ok(Done::saved(told(args, &model, page.len() as u64)))
}

/// The same with what the model is worth on a table, and what it makes of the columns there.
fn with_table<'a>(
    data: ReportData<'a>,
    model: &'a Model,
    args: &ReportArgs,
) -> Result<ReportData<'a>, Failure> {
    let Some(path) = &args.table else { return Ok(data) };
    let schema = schema_of(model)?;
    let file = Source::from_argument(path).name();
    let table = read_for(schema, path, &args.reading, AsText::NONE, &CancelCheck::never())?;
    let rows = labelled(schema, &file, table)?;
    let unable = |error| Failure::of_prediction(&file, &error);
    let Predictions { labels, probabilities } =
        model.predict(rows.dataset.frame()).map_err(unable)?;
    let truth = rows.dataset.labels();
    let evaluation = model.evaluation(truth, &labels, probabilities.values());
    let predicted =
        OutOfFold { truth: truth.clone(), labels, probabilities: probabilities.values().to_vec() };
    let held_out = HeldOut {
        file: file.clone(),
        n_left_out: rows.n_left_out,
        evaluation,
        curves: Curves::of(&predicted, model.decision(), model.priors()),
    };
    let data = data.with_held_out(held_out);
    Ok(match explain(model, &rows.dataset, None).map_err(unable)? {
        Some(explanation) => {
            let on = format!("{} of {file}", counted(explanation.n_rows, "row"));
            data.with_explanation(explanation, on)
        }
        None => data,
    })
}

fn told(args: &ReportArgs, model: &Model, n_bytes: u64) -> String {
    let mut text =
        format!("{}: {}, open it in a browser\n", args.out.display(), written_size(n_bytes));
    text += &match model.history_bytes() {
        Some(history) => format!("its history takes {} of the model file\n", written_size(history)),
        None => {
            "the model keeps no history, so that the page has no search, curves and data to show\n"
                .to_owned()
        }
    };
    text
}
