//! `pitchpipe report --live`: a recorded search as it went.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args as ClapArgs;
use pitchpipe_report::{Live, LivePage, Recorded};

use crate::Done;
use crate::console::say_line;
use crate::failure::Failure;
use crate::fit::{not_served, port};
use crate::model_table::load;
use crate::report::data_of;

/// How a recorded run is shown.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReplayArgs {
    /// Show a search again as it went, on a page whose address is said: EVENTS is what `pitchpipe fit --json` printed. At
    /// the end comes the report, where the model is given or is still where the run wrote it. Ctrl-C ends it
    #[arg(long, value_name = "EVENTS")]
    pub(crate) live: Option<PathBuf>,

    /// With --live: how many times as fast
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = speed, requires = "live")]
    speed: f64,

    /// With --live: the port of the page; any free one by default
    #[arg(long, value_name = "PORT", default_value = "0", value_parser = port, requires = "live")]
    port: u16,
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed > 0.0 && speed.is_finite() => Ok(speed),
        _ => Err("it must be a number above 0, such as 10".to_owned()),
    }
}

/// Serves the page until somebody ends it.
pub(crate) fn run(events: &Path, args: &ReplayArgs, model: Option<&Path>) -> Result<Done, Failure> {
    let name = events.display().to_string();
    let file = File::open(events).map_err(|e| Failure::new(format!("{name}: {e}")))?;
    let recorded = Recorded::read(BufReader::new(file)).map_err(|error| {
        Failure::with_help(
            format!("{name}: {error}"),
            "pitchpipe fit … --json > run.jsonl records one".to_owned(),
        )
    })?;
    let report = report(events, &recorded, model)?;
    let budget_secs = recorded.budget_secs.unwrap_or(60.0);
    let page = LivePage { title: name, budget_secs };
    let live = Live::of_recording(args.port, &page, recorded, args.speed, report)
        .map_err(|error| not_served(args.port, &error))?;
    say_line(format_args!("live: {} (Ctrl-C ends it)", live.url()));
    loop {
        thread::park();
    }
}

/// The report of the model that was given, or of the one that the run wrote if it is still there.
fn report(
    events: &Path,
    recorded: &Recorded,
    model: Option<&Path>,
) -> Result<Option<String>, Failure> {
    if let Some(file) = model {
        return Ok(Some(data_of(&load(file)?, file).to_html()));
    }
    let Some(out) = &recorded.model else { return Ok(None) };
    let beside = events.parent().unwrap_or(Path::new("")).join(out);
    let found = [PathBuf::from(out), beside].into_iter().find(|file| file.is_file());
    Ok(found.and_then(|file| Some(data_of(&load(&file).ok()?, &file).to_html())))
}
