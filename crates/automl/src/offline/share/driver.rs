//! The driver: hands out tasks, takes in what they made, and asks again for what was lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use pitchpipe_learn::PipelineId;
use pitchpipe_learn::search_space::Mapping;
use serde::Serialize;

use super::cut::{Queue, Share};
use super::status::{GivenUp, Status, write_status};
use super::worker::Measured;
use crate::offline::corpus::CorpusTable;
use crate::offline::{
    About, CONTENT, Collection, Event, OfflineError, Shard, Store, Summary, WorkItem, batches,
};
use crate::surrogate::{Runtimes, Surrogate, TableSize};

/// A task may take this many times as long as expected, and a little, before it is cut short.
const OVERDUE: f64 = 10.0;
const OVERDUE_LEAST: Duration = Duration::from_secs(30);

/// Work is planned ahead for so many of the longest tasks a worker.
const AHEAD: f64 = 2.0;

/// A table's own pace counts as much as all tables' after so many expected seconds.
const OWN_PACE: f64 = 10.0;

/// A task that was lost with its worker is no task that fails: it has so many times as many attempts.
const LOST_SHARE: u32 = 4;

/// What a process takes before it reads a table, and how many copies of an encoded table a cross-validation holds.
const BASE_MEMORY: u64 = 300 << 20;
const COPIES: u64 = 6;

/// The status is written at most so often.
const STATUS_EVERY: Duration = Duration::from_secs(2);

/// How work is shared out.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// No task is made shorter than this, so that what passes between machines stays small beside the work.
    pub shortest: Duration,
    /// No task is made longer, so that little is lost with a machine.
    pub longest: Duration,
    /// How often a task that fails is tried again.
    pub retries: u32,
}

impl Default for Sharing {
    fn default() -> Self {
        Self { shortest: Duration::from_secs(2), longest: Duration::from_secs(60), retries: 3 }
    }
}

/// Something for a worker to do; plain data.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Read a table and say how large it is.
    Measure {
        /// Names the task when it comes back.
        id: u64,
        /// The table, by its place in the corpus.
        table: usize,
    },
    /// Run pipelines on a table.
    Run {
        /// Names the task when it comes back.
        id: u64,
        /// The table, by its place in the corpus.
        table: usize,
        /// What to run.
        item: WorkItem,
        /// Seconds after which the worker hands over what it has.
        limit_secs: f64,
        /// Seconds that it is expected to take.
        secs: f64,
        /// Memory that it is expected to take.
        memory_bytes: u64,
    },
}

/// What to do next.
#[derive(Clone, Debug)]
pub enum Next {
    /// Have this done.
    Run(Task),
    /// Nothing until a task comes back.
    Wait,
    /// All is done.
    Done,
}

/// How a task did not come to an end.
#[derive(Clone, Debug)]
pub enum Failed {
    /// It failed where it ran.
    There(String),
    /// It was lost with its worker.
    Lost(String),
}

/// Who is told of events.
type Tell = Box<dyn FnMut(Event) + Send>;

/// Drives one collection.
pub struct Driver {
    collection: Collection,
    sharing: Sharing,
    store: Store,
    runtimes: Arc<Surrogate>,
    /// The store's pipelines by their numbers in the surrogate that predicts runtimes.
    known: Vec<Option<PipelineId>>,
    /// The collection's pipelines by their numbers in the store, once a table was planned.
    mapping: Option<Arc<Mapping>>,
    tables: Vec<Table>,
    /// Tables by their stage, so that a step costs the same among ten tables and among ten thousand.
    unread: BTreeSet<usize>,
    open: BTreeSet<usize>,
    n_measuring: usize,
    n_over: usize,
    again: VecDeque<Attempt>,
    running: BTreeMap<u64, Running>,
    next_id: u64,
    n_workers: usize,
    pace: Pace,
    summary: Summary,
    status: Status,
    started: Instant,
    written: Option<Instant>,
    contents: BTreeMap<String, String>,
    over: Vec<usize>,
    tell: Tell,
}

struct Table {
    table: CorpusTable,
    stage: Stage,
    /// How often it was lost while it was being measured.
    n_lost: u32,
}

enum Stage {
    Unread,
    Measuring,
    Planned(Box<Planned>),
    Over,
}

/// A table that was measured, and what is left of it.
struct Planned {
    content: Option<String>,
    size: TableSize,
    queue: Queue,
    done: BTreeSet<u32>,
    /// Tasks of it that run or wait to run again.
    n_open: usize,
    spent: f64,
    pace: Pace,
}

