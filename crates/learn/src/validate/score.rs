//! From the predictions of the folds to the measurements of a pipeline.

use pitchpipe_table::{
    Decision, Labels, Metric, accuracy, balanced_accuracy, balanced_error_rate, log_loss, macro_f1,
    roc_auc,
};

use super::fold::FoldData;
use super::outcome::LabelScores;
use crate::{Prediction, Probabilities};

/// Everything measured on the predictions, costs and models aside.
#[derive(Clone, Debug)]
pub(super) struct Scores {
    pub(super) fold_errors: Vec<f64>,
    pub(super) decided_error: f64,
    pub(super) native: LabelScores,
    pub(super) decided: LabelScores,
    pub(super) log_loss: f64,
    pub(super) roc_auc: Option<f64>,
}

/// Puts the prediction of each row that is tested in the dataset's order.
pub(super) fn out_of_fold(n_classes: usize, folds: &[(&FoldData<'_>, &Prediction)]) -> Prediction {
    let n_rows = folds.iter().map(|(fold, _)| fold.test_places.len()).sum::<usize>();
    let mut values = vec![0.0; n_rows * n_classes];
    let mut codes = vec![0; n_rows];
    for (fold, prediction) in folds {
        for (i, &row) in fold.test_places.iter().enumerate() {
            values[row * n_classes..(row + 1) * n_classes]
                .copy_from_slice(prediction.probabilities.row(i));
            codes[row] = prediction.labels.codes()[i];
        }
    }
    Prediction {
        probabilities: Probabilities::from_rows(n_classes, values),
        labels: Labels::from_codes(codes, n_classes),
    }
}

/// Measures the predictions of all folds; the area under the ROC curve, which sorts all rows for each class, where wanted.
pub(super) fn scores(
    truth: &Labels,
    folds: &[(&FoldData<'_>, &Prediction)],
    all: &Prediction,
    wants_area: bool,
) -> Scores {
    let n_folds = folds.len() as f64;
    let decide = |decision: Decision, fold: &FoldData<'_>, prediction: &Prediction| {
        let probabilities = prediction.probabilities.values();
        decision.decide(&prediction.labels, probabilities, fold.classes.priors())
    };
    let fold_errors: Vec<f64> = folds
        .iter()
        .map(|(fold, prediction)| balanced_error_rate(&fold.y_test, &prediction.labels))
        .collect();
    let decided_error = folds
        .iter()
        .map(|(fold, prediction)| {
            let decision = Metric::BalancedError.decision();
            balanced_error_rate(&fold.y_test, &decide(decision, fold, prediction))
        })
        .sum::<f64>()
        / n_folds;
    // Priors differ from fold to fold, so that rows are decided there and gathered after.
    let decided = |metric: Metric| {
        let mut codes = vec![0; truth.len()];
        for (fold, prediction) in folds {
            let labels = decide(metric.decision(), fold, prediction);
            for (&row, &code) in fold.test_places.iter().zip(labels.codes()) {
                codes[row] = code;
            }
        }
        Labels::from_codes(codes, truth.n_classes())
    };
    // Macro F1 has the same decision.
    let balanced = decided(Metric::BalancedAccuracy);
    Scores {
        fold_errors,
        decided_error,
        native: LabelScores {
            accuracy: accuracy(truth, &all.labels),
            balanced_accuracy: balanced_accuracy(truth, &all.labels),
            macro_f1: macro_f1(truth, &all.labels),
        },
        decided: LabelScores {
            accuracy: accuracy(truth, &decided(Metric::Accuracy)),
            balanced_accuracy: balanced_accuracy(truth, &balanced),
            macro_f1: macro_f1(truth, &balanced),
        },
        log_loss: log_loss(truth, all.probabilities.values()),
        roc_auc: if wants_area { roc_auc(truth, all.probabilities.values()) } else { None },
    }
}
