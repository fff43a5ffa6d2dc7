//! One entry of the error tensor as it was collected: a pipeline on a dataset.

use serde::{Deserialize, Serialize};

/// What became of one pipeline on one dataset, with every number that a later choice of metric needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The flat index of the pipeline in the search space.
    pub pipeline: u32,
    /// How the cross-validation ended.
    pub status: Status,
    /// CPU seconds of the cross-validation as if it had run alone; what was spent, if it did not finish.
    pub runtime_s: f32,
    /// CPU seconds it added to the work that was done anyway.
    pub marginal_s: f32,
}

/// How a cross-validation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Status {
    /// It finished with these scores.
    Finished(EntryScores),
    /// It ran into its time cap.
    OutOfTime,
    /// It cannot be fitted on this dataset, for the reason given.
    Failed(String),
}

/// The scores of a finished cross-validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryScores {
    /// Balanced error rate under the estimator's native decision, as published: the mean of the folds.
    pub error: f32,
    /// The balanced error rate of each fold.
    pub fold_errors: Vec<f32>,
    /// Balanced error rate under the decision made for it.
    pub balanced_decision_error: f32,
    /// Accuracy of the out-of-fold predictions.
    pub accuracy: f32,
    /// Log loss of the out-of-fold probabilities.
    pub log_loss: f32,
    /// Area under the ROC curve of the out-of-fold probabilities.
    pub auc: f32,
    /// Macro F1 of the out-of-fold predictions.
    pub macro_f1: f32,
}

impl Status {
    /// The word that stands for it in the store.
    pub fn word(&self) -> &'static str {
        match self {
            Status::Finished(_) => "finished",
            Status::OutOfTime => "out of time",
            Status::Failed(_) => "failed",
        }
    }

    /// The scores, if it finished.
    pub fn scores(&self) -> Option<&EntryScores> {
        match self {
            Status::Finished(scores) => Some(scores),
            _ => None,
        }
    }
}
