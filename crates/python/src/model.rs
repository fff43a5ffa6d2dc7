//! A fitted model.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pitchpipe_automl::{
    Explanation, Importance, LabelledRows, Model as Fitted, PredictError, Predictions, explain,
    export, importances,
};
use pitchpipe_cli::{report_json, schema_json};
use pitchpipe_report::{HeldOutTable, ReportData};
use pitchpipe_table::{Dataset, Decision, LabelType, Schema, write_atomically};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes};
use serde_json::json;

use crate::objects::plain;
use crate::pool;
use crate::tables::Table;
use crate::words::{TABLE, of_model_file, of_notes, of_prediction, of_writing};

/// Notes: is it a warning, and what it says.
type Notes = Vec<(bool, String)>;

/// A model that a search gave.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Model {
    fitted: Fitted,
    /// Rows that it learnt from, as long as they are at hand: not where it was read.
    sample: Option<Dataset>,
}

impl Model {
    pub(crate) fn new(fitted: Fitted, sample: Option<Dataset>) -> Self {
        Self { fitted, sample }
    }

    fn schema(&self) -> PyResult<&Schema> {
        self.fitted.schema().ok_or_else(|| {
            PyValueError::new_err(
                "the model was fitted on columns without names, so it cannot take a table",
            )
        })
    }

    fn predicted(
        &self,
        py: Python<'_>,
        x: &Table,
        n_threads: usize,
    ) -> PyResult<(Predictions, Notes)> {
        let table = x.in_terms_of(py, None, self.schema()?)?;
        let pool = pool::of(n_threads)?;
        let answer = py.detach(|| pool.install(|| self.fitted.predict_table(table)));
        let answer = answer.map_err(|error| of_prediction(&error))?;
        Ok((answer.predictions, of_notes(&answer.notes)))
    }

    /// What the model makes of its columns, on rows with their classes or else on rows that it learnt from; and which
    /// rows those are.
    fn explained(
        &self,
        rows: Option<&LabelledRows>,
    ) -> Result<Option<(Explanation, String)>, PredictError> {
        let (dataset, on) = match rows {
            Some(rows) => (Some(&rows.dataset), TABLE),
            None => (self.sample.as_ref(), "the training table"),
        };
        let Some(dataset) = dataset else { return Ok(None) };
        let explanation = explain(&self.fitted, dataset, None)?;
        Ok(explanation.map(|all| {
            let on = format!("{} rows of {on}", all.n_rows);
            (all, on)
        }))
    }

    /// What the model is worth on other rows.
    fn held_out(&self, rows: &LabelledRows) -> Result<HeldOutTable, PredictError> {
        HeldOutTable::of(&self.fitted, TABLE, &rows.dataset, rows.n_left_out)
    }

