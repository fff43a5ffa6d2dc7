//! Completion of error matrices and tensors.

use numpy::{PyArray1, PyArray2, PyArrayDyn, PyReadonlyArrayDyn, ToPyArray};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pitchpipe_surrogate::complete::{self, EmOptions, KernelModel as Kernel, Kfmc};
use pitchpipe_surrogate::embedding::{Pca, energy_rank as rank_of};
use pitchpipe_surrogate::tucker::Tucker as Decomposition;
use pyo3::prelude::*;

use super::{partial, refused, shaped};
use crate::pool;

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Tensor<'py> = Bound<'py, PyArrayDyn<f64>>;
type Matrix<'py> = Bound<'py, PyArray2<f64>>;

/// How EM is to run; what is `None` is as `EmOptions::shrunk` has it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Em {
    shrinkage: Option<f64>,
    tolerance: Option<f64>,
    settled: Option<f64>,
    max_rounds: Option<usize>,
}

impl Em {
    fn options(&self) -> EmOptions {
        let default = EmOptions::shrunk();
        EmOptions {
            shrinkage: self.shrinkage.unwrap_or(default.shrinkage),
            tolerance: self.tolerance.unwrap_or(default.tolerance),
            settled: self.settled.unwrap_or(default.settled),
            max_rounds: self.max_rounds.unwrap_or(default.max_rounds),
        }
    }
}

/// EM by truncated singular value decompositions: completed values, and the residual of each round.
#[pyfunction]
pub(crate) fn complete_matrix<'py>(
    py: Python<'py>,
    errors: PyReadonlyArrayDyn<'_, f64>,
    rank: usize,
    em: Em,
    n_threads: usize,
) -> PyResult<(Tensor<'py>, Vec<f64>)> {
    let observed = partial(&errors)?;
    let pool = pool::of(n_threads)?;
    let done = py
        .detach(|| pool.install(|| complete::complete_matrix(&observed, rank, &em.options())))
        .map_err(refused)?;
    Ok((shaped(py, observed.shape(), done.values)?, done.progress.residuals))
}

/// EM by Tucker decompositions: completed values, the decomposition, and the residual of each round.
#[pyfunction]
pub(crate) fn complete_tucker<'py>(
    py: Python<'py>,
    errors: PyReadonlyArrayDyn<'_, f64>,
    ranks: Vec<usize>,
    em: Em,
    n_threads: usize,
) -> PyResult<(Tensor<'py>, Tucker, Vec<f64>)> {
    let observed = partial(&errors)?;
    let pool = pool::of(n_threads)?;
    let done = py
        .detach(|| pool.install(|| complete::complete_tucker(&observed, &ranks, &em.options())))
        .map_err(refused)?;
    let values = shaped(py, observed.shape(), done.values)?;
    Ok((values, Tucker { inner: done.tucker }, done.progress.residuals))
}

/// Completed values, the decomposition, residuals; ranks, shrinkage, and the error on entries held out.
type Chosen<'py> = (Tensor<'py>, Tucker, Vec<f64>, Vec<usize>, f64, f64);

/// The same with ranks and shrinkage chosen on entries held out: also those, and the error there.
#[pyfunction]
pub(crate) fn complete_chosen<'py>(
    py: Python<'py>,
    errors: PyReadonlyArrayDyn<'_, f64>,
    seed: u64,
    n_threads: usize,
) -> PyResult<Chosen<'py>> {
    let observed = partial(&errors)?;
    let pool = pool::of(n_threads)?;
    let (done, choice) =
        py.detach(|| pool.install(|| complete::complete(&observed, seed))).map_err(refused)?;
    let values = shaped(py, observed.shape(), done.values)?;
    let tucker = Tucker { inner: done.tucker };
    let shrinkage = choice.options.shrinkage;
    Ok((values, tucker, done.progress.residuals, choice.ranks, shrinkage, choice.error))
}

/// A tensor as a core and a factor for each axis.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Tucker {
    inner: Decomposition<f64>,
}

#[pymethods]
impl Tucker {
    /// Decomposes a whole tensor by rounds of HOOI from the truncated HOSVD.
    #[new]
    fn new(
        py: Python<'_>,
        tensor: PyReadonlyArrayDyn<'_, f64>,
        ranks: Vec<usize>,
        sweeps: usize,
        n_threads: usize,
    ) -> PyResult<Self> {
        let tensor = tensor.as_array().to_owned();
        let pool = pool::of(n_threads)?;
        let fit = || pool.install(|| Decomposition::fit(tensor.view(), &ranks, sweeps));
        Ok(Self { inner: py.detach(fit).map_err(refused)? })
    }

