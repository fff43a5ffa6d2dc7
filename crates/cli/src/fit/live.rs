//! The page that shows a search while it runs.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pitchpipe_automl::Event;
use pitchpipe_automl::online::has_addresses_for;
use pitchpipe_report::{Live, LivePage};

use super::FitArgs;
use super::progress::Reporter;
use crate::console::say_line;
use crate::failure::Failure;

/// How long pages that are open are waited for, so that they have the report before the command ends.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// What the stacks and heaps of the server's threads may take of the address space: it has no words for a thread that cannot
/// be had.
const SERVER_BYTES: u64 = 512 << 20;

/// Serves the page, if one is asked for, and says where it is.
pub(super) fn start(
    args: &FitArgs,
    started: Instant,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Live>, Failure> {
    let Some(port) = args.live else { return Ok(None) };
    if !has_addresses_for(SERVER_BYTES) {
        let message = "the limit on the address space (ulimit -v) leaves no room for a live page";
        return Err(Failure::with_help(
            message.to_owned(),
            "raise it, or leave out --live".to_owned(),
        ));
    }
    let page =
        LivePage { title: args.table.source().name(), budget_secs: args.time_budget.as_secs_f64() };
    let live = Live::of_search(port, &page, started, Arc::clone(stop))
        .map_err(|error| not_served(port, &error))?;
    say_line(format_args!("live: {}", live.url()));
    Ok(Some(live))
}

/// A port that cannot be had.
pub(crate) fn not_served(port: u16, error: &std::io::Error) -> Failure {
    let message = format!("port {port} of this machine cannot be listened at: {error}");
    match port {
        0 => Failure::new(message),
        _ => Failure::with_help(message, "leave the number out to take any free one".to_owned()),
    }
}

/// Tells everybody who listens to the search.
pub(super) fn tell(event: &Event, reporter: &Reporter, live: Option<&Live>) -> ControlFlow<()> {
    reporter.tell(event);
    if let Some(live) = live {
        live.tell(event);
    }
    ControlFlow::Continue(())
}
