//! Scores by all metrics, as people and programs read them.

use pitchpipe_automl::Errors;
use pitchpipe_table::Metric;
use serde_json::{Map, Value, json};

use crate::text::aligned;

/// A score by each metric; `None` where it is not defined.
pub(crate) struct Scores(Vec<(Metric, Option<f64>)>);

impl Scores {
    /// The scores that `score` gives.
    pub(crate) fn by(score: impl Fn(Metric) -> Option<f64>) -> Self {
        Self(Metric::ALL.map(|metric| (metric, score(metric))).to_vec())
    }

    /// The scores behind errors.
    pub(crate) fn of(errors: &Errors) -> Self {
        Self::by(|metric| {
            let error = match metric {
                Metric::BalancedError => Some(errors.balanced_error),
                Metric::BalancedAccuracy => Some(errors.balanced_accuracy),
                Metric::Accuracy => Some(errors.accuracy),
                Metric::LogLoss => Some(errors.log_loss),
                Metric::MacroF1 => Some(errors.macro_f1),
                Metric::RocAuc => errors.roc_auc,
            };
            error.map(|e| if metric.higher_is_better() { 1.0 - e } else { e })
        })
    }

    /// A line for each; `optimised` marks what the model was made for.
    pub(crate) fn lines(&self, optimised: Metric) -> String {
        let line = |(metric, score): &(Metric, Option<f64>)| {
            let score = score.map_or("not defined".to_owned(), |s| format!("{s:.4}"));
            let mark = if *metric == optimised { "(what it was made for)" } else { "" };
            vec![in_words(*metric).to_owned(), score, mark.to_owned()]
        };
        aligned(&self.0.iter().map(line).collect::<Vec<_>>(), "  ", &[])
    }

    pub(crate) fn as_json(&self) -> Value {
        let pairs = self.0.iter().map(|(metric, score)| (metric.name().to_owned(), json!(score)));
        Value::Object(pairs.collect::<Map<_, _>>())
    }
}

fn in_words(metric: Metric) -> &'static str {
    match metric {
        Metric::BalancedError => "balanced error",
        Metric::BalancedAccuracy => "balanced accuracy",
        Metric::Accuracy => "accuracy",
        Metric::LogLoss => "log loss",
        Metric::MacroF1 => "macro F1",
        Metric::RocAuc => "ROC AUC",
    }
}
