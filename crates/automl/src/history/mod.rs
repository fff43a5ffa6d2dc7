//! What a report tells beyond the model itself: how the search went, curves of predictions, what the table was like.
//!
//! It is a section of its own in the model file, which files written before do not have and which `fit --no-history`
//! leaves out. It holds counts, curves and the names of columns, never a row or a cell of the table.

mod curves;
mod landscape;
mod profile;
mod recorder;

use serde::{Deserialize, Serialize};

pub use curves::{CalibrationBin, ClassCurves, Curves};
pub use landscape::Landscape;
pub use profile::{ClassCount, ColumnProfile, DataProfile, LeftOutColumn};
pub(crate) use recorder::Recorder;

use crate::online::in_words;
use pitchpipe_learn::Pipeline;

/// What is kept of a search besides the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Every pipeline that was run, in the order in which they ended. One that was run again on more rows is there
    /// again.
    pub trials: Vec<Trial>,
    /// How many there were where they are left out, so that the model keeps to its limit of size.
    #[serde(default)]
    pub n_trials_left_out: usize,
    /// The error of the ensemble each time it changed.
    pub ensemble: Vec<EnsemblePoint>,
    /// When the search went on with how many rows.
    pub levels: Vec<LevelBegun>,
    /// When the best were validated again on other folds.
    pub confirming_secs: Vec<f64>,
    /// What was predicted for the search space before the search.
    pub landscape: Option<Landscape>,
    /// Curves of the predictions that the scores were computed from.
    pub curves: Option<Curves>,
    /// What the training table was like.
    pub data: DataProfile,
    /// What is needed to do it again.
    pub origin: Origin,
}

/// One run of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The pipeline; in files its text.
    #[serde(with = "in_words")]
    pub pipeline: Pipeline,
    /// What became of it.
    pub outcome: TrialOutcome,
    /// Its error by the metric that was optimised, where it finished.
    pub error: Option<f64>,
    /// Its balanced error, which is what is predicted.
    pub balanced_error: Option<f64>,
    /// The balanced error that was predicted when it was chosen, where the method predicts.
    pub predicted_error: Option<f64>,
    /// CPU seconds that it took, as if alone; where it ran out of time, those until then.
    pub secs: Option<f64>,
    /// Rows it was evaluated on.
    pub n_rows: usize,
    /// When the step that it was part of began, in seconds since the time budget did.
    pub started_secs: f64,
    /// When it ended.
    pub ended_secs: f64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    /// It finished.
    Finished,
    /// It could not be fitted.
    Failed,
    /// It took longer than it was given.
    OutOfTime,
}

/// The ensemble at some time of the search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnsemblePoint {
    /// Seconds since the time budget began.
    pub elapsed_secs: f64,
    /// Its error by the metric that was optimised, on the rows it was chosen by.
    pub error: f64,
    /// How many base learners it had.
    pub n_base_learners: usize,
}

/// The search goes on with so many rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelBegun {
    /// Seconds since the time budget began.
    pub elapsed_secs: f64,
    /// How many rows.
    pub n_rows: usize,
}

/// Where a model comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The version of pitchpipe.
    pub version: String,
    /// The command line, where there was one.
    pub command: Option<String>,
    /// A hash of the training table's cells and classes, in hexadecimal digits.
    pub fingerprint: String,
}

/// So many decimals are enough for a chart.
pub(crate) fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale
}
