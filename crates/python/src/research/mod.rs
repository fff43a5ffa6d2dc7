//! The surrogate's algebra for researchers, handed through as it is: numpy arrays in and out.

pub(crate) mod complete;
pub(crate) mod design;
pub(crate) mod predict;
pub(crate) mod simulate;

use numpy::ndarray::ArrayD;
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What the algebra refuses, in its own words.
pub(crate) fn refused(error: SurrogateError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A tensor that is NaN where nothing was observed.
fn partial(errors: &PyReadonlyArrayDyn<'_, f64>) -> PyResult<PartialTensor<f64>> {
    let values: ArrayD<f64> = errors.as_array().to_owned();
    let mask = values.mapv(|value| !value.is_nan());
    PartialTensor::new(values, mask).map_err(refused)
}

/// Flat values, last axis fastest, as an array of this shape.
fn shaped<'py>(
    py: Python<'py>,
    shape: &[usize],
    values: Vec<f64>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    PyArray1::from_vec(py, values).reshape(shape.to_vec())
}

/// Seconds, of which those that are NaN are none.
fn known_secs(secs: &PyReadonlyArray1<'_, f64>) -> Vec<Option<f64>> {
    secs.as_array().iter().map(|&s| (!s.is_nan()).then_some(s)).collect()
}
