//! What became of one pipeline on one dataset.

use std::sync::Arc;
use std::time::Duration;

use crate::{FitError, FittedPipeline, Prediction};

/// What became of one pipeline on one dataset.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// All folds were fitted and measured.
    Finished(Box<Evaluation>),
    /// The deadline or the pipeline's own time limit came first.
    OutOfTime {
        /// The time that its folds had taken until then.
        after: Duration,
    },
    /// It cannot be fitted on this dataset.
    Failed(FitError),
}

/// The measurements of a pipeline that finished.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The balanced error rate of the native decision: the plain mean over folds (ALGORITHMS §3). This is
    /// what the published tensor holds.
    pub error: f64,
    /// The balanced error rate of each fold under the native decision.
    pub fold_errors: Vec<f64>,
    /// The balanced error rate under its own decision (ALGORITHMS §19): the plain mean over folds.
    pub decided_error: f64,
    /// Scores of all out-of-fold labels under the native decision.
    pub native: LabelScores,
    /// Scores of all out-of-fold labels, each under the decision that suits it.
    pub decided: LabelScores,
    /// The log loss of the out-of-fold probabilities.
    pub log_loss: f64,
    /// The area under the ROC curve of the out-of-fold probabilities; `None` where it was not asked for or all rows are
    /// of one class.
    pub roc_auc: Option<f64>,
    /// Probabilities and native labels of all rows that some fold tests, each by the model that has not seen it, in the
    /// dataset's order; if asked for.
    pub out_of_fold: Option<Arc<Prediction>>,
    /// The models of the folds; empty unless asked for.
    pub models: Vec<FittedPipeline>,
    /// CPU seconds that evaluating this pipeline alone would take.
    pub alone_secs: f64,
    /// CPU seconds that it took here, where it shares work with others; these add up to the total.
    pub marginal_secs: f64,
}

/// Scores that look at predicted labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelScores {
    /// The share of rows predicted rightly.
    pub accuracy: f64,
    /// The mean recall of the classes.
    pub balanced_accuracy: f64,
    /// The mean F1 of the classes.
    pub macro_f1: f64,
}