    /// The rule that a word means for this model.
    fn rule(&self, decision: &str) -> PyResult<Decision> {
        let own = self.fitted.decision();
        match decision {
            "model" => Ok(own),
            "most-probable" | "most_probable" => Ok(Decision::Accuracy),
            "balanced" => Ok(match own {
                Decision::BalancedAccuracy | Decision::BalancedError => own,
                _ => Decision::BalancedError,
            }),
            other => Err(PyValueError::new_err(format!(
                "there is no decision {other:?}; choose among model, most-probable and balanced"
            ))),
        }
    }
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| Fitted::read(&path));
        read.map(|model| Self::new(model, None)).map_err(|error| of_model_file(&path, &error))
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let read = py.detach(|| Fitted::from_bytes(bytes));
        read.map(|model| Self::new(model, None))
            .map_err(|error| of_model_file("the model".as_ref(), &error))
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.fitted.write(&path)).map_err(|error| of_model_file(&path, &error))
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.fitted.to_bytes());
        let bytes = bytes.map_err(|error| of_model_file("the model".as_ref(), &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let made_by = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((made_by, (self.to_bytes(py)?,)))
    }

    /// The position of each row's class among the classes, and notes.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: &Table,
        decision: &str,
        n_threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Notes)> {
        let rule = self.rule(decision)?;
        let (predictions, notes) = self.predicted(py, x, n_threads)?;
        let labels = self.fitted.decide(rule, &predictions.probabilities);
        Ok((PyArray1::from_slice(py, labels.codes()), notes))
    }

    /// The probability of each class, a row for each row, and notes.
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        x: &Table,
        n_threads: usize,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Notes)> {
        let (predictions, notes) = self.predicted(py, x, n_threads)?;
        let values = predictions.probabilities.values();
        let n_classes = self.fitted.n_classes();
        let array =
            PyArray1::from_slice(py, values).reshape([values.len() / n_classes, n_classes])?;
        Ok((array, notes))
    }

    /// The names of the classes, in order.
    #[getter]
    fn classes(&self) -> Option<Vec<String>> {
        self.fitted.class_names().map(<[String]>::to_vec)
    }

    /// What the labels were before they became names: `text`, `boolean`, `integer` or `real`.
    #[getter]
    fn label_type(&self) -> &'static str {
        match self.fitted.schema().and_then(Schema::target).map(|t| t.label_type) {
            Some(LabelType::Boolean) => "boolean",
            Some(LabelType::Integer) => "integer",
            Some(LabelType::Real) => "real",
            _ => "text",
        }
    }

    /// The name of the target.
    #[getter]
    fn target(&self) -> Option<String> {
        Some(self.fitted.schema()?.target()?.name.clone())
    }

    /// The names of the columns that it was fitted on, in their order; None where the file does not say.
    #[getter]
    fn columns(&self) -> Option<Vec<&str>> {
        self.fitted.schema()?.names_in_order()
    }

    /// How it was made, what it is made of and which columns it expects, as `pitchpipe inspect --json` says it.
    fn inspect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.fitted.schema().map(schema_json);
        plain(py, &json!({"report": report_json(&self.fitted), "schema": schema}))
    }

    /// What each column is worth: name, increase of the error, standard error. On rows with their classes, or else on
    /// rows that it learnt from, if they are at hand.
    #[pyo3(signature = (n_threads, rows=None))]
    fn importances(
        &self,
        py: Python<'_>,
        n_threads: usize,
        rows: Option<(PyRef<'_, Table>, PyRef<'_, Table>)>,
    ) -> PyResult<Option<Vec<(String, f64, f64)>>> {
        let table = match &rows {
            Some((x, y)) => Some(x.in_terms_of(py, Some(y), self.schema()?)?),
            None => None,
        };
        let pool = pool::of(n_threads)?;
        let measure = || {
            let rows = table.map(|table| self.fitted.labelled_rows(table)).transpose()?;
            let dataset = rows.as_ref().map(|rows| &rows.dataset).or(self.sample.as_ref());
            dataset.map(|dataset| importances(&self.fitted, dataset)).transpose()
        };
        let measured = py.detach(|| pool.install(measure));
        let measured = measured.map_err(|error| of_prediction(&error))?;
        let plain = |i: Importance| (i.column, i.increase, i.standard_error);
        Ok(measured.map(|all| all.into_iter().map(plain).collect()))
    }

    /// Scores on rows with their classes, as `pitchpipe evaluate --json` says them.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        x: &Table,
        y: &Table,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = x.in_terms_of(py, Some(y), self.schema()?)?;
        let pool = pool::of(n_threads)?;
        let evaluation = py.detach(|| {
            pool.install(|| self.fitted.evaluate(&self.fitted.labelled_rows(table)?.dataset))
        });
        let evaluation = evaluation.map_err(|error| of_prediction(&error))?;
        plain(py, &serde_json::to_value(evaluation).expect("an evaluation is plain data"))
    }

    /// The model as a scikit-learn script.
    fn script(&self) -> PyResult<String> {
        export::script_of(&self.fitted).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Writes a page about the model, as `pitchpipe report` does: with what it is worth on rows with their classes, where
    /// there are some.
    #[pyo3(signature = (path, name, n_threads, rows=None))]
    fn report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        name: &str,
        n_threads: usize,
        rows: Option<(PyRef<'_, Table>, PyRef<'_, Table>)>,
    ) -> PyResult<()> {
        let table = match &rows {
            Some((x, y)) => Some(x.in_terms_of(py, Some(y), self.schema()?)?),
            None => None,
        };
        let pool = pool::of(n_threads)?;
        let page = || -> Result<String, PredictError> {
            let rows = table.map(|table| self.fitted.labelled_rows(table)).transpose()?;
            let mut data = ReportData::of(&self.fitted, name, None);
            if let Some(rows) = &rows {
                data = data.with_held_out(self.held_out(rows)?);
            }
            if let Some((explanation, on)) = self.explained(rows.as_ref())? {
                data = data.with_explanation(explanation, on);
            }
            Ok(data.to_html())
        };
        let page = py.detach(|| pool.install(page)).map_err(|error| of_prediction(&error))?;
        write_atomically(&path, page.as_bytes()).map_err(of_writing)
    }
}
