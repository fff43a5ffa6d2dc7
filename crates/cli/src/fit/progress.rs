//! What is seen while a search runs: a live line, plain lines where nobody watches, or JSON.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use pitchpipe_automl::{Event, Happened, Pipeline};
use pitchpipe_table::Metric;

use super::FitArgs;
use crate::console::{print_event, say_line};
use crate::text::{counted, shown};
use crate::values::written_duration;

/// Where progress goes.
enum Channel {
    Nowhere,
    /// One line that is written over.
    Live(ProgressBar),
    /// A line now and then.
    Plain,
    /// A line an event.
    Json,
}

/// Tells the user what a search tells us.
pub(super) struct Reporter {
    channel: Channel,
    budget: Duration,
    started: Instant,
    interrupted: Arc<AtomicBool>,
    state: Mutex<State>,
}

/// What is known so far.
#[derive(Default)]
struct State {
    n_evaluated: usize,
    best_error: Option<f64>,
    ensemble_error: Option<f64>,
    running: String,
    rows: Option<(usize, usize)>,
    measure: &'static str,
    n_failed: usize,
    first_failure: Option<(String, String)>,
    last_line: Option<Instant>,
    has_said_goodbye: bool,
}

/// Plain lines come no oftener than this.
const BETWEEN_LINES: Duration = Duration::from_secs(2);

impl Reporter {
    pub(super) fn new(args: &FitArgs, started: Instant, interrupted: Arc<AtomicBool>) -> Self {
        let channel = match (args.json, args.quiet) {
            (true, _) => Channel::Json,
            (_, true) => Channel::Nowhere,
            _ if std::io::stderr().is_terminal() => {
                Channel::Live(live_line(args.time_budget, started))
            }
            _ => Channel::Plain,
        };
        let (budget, state) = (args.time_budget, Mutex::default());
        Self { channel, budget, started, interrupted, state }
    }

    pub(super) fn tell(&self, event: &Event) {
        let mut state = self.state.lock().expect("nobody panics while holding it");
        state.note(event);
        match &self.channel {
            Channel::Nowhere => (),
            Channel::Json => print_event(event),
            Channel::Live(bar) => {
                bar.set_message(state.line());
                if self.interrupted.load(Ordering::Relaxed) && !state.has_said_goodbye {
                    state.has_said_goodbye = true;
                    bar.println("ending the search; Ctrl-C again quits at once");
                }
            }
            Channel::Plain => self.tell_plainly(event, &mut state),
        }
    }

    fn tell_plainly(&self, event: &Event, state: &mut State) {
        let is_due = state.last_line.is_none_or(|last| last.elapsed() >= BETWEEN_LINES);
        let is_last = matches!(event.what, Happened::Assembling);
        if is_last || (is_due && matches!(event.what, Happened::Finished { .. })) {
            let elapsed = self.started.elapsed().as_secs_f64();
            let budget = written_duration(self.budget);
            say_line(format_args!("{elapsed:.1}s of {budget}: {}", state.facts()));
            state.last_line = Some(Instant::now());
        }
    }

    /// How many pipelines failed, and what the first one said.
    pub(super) fn failures(&self) -> Option<String> {
        let state = self.state.lock().expect("nobody panics while holding it");
        let (pipeline, reason) = state.first_failure.as_ref()?;
        let failed = counted(state.n_failed, "pipeline");
        Some(format!("{failed} failed; the first, {pipeline}, said: {reason}"))
    }

    /// The search is over: the line goes.
    pub(super) fn close(&self) {
        if let Channel::Live(bar) = &self.channel {
            bar.finish_and_clear();
        }
    }
}

impl State {
    fn note(&mut self, event: &Event) {
        match &event.what {
            Happened::Started { pipelines } => self.running = shown(&in_words(pipelines), 60),
            Happened::Level { n_rows, of } => self.rows = Some((*n_rows, *of)),
            Happened::Confirming { round, pipelines, .. } => {
                let n = pipelines.len();
                self.running = format!("validating the best {n} again, round {round}");
            }
            Happened::Finished { n_evaluated, best_error, ensemble_error, .. } => {
                self.n_evaluated = *n_evaluated;
                self.best_error = Some(*best_error);
                self.ensemble_error = ensemble_error.or(self.ensemble_error);
            }
            Happened::EnsembleChanged { error, .. } => self.ensemble_error = Some(*error),
            Happened::Begun { metric, .. } => self.measure = error_in_words(*metric),
            Happened::Failed { pipeline, reason } => {
                self.n_failed += 1;
                self.first_failure.get_or_insert_with(|| (pipeline.to_string(), reason.clone()));
            }
            Happened::Assembling => self.running = "putting the model together".to_owned(),
            _ => (),
        }
    }

