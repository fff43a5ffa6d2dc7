//! Scores by all metrics, as people read them.

use pitchpipe_automl::{Baseline, Report, Scores};
use pitchpipe_table::Metric;

use crate::text::aligned;

/// Scores, and what is known about them.
pub(crate) struct ScoreTable<'a> {
    pub(crate) scores: &'a Scores,
    pub(crate) standard_errors: Option<&'a Scores>,
    pub(crate) baselines: &'a [Baseline],
    /// What the model was made for.
    pub(crate) optimised: Metric,
    pub(crate) n_classes: usize,
}

impl<'a> ScoreTable<'a> {
    /// Those of a model, as its report has them.
    pub(crate) fn of(report: &'a Report) -> Self {
        Self {
            scores: &report.scores,
            standard_errors: report.standard_errors.as_ref(),
            baselines: &report.baselines,
            optimised: report.metric,
            n_classes: report.n_classes,
        }
    }

    /// A line for each metric.
    pub(crate) fn lines(&self) -> String {
        let mut rows: Vec<Vec<String>> = Vec::new();
        if !self.baselines.is_empty() {
            let names = self.baselines.iter().map(|baseline| baseline.name.clone());
            rows.push([String::new(), "model".to_owned()].into_iter().chain(names).collect());
        }
        for row in Row::ALL {
            if row == Row::Brier && self.scores.brier_score.is_none() {
                continue;
            }
            let of = |scores: &Scores| {
                row.of(scores).map_or("not defined".to_owned(), |s| format!("{s:.4}"))
            };
            let spread = self.standard_errors.and_then(|e| row.of(e));
            let spread = spread.map_or_else(String::new, |e| format!(" ± {e:.4}"));
            let mut cells = vec![row.in_words().to_owned(), of(self.scores) + &spread];
            cells.extend(self.baselines.iter().map(|baseline| of(&baseline.scores)));
            if row == Row::Metric(self.optimised) {
                cells.push("(what it was made for)".to_owned());
            }
            rows.push(cells);
        }
        let mut text = aligned(&rows, "  ", &[]);
        if self.n_classes > 2 {
            text += NOT_ONE_MINUS;
        }
        text
    }
}

/// Readers would otherwise add the two up.
const NOT_ONE_MINUS: &str = "  (beyond two classes the balanced error is not one minus the balanced accuracy: it is the mean of
  missed rows and of rows wrongly taken for a class, one class against the rest)\n";

#[derive(Clone, Copy, PartialEq)]
enum Row {
    Metric(Metric),
    Brier,
}

impl Row {
    const ALL: [Self; 7] = [
        Self::Metric(Metric::BalancedError),
        Self::Metric(Metric::BalancedAccuracy),
        Self::Metric(Metric::Accuracy),
        Self::Metric(Metric::LogLoss),
        Self::Metric(Metric::MacroF1),
        Self::Metric(Metric::RocAuc),
        Self::Brier,
    ];

    fn of(self, scores: &Scores) -> Option<f64> {
        match self {
            Self::Metric(metric) => scores.get(metric),
            Self::Brier => scores.brier_score,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Metric(Metric::BalancedError) => "balanced error",
            Self::Metric(Metric::BalancedAccuracy) => "balanced accuracy",
            Self::Metric(Metric::Accuracy) => "accuracy",
            Self::Metric(Metric::LogLoss) => "log loss",
            Self::Metric(Metric::MacroF1) => "macro F1",
            Self::Metric(Metric::RocAuc) => "ROC AUC",
            Self::Brier => "Brier score",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_stand_beside_their_spread_and_what_is_plain() {
        let scores = Scores { accuracy: 0.9, roc_auc: None, ..Scores::default() };
        let baselines = [Baseline {
            name: "majority class".into(),
            scores: Scores::default(),
            difference_standard_errors: None,
        }];
        let (optimised, n_classes) = (Metric::Accuracy, 2);
        let standard_errors = Some(&scores);
        let table = ScoreTable {
            scores: &scores,
            standard_errors,
            baselines: &baselines,
            optimised,
            n_classes,
        };
        let lines = table.lines();
        let text: Vec<&str> = lines.lines().collect();
        assert_eq!(text[0], "                     model            majority class");
        assert_eq!(
            text[3],
            "  accuracy           0.9000 ± 0.9000  0.0000          (what it was made for)"
        );
        assert_eq!(text[6], "  ROC AUC            not defined      not defined");
        assert_eq!(text.len(), 7, "no Brier score is known: {lines}");
    }
}
