//! Threads that evaluate pipelines, and never wait for each other while there is something to choose.
//!
//! A free thread takes a job of the oldest order that has one, so that few orders are open at once; where none has, it
//! asks for another order; where there is none, it helps inside the fits that are parallel in themselves. Nothing here
//! reaches a result: streams are keyed by content.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::Effort;
use super::outcome::Outcome;
use super::schedule::{Ground, Job, Schedule};
use crate::{FitError, Pipeline};

/// Threads that one search shares: they are made once.
#[derive(Clone, Debug)]
pub struct Team(Arc<rayon::ThreadPool>);

impl Team {
    /// So many threads, at least one; fails where the system gives none.
    pub fn new(threads: usize) -> Result<Self, FitError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|_| FitError::NoThreads { wanted: threads })?;
        Ok(Self(Arc::new(pool)))
    }

    /// How many threads there are.
    pub fn n_threads(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Runs `work` on one of the threads; what is parallel in it has all of them.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.0.install(work)
    }
}

/// Pipelines to evaluate together: they share what they can.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// What the order is told of by.
    pub id: usize,
    /// The pipelines.
    pub pipelines: Vec<Pipeline>,
    /// When their work must end.
    pub deadline: Option<Instant>,
}

/// What a thread that is free is to do.
#[derive(Debug)]
pub enum Supply {
    /// Evaluate these.
    Order(Order),
    /// Ask again when an order has ended; never said while none is open.
    Later,
    /// Nothing more is to come.
    Over,
}

/// What threads are kept busy by. All threads call it: it has its own locks.
pub trait Work: Sync {
    /// What to do next; one thread asks at a time.
    fn next(&self) -> Supply;

    /// What became of a pipeline, by its position in its order.
    fn tell(&self, order: usize, position: usize, outcome: Outcome);

    /// All pipelines of an order have been told of. Called before another order is asked for by the same thread.
    fn ended(&self, order: usize, effort: Effort);
}

/// How long a thread that has nothing to do sleeps before it looks again whether a fit can be helped.
const SHORTEST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// The orders that are open, oldest first.
#[derive(Default)]
struct Open<'g> {
    schedules: Vec<Arc<Schedule<'g>>>,
    /// How many orders were begun, and how many have ended with all that follows from it.
    n_begun: usize,
    n_ended: usize,
    is_asking: bool,
    /// Nothing is to be asked for until an order has ended.
    is_waiting: bool,
    is_over: bool,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

/// The threads of one call of [`Validation::run`](super::Validation::run).
struct Crew<'g> {
    ground: &'g Ground<'g>,
    open: Mutex<Open<'g>>,
}

/// What a thread has found to do.
enum Found<'g> {
    Job(Arc<Schedule<'g>>, Job),
    /// To ask for an order, after so many have ended.
    Ask(usize),
    Nothing,
    End,
}

/// Keeps the team's threads busy until there is nothing more to come. A panic is passed on once all have stopped.
pub(super) fn run(team: &Team, ground: &Ground<'_>) {
    let crew = Crew { ground, open: Mutex::default() };
    team.0.broadcast(|thread| crew.work(thread.index()));
    let open = crew.open.into_inner().expect("no thread panics while it holds the orders");
    if let Some(panic) = open.panic {
        resume_unwind(panic);
    }
}

impl<'g> Crew<'g> {
    fn lock(&self) -> MutexGuard<'_, Open<'g>> {
        self.open.lock().expect("no thread panics while it holds the orders")
    }

    /// One thread's work.
    fn work(&self, thread: usize) {
        let mut nap = SHORTEST_NAP;
        loop {
            let found = self.find();
            let is_idle = matches!(found, Found::Nothing);
            if matches!(found, Found::End) {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(|| match found {
                Found::Job(schedule, job) => self.run(&schedule, job, thread),
                Found::Ask(n_ended) => self.ask(n_ended),
                Found::Nothing | Found::End => self.help_or_sleep(nap),
            }));
            nap = if is_idle { (2 * nap).min(LONGEST_NAP) } else { SHORTEST_NAP };
            if let Err(panic) = done {
                self.lock().panic.get_or_insert(panic);
            }
            if !is_idle {
                self.ground.changed.notify_all();
            }
        }
    }

    fn find(&self) -> Found<'g> {
        let mut open = self.lock();
        if open.panic.is_some() {
            return Found::End;
        }
        for schedule in &open.schedules {
            if let Some(job) = schedule.next_job() {
                return Found::Job(Arc::clone(schedule), job);
            }
        }
        if open.is_over && open.schedules.is_empty() {
            return Found::End;
        }
        if open.is_over || open.is_waiting || open.is_asking {
            return Found::Nothing;
        }
        open.is_asking = true;
        Found::Ask(open.n_ended)
    }

    /// Does a job, and ends its order where it was the last one.
    fn run(&self, schedule: &Arc<Schedule<'g>>, job: Job, thread: usize) {
        if let Some(effort) = schedule.run(job, thread) {
            self.lock().schedules.retain(|other| !Arc::ptr_eq(other, schedule));
            self.end(schedule.order.id, effort);
        }
    }

    fn end(&self, order: usize, effort: Effort) {
        self.ground.work.ended(order, effort);
        let mut open = self.lock();
        open.n_ended += 1;
        open.is_waiting = false;
    }

    /// Asks for another order and opens it; `n_ended` orders had ended before.
    fn ask(&self, n_ended: usize) {
        let supply = self.ground.work.next();
        let is_later = matches!(supply, Supply::Later);
        let Supply::Order(order) = supply else {
            let mut open = self.lock();
            open.is_asking = false;
            // What ended meanwhile may be what was to be waited for; where nothing is open there is nothing to wait for.
            let has_changed = open.n_ended != n_ended;
            open.is_waiting = is_later && !has_changed && open.n_begun > open.n_ended;
            open.is_over = !open.is_waiting && (!is_later || !has_changed);
            return;
        };
        let id = order.id;
        // Imputers that it is the first to need are fitted here; threads that are free help.
        let schedule = Arc::new(Schedule::new(self.ground, order));
        let is_empty = schedule.is_empty();
        let mut open = self.lock();
        open.is_asking = false;
        open.n_begun += 1;
        if !is_empty {
            open.schedules.push(schedule);
        }
        drop(open);
        if is_empty {
            self.end(id, Effort::default());
        }
    }

    /// Takes a part of a fit that is parallel in itself; where there is none, sleeps until something has changed.
    fn help_or_sleep(&self, nap: Duration) {
        if rayon::yield_now() != Some(rayon::Yield::Executed) {
            let open = self.lock();
            // Both what ends the sleep early and what it misses are looked at when it is over.
            drop(self.ground.changed.wait_timeout(open, nap));
        }
    }
}
