//! A run that was recorded: the lines that `fit --json` printed.

use std::fmt;
use std::io::{self, BufRead};

use serde_json::Value;

use super::feed::Entry;

/// The events of a run.
#[derive(Debug)]
pub struct Recorded {
    pub(super) entries: Vec<Entry>,
    pub(super) end_secs: f64,
    /// The time budget that it had, where it says.
    pub budget_secs: Option<f64>,
    /// Where its model was written, where it says.
    pub model: Option<String>,
}

/// A file that holds something else.
#[derive(Debug)]
pub enum UnreadableEvents {
    /// It cannot be read.
    Io(io::Error),
    /// This line, the first is 1, is no event.
    NoEvent {
        /// Which line.
        line: usize,
    },
    /// There is no event in it at all.
    Empty,
}

impl fmt::Display for UnreadableEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::NoEvent { line } => {
                write!(
                    f,
                    "line {line} is no event of a search as `pitchpipe fit --json` prints them"
                )
            }
            Self::Empty => write!(f, "holds no events of a search"),
        }
    }
}

impl Recorded {
    /// Reads what `fit --json` printed. A last line that was cut off is passed over.
    pub fn read(lines: impl BufRead) -> Result<Self, UnreadableEvents> {
        let mut all = Self { entries: Vec::new(), end_secs: 0.0, budget_secs: None, model: None };
        let mut broken = None;
        for (i, line) in lines.lines().enumerate() {
            let line = line.map_err(UnreadableEvents::Io)?;
            if line.trim().is_empty() {
                continue;
            }
            if let Some(line) = broken {
                return Err(UnreadableEvents::NoEvent { line });
            }
            match serde_json::from_str::<Value>(&line) {
                Ok(event) if event["event"].is_string() => all.take(&event),
                _ => broken = Some(i + 1),
            }
        }
        match (all.entries.is_empty(), broken) {
            (true, Some(line)) => Err(UnreadableEvents::NoEvent { line }),
            (true, None) => Err(UnreadableEvents::Empty),
            _ => Ok(all),
        }
    }

    fn take(&mut self, event: &Value) {
        // Notes have no time of their own; they come with what was before.
        let elapsed_secs = event["elapsed_secs"].as_f64().unwrap_or(self.end_secs);
        self.end_secs = self.end_secs.max(elapsed_secs);
        match event["event"].as_str() {
            Some("begun") => self.budget_secs = event["budget_secs"].as_f64(),
            Some("saved") => self.model = event["out"].as_str().map(str::to_owned),
            _ => {}
        }
        // Written anew, so that what is sent is sound JSON whatever the file held.
        self.entries.push(Entry::Line { elapsed_secs: self.end_secs, json: event.to_string() });
    }
}
