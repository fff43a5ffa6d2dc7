//! What was learnt from other tables: its facts, and what it expects of every pipeline on a new one.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, ToPyArray};
use pitchpipe_automl::Pipeline;
use pitchpipe_automl::surrogate::{ErrorKind, PaperEmbedding, Surrogate as Trained, TableSize};
use pitchpipe_surrogate::Ranks;
use pitchpipe_table::{CancelCheck, Dataset};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::objects::plain;
use crate::research::predict::Prior;
use crate::research::refused;
use crate::settings::Settings;
use crate::tables::Table;
use crate::words::{of_schema, of_surrogate, of_table};

/// A surrogate: of a file, or the one inside.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Surrogate {
    trained: Arc<Trained>,
}

/// Vectors of pipelines: the pipelines' numbers, rank x pipelines, the rank to begin with.
type Vectors<'py> = (Vec<u32>, Bound<'py, PyArray2<f32>>, usize);

/// Pipelines in words, the error of each, its seconds.
type Expected<'py> = (Vec<String>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Surrogate {
    /// Reads a surrogate that `pitchpipe meta train` wrote; without a path, takes the one inside.
    #[new]
    #[pyo3(signature = (path=None))]
    fn new(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Self> {
        let trained = py.detach(|| match path {
            Some(path) => Trained::read(&path).map(Arc::new),
            None => Ok(Trained::embedded()),
        });
        trained.map(|trained| Self { trained }).map_err(of_surrogate)
    }

    /// What it was trained on, and how well it does, as `pitchpipe meta info --json` says it.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &serde_json::to_value(self.trained.facts()).expect("facts are plain data"))
    }

    /// How many pipelines it speaks of.
    #[getter]
    fn n_pipelines(&self) -> usize {
        self.trained.space().n_pipelines()
    }

    /// Which pipeline does best on average.
    #[getter]
    fn best_on_average(&self) -> String {
        self.trained.space().pipeline(self.trained.best_on_average()).to_string()
    }

    /// All pipelines in words, by number.
    #[getter]
    fn pipelines(&self) -> Vec<String> {
        let space = self.trained.space();
        space.ids().map(|id| space.pipeline(id).to_string()).collect()
    }

    /// The vectors of pipelines that a method of the paper designs with; none where it was trained without them.
    fn embedding<'py>(&self, py: Python<'py>, method: &str) -> PyResult<Option<Vectors<'py>>> {
        let embedding = match method {
            "oboe" => self.trained.oboe(),
            "tensor-oboe" => {
                if let Some(parts) = &self.trained.paper_parts().tensor {
                    let PaperEmbedding { embedding, initial, .. } = parts;
                    let most = Ranks { datasets: embedding.most().datasets, ..*initial };
                    let y = py.detach(|| embedding.at(most)).map_err(refused)?;
                    let pipelines = (0..y.ncols() as u32).collect();
                    return Ok(Some((pipelines, y.to_pyarray(py), initial.datasets)));
                }
                self.trained.tensor_oboe()
            }
            "kernel-oboe" => {
                // Codes have no rank to begin with: the design takes it from their energy.
                return Ok(self.trained.kernel_oboe().map(|model| {
                    let codes = model.codes();
                    let pipelines = (0..codes.nrows() as u32).collect();
                    (pipelines, codes.t().to_pyarray(py), codes.ncols())
                }));
            }
            other => {
                return Err(PyValueError::new_err(format!(
                    "there is no embedding {other:?}; choose among oboe, tensor-oboe and kernel-oboe"
                )));
            }
        };
        Ok(embedding.map(|e| (e.pipelines.clone(), e.y.to_pyarray(py), e.initial_rank)))
    }

    /// The Gaussian over all pipelines that the search starts from: of errors under the decision that is made for balanced
    /// error, or under the estimators' own.
    fn prior(&self, kind: &str) -> PyResult<Option<Prior>> {
        let kind = match kind {
            "decided" => ErrorKind::Decided,
            "native" => ErrorKind::Native,
            other => {
                let what = format!("there is no prior {other:?}; choose decided or native");
                return Err(PyValueError::new_err(what));
            }
        };
        Ok(self.trained.prior(kind).map(|inner| Prior { inner }))
    }

    /// The seconds that cross-validating each pipeline alone takes on a table of this size.
    #[pyo3(signature = (n_rows, n_features, n_classes=2, n_encoded=None))]
    fn seconds<'py>(
        &self,
        py: Python<'py>,
        n_rows: usize,
        n_features: usize,
        n_classes: usize,
        n_encoded: Option<usize>,
    ) -> Bound<'py, PyArray1<f64>> {
        let size = TableSize {
            n_rows,
            n_features,
            n_encoded: n_encoded.unwrap_or(n_features),
            n_classes: Some(n_classes),
            largest_scale: None,
        };
        PyArray1::from_vec(py, self.trained.runtimes().predict_secs(&size))
    }

    /// What it expects of every pipeline on a table: its balanced error, given the errors of those that were run (by their
    /// words), and the seconds that cross-validating it alone takes.
    fn expect<'py>(
        &self,
        py: Python<'py>,
        x: &Table,
        y: &Table,
        settings: Settings,
        observed: Vec<(String, f64)>,
    ) -> PyResult<Expected<'py>> {
        let never = CancelCheck::never();
        let table = py.detach(|| x.to_train(y, &settings.read_options(), &never));
        let (dataset, _) =
            Dataset::from_table(table.map_err(of_table)?, &settings.schema_options())
                .map_err(|error| of_schema(&error))?;
        let trained = &self.trained;
        let space = trained.space();
        let prior = trained
            .prior(ErrorKind::Decided)
            .or_else(|| trained.prior(ErrorKind::Native))
            .ok_or_else(|| PyValueError::new_err("the surrogate holds no prior of errors"))?;
        let (mut at, mut errors) = (Vec::new(), Vec::new());
        for (words, error) in observed {
            let pipeline = words
                .parse::<Pipeline>()
                .map_err(|e| PyValueError::new_err(format!("{words:?} is no pipeline: {e}")))?;
            let id = space.find(&pipeline).ok_or_else(|| {
                PyValueError::new_err(format!("the surrogate does not know the pipeline {words}"))
            })?;
            at.push(id.index());
            errors.push(error);
        }
        let mut posterior = prior.posterior();
        posterior
            .observe(&at, &errors)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let secs = trained.runtimes().predict_secs(&TableSize::of(&dataset));
        let pipelines = space.ids().map(|id| space.pipeline(id).to_string()).collect();
        Ok((pipelines, PyArray1::from_vec(py, posterior.predict()), PyArray1::from_vec(py, secs)))
    }
}
