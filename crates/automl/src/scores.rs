//! What predictions are worth, by all metrics.

use pitchpipe_table::{
    ClassCounts, Decision, Dependence, Labels, Metric, brier_score, log_loss, roc_auc,
};
use serde::{Deserialize, Serialize};

use crate::ensemble::Jackknife;

/// What one set of predictions is worth: each value under its own name and in its own sense.
///
/// All that look at labels look at the same labels, and all that look at probabilities at those behind them. With two
/// classes the balanced error is one minus the balanced accuracy; with more it is not, as it also counts rows wrongly
/// said to be of a class ([`balanced_error_rate`](pitchpipe_table::balanced_error_rate)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The paper's balanced error rate; lower is better.
    pub balanced_error: f64,
    /// The mean recall of the classes; higher is better.
    pub balanced_accuracy: f64,
    /// The share of rows predicted rightly; higher is better.
    pub accuracy: f64,
    /// The mean F1 of the classes; higher is better.
    pub macro_f1: f64,
    /// The area under the ROC curve, where there is one; higher is better.
    pub roc_auc: Option<f64>,
    /// The mean negative log probability of the true class; lower is better.
    pub log_loss: f64,
    /// The mean squared distance of probabilities from the truth; lower is better. Not known of models written by
    /// pitchpipe 0.1.
    #[serde(default)]
    pub brier_score: Option<f64>,
}

impl Scores {
    /// The scores of labels, and of the probabilities behind them, row after row.
    ///
    /// # Panics
    /// If they do not match the true labels in length or classes, or if there are none.
    pub fn of(truth: &Labels, labels: &Labels, probabilities: &[f64]) -> Self {
        let of_probabilities = (log_loss(truth, probabilities), roc_auc(truth, probabilities));
        Self::with(truth, labels, probabilities, of_probabilities)
    }

    /// The same where log loss and the area under the ROC curve are known.
    pub(crate) fn with(
        truth: &Labels,
        labels: &Labels,
        probabilities: &[f64],
        (log_loss, roc_auc): (f64, Option<f64>),
    ) -> Self {
        let counts = ClassCounts::new(truth, labels);
        Self {
            balanced_error: counts.balanced_error_rate(),
            balanced_accuracy: counts.balanced_accuracy(),
            accuracy: counts.accuracy(),
            macro_f1: counts.macro_f1(),
            roc_auc,
            log_loss,
            brier_score: Some(brier_score(truth, probabilities)),
        }
    }

    /// The score by a metric, in the metric's own sense; `None` where it is not defined.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::BalancedError => Some(self.balanced_error),
            Metric::BalancedAccuracy => Some(self.balanced_accuracy),
            Metric::Accuracy => Some(self.accuracy),
            Metric::LogLoss => Some(self.log_loss),
            Metric::MacroF1 => Some(self.macro_f1),
            Metric::RocAuc => self.roc_auc,
        }
    }

    /// The score as an error: lower is better, zero is perfect. Where all rows are of one class the area under the
    /// curve counts as half.
    pub fn error(&self, metric: Metric) -> f64 {
        let score = self.get(metric).unwrap_or(0.5);
        if metric.higher_is_better() { 1.0 - score } else { score }
    }
}

/// Scores of something plain that a model is to beat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// What it is: `majority class`, `random forest`.
    pub name: String,
    /// What it is worth on the rows that the model was scored on.
    pub scores: Scores,
    /// The standard error of how much the model's scores differ from these, over draws of the same rows, where it was
    /// estimated. Not known of models written by pitchpipe 0.1.
    #[serde(default)]
    pub difference_standard_errors: Option<Scores>,
}

/// What predictions are worth, how sure that is, and what is plain beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What they are worth.
    pub scores: Scores,
    /// How far that may be from the truth, over draws of the rows; `None` where there are too few.
    pub standard_errors: Option<Scores>,
    /// What is plain, on the same rows.
    pub baselines: Vec<Baseline>,
}

/// Predictions of rows by models that have not seen them, from which the scores of a model were computed.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfFold {
    /// The true classes.
    pub truth: Labels,
    /// The classes that the model's rule decides on.
    pub labels: Labels,
    /// The probabilities behind them, row after row.
    pub probabilities: Vec<f64>,
}

impl OutOfFold {
    /// Decides on labels as [`crate::Model::predict`] does.
    pub(crate) fn decided(
        truth: Labels,
        decision: Decision,
        probabilities: Vec<f64>,
        priors: &[f64],
    ) -> Self {
        let labels = decision.decide(&truth, &probabilities, priors);
        Self { truth, labels, probabilities }
    }

    /// What they are worth.
    pub fn scores(&self) -> Scores {
        Scores::of(&self.truth, &self.labels, &self.probabilities)
    }

    /// Always answering the class that was the most common in training, with the shares that classes had there.
    fn majority_class(priors: &[f64], truth: &Labels) -> Self {
        let most =
            (1..priors.len()).fold(0, |best, k| if priors[k] > priors[best] { k } else { best });
        Self {
            truth: truth.clone(),
            labels: Labels::from_codes(vec![most as u32; truth.len()], truth.n_classes()),
            probabilities: priors.repeat(truth.len()),
        }
    }

    /// What they are worth beside the class that was the most common in training, where classes had these shares.
    pub fn standing(&self, dependence: &Dependence, priors: &[f64]) -> Standing {
        self.standing_beside(dependence, priors, None)
    }

    /// The same, and beside other predictions of the same rows, under their name.
    pub(crate) fn standing_beside(
        &self,
        dependence: &Dependence,
        priors: &[f64],
        other: Option<(&str, Self)>,
    ) -> Standing {
        let jackknife = Jackknife::of(self, dependence);
        let majority = Self::majority_class(priors, &self.truth);
        let all = std::iter::once(("majority class", majority)).chain(other);
        let baseline = |(name, plain): (&str, Self)| Baseline {
            name: name.to_owned(),
            scores: plain.scores(),
            difference_standard_errors: jackknife
                .as_ref()
                .and_then(|j| j.standard_errors_beside(&plain)),
        };
        Standing {
            scores: self.scores(),
            baselines: all.map(baseline).collect(),
            standard_errors: jackknife.as_ref().and_then(Jackknife::standard_errors),
        }
    }
}
