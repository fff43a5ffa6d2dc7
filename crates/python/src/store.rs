//! Error tensors as numpy: of a store, and as published.

use std::path::PathBuf;

use numpy::ndarray::Array2;
use numpy::{PyArray2, ToPyArray};
use pitchpipe_automl::offline::published::{AXES, Published, PublishedError};
use pitchpipe_automl::offline::{EntryScores, OfflineError, Store};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::pool;
use crate::words::{of_offline, os_error};

/// What is read: names of datasets, pipelines in words, the axes of the first columns (those of the paper's block),
/// values and seconds, datasets x pipelines, NaN where nothing was observed.
type Recorded<'py> = (
    Vec<String>,
    Vec<String>,
    Vec<usize>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<f32>>,
    Vec<String>,
);

/// EntryScores of a store by name.
const SCORES: [&str; 6] =
    ["error", "balanced_decision_error", "accuracy", "log_loss", "auc", "macro_f1"];

fn score(scores: &EntryScores, name: &str) -> f32 {
    match name {
        "error" => scores.error,
        "balanced_decision_error" => scores.balanced_decision_error,
        "accuracy" => scores.accuracy,
        "log_loss" => scores.log_loss,
        "auc" => scores.auc,
        _ => scores.macro_f1,
    }
}

/// Reads a store; also which of its files are damaged and were not read.
#[pyfunction]
pub(crate) fn read_store<'py>(
    py: Python<'py>,
    path: PathBuf,
    name: &str,
    n_threads: usize,
) -> PyResult<Recorded<'py>> {
    if !SCORES.contains(&name) {
        let known = SCORES.join(", ");
        let what = format!("there is no score {name:?}; choose among {known}");
        return Err(PyValueError::new_err(what));
    }
    let pool = pool::of(n_threads)?;
    let read = || {
        let store = Store::open(&path)?;
        let datasets = store.datasets()?;
        let n = store.space().n_pipelines();
        let row = |dataset: &String| {
            let mut damaged = Vec::new();
            let (mut values, mut secs) = (vec![f32::NAN; n], vec![f32::NAN; n]);
            for (pipeline, entry) in store.entries(dataset, &mut damaged)? {
                if let Some(scores) = entry.status.scores() {
                    values[pipeline as usize] = score(scores, name);
                    secs[pipeline as usize] = entry.runtime_s;
                }
            }
            Ok::<_, OfflineError>((values, secs, damaged))
        };
        let rows = datasets.par_iter().map(row).collect::<Result<Vec<_>, OfflineError>>()?;
        Ok((store, datasets, rows))
    };
    let (store, datasets, rows) = py.detach(|| pool.install(read)).map_err(of_offline)?;
    let space = store.space();
    let axes = space.paper_block().filter(|(_, range)| range.start == 0);
    let axes = axes.map_or_else(Vec::new, |(product, _)| product.axes().to_vec());
    let pipelines = space.ids().map(|id| space.pipeline(id).to_string()).collect();
    let shape = (datasets.len(), space.n_pipelines());
    let (mut values, mut secs, mut damaged) = (Vec::new(), Vec::new(), Vec::new());
    for (row, times, bad) in rows {
        values.extend(row);
        secs.extend(times);
        damaged.extend(bad.into_iter().map(|path| path.display().to_string()));
    }
    let matrix = |flat| Array2::from_shape_vec(shape, flat).expect("a row for each dataset");
    let (values, secs) = (matrix(values).to_pyarray(py), matrix(secs).to_pyarray(py));
    Ok((datasets, pipelines, axes, values, secs, damaged))
}

/// The authors' tensor: datasets, axes, errors, seconds, and (rows, columns) of each dataset where they are known.
type Authors<'py> = (
    Vec<u32>,
    Vec<usize>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<f32>>,
    Vec<Option<(usize, usize)>>,
);

/// Reads the tensor that the paper's authors published, from the wheel of their package.
#[pyfunction]
pub(crate) fn read_published(py: Python<'_>, wheel: PathBuf) -> PyResult<Authors<'_>> {
    let published = py.detach(|| Published::read(&wheel)).map_err(of_published)?;
    let observed = published.observed();
    let masked = |mut values: Array2<f32>| {
        values.zip_mut_with(&observed, |value, seen| {
            if !seen {
                *value = f32::NAN;
            }
        });
        values.to_pyarray(py)
    };
    let sizes = published.dataset_ids.iter().map(|id| published.sizes.get(id).copied()).collect();
    let (errors, secs) = (masked(published.errors), masked(published.runtimes_secs));
    Ok((published.dataset_ids, AXES.to_vec(), errors, secs, sizes))
}

fn of_published(error: PublishedError) -> PyErr {
    match &error {
        PublishedError::Unreadable { source, .. } => os_error(source.kind(), error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
