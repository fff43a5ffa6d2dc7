//! How good predictions are.
//!
//! Functions take the true labels with predicted labels, or with predicted probabilities as rows
//! (`n_rows` by `n_classes` numbers, row after row). Where scikit-learn has the metric, the value is
//! scikit-learn's; the paper's balanced error rate, which it does not have, is [`balanced_error_rate`].

mod confusion;
mod counts;
mod decision;
mod probability;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

pub use confusion::ConfusionMatrix;
pub use counts::{ClassCounts, accuracy, balanced_accuracy, balanced_error_rate, macro_f1};
pub use decision::Decision;
pub use probability::{brier_score, log_loss, log_losses, roc_auc};

use crate::Labels;

/// What a search works towards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The paper's balanced error rate: [`balanced_error_rate`].
    #[default]
    BalancedError,
    /// The mean recall of the classes: [`balanced_accuracy`].
    BalancedAccuracy,
    /// The share of rows predicted rightly: [`accuracy`].
    Accuracy,
    /// The mean negative log probability of the true class: [`log_loss`].
    LogLoss,
    /// The plain mean of the classes' F1 scores: [`macro_f1`].
    MacroF1,
    /// The area under the ROC curve: [`roc_auc`].
    RocAuc,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 6] = [
        Self::BalancedError,
        Self::BalancedAccuracy,
        Self::Accuracy,
        Self::LogLoss,
        Self::MacroF1,
        Self::RocAuc,
    ];

    /// Its name on the command line, in Python and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::BalancedError => "balanced_error",
            Self::BalancedAccuracy => "balanced_accuracy",
            Self::Accuracy => "accuracy",
            Self::LogLoss => "log_loss",
            Self::MacroF1 => "macro_f1",
            Self::RocAuc => "roc_auc",
        }
    }

    /// Whether a larger score is the better one.
    pub fn higher_is_better(self) -> bool {
        !matches!(self, Self::BalancedError | Self::LogLoss)
    }

    /// The rule that turns calibrated probabilities into the labels this metric rewards most.
    ///
    /// For macro F1 no rule looks at one row alone; the mean recall's comes nearest.
    pub fn decision(self) -> Decision {
        match self {
            Self::BalancedError => Decision::BalancedError,
            Self::BalancedAccuracy | Self::MacroF1 => Decision::BalancedAccuracy,
            Self::Accuracy | Self::LogLoss | Self::RocAuc => Decision::Accuracy,
        }
    }

    /// The score; `None` where it is not defined (a ROC curve of rows that are all of one class).
    ///
    /// # Panics
    /// If the predictions do not match the true labels in length or classes, or if there are none.
    pub fn score(self, truth: &Labels, predicted: &Labels, probabilities: &[f64]) -> Option<f64> {
        match self {
            Self::BalancedError => Some(balanced_error_rate(truth, predicted)),
            Self::BalancedAccuracy => Some(balanced_accuracy(truth, predicted)),
            Self::Accuracy => Some(accuracy(truth, predicted)),
            Self::LogLoss => Some(log_loss(truth, probabilities)),
            Self::MacroF1 => Some(macro_f1(truth, predicted)),
            Self::RocAuc => roc_auc(truth, probabilities),
        }
    }

    /// The score as an error: lower is better, zero is perfect. See [`Metric::score`].
    ///
    /// # Panics
    /// As [`Metric::score`].
    pub fn error(self, truth: &Labels, predicted: &Labels, probabilities: &[f64]) -> Option<f64> {
        let score = self.score(truth, predicted, probabilities)?;
        Some(if self.higher_is_better() { 1.0 - score } else { score })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no metric has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no metric \"{0}\"; choose among balanced_error, balanced_accuracy, accuracy, log_loss, macro_f1 and roc_auc"
)]
pub struct UnknownMetric(pub String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        let plain = name.replace('-', "_");
        let found = Self::ALL.into_iter().find(|m| m.name() == plain);
        found.ok_or_else(|| UnknownMetric(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_metrics() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(metric));
            assert_eq!(metric.name().replace('_', "-").parse(), Ok(metric));
            assert_eq!(serde_json::to_string(&metric).unwrap(), format!("\"{metric}\""));
        }
        let err = "acuracy".parse::<Metric>().unwrap_err().to_string();
        assert!(Metric::ALL.iter().all(|m| err.contains(m.name())), "{err}");
    }

    #[test]
    fn errors_are_zero_for_perfect_predictions() {
        let truth = Labels::from_codes([0, 1, 2, 1], 3);
        let certain = [1., 0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 0.];
        for metric in Metric::ALL {
            let error = metric.error(&truth, &truth, &certain).unwrap();
            assert!(error.abs() < 1e-12, "{metric}: {error}");
        }
    }
}