/// Seconds taken by seconds expected, of what came back.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    taken: f64,
    expected: f64,
}

impl Pace {
    fn add(&mut self, taken: f64, expected: f64) {
        self.taken += taken;
        self.expected += expected;
    }

    /// The ratio, as if it had been `before` over the first `weight` expected seconds.
    fn ratio(self, before: f64, weight: f64) -> f64 {
        ((self.taken + before * weight) / (self.expected + weight)).clamp(1e-3, 1e3)
    }
}

enum Running {
    Measure { table: usize },
    Run(Attempt),
}

/// A share of a table's pipelines, and how often it was tried.
#[derive(Clone, Debug)]
struct Attempt {
    table: usize,
    share: Share,
    n_failed: u32,
    n_lost: u32,
}

impl Driver {
    /// Drives a collection of tables into a store that is open for writing.
    pub fn new(
        collection: Collection,
        tables: Vec<CorpusTable>,
        store: Store,
        sharing: Sharing,
        tell: impl FnMut(Event) + Send + 'static,
    ) -> Self {
        let status = Status { n_tables: tables.len(), ..Status::default() };
        let unread = (0..tables.len()).collect();
        let runtimes = Surrogate::embedded();
        let space = store.space();
        let known = space.ids().map(|id| runtimes.space().find(&space.pipeline(id))).collect();
        let tables =
            tables.into_iter().map(|table| Table { table, stage: Stage::Unread, n_lost: 0 });
        Self {
            collection,
            sharing,
            store,
            runtimes,
            known,
            mapping: None,
            tables: tables.collect(),
            unread,
            open: BTreeSet::new(),
            n_measuring: 0,
            n_over: 0,
            again: VecDeque::new(),
            running: BTreeMap::new(),
            next_id: 0,
            n_workers: 1,
            pace: Pace::default(),
            summary: Summary::default(),
            status,
            started: Instant::now(),
            written: None,
            contents: BTreeMap::new(),
            over: Vec::new(),
            tell: Box::new(tell),
        }
    }

