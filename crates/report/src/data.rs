//! What the page of a model knows.

use pitchpipe_automl::{
    ColumnDependence, Curves, Evaluation, Explanation, History, Model, OutOfFold, PredictError,
    Predictions, explain,
};
use pitchpipe_table::Dataset;
use serde::Serialize;
use serde_json::Value;

use crate::model_json::{importance_json, report_json};
use crate::page::{REPORT_SCRIPTS, page};

/// What the page of a model knows.
#[derive(Debug, Serialize)]
pub struct ReportData<'a> {
    version: &'static str,
    /// The name of the model file.
    file: String,
    file_bytes: Option<u64>,
    history_bytes: Option<u64>,
    /// As `inspect --json` prints it.
    report: Value,
    target: Option<&'a str>,
    classes: Vec<String>,
    /// The names of the columns that the model expects.
    columns: Vec<&'a str>,
    history: Option<&'a History>,
    held_out: Option<HeldOutTable>,
    importance: Option<Value>,
    /// What rows importance was measured on, in words.
    importance_on: Option<String>,
    /// Why there is no importance, where there might have been.
    why_no_importance: Option<String>,
    dependence: Vec<ColumnDependence>,
}

/// What a model is worth on a table that it was not fitted on.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct HeldOutTable {
    /// The name of the table.
    pub file: String,
    /// How many rows had no class that the model knows.
    pub n_left_out: usize,
    /// Its scores there, how sure they are, and what is plain beside them.
    pub evaluation: Evaluation,
    /// Its curves there.
    pub curves: Curves,
}

impl HeldOutTable {
    /// What a model is worth on these rows of a table called `file`; `n_left_out` more had no class that it knows.
    pub fn of(
        model: &Model,
        file: &str,
        rows: &Dataset,
        n_left_out: usize,
    ) -> Result<Self, PredictError> {
        let Predictions { labels, probabilities } = model.predict(rows.frame())?;
        let truth = rows.labels().clone();
        let evaluation = model.evaluation(&truth, &labels, probabilities.values());
        let predicted = OutOfFold { truth, labels, probabilities: probabilities.values().to_vec() };
        Ok(Self {
            file: file.to_owned(),
            n_left_out,
            evaluation,
            curves: Curves::of(&predicted, model.decision(), model.priors()),
        })
    }
}

impl<'a> ReportData<'a> {
    /// What is known of a model by itself.
    pub fn of(model: &'a Model, file: &str, file_bytes: Option<u64>) -> Self {
        let schema = model.schema();
        let codes = || (0..model.n_classes()).map(|k| k.to_string()).collect();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            file: file.to_owned(),
            file_bytes,
            history_bytes: model.history_bytes(),
            report: report_json(model),
            target: schema.and_then(|s| s.target()).map(|t| t.name.as_str()),
            classes: model.class_names().map_or_else(codes, <[String]>::to_vec),
            columns: schema.map_or_else(Vec::new, |schema| {
                schema.inputs().iter().map(|input| input.name.as_str()).collect()
            }),
            history: model.history(),
            held_out: None,
            importance: None,
            importance_on: None,
            why_no_importance: None,
            dependence: Vec::new(),
        }
    }

    /// The same with what the model is worth on a table that it was not fitted on, which is called `file`, how much each
    /// column matters there, and how predictions depend on the most important. `n_left_out` of its rows had no class that
    /// the model knows.
    pub fn on_table(
        self,
        model: &Model,
        file: &str,
        rows: &Dataset,
        n_left_out: usize,
    ) -> Result<Self, PredictError> {
        let data = self.with_held_out(HeldOutTable::of(model, file, rows, n_left_out)?);
        Ok(match explain(model, rows, None)? {
            Some(explanation) => {
                let n = explanation.n_rows;
                let on = format!("{n} {} of {file}", if n == 1 { "row" } else { "rows" });
                data.with_explanation(explanation, on)
            }
            None => data,
        })
    }

    /// The same with what the model is worth on another table.
    pub fn with_held_out(self, held_out: HeldOutTable) -> Self {
        Self { held_out: Some(held_out), ..self }
    }

    /// The same with what the model makes of its columns, on these rows.
    pub fn with_explanation(self, explanation: Explanation, on: String) -> Self {
        Self {
            importance: Some(importance_json(&explanation.importance)),
            importance_on: Some(on),
            dependence: explanation.dependence,
            ..self
        }
    }

    /// The same with the reason why the columns' importance is not known.
    pub fn without_explanation(self, why: String) -> Self {
        Self { why_no_importance: Some(why), ..self }
    }

    /// The page.
    pub fn to_html(&self) -> String {
        page(self, &REPORT_SCRIPTS)
    }
}