    /// The core.
    #[getter]
    fn core<'py>(&self, py: Python<'py>) -> Tensor<'py> {
        self.inner.core.to_pyarray(py)
    }

    /// The factors, side x rank.
    #[getter]
    fn factors<'py>(&self, py: Python<'py>) -> Vec<Matrix<'py>> {
        self.inner.factors.iter().map(|factor| factor.to_pyarray(py)).collect()
    }

    /// The tensor it stands for.
    fn reconstruct<'py>(&self, py: Python<'py>) -> PyResult<Tensor<'py>> {
        Ok(self.inner.reconstruct().map_err(refused)?.to_pyarray(py))
    }

    /// Datasets X and pipelines Y, rank x each, `E ~ X.T @ Y`, rows of Y orthonormal and nested.
    fn embeddings<'py>(&self, py: Python<'py>) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
        let (x, y) = self.inner.embeddings().map_err(refused)?;
        Ok((x.to_pyarray(py), y.to_pyarray(py)))
    }
}

/// How KFMC is to run; what is `None` is as `Kfmc::new` has it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KfmcSettings {
    beta: Option<f64>,
    momentum: Option<f64>,
    damping: Option<f64>,
    batch: Option<usize>,
    inner_iterations: Option<usize>,
    passes: Option<usize>,
    bandwidth: Option<f64>,
    seed: Option<u64>,
}

/// Mini-batch KFMC: completed values, and the model that tells of new rows and columns.
#[pyfunction]
pub(crate) fn complete_kfmc<'py>(
    py: Python<'py>,
    errors: PyReadonlyArrayDyn<'_, f64>,
    dictionary: usize,
    settings: KfmcSettings,
    n_threads: usize,
) -> PyResult<(Tensor<'py>, KernelModel)> {
    let observed = partial(&errors)?;
    let own = Kfmc::new(dictionary);
    let kfmc = Kfmc {
        dictionary,
        beta: settings.beta.unwrap_or(own.beta),
        momentum: settings.momentum.unwrap_or(own.momentum),
        damping: settings.damping.unwrap_or(own.damping),
        batch: settings.batch.unwrap_or(own.batch),
        inner_iterations: settings.inner_iterations.unwrap_or(own.inner_iterations),
        passes: settings.passes.unwrap_or(own.passes),
        bandwidth: settings.bandwidth.unwrap_or(own.bandwidth),
        seed: settings.seed.unwrap_or(own.seed),
    };
    let pool = pool::of(n_threads)?;
    let done = py.detach(|| pool.install(|| kfmc.complete(&observed))).map_err(refused)?;
    let values = shaped(py, observed.shape(), done.values)?;
    Ok((values, KernelModel { inner: done.model }))
}

/// A dictionary of columns and the code of each pipeline.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct KernelModel {
    pub(super) inner: Kernel<f64>,
}

#[pymethods]
impl KernelModel {
    /// The codes, pipelines x atoms.
    #[getter]
    fn codes<'py>(&self, py: Python<'py>) -> Matrix<'py> {
        self.inner.codes().to_pyarray(py)
    }

    /// Errors of all pipelines on a new dataset, by a ridge regression on codes.
    fn predict_dataset<'py>(
        &self,
        py: Python<'py>,
        pipelines: Vec<usize>,
        errors: PyReadonlyArray1<'_, f64>,
        ridge: f64,
    ) -> PyResult<Vector<'py>> {
        let errors: Vec<f64> = errors.as_array().to_vec();
        let all = self.inner.predict_dataset(&pipelines, &errors, ridge).map_err(refused)?;
        Ok(PyArray1::from_vec(py, all))
    }

    /// Errors of a new pipeline on all datasets, and its code.
    fn predict_pipeline<'py>(
        &self,
        py: Python<'py>,
        datasets: Vec<usize>,
        errors: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<(Vector<'py>, Vector<'py>)> {
        let errors: Vec<f64> = errors.as_array().to_vec();
        let new = self.inner.predict_pipeline(&datasets, &errors).map_err(refused)?;
        Ok((PyArray1::from_vec(py, new.errors), PyArray1::from_vec(py, new.code)))
    }
}

/// All singular values of a matrix, and embeddings X, Y of its rows and columns, `E ~ X.T @ Y`.
#[pyfunction]
pub(crate) fn pca<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'_, f64>,
    rank: usize,
    n_threads: usize,
) -> PyResult<(Vector<'py>, Matrix<'py>, Matrix<'py>)> {
    let matrix = matrix.as_array().to_owned();
    let pool = pool::of(n_threads)?;
    let fit = || pool.install(|| Pca::fit(matrix.view(), rank));
    let pca = py.detach(fit).map_err(refused)?;
    let singular_values = PyArray1::from_vec(py, pca.singular_values);
    Ok((singular_values, pca.datasets.to_pyarray(py), pca.pipelines.to_pyarray(py)))
}

/// The smallest rank that holds this share of the energy.
#[pyfunction]
pub(crate) fn energy_rank(singular_values: PyReadonlyArray1<'_, f64>, share: f64) -> usize {
    rank_of(&singular_values.as_array().to_vec(), share)
}