    /// `12 pipelines, balanced error 0.0312 of the best, 0.0287 of the ensemble`.
    fn facts(&self) -> String {
        let mut text = counted(self.n_evaluated, "pipeline");
        if let Some(error) = self.best_error {
            write!(text, ", {} {error:.4} of the best", self.measure).expect("a string takes it");
        }
        if let Some(error) = self.ensemble_error {
            write!(text, ", {error:.4} of the ensemble").expect("a string takes it");
        }
        if let Some((n, of)) = self.rows.filter(|(n, of)| n < of) {
            write!(text, ", on {n} of {of} rows").expect("a string takes it");
        }
        text
    }

    fn line(&self) -> String {
        match self.running.as_str() {
            "" => self.facts(),
            running => format!("{}; {running}", self.facts()),
        }
    }
}

/// A bar of the budget, redrawn by the clock, with what is known so far beside it.
fn live_line(budget: Duration, started: Instant) -> ProgressBar {
    const WIDTH: usize = 20;
    let spent = move || started.elapsed().as_secs_f64() / budget.as_secs_f64();
    let style = ProgressStyle::with_template("{budget_bar} {clock}  {wide_msg}")
        .expect("the template is sound")
        .with_key("budget_bar", move |_: &ProgressState, w: &mut dyn Write| {
            let full = ((spent() * WIDTH as f64) as usize).min(WIDTH);
            let _ = write!(w, "{}{}", "━".repeat(full), "╌".repeat(WIDTH - full));
        })
        .with_key("clock", move |_: &ProgressState, w: &mut dyn Write| {
            let elapsed = started.elapsed().as_secs_f64();
            let _ = write!(w, "{elapsed:.1}s of {}", written_duration(budget));
        });
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// What the numbers of a search are: errors, of which less is better.
fn error_in_words(metric: Metric) -> &'static str {
    match metric {
        Metric::BalancedError => "balanced error",
        Metric::BalancedAccuracy => "1 - balanced accuracy",
        Metric::Accuracy => "1 - accuracy",
        Metric::LogLoss => "log loss",
        Metric::MacroF1 => "1 - macro F1",
        Metric::RocAuc => "1 - ROC AUC",
    }
}

/// What runs: the estimators' names, and how many settings of each.
fn in_words(pipelines: &[Pipeline]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for pipeline in pipelines {
        let name = pipeline.estimator.name();
        match counts.iter_mut().find(|c| c.0 == name) {
            Some(count) => count.1 += 1,
            None => counts.push((name, 1)),
        }
    }
    let words = counts.into_iter().map(|(name, n)| match n {
        1 => name.to_owned(),
        n => format!("{name} x {n}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_reads_as_a_line() {
        let mut state = State::default();
        assert_eq!(state.facts(), "0 pipelines");
        state.measure = error_in_words(Metric::LogLoss);
        let mut note = |what| state.note(&Event { elapsed_secs: 1.0, what });
        let space = pitchpipe_learn::SearchSpace::paper();
        let pipeline = space.pipeline(0.into());
        note(Happened::Level { n_rows: 1000, of: 50_000 });
        note(Happened::Started { pipelines: vec![pipeline.clone(); 16] });
        note(Happened::Finished {
            pipeline,
            error: 0.25,
            balanced_error: None,
            predicted_error: None,
            secs: 0.5,
            n_evaluated: 12,
            best_error: 0.125,
            ensemble_error: None,
        });
        assert_eq!(
            state.facts(),
            "12 pipelines, log loss 0.1250 of the best, on 1000 of 50000 rows"
        );
        assert_eq!(state.line(), format!("{}; adaboost x 16", state.facts()));
    }
}
