//! Collecting on a cluster: the driver and the worker as Python calls them. What carries tasks between them is written in
//! Python.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pitchpipe_automl::offline::corpus::{self, is_url};
use pitchpipe_automl::offline::share::{Driver as Drives, Failed, Next, worker};
use pitchpipe_automl::offline::{Facts, SearchSpace, WorkItem};
use pitchpipe_cli::Cluster;
use pitchpipe_table::{Dataset, Source};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::objects::plain;
use crate::words::of_offline;

/// Says what to do next, and takes in what was done.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Driver {
    inner: Mutex<Option<Drives>>,
}

/// A table: its name, its place, its target, whether workers read it from that place themselves.
type Place = (String, String, Option<String>, bool);

impl Driver {
    fn lock(&self) -> MutexGuard<'_, Option<Drives>> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn with<T>(&self, py: Python<'_>, ask: impl FnOnce(&mut Drives) -> T + Send) -> PyResult<T>
    where
        T: Send,
    {
        let answer = py.detach(|| self.lock().as_mut().map(ask));
        answer.ok_or_else(|| PyRuntimeError::new_err("the collection is over"))
    }
}

#[pymethods]
impl Driver {
    /// The tables.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<Place>> {
        self.with(py, |driver| {
            let of = |table: &corpus::CorpusTable| {
                let place = table.path.display().to_string();
                (table.name.clone(), place.clone(), table.target.clone(), is_url(&place))
            };
            driver.tables().map(of).collect()
        })
    }

    /// What every worker needs to know of the store, as JSON.
    fn facts(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |driver| {
            serde_json::to_string(driver.store().facts()).expect("facts are plain data")
        })
    }

    /// The next task as a dict; "wait" until one comes back, "done" when there is none.
    fn next<'py>(&self, py: Python<'py>, n_workers: usize) -> PyResult<Bound<'py, PyAny>> {
        let next = self.with(py, |driver| match driver.next(n_workers) {
            Next::Run(task) => {
                let mut value = serde_json::to_value(task).expect("a task is plain data");
                // A worker takes the item as text again.
                if let Some(item) = value.get_mut("item") {
                    *item = Value::String(item.to_string());
                }
                value
            }
            Next::Wait => json!("wait"),
            Next::Done => json!("done"),
        })?;
        plain(py, &next)
    }

    /// A table was measured.
    fn measured(&self, py: Python<'_>, id: u64, measured: &str) -> PyResult<()> {
        let measured = serde_json::from_str(measured)
            .map_err(|e| PyValueError::new_err(format!("a worker of another version? {e}")))?;
        self.with(py, |driver| driver.measured(id, measured))?.map_err(of_offline)
    }

    /// A task came back with this shard.
    fn finished(&self, py: Python<'_>, id: u64, shard: Vec<u8>) -> PyResult<()> {
        self.with(py, |driver| driver.finished(id, shard))?.map_err(of_offline)
    }

    /// A task failed where it ran, or was lost with its worker.
    fn failed(&self, py: Python<'_>, id: u64, reason: String, lost: bool) -> PyResult<()> {
        let how = if lost { Failed::Lost(reason) } else { Failed::There(reason) };
        self.with(py, |driver| driver.failed(id, how))?.map_err(of_offline)
    }

    /// Tables of which all is done since this was last asked.
    fn take_over_tables(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        self.with(py, Drives::take_over_tables)
    }

    /// Whether the work is to end early.
    fn is_cancelled(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |driver| driver.is_cancelled())
    }

    /// How far it is.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = self.with(py, |driver| driver.status())?;
        plain(py, &serde_json::to_value(status).expect("a status is plain data"))
    }
}

/// Lets `carry(driver, options)`, a Python function, carry the tasks of a driver.
pub(crate) fn carry(
    carry: &Py<PyAny>,
    driver: Drives,
    cluster: &Cluster,
) -> Result<Drives, String> {
    Python::attach(|py| {
        let handle = Py::new(py, Driver { inner: Mutex::new(Some(driver)) })?;
        let options = json!({
            "address": cluster.address, "staging": cluster.staging, "n_workers": cluster.n_workers,
        });
        carry.call1(py, (&handle, plain(py, &options)?))?;
        let driver = handle.get().lock().take();
        driver.ok_or_else(|| PyRuntimeError::new_err("the driver is gone"))
    })
    .map_err(|error: PyErr| Python::attach(|py| error.value(py).to_string()))
}

/// A table of a corpus, in a worker's memory.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct CorpusTable {
    name: String,
    dataset: Dataset,
}

#[pymethods]
impl CorpusTable {
    /// Reads a table from the bytes of a file.
    #[new]
    #[pyo3(signature = (name, file, data, target=None))]
    fn new(
        py: Python<'_>,
        name: String,
        file: String,
        data: &[u8],
        target: Option<String>,
    ) -> PyResult<Self> {
        let source = Source::Bytes { name: file, bytes: data.to_vec() };
        let dataset = py.detach(|| worker::read(&source, target.as_deref())).map_err(of_offline)?;
        Ok(Self { name, dataset })
    }

    /// What the driver wants to know before it plans.
    fn measure(&self) -> String {
        serde_json::to_string(&worker::measure(&self.dataset)).expect("sizes are plain data")
    }

    /// Runs pipelines on it and gives a shard.
    fn work<'py>(
        &self,
        py: Python<'py>,
        facts: &str,
        item: &str,
        limit_secs: f64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let other = |e: serde_json::Error| {
            PyValueError::new_err(format!("a driver of another version? {e}"))
        };
        let facts: Facts = serde_json::from_str::<BTreeMap<_, _>>(facts).map_err(other)?;
        let item: WorkItem = serde_json::from_str(item).map_err(other)?;
        let limit = Duration::try_from_secs_f64(limit_secs).unwrap_or(Duration::MAX);
        let run = || {
            let space: Arc<SearchSpace> = worker::space(&facts)?;
            worker::work(&facts, &space, &self.name, &self.dataset, &item, limit)
        };
        let shard = py.detach(run).map_err(of_offline)?;
        Ok(PyBytes::new(py, &shard))
    }
}
