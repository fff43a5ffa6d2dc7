//! What is expected of pipelines: their errors and their seconds.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pitchpipe_surrogate::bayes::{self, PriorSettings, Scale};
use pitchpipe_surrogate::least_squares as solve;
use pitchpipe_surrogate::runtime::{DatasetSize, RuntimeForm, RuntimeModel};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::refused;
use crate::pool;

type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// Errors of all pipelines from embeddings, rank x pipelines, and those observed.
#[pyfunction]
pub(crate) fn least_squares<'py>(
    py: Python<'py>,
    y: PyReadonlyArray2<'_, f32>,
    pipelines: Vec<usize>,
    errors: PyReadonlyArray1<'_, f64>,
) -> PyResult<Vector<'py>> {
    let seen = observed(&pipelines, &errors)?;
    Ok(PyArray1::from_vec(py, solve(y.as_array(), &seen).map_err(refused)?))
}

fn observed(
    pipelines: &[usize],
    errors: &PyReadonlyArray1<'_, f64>,
) -> PyResult<Vec<(usize, f64)>> {
    let errors = errors.as_array();
    if errors.len() != pipelines.len() {
        let (n, k) = (pipelines.len(), errors.len());
        return Err(PyValueError::new_err(format!("there are {n} pipelines but {k} errors")));
    }
    Ok(pipelines.iter().copied().zip(errors.iter().copied()).collect())
}

/// A Gaussian over all pipelines at once.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Prior {
    pub(crate) inner: Arc<bayes::Prior>,
}

#[pymethods]
impl Prior {
    /// Learns it from complete rows, datasets x pipelines.
    #[new]
    fn new(
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f32>,
        rank: Option<usize>,
        n_estimators: Option<usize>,
        scale: &str,
        n_threads: usize,
    ) -> PyResult<Self> {
        let scale = match scale {
            "root" => Scale::Root,
            "plain" => Scale::Plain,
            other => {
                let what = format!("there is no scale {other:?}; choose root or plain");
                return Err(PyValueError::new_err(what));
            }
        };
        let mut settings = match n_estimators {
            Some(n) => PriorSettings::for_search(n),
            None => PriorSettings::plain(rows.as_array().nrows()),
        };
        settings.rank = rank.unwrap_or(settings.rank);
        let rows = rows.as_array().to_owned();
        let pool = pool::of(n_threads)?;
        let fit = || pool.install(|| bayes::Prior::fit(rows.view(), scale, &settings));
        Ok(Self { inner: Arc::new(py.detach(fit).map_err(refused)?) })
    }

    /// The mean of each pipeline, on the prior's scale.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, self.inner.mean())
    }

    /// The variance that each pipeline has for itself, on the prior's scale.
    #[getter]
    fn noise<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, self.inner.noise())
    }

    /// L, rank x pipelines: the covariance is `L.T @ L`.
    #[getter]
    fn factor<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        self.inner.factor().to_pyarray(py)
    }

    /// The scale: `root` or `plain`.
    #[getter]
    fn scale(&self) -> &'static str {
        match self.inner.scale() {
            Scale::Root => "root",
            Scale::Plain => "plain",
        }
    }

    /// Errors of all pipelines given those observed; mean and variance on the prior's scale.
    fn expect<'py>(
        &self,
        py: Python<'py>,
        pipelines: Vec<usize>,
        errors: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<(Vector<'py>, Vector<'py>, Vector<'py>)> {
        let mut posterior = self.inner.posterior();
        let errors = errors.as_array().to_vec();
        py.detach(|| posterior.observe(&pipelines, &errors)).map_err(refused)?;
        Ok((
            PyArray1::from_vec(py, posterior.predict()),
            PyArray1::from_slice(py, posterior.mean()),
            PyArray1::from_slice(py, posterior.variance()),
        ))
    }
}

/// A polynomial in the size of a dataset for the seconds of each pipeline.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Runtimes {
    inner: RuntimeModel,
    with_classes: bool,
}

#[pymethods]
impl Runtimes {
    /// Fits them to seconds, datasets x pipelines, NaN where none were recorded. Sizes are rows of (rows, features) or of
    /// (rows, features, classes).
    #[new]
    fn new(
        py: Python<'_>,
        sizes: PyReadonlyArray2<'_, f64>,
        secs: PyReadonlyArray2<'_, f32>,
        families: Vec<usize>,
        form: &str,
    ) -> PyResult<Self> {
        let form = match form {
            "paper" => RuntimeForm::PaperSeconds,
            "paper-log" => RuntimeForm::PaperLogSeconds,
            "log-log" => RuntimeForm::LogLog,
            other => {
                let what = format!(
                    "there is no form {other:?}; choose among paper, paper-log and log-log"
                );
                return Err(PyValueError::new_err(what));
            }
        };
        let sizes = sizes.as_array();
        let with_classes = match sizes.ncols() {
            2 => false,
            3 => true,
            n => {
                let what = format!("sizes has {n} columns instead of 2 (rows, features) or 3");
                return Err(PyValueError::new_err(what));
            }
        };
        let size = |row: numpy::ndarray::ArrayView1<'_, f64>| DatasetSize {
            n_rows: row[0],
            n_features: row[1],
            n_classes: with_classes.then(|| row[2]),
        };
        let sizes: Vec<DatasetSize> = sizes.rows().into_iter().map(size).collect();
        let secs = secs.as_array().mapv(|s| if s.is_nan() { 0.0 } else { s });
        let fit = || RuntimeModel::fit(form, &sizes, secs.view(), &families);
        Ok(Self { inner: py.detach(fit).map_err(refused)?, with_classes })
    }

    /// The seconds of each pipeline on a dataset of this size.
    #[pyo3(signature = (n_rows, n_features, n_classes=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        n_rows: f64,
        n_features: f64,
        n_classes: Option<f64>,
    ) -> PyResult<Vector<'py>> {
        if self.with_classes != n_classes.is_some() {
            let what = "n_classes is needed exactly where the sizes were given with classes";
            return Err(PyValueError::new_err(what));
        }
        let size = DatasetSize { n_rows, n_features, n_classes };
        Ok(PyArray1::from_vec(py, self.inner.predict_secs(&size).map_err(refused)?))
    }
}
