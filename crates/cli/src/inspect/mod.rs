//! `pitchpipe inspect`: what is inside a model.

mod chart;
mod importance;
mod json;
mod text;

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::failure::Failure;
use crate::model_table::load;
use crate::table_args::ReadingArgs;
use crate::threads::ThreadsArg;
pub use json::schema_json;
pub(crate) use text::ensemble_lines;

/// Say what is inside a model: its pipelines and their weights, what else was tried, the columns it expects.
///
/// With --table also how much each column matters: by how much the error grows when the column's cells change places.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe inspect model.pp
  pitchpipe inspect model.pp --table test.csv
  pitchpipe inspect model.pp --speed
  pitchpipe inspect model.pp --json")]
pub(crate) struct InspectArgs {
    /// The model that `pitchpipe fit` wrote
    model: PathBuf,

    /// A table with the target, to measure how much each column matters
    #[arg(long, value_name = "TABLE")]
    table: Option<PathBuf>,

    /// Measure how long predictions take on this machine, base learner by base learner
    #[arg(long)]
    speed: bool,

    /// How many candidates to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    threads: ThreadsArg,

    #[command(flatten)]
    reading: ReadingArgs,
}

pub(crate) fn run(args: &InspectArgs) -> Result<String, Failure> {
    args.threads.run(|| inspect(args))
}

fn inspect(args: &InspectArgs) -> Result<String, Failure> {
    let model = load(&args.model)?;
    let importances = match &args.table {
        Some(table) => Some(importance::measure(&model, table, &args.reading)?),
        None => None,
    };
    let speed = args.speed.then(|| model.speed()).transpose();
    let speed =
        speed.map_err(|error| Failure::new(format!("{}: {error}", args.model.display())))?;
    let file = args.model.display().to_string();
    let importances = importances.as_deref();
    if args.json {
        return Ok(json::of(&file, &model, importances, speed.as_ref()));
    }
    let mut text = text::of(&file, &model, importances, args.top);
    text.extend(speed.map(|speed| format!("\n{}", text::speed_lines(&model, &speed))));
    let drawn = model.history().zip(chart::terminal_width());
    Ok(match drawn.and_then(|(history, width)| chart::of(history, width)) {
        Some(chart) => format!("{text}\n{chart}"),
        None => text,
    })
}