    /// The tables, by place.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &CorpusTable> {
        self.tables.iter().map(|table| &table.table)
    }

    /// The store that results go to.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether the work is to end early.
    pub fn is_cancelled(&self) -> bool {
        self.collection.cancel.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Tables of which all is done since this was last asked: nobody needs their bytes any more.
    pub fn take_over_tables(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.over)
    }

    /// What to do next, where there are so many workers.
    pub fn next(&mut self, n_workers: usize) -> Next {
        self.n_workers = n_workers.max(1);
        if self.is_cancelled() {
            return if self.running.is_empty() { Next::Done } else { Next::Wait };
        }
        if let Some(attempt) = self.again.pop_front() {
            return self.run(attempt);
        }
        let left = self.secs_left();
        let wanted_ahead = AHEAD * self.sharing.longest.as_secs_f64() * self.n_workers as f64;
        let unread = self.unread.first().copied();
        let may_measure = self.n_measuring < self.n_workers;
        if let Some(table) = unread.filter(|_| left < wanted_ahead && may_measure) {
            return self.measure(table);
        }
        let is_last = unread.is_none();
        match self.cut(left, is_last) {
            Some(attempt) => {
                self.planned(attempt.table).n_open += 1;
                self.run(attempt)
            }
            None if self.running.is_empty() => Next::Done,
            None => Next::Wait,
        }
    }

    /// A table was read, and this is how large it is.
    pub fn measured(&mut self, id: u64, measured: Measured) -> Result<(), OfflineError> {
        let Some(Running::Measure { table }) = self.running.remove(&id) else { return Ok(()) };
        self.n_measuring -= 1;
        self.status.n_tasks += 1;
        let name = self.tables[table].table.name.clone();
        let Measured { about, target } = measured;
        self.note_content(&name, &about);
        let planned = self.plan(&name, about.clone())?;
        self.store.describe(&name, &about)?;
        let (n_planned, n_done) =
            (planned.done.len() + planned.queue.n_pipelines(), planned.done.len());
        self.status.n_planned += n_planned;
        self.status.n_done += n_done;
        (self.tell)(Event::Begun {
            dataset: name,
            target,
            position: table,
            of: self.tables.len(),
            planned: n_planned,
            done: n_done,
        });
        self.tables[table].stage = Stage::Planned(Box::new(planned));
        self.open.insert(table);
        self.close_if_over(table);
        self.write_if_due()
    }

    /// A task came back with a shard. Entries that the store has already are not taken in again.
    pub fn finished(&mut self, id: u64, shard: Vec<u8>) -> Result<(), OfflineError> {
        let Some(Running::Run(attempt)) = self.running.remove(&id) else { return Ok(()) };
        let table = attempt.table;
        let name = self.tables[table].table.name.clone();
        let Shard { dataset, facts, mut entries } = match Shard::from_bytes(shard.clone()) {
            Ok(shard) => shard,
            Err(error) => return self.again_later(attempt, Failed::There(error.to_string())),
        };
        let planned = self.planned(table);
        if dataset != name && !entries.is_empty() || facts.get(CONTENT) != planned.content.as_ref()
        {
            let reason = "the worker read another table than the driver had measured".to_owned();
            return self.again_later(attempt, Failed::There(reason));
        }
        let n_came = entries.len();
        entries.retain(|entry| planned.done.insert(entry.pipeline));
        let secs: f64 = entries.iter().map(|e| f64::from(e.marginal_s)).sum();
        let n_entries = entries.len();
        planned.spent += secs;
        let is_missing = |pipeline: &u32| !planned.done.contains(pipeline);
        let missing: Vec<u32> =
            attempt.share.pipelines.iter().copied().filter(is_missing).collect();
        let came = 1.0 - missing.len() as f64 / attempt.share.pipelines.len().max(1) as f64;
        planned.pace.add(secs, attempt.share.secs * came);
        self.pace.add(secs, attempt.share.secs * came);
        if n_entries > 0 {
            // Encoding is most of what a shard costs the driver, and the worker has done it.
            if n_entries == n_came {
                self.store.append_bytes(&name, &shard)?;
            } else {
                self.store.append(&name, facts, entries)?;
            }
            self.summary.n_added += n_entries;
            self.summary.cpu_secs += secs;
            self.status.n_done += n_entries;
            (self.tell)(Event::Stored { dataset: name, n_entries, cpu_secs: secs });
        }
        self.status.n_tasks += 1;
        if missing.is_empty() {
            self.settle(table);
            return self.write_if_due();
        }
        // It was cut short. What came is progress; only a task that brings nothing counts as a failure.
        let share = Share { secs: attempt.share.secs * (1.0 - came), pipelines: missing };
        let n_failed = if n_entries == 0 { attempt.n_failed + 1 } else { 0 };
        let attempt = Attempt { share, n_failed, ..attempt };
        self.judge(attempt, "it was cut short, with nothing finished")
    }

    /// A task did not come to an end.
    pub fn failed(&mut self, id: u64, how: Failed) -> Result<(), OfflineError> {
        match self.running.remove(&id) {
            Some(Running::Run(attempt)) => self.again_later(attempt, how),
            Some(Running::Measure { table }) => {
                self.n_measuring -= 1;
                let attempt = self.tables[table].n_lost;
                let (reason, most) = match how {
                    // A table that cannot be read is not read better elsewhere.
                    Failed::There(reason) => (reason, 0),
                    Failed::Lost(reason) => (reason, LOST_SHARE * self.sharing.retries),
                };
                if attempt < most {
                    self.status.n_retries += 1;
                    self.tables[table].n_lost += 1;
                    self.tables[table].stage = Stage::Unread;
                    self.unread.insert(table);
                    return self.write_if_due();
                }
                self.skip(table, reason);
                self.write_if_due()
            }
            None => Ok(()),
        }
    }

    /// What it came to.
    pub fn end(mut self) -> Result<(Summary, Status), OfflineError> {
        self.summary.cancelled = self.is_cancelled();
        self.status.is_over = true;
        let status = self.status();
        write_status(self.store.folder(), &status)?;
        Ok((self.summary, status))
    }

    /// How far it is.
    pub fn status(&self) -> Status {
        let elapsed = self.started.elapsed().as_secs_f64();
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Status {
            elapsed_secs: elapsed,
            written_at: since_1970.map_or(0.0, |d| d.as_secs_f64()),
            n_tables_done: self.n_over,
            n_added: self.summary.n_added,
            cpu_secs: self.summary.cpu_secs,
            entries_per_sec: self.summary.n_added as f64 / elapsed.max(1e-9),
            secs_left: self.secs_left(),
            n_workers: self.n_workers,
            n_in_flight: self.running.len(),
            skipped: self.summary.skipped.clone(),
            ..self.status.clone()
        }
    }

    fn measure(&mut self, table: usize) -> Next {
        let id = self.number();
        self.unread.remove(&table);
        self.n_measuring += 1;
        self.tables[table].stage = Stage::Measuring;
        self.running.insert(id, Running::Measure { table });
        Next::Run(Task::Measure { id, table })
    }

    fn run(&mut self, attempt: Attempt) -> Next {
        let id = self.number();
        let planned = self.planned(attempt.table);
        let values =
            (planned.size.n_rows * planned.size.n_encoded.max(planned.size.n_features)) as u64;
        let secs = attempt.share.secs * self.ratio(attempt.table);
        let (time_cap, n_folds) = (self.collection.time_cap, self.collection.n_folds);
        let task = Task::Run {
            id,
            table: attempt.table,
            item: WorkItem { pipelines: attempt.share.pipelines.clone(), n_folds, time_cap },
            limit_secs: (OVERDUE * secs) + (OVERDUE_LEAST + time_cap).as_secs_f64(),
            secs,
            memory_bytes: BASE_MEMORY + COPIES * 8 * values,
        };
        self.running.insert(id, Running::Run(attempt));
        Next::Run(task)
    }

    /// The next share: as long as the longest while there is much to do, shorter towards the end, so that the last tasks end
    /// together.
    fn cut(&mut self, left: f64, is_last: bool) -> Option<Attempt> {
        let table = self.open.iter().copied().find(|&table| match &self.tables[table].stage {
            Stage::Planned(planned) => !planned.queue.is_empty(),
            _ => false,
        })?;
        let (shortest, longest) =
            (self.sharing.shortest.as_secs_f64(), self.sharing.longest.as_secs_f64());
        let even = if is_last { left / (2.0 * self.n_workers as f64) } else { longest };
        let ratio = self.ratio(table);
        let wanted = even.clamp(shortest, longest.max(shortest)) / ratio;
        let share = self.planned(table).queue.take(wanted)?;
        Some(Attempt { table, share, n_failed: 0, n_lost: 0 })
    }

    /// How many times as long as predicted work on a table takes.
    fn ratio(&self, table: usize) -> f64 {
        let all = self.pace.ratio(1.0, 1.0);
        match &self.tables[table].stage {
            Stage::Planned(planned) => planned.pace.ratio(all, OWN_PACE),
            _ => all,
        }
    }

    /// CPU seconds that what is planned and not begun is expected to take.
    fn secs_left(&self) -> f64 {
        let left = |&table: &usize| match &self.tables[table].stage {
            Stage::Planned(planned) => planned.queue.secs() * self.ratio(table),
            _ => 0.0,
        };
        self.open.iter().map(left).sum()
    }

    fn plan(&mut self, name: &str, about: About) -> Result<Planned, OfflineError> {
        let content = about.content.clone().unwrap_or_default();
        let mut damaged = Vec::new();
        let mut done = self.store.done(name, &content, &mut damaged)?;
        let entries = self.store.entries(name, &mut damaged)?;
        let spent = entries.values().map(|e| f64::from(e.marginal_s)).sum();
        let space = &Arc::clone(self.store.space());
        let mapping = match &self.mapping {
            Some(mapping) => Arc::clone(mapping),
            None => Arc::new(self.collection.space.manifest().check(space)?),
        };
        self.mapping = Some(Arc::clone(&mapping));
        let number = |id: PipelineId| mapping.get(id.into()).map(u32::from);
        let mut planned = BTreeSet::new();
        let batches: Vec<Vec<u32>> = batches(&self.collection.space, &self.collection.scope, name)
            .into_iter()
            .map(|batch| {
                let numbers: Vec<u32> = batch.into_iter().filter_map(number).collect();
                planned.extend(numbers.iter().copied());
                numbers.into_iter().filter(|number| !done.contains(number)).collect()
            })
            .collect();
        // Entries that another scope asked for are none of this run's business.
        done.retain(|number| planned.contains(number));
        let secs = predicted_secs(self.runtimes.runtimes(), &self.known, &about.size);
        let mut queue = Queue::new(space, batches, &secs);
        let is_spent = |cap: Duration| spent >= cap.as_secs_f64();
        if self.collection.dataset_cap.is_some_and(is_spent) {
            queue.clear();
        }
        let (content, size) = (about.content, about.size);
        Ok(Planned { content, size, queue, done, n_open: 0, spent, pace: Pace::default() })
    }

    fn again_later(&mut self, attempt: Attempt, how: Failed) -> Result<(), OfflineError> {
        self.status.n_tasks += 1;
        let (attempt, reason) = match how {
            Failed::There(reason) => {
                (Attempt { n_failed: attempt.n_failed + 1, ..attempt }, reason)
            }
            Failed::Lost(reason) => (Attempt { n_lost: attempt.n_lost + 1, ..attempt }, reason),
        };
        self.judge(attempt, &reason)
    }

    /// Asks for a share again; once it was tried often enough, for its halves; and gives up a single pipeline.
    fn judge(&mut self, attempt: Attempt, reason: &str) -> Result<(), OfflineError> {
        let most = self.sharing.retries;
        if attempt.n_failed <= most && attempt.n_lost <= LOST_SHARE * most {
            self.status.n_retries += 1;
            self.again.push_back(attempt);
            return self.write_if_due();
        }
        let Attempt { table, share, .. } = attempt;
        if share.pipelines.len() > 1 {
            // One more attempt for each half, so that one pipeline does not take its neighbours with it.
            let (first, second) = share.pipelines.split_at(share.pipelines.len() / 2);
            for half in [first, second] {
                let share = Share { pipelines: half.to_vec(), secs: share.secs / 2.0 };
                self.again.push_back(Attempt { table, share, n_failed: most, n_lost: 0 });
            }
            self.status.n_retries += 1;
            self.planned(table).n_open += 1;
            return self.write_if_due();
        }
        let dataset = self.tables[table].table.name.clone();
        let given_up = GivenUp { dataset, pipelines: share.pipelines, reason: reason.to_owned() };
        (self.tell)(Event::GivenUp {
            dataset: given_up.dataset.clone(),
            n_pipelines: given_up.pipelines.len(),
            reason: given_up.reason.clone(),
        });
        self.status.given_up.push(given_up);
        self.settle(table);
        self.write_if_due()
    }

    /// A task of a table is over.
    fn settle(&mut self, table: usize) {
        let cap = self.collection.dataset_cap.map(|cap| cap.as_secs_f64());
        let planned = self.planned(table);
        planned.n_open -= 1;
        if cap.is_some_and(|cap| planned.spent >= cap) {
            planned.queue.clear();
        }
        self.close_if_over(table);
    }

    fn close_if_over(&mut self, table: usize) {
        let planned = self.planned(table);
        if planned.queue.is_empty() && planned.n_open == 0 {
            self.end_table(table);
        }
    }

    fn end_table(&mut self, table: usize) {
        self.tables[table].stage = Stage::Over;
        self.open.remove(&table);
        self.n_over += 1;
        self.over.push(table);
    }

    fn skip(&mut self, table: usize, reason: String) {
        let dataset = self.tables[table].table.name.clone();
        self.end_table(table);
        self.summary.skipped.push((dataset.clone(), reason.clone()));
        (self.tell)(Event::Skipped { dataset, reason });
    }

    /// Tables of one content are measured twice to no avail, and a test table among them would flatter.
    fn note_content(&mut self, name: &str, about: &About) {
        let Some(content) = &about.content else { return };
        match self.contents.get(content) {
            Some(first) => {
                let first = first.clone();
                self.status.duplicates.push((name.to_owned(), first.clone()));
                (self.tell)(Event::Duplicate { dataset: name.to_owned(), of: first });
            }
            None => {
                self.contents.insert(content.clone(), name.to_owned());
            }
        }
    }

    fn planned(&mut self, table: usize) -> &mut Planned {
        match &mut self.tables[table].stage {
            Stage::Planned(planned) => planned,
            _ => unreachable!("a task of a table runs only between its plan and its end"),
        }
    }

    fn number(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn write_if_due(&mut self) -> Result<(), OfflineError> {
        match self.written {
            Some(written) if written.elapsed() < STATUS_EVERY => Ok(()),
            _ => self.write(),
        }
    }

    fn write(&mut self) -> Result<(), OfflineError> {
        self.written = Some(Instant::now());
        write_status(self.store.folder(), &self.status())
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("status", &self.status()).finish_non_exhaustive()
    }
}

/// Seconds that each pipeline of a space takes alone; those that the surrogate does not know take the mean of the others.
fn predicted_secs(runtimes: &Runtimes, known: &[Option<PipelineId>], size: &TableSize) -> Vec<f64> {
    let predicted = runtimes.predict_secs(size);
    let mean = predicted.iter().sum::<f64>() / predicted.len().max(1) as f64;
    known.iter().map(|id| id.map_or(mean, |id| predicted[id.index()])).collect()
}
