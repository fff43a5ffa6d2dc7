//! `pitchpipe report`: a model as a page to look at.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use pitchpipe_automl::Model;
use pitchpipe_report::ReportData;
use pitchpipe_table::{CancelCheck, Source, write_atomically};

use crate::Done;
use crate::failure::Failure;
use crate::model_table::{AsText, labelled, load, read_for, schema_of};
use crate::notes::Voice;
use crate::output::{self, ForceArgs, Product};
use crate::replay::{self, ReplayArgs};
use crate::table_args::ReadingArgs;
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
  pitchpipe report model.pp --table holdout.csv --out model.html
  pitchpipe fit table.csv --target y --out model.pp --json > run.jsonl
  pitchpipe report --live run.jsonl")]
pub(crate) struct ReportArgs {
    /// The model that `pitchpipe fit` wrote
    #[arg(required_unless_present = "live")]
    model: Option<PathBuf>,

    /// A table with the target that the model was not fitted on
    #[arg(long, value_name = "TABLE", conflicts_with = "live")]
    table: Option<PathBuf>,

    /// Where to write the page
    #[arg(long, value_name = "FILE", default_value = "report.html", conflicts_with = "live")]
    out: PathBuf,

    #[command(flatten)]
    replay: ReplayArgs,

    #[command(flatten)]
    force: ForceArgs,

    #[command(flatten)]
    reading: ReadingArgs,
}

pub(crate) fn run(args: &ReportArgs) -> Result<Done, Failure> {
    let model = args.model.as_deref();
    match (&args.replay.live, model) {
        (Some(events), model) => replay::run(events, &args.replay, model),
        (None, Some(model)) => write(args, model),
        (None, None) => unreachable!("the command line asks for one of them"),
    }
}

fn write(args: &ReportArgs, file: &Path) -> Result<Done, Failure> {
    let inputs: Vec<&Path> = [Some(file), args.table.as_deref()].into_iter().flatten().collect();
    output::check(&args.out, &inputs, Product::Report, args.force)?;
    let model = load(file)?;
    let mut data = data_of(&model, file);
    if args.table.is_some() {
        data = with_table(data, &model, args)?;
    }
    let page = data.to_html();
    write_atomically(&args.out, page.as_bytes())?;
    Ok(Done::saved(told(args, &model, page.len() as u64)))
}

/// What is known of a model by itself.
pub(crate) fn data_of<'a>(model: &'a Model, file: &Path) -> ReportData<'a> {
    let n_bytes = fs::metadata(file).ok().map(|facts| facts.len());
    ReportData::of(model, &file.display().to_string(), n_bytes)
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
    let rows = labelled(schema, &file, table, Voice::default())?.rows;
    data.on_table(model, &file, &rows.dataset, rows.n_left_out)
        .map_err(|error| Failure::of_prediction(&file, &error))
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
