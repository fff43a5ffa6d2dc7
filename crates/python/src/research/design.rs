//! Experiment designs.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pitchpipe_surrogate::design::{self, Design, DesignVectors, Scalarization};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::predict::Prior;
use super::refused;

/// Chosen pipelines, in order, and their seconds together.
type Chosen = (Vec<usize>, f64);

fn chosen(design: Design) -> Chosen {
    (design.pipelines, design.secs)
}

fn vectors(
    y: &PyReadonlyArray2<'_, f32>,
    sigma: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<DesignVectors> {
    let y = y.as_array();
    match sigma {
        Some(sigma) => DesignVectors::weighted(y, &sigma.as_array().to_vec()),
        None => DesignVectors::new(y),
    }
    .map_err(refused)
}

/// Greedy, of so many pipelines.
#[pyfunction]
pub(crate) fn design_by_size(
    py: Python<'_>,
    y: PyReadonlyArray2<'_, f32>,
    size: usize,
    sigma: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<Chosen> {
    let y = vectors(&y, sigma)?;
    py.detach(|| design::by_size(&y, size)).map(chosen).map_err(refused)
}

/// Greedy, within so many seconds.
#[pyfunction]
pub(crate) fn design_by_time(
    py: Python<'_>,
    y: PyReadonlyArray2<'_, f32>,
    secs: PyReadonlyArray1<'_, f64>,
    limit_secs: f64,
    sigma: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<Chosen> {
    let (y, secs) = (vectors(&y, sigma)?, secs.as_array().to_vec());
    py.detach(|| design::by_time(&y, &secs, limit_secs)).map(chosen).map_err(refused)
}

/// Greedy, what shrinks the covariance of a prior most per second.
#[pyfunction]
pub(crate) fn design_from_prior(
    py: Python<'_>,
    prior: &Prior,
    secs: PyReadonlyArray1<'_, f64>,
    limit_secs: f64,
) -> PyResult<Chosen> {
    let y = DesignVectors::of_prior(&prior.inner).map_err(refused)?;
    let secs = secs.as_array().to_vec();
    py.detach(|| design::from_prior_by_time(&y, &secs, limit_secs)).map(chosen).map_err(refused)
}

/// The control: pipelines at random.
#[pyfunction]
pub(crate) fn design_random(
    secs: PyReadonlyArray1<'_, f64>,
    limit_secs: f64,
    fill: bool,
    seed: u64,
) -> PyResult<Chosen> {
    let secs = secs.as_array().to_vec();
    design::random_by_time(&secs, limit_secs, fill, seed).map(chosen).map_err(refused)
}

/// The convex relaxation: the share of each pipeline, the objective, its gap, and the design that rounding gives.
#[pyfunction]
pub(crate) fn design_relaxed<'py>(
    py: Python<'py>,
    y: PyReadonlyArray2<'_, f32>,
    secs: PyReadonlyArray1<'_, f64>,
    limit_secs: f64,
    criterion: &str,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, f64, Chosen)> {
    let criterion = match criterion {
        "D" => Scalarization::D,
        "A" => Scalarization::A,
        "E" => Scalarization::E,
        other => {
            let what = format!("there is no criterion {other:?}; choose among D, A and E");
            return Err(PyValueError::new_err(what));
        }
    };
    let (y, secs) = (y.as_array().to_owned(), secs.as_array().to_vec());
    let relax = || design::relax(y.view(), &secs, limit_secs, criterion);
    let relaxed = py.detach(relax).map_err(refused)?;
    let rounded = chosen(relaxed.round(&secs, limit_secs));
    Ok((PyArray1::from_vec(py, relaxed.shares), relaxed.objective, relaxed.gap, rounded))
}
