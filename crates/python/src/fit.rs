//! A search on a thread of its own, while Python's main thread passes on events and watches for Ctrl-C.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pitchpipe_automl::{AutoMlError, Event, LabelledRows};
use pitchpipe_table::{Dataset, stratified_subsample};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::model::Model;
use crate::objects::plain;
use crate::pool;
use crate::settings::Settings;
use crate::tables::Table;
use crate::words::{of_notes, of_prediction, of_schema, of_search};

/// Signals are looked for this often.
const PATIENCE: Duration = Duration::from_millis(50);

/// As much as the main thread of a program has.
const STACK: usize = 8 << 20;

/// Of a large table so many rows are kept to measure how much columns matter.
const ROWS_KEPT: usize = 5_000;

/// What a search leaves: the model, the notes on its table (is it a warning, and what it says), and whether Ctrl-C
/// ended it.
type Left = (Model, Vec<(bool, String)>, bool);

/// Searches. `x` and `y` are tables of the same rows, `y` of one column. `hear` is called with each event as a dict,
/// and ends the search where it answers with something true; an exception of it ends the search and is raised again.
#[pyfunction]
#[pyo3(signature = (x, y, settings, hear=None, validation=None))]
pub(crate) fn fit(
    py: Python<'_>,
    x: &Table,
    y: &Table,
    settings: Settings,
    hear: Option<Bound<'_, PyAny>>,
    validation: Option<(PyRef<'_, Table>, PyRef<'_, Table>)>,
) -> PyResult<Left> {
    let cancel = Arc::new(AtomicBool::new(false));
    let mut search = settings.search(Arc::clone(&cancel))?;
    let table = x.to_train(py, y, &settings.read_options())?;
    let options = settings.schema_options();
    let parted = py.detach(|| match settings.holdout {
        Some(share) => Dataset::from_table_holding_out(table, &options, share, settings.seed())
            .map(|parts| (parts.training, Some(parts.held_out), parts.report)),
        None => Dataset::from_table(table, &options).map(|(all, report)| (all, None, report)),
    });
    let (dataset, held_out, report) = parted.map_err(|error| of_schema(&error))?;
    if let Some(rows) = held_out {
        search = search.held_out(rows);
    }
    if let Some((x, y)) = validation {
        let schema = dataset.schema().expect("a dataset from a table has a schema");
        let table = x.in_terms_of(py, Some(&y), schema)?;
        let rows = LabelledRows::of(schema, table).map_err(|error| of_prediction(&error))?;
        search = search.validation(rows.dataset);
    }
    let pool = pool::of(settings.n_threads)?;
    let (tell, told) = mpsc::channel::<Event>();
    let work = move || {
        let result = pool.install(|| {
            search.fit_with(&dataset, |event| match tell.send(event) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            })
        });
        result.map(|model| Model::new(model, Some(sample_of(&dataset))))
    };
    let search = thread::Builder::new()
        .name("pitchpipe".to_owned())
        .stack_size(STACK)
        .spawn(work)
        .map_err(|e| PyRuntimeError::new_err(format!("no thread can be started: {e}")))?;
    let mut watch = Watch { py, cancel, hear, raised: None };
    watch.until_the_end(told);
    let result = joined(py, search)?;
    let is_interrupt = |e: &PyErr| e.is_instance_of::<PyKeyboardInterrupt>(py);
    match (result, watch.raised) {
        // An exception of the caller's own function is the caller's.
        (_, Some(error)) if !is_interrupt(&error) => Err(error),
        (Err(_), Some(interrupt)) => Err(interrupt),
        (Err(error), None) => Err(of_search(&error)),
        (Ok(model), interrupt) => Ok((model, of_notes(&report.notes), interrupt.is_some())),
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
    thread: JoinHandle<Result<T, AutoMlError>>,
) -> PyResult<Result<T, AutoMlError>> {
    py.detach(|| thread.join()).map_err(|_| {
        PyRuntimeError::new_err("the search broke one of its own promises: please report it")
    })
}

/// The main thread's part.
struct Watch<'py> {
    py: Python<'py>,
    cancel: Arc<AtomicBool>,
    hear: Option<Bound<'py, PyAny>>,
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

    /// The first reason counts.
    fn end(&mut self, raised: Option<PyErr>) {
        self.cancel.store(true, Ordering::Relaxed);
        if self.raised.is_none() {
            self.raised = raised;
        }
        if self.raised.is_some() {
            self.hear = None;
        }
    }
}
