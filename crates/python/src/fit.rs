//! A search on a thread of its own, while Python's main thread passes on events and watches for Ctrl-C.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pitchpipe_automl::{AutoMl, Event, LabelledRows};
use pitchpipe_cli::notes_without_cells;
use pitchpipe_table::{CancelCheck, Dataset, SchemaOptions, TableReport, stratified_subsample};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::model::Model;
use crate::objects::plain;
use crate::pool;
use crate::settings::Settings;
use crate::tables::Table;
use crate::words::{of_notes, of_prediction, of_schema, of_search, of_table};

/// Signals are looked for this often.
const PATIENCE: Duration = Duration::from_millis(20);

/// Whoever shows the time is called this often.
const TICK: Duration = Duration::from_millis(200);

/// As much as the main thread of a program has.
const STACK: usize = 8 << 20;

/// Of a large table so many rows are kept to measure how much columns matter.
const ROWS_KEPT: usize = 5_000;

/// Notes on a table: is it a warning, and what it says.
type Notes = Vec<(bool, String)>;

/// What a search leaves: the model, the notes on its table, and whether Ctrl-C ended it.
type Left = (Model, Notes, bool);

/// Searches. `x` and `y` are tables of the same rows, `y` of one column. `hear` is called with each event as a dict,
/// and ends the search where it answers with something true; `tick` is called a few times a second. An exception of
/// either ends the search and is raised again.
#[pyfunction]
#[pyo3(signature = (x, y, settings, hear=None, tick=None, validation=None))]
pub(crate) fn fit(
    py: Python<'_>,
    x: &Table,
    y: &Table,
    settings: Settings,
    hear: Option<Bound<'_, PyAny>>,
    tick: Option<Bound<'_, PyAny>>,
    validation: Option<(PyRef<'_, Table>, PyRef<'_, Table>)>,
) -> PyResult<Left> {
    let cancel = Arc::new(AtomicBool::new(false));
    let work = Work {
        search: settings.search(Arc::clone(&cancel))?,
        x: x.shared(),
        y: y.shared(),
        validation: validation.map(|(x, y)| (x.shared(), y.shared())),
        cancel: Arc::clone(&cancel),
        settings,
    };
    let (tell, told) = mpsc::channel::<Event>();
    let thread = thread::Builder::new()
        .name("pitchpipe".to_owned())
        .stack_size(STACK)
        .spawn(move || work.done(&tell))
        .map_err(|e| PyRuntimeError::new_err(format!("no thread can be started: {e}")))?;
    let mut watch = Watch { py, cancel, hear, tick, ticked: Instant::now(), raised: None };
    watch.until_the_end(told);
    let result = joined(py, thread)?;
    let is_interrupt = |e: &PyErr| e.is_instance_of::<PyKeyboardInterrupt>(py);
    match (result, watch.raised) {
        // An exception of the caller's own function is the caller's.
        (_, Some(error)) if !is_interrupt(&error) => Err(error),
        (Err(_), Some(interrupt)) => Err(interrupt),
        (Err(error), None) => Err(error),
        (Ok((model, notes)), interrupt) => Ok((model, notes, interrupt.is_some())),
    }
}

/// All that is done without the GIL.
struct Work {
    search: AutoMl,
    x: Table,
    y: Table,
    validation: Option<(Table, Table)>,
    cancel: Arc<AtomicBool>,
    settings: Settings,
}

