//! Batches of pipelines as orders of one run: threads that are done with a batch begin the next, so that none waits for the slowest
//! pipeline of each. Entries are handed on as they come.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pitchpipe_learn::{Effort, FitError, Order, Outcome, Pipeline, SearchSpace, Supply, Work};

use super::collect::entry_of;
use super::{Entry, OfflineError};

/// Results are put on disk at least this often.
const FLUSH: Duration = Duration::from_secs(15);

/// How long batches may go on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// Until then.
    Instant(Option<Instant>),
    /// Until so many CPU seconds are spent, by so many threads.
    Spent { cap_secs: f64, threads: usize },
}

/// Batches that are run, and whoever takes their entries.
pub(super) struct Orders<'a, K> {
    space: &'a SearchSpace,
    until: Until,
    time_cap: Duration,
    cancel: &'a AtomicBool,
    state: Mutex<State<K>>,
}

struct State<K> {
    left: VecDeque<Vec<u32>>,
    issued: Vec<Issued>,
    spent_secs: f64,
    waiting: Vec<Entry>,
    flushed: Instant,
    keep: K,
    failure: Option<OfflineError>,
}

/// A batch that was begun.
struct Issued {
    pipelines: Vec<u32>,
    deadline: Option<Instant>,
}

impl<'a, K: FnMut(Vec<Entry>) -> Result<(), OfflineError> + Send> Orders<'a, K> {
    /// Of a space's pipelines, of which each may take so long; so many CPU seconds were spent before.
    ///
    /// # Errors
    /// If a pipeline is not in the space.
    pub(super) fn new(
        space: &'a SearchSpace,
        batches: impl IntoIterator<Item = Vec<u32>>,
        until: Until,
        (time_cap, spent_secs): (Duration, f64),
        cancel: &'a AtomicBool,
        keep: K,
    ) -> Result<Self, OfflineError> {
        let left: VecDeque<Vec<u32>> = batches.into_iter().filter(|b| !b.is_empty()).collect();
        let n_pipelines = space.n_pipelines();
        if let Some(&number) = left.iter().flatten().find(|&&n| n as usize >= n_pipelines) {
            return Err(OfflineError::NoPipeline { number, n_pipelines });
        }
        let (issued, waiting, flushed, failure) = (Vec::new(), Vec::new(), Instant::now(), None);
        let state = Mutex::new(State { left, issued, spent_secs, waiting, flushed, keep, failure });
        Ok(Self { space, until, time_cap, cancel, state })
    }

    /// Whether there is nothing to run.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().left.is_empty()
    }

    /// Hands on what is left over; fails where something could not be.
    pub(super) fn finish(self) -> Result<(), OfflineError> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.failure {
            Some(failure) => Err(failure),
            None if state.waiting.is_empty() => Ok(()),
            None => (state.keep)(state.waiting),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When a batch must end that begins now; nothing where none may.
    fn deadline(&self, spent_secs: f64) -> Option<Option<Instant>> {
        match self.until {
            Until::Instant(deadline) => Some(deadline),
            Until::Spent { cap_secs, .. } if spent_secs >= cap_secs => None,
            Until::Spent { cap_secs, threads } => {
                let secs = (cap_secs - spent_secs) / threads.max(1) as f64;
                Some(
                    Duration::try_from_secs_f64(secs)
                        .ok()
                        .and_then(|d| Instant::now().checked_add(d)),
                )
            }
        }
    }
}

impl<K: FnMut(Vec<Entry>) -> Result<(), OfflineError> + Send> Work for Orders<'_, K> {
    fn next(&self) -> Supply {
        let mut state = self.lock();
        if state.failure.is_some() || self.cancel.load(Ordering::Relaxed) {
            return Supply::Over;
        }
        let Some(deadline) = self.deadline(state.spent_secs) else { return Supply::Over };
        let Some(numbers) = state.left.pop_front() else { return Supply::Over };
        let ids = numbers.iter().filter_map(|&number| self.space.id(number as usize));
        let pipelines: Vec<Pipeline> = ids.map(|id| self.space.pipeline(id)).collect();
        let id = state.issued.len();
        state.issued.push(Issued { pipelines: numbers, deadline });
        Supply::Order(Order { id, pipelines, deadline })
    }

    /// Entries that were cut short by a deadline or the cancel flag are not handed on.
    fn tell(&self, order: usize, position: usize, outcome: Outcome) {
        let mut state = self.lock();
        let Issued { pipelines, deadline } = &state.issued[order];
        let is_past = deadline.is_some_and(|d| Instant::now() >= d);
        let entry = match outcome {
            Outcome::OutOfTime { after } if is_past && after < self.time_cap => return,
            Outcome::Failed(FitError::Cancelled) => return,
            outcome => entry_of(pipelines[position], outcome),
        };
        state.spent_secs += f64::from(entry.marginal_s);
        state.waiting.push(entry);
        if state.flushed.elapsed() >= FLUSH && state.failure.is_none() {
            state.flushed = Instant::now();
            let waiting = mem::take(&mut state.waiting);
            if let Err(error) = (state.keep)(waiting) {
                // A store that cannot be written ends the work under way.
                state.failure = Some(error);
                self.cancel.store(true, Ordering::Relaxed);
            }
        }
    }

    fn ended(&self, _: usize, _: Effort) {}
}
