//! What has happened so far, as the page asks for it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use pitchpipe_automl::{Activity, Event, Running, Watch};
use serde_json::{Value, json};

/// So many events are sent at a time; the page asks again at once where there are more.
const MOST_AT_ONCE: usize = 4_000;

/// A page that has not asked for so long is closed, or sleeps.
const AWAY: Duration = Duration::from_secs(2);

/// So many pages are waited for at the end.
const MOST_VIEWERS: usize = 32;

/// Something that happened. It becomes text when somebody asks: a search that nobody looks at pays nothing for it.
#[derive(Debug)]
pub(super) enum Entry {
    Event(Event),
    /// One line of a recording.
    Line {
        elapsed_secs: f64,
        json: String,
    },
}

/// When entries may be seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// At once; time is counted from here.
    Clock(Instant),
    /// When their time has come.
    Replay { since: Instant, speed: f64, end_secs: f64 },
}

#[derive(Debug)]
pub(super) struct Feed {
    pace: Pace,
    stop: Option<Arc<AtomicBool>>,
    pub(super) watch: Arc<Watch>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Arc<Entry>>,
    has_ended: bool,
    report: Option<Arc<str>>,
    why: Option<String>,
    /// When each open page last asked.
    viewers: BTreeMap<String, Instant>,
}

impl Feed {
    pub(super) fn new(pace: Pace, stop: Option<Arc<AtomicBool>>, entries: Vec<Entry>) -> Self {
        let entries = entries.into_iter().map(Arc::new).collect();
        let state = Mutex::new(State { entries, ..State::default() });
        Self { pace, stop, watch: Arc::default(), state }
    }

    pub(super) fn is_replay(&self) -> bool {
        matches!(self.pace, Pace::Replay { .. })
    }

    pub(super) fn push(&self, entry: Entry) {
        self.lock().entries.push(Arc::new(entry));
    }

    pub(super) fn end_with(&self, report: Option<String>, why: Option<String>) {
        let mut state = self.lock();
        state.has_ended = true;
        state.report = report.map(Into::into);
        state.why = why;
    }

    /// Does what Ctrl-C does. A recording cannot be stopped.
    pub(super) fn stop(&self) {
        if let Some(stop) = &self.stop {
            stop.store(true, Ordering::SeqCst);
        }
    }

    /// The finished report, where there is one; the page that takes it is not waited for any longer.
    pub(super) fn report(&self, viewer: &str) -> Option<Arc<str>> {
        let mut state = self.lock();
        let report = state.report.clone().filter(|_| self.is_over(&state))?;
        state.viewers.remove(viewer);
        Some(report)
    }

    /// Whether a page is open that does not know how it ended.
    pub(super) fn is_awaited(&self) -> bool {
        self.lock().viewers.values().any(|asked| asked.elapsed() < AWAY)
    }

    /// What has happened since the entry `from`, as JSON.
    pub(super) fn since(&self, from: usize, viewer: &str) -> String {
        let now_secs = self.now_secs();
        let (entries, rest) = {
            let mut state = self.lock();
            let until = self.n_visible(&state, now_secs);
            let from = from.min(until);
            let next = until.min(from + MOST_AT_ONCE);
            let is_over = self.is_over(&state);
            let rest = json!({
                "next": next,
                "is_behind": next < until,
                "elapsed_secs": now_secs,
                "phase": self.phase(&state),
                "why": state.why.clone().filter(|_| is_over),
                "has_report": is_over && state.report.is_some(),
                "threads": if is_over { Vec::new() } else { self.threads() },
            });
            // A page that was told the end has what it can have, but for the report.
            match is_over && next == until && state.report.is_none() {
                true => drop(state.viewers.remove(viewer)),
                false => state.note_viewer(viewer),
            }
            (state.entries[from..next].to_vec(), rest)
        };
        let mut text = rest.to_string();
        text.pop();
        text += ",\"events\":[";
        for (i, entry) in entries.iter().enumerate() {
            text += if i == 0 { "" } else { "," };
            entry.write(&mut text);
        }
        text + "]}"
    }

    fn phase(&self, state: &State) -> &'static str {
        let is_stopping = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        match (self.is_over(state), &state.why) {
            (true, Some(_)) => "failed",
            (true, None) => "done",
            (false, _) if is_stopping => "stopping",
            (false, _) => "running",
        }
    }

    /// A replay ends when its time is over, whatever is known before.
    fn is_over(&self, state: &State) -> bool {
        state.has_ended
            && match self.pace {
                Pace::Clock(_) => true,
                Pace::Replay { end_secs, .. } => self.now_secs() >= end_secs,
            }
    }

    fn now_secs(&self) -> f64 {
        match self.pace {
            Pace::Clock(started) => started.elapsed().as_secs_f64(),
            Pace::Replay { since, speed, end_secs } => {
                (since.elapsed().as_secs_f64() * speed).min(end_secs)
            }
        }
    }

    fn n_visible(&self, state: &State, now_secs: f64) -> usize {
        match self.pace {
            Pace::Clock(_) => state.entries.len(),
            Pace::Replay { .. } => {
                state.entries.partition_point(|entry| entry.elapsed_secs() <= now_secs)
            }
        }
    }

    fn threads(&self) -> Vec<Value> {
        self.watch.threads().into_iter().map(|thread| thread.map_or(Value::Null, shown)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding it")
    }
}

impl State {
    fn note_viewer(&mut self, viewer: &str) {
        let is_known = self.viewers.contains_key(viewer);
        if !viewer.is_empty() && (is_known || self.viewers.len() < MOST_VIEWERS) {
            self.viewers.insert(viewer.to_owned(), Instant::now());
        }
    }
}

fn shown(running: Running) -> Value {
    let (estimator, n_settings) = match running.activity {
        Activity::Preparing => (None, 0),
        Activity::Fitting { estimator, n_settings } => (Some(estimator), n_settings),
    };
    json!({
        "estimator": estimator,
        "n_settings": n_settings,
        "fold": running.fold,
        "n_folds": running.n_folds,
        "for_secs": running.since.elapsed().as_secs_f64(),
    })
}

impl Entry {
    fn elapsed_secs(&self) -> f64 {
        match self {
            Self::Event(event) => event.elapsed_secs,
            Self::Line { elapsed_secs, .. } => *elapsed_secs,
        }
    }

    fn write(&self, text: &mut String) {
        match self {
            Self::Event(event) => {
                let json = serde_json::to_string(event).expect("an event is plain data");
                write!(text, "{json}").expect("a string takes it");
            }
            Self::Line { json, .. } => *text += json,
        }
    }
}