impl Work {
    /// Reads the tables and searches.
    fn done(self, tell: &Sender<Event>) -> PyResult<(Model, Notes)> {
        let (dataset, held_out, report) = self.dataset()?;
        let mut search = self.search;
        if let Some(rows) = held_out {
            search = search.held_out(rows);
        }
        if let Some((x, y)) = &self.validation {
            let schema = dataset.schema().expect("a dataset from a table has a schema");
            let table = x.read_by(Some(y), schema).map_err(of_table)?;
            let rows = LabelledRows::of(schema, table).map_err(|error| of_prediction(&error))?;
            search = search.validation(rows.dataset);
        }
        let hear = |event| match tell.send(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let pool = pool::of(self.settings.n_threads)?;
        let result = pool.install(|| search.fit_with(&dataset, hear));
        let mut model = result.map_err(|error| of_search(&error))?;
        model.annotate(Some(self.settings.call), notes_without_cells(&report));
        Ok((Model::new(model, Some(sample_of(&dataset))), of_notes(&report.notes)))
    }

    /// The rows to learn from, those held out, and what was understood of the former.
    fn dataset(&self) -> PyResult<(Dataset, Option<Dataset>, TableReport)> {
        let settings = &self.settings;
        let flag = Arc::clone(&self.cancel);
        let cancel = CancelCheck::new(move || flag.load(Ordering::Relaxed));
        let table =
            self.x.to_train(&self.y, &settings.read_options(), &cancel).map_err(of_table)?;
        let options = SchemaOptions { cancel, ..settings.schema_options() };
        let parted = match settings.holdout {
            Some(share) => Dataset::from_table_holding_out(table, &options, share, settings.seed())
                .map(|parts| (parts.training, Some(parts.held_out), parts.report)),
            None => Dataset::from_table(table, &options).map(|(all, report)| (all, None, report)),
        };
        parted.map_err(|error| of_schema(&error))
    }
}

/// Some rows of a dataset, each class with its share.
fn sample_of(dataset: &Dataset) -> Dataset {
    match dataset.n_rows() <= ROWS_KEPT {
        true => dataset.clone(),
        false => dataset.select(&stratified_subsample(dataset.labels(), ROWS_KEPT, 0)),
    }
}

fn joined<T: Send + 'static>(
    py: Python<'_>,
    thread: JoinHandle<PyResult<T>>,
) -> PyResult<PyResult<T>> {
    py.detach(|| thread.join()).map_err(|_| {
        PyRuntimeError::new_err("the search broke one of its own promises: please report it")
    })
}

/// The main thread's part.
struct Watch<'py> {
    py: Python<'py>,
    cancel: Arc<AtomicBool>,
    hear: Option<Bound<'py, PyAny>>,
    tick: Option<Bound<'py, PyAny>>,
    ticked: Instant,
    /// What ended the search early: an interrupt, or an exception of whoever heard.
    raised: Option<PyErr>,
}

impl Watch<'_> {
    /// Passes events on until the search has told its last.
    fn until_the_end(&mut self, mut told: mpsc::Receiver<Event>) {
        loop {
            let (receiver, got) = self.py.detach(move || {
                let got = told.recv_timeout(PATIENCE);
                (told, got)
            });
            told = receiver;
            match got {
                Ok(event) => self.pass_on(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.tick();
            if let Err(interrupt) = self.py.check_signals() {
                self.end(Some(interrupt));
            }
        }
    }

    fn pass_on(&mut self, event: &Event) {
        let Some(hear) = &self.hear else { return };
        let event = serde_json::to_value(event).expect("an event is plain data");
        let answer = plain(self.py, &event).and_then(|event| hear.call1((event,))?.is_truthy());
        match answer {
            Ok(false) => {}
            Ok(true) => self.end(None),
            Err(error) => self.end(Some(error)),
        }
    }

    fn tick(&mut self) {
        let Some(tick) = self.tick.as_ref().filter(|_| self.ticked.elapsed() >= TICK) else {
            return;
        };
        let answer = tick.call0();
        self.ticked = Instant::now();
        if let Err(error) = answer {
            self.end(Some(error));
        }
    }

    /// The first reason counts.
    fn end(&mut self, raised: Option<PyErr>) {
        self.cancel.store(true, Ordering::Relaxed);
        if self.raised.is_none() {
            self.raised = raised;
        }
        if self.raised.is_some() {
            (self.hear, self.tick) = (None, None);
        }
    }
}
