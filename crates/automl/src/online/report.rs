//! What was done to make a model: the leaderboard, and the time it took.

use pitchpipe_learn::Pipeline;
use pitchpipe_table::Metric;
use serde::{Deserialize, Serialize};

use super::{Method, in_words};
use crate::scores::{Baseline, Scores};

/// How a model was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How pipelines were chosen.
    pub method: Method,
    /// What was optimised.
    pub metric: Metric,
    /// The seed of folds and random streams.
    pub seed: u64,
    /// The time budget in seconds.
    pub budget_secs: f64,
    /// Seconds from the start of the budget to the end of the search.
    pub elapsed_secs: f64,
    /// Rows of the training table.
    pub n_rows: usize,
    /// Features of the training table.
    pub n_features: usize,
    /// Classes of the target.
    pub n_classes: usize,
    /// Rows that the base learners were chosen by and fitted on, folds aside.
    pub n_rows_used: usize,
    /// Folds of the cross-validation; one where a fifth of the rows was held out to choose by instead.
    pub n_folds: usize,
    /// Pipelines that finished.
    pub n_evaluated: usize,
    /// Pipelines that failed.
    pub n_failed: usize,
    /// Pipelines that ran out of time.
    pub n_out_of_time: usize,
    /// What the scores were measured on.
    #[serde(default)]
    pub measured: Measured,
    /// How many rows that were; zero where it is not known.
    #[serde(default)]
    pub n_rows_scored: usize,
    /// Scores of the ensemble, all by the rule that it predicts with.
    pub scores: Scores,
    /// The standard error of each, where it was estimated.
    #[serde(default)]
    pub standard_errors: Option<Scores>,
    /// Scores of something plain on the same rows.
    #[serde(default)]
    pub baselines: Vec<Baseline>,
    /// The best candidate learners, best first.
    pub leaderboard: Vec<Candidate>,
    /// What time was spent on.
    pub time_spent: Vec<TimeSpent>,
    /// Why the search ended.
    pub stop_reason: StopReason,
    /// Things the user should know.
    pub notes: Vec<String>,
}

/// What the scores of a model were measured on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Measured {
    /// The rows that the ensemble was chosen by, which flatters it. So it was in pitchpipe 0.1.
    #[default]
    Chosen,
    /// Rows that neither the models had learnt from nor the ensemble was chosen by: each part of the rows is scored by
    /// an ensemble that was chosen on the others.
    CrossFitted,
    /// Rows that nothing had seen.
    HeldOut,
}

/// A candidate learner on the leaderboard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The pipeline; in files its text, by which it is known.
    #[serde(with = "in_words")]
    pub pipeline: Pipeline,
    /// Its error by the metric that was optimised.
    pub error: f64,
    /// Its scores by all metrics, by the rule that the model predicts with.
    pub scores: Scores,
    /// CPU seconds that its evaluation took, as if alone.
    pub secs: f64,
    /// Rows it was evaluated on.
    pub n_rows: usize,
    /// Its weight in the ensemble, zero where it is no base learner.
    pub weight: f64,
}

/// Seconds spent on one kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// What on: an estimator's name, `preparation`, `choosing`, `ensemble`, ….
    pub what: String,
    /// Seconds; CPU seconds for components, others by the clock.
    pub secs: f64,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StopReason {
    /// The time budget was used.
    TimeBudget,
    /// As many pipelines were run as were asked for.
    MaxEvaluations,
    /// The caller cancelled it.
    Cancelled,
    /// There was nothing left that fits the time or is worth running.
    NothingLeft,
    /// Memory ran out: the model is the best there was a while before.
    OutOfMemory,
}
