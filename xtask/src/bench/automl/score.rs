//! Predictions of the test rows, and their scores.

use std::path::Path;

use pitchpipe_table::{
    CancelCheck, Cells, Decision, Labels, ReadOptions, Source, accuracy, balanced_accuracy,
    balanced_error_rate, log_loss, read,
};
use serde::{Deserialize, Serialize};

/// What a system says of the test rows, and of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Predictions {
    /// The classes that the probabilities are of, in their order.
    pub(super) classes: Vec<String>,
    /// The system's own decision for each row.
    pub(super) predicted: Vec<String>,
    /// Probabilities by row and class.
    pub(super) probabilities: Vec<Vec<f64>>,
    pub(super) fit_secs: Option<f64>,
    pub(super) n_evaluated: Option<u64>,
}

/// What is known of the test rows, and kept from the systems.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Truth {
    pub(super) classes: Vec<String>,
    /// Each class's share of the training rows.
    pub(super) priors: Vec<f64>,
    pub(super) codes: Vec<u32>,
}

/// The scores of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Scores {
    pub(super) balanced_error: f64,
    pub(super) balanced_accuracy: f64,
    pub(super) accuracy: f64,
    pub(super) log_loss: f64,
    /// With the balanced decision (ALGORITHMS §19) on its probabilities in place of its own.
    pub(super) decided_balanced_error: f64,
    pub(super) decided_accuracy: f64,
}

impl Predictions {
    /// Those that bench/automl/peer.py and the baseline write.
    pub(super) fn read_json(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Those of `pitchpipe predict --proba`: the class, then a column of probabilities for each.
    pub(super) fn read_table(path: &Path, classes: &[String]) -> Result<Self, String> {
        let named = |what: String| format!("{}: {what}", path.display());
        let table = read(
            &Source::Path(path.to_owned()),
            &ReadOptions { missing: Some(Vec::new()), ..ReadOptions::default() },
            &CancelCheck::never(),
        )
        .map_err(|e| named(e.to_string()))?;
        let column = |name: &str| {
            let found = table.columns.iter().find(|c| c.name == name);
            found.map(|c| &c.cells).ok_or_else(|| named(format!("there is no column {name:?}")))
        };
        let predicted = match column(PREDICTED)? {
            Cells::Text { codes, dictionary: names } | Cells::Nominal { codes, levels: names } => {
                let name = |&code: &u32| names.get(code as usize).cloned();
                codes.iter().map(name).collect::<Option<Vec<String>>>()
            }
            _ => None,
        };
        let predicted = predicted.ok_or_else(|| named("a row has no prediction".to_owned()))?;
        let mut probabilities = vec![Vec::with_capacity(classes.len()); predicted.len()];
        for class in classes {
            let name = format!("{PROBABILITY}{class}");
            let Cells::Numbers { values, .. } = column(&name)? else {
                return Err(named(format!("column {name:?} holds no numbers")));
            };
            probabilities.iter_mut().zip(values).for_each(|(row, &p)| row.push(p));
        }
        let classes = classes.to_vec();
        Ok(Self { classes, predicted, probabilities, fit_secs: None, n_evaluated: None })
    }

    /// Scores them; fails where they are not what was asked for.
    pub(super) fn score(&self, truth: &Truth) -> Result<Scores, String> {
        let (n_rows, n_classes) = (truth.codes.len(), truth.classes.len());
        if self.predicted.len() != n_rows || self.probabilities.len() != n_rows {
            return Err(format!("{} predictions of {n_rows} rows", self.predicted.len()));
        }
        let code = |name: &String| truth.classes.iter().position(|c| c == name);
        let unknown = |name: &String| format!("it predicts {name:?}, which is no class");
        let own = self.predicted.iter().map(|name| code(name).ok_or_else(|| unknown(name)));
        let own: Vec<usize> = own.collect::<Result<_, _>>()?;
        let own = Labels::from_codes(own.into_iter().map(|c| c as u32), n_classes);
        let columns = self.classes.iter().map(|name| code(name).ok_or_else(|| unknown(name)));
        let columns: Vec<usize> = columns.collect::<Result<_, _>>()?;
        // A class that a system never met has no column there, and no probability.
        let mut probabilities = vec![0.0; n_rows * n_classes];
        for (row, given) in self.probabilities.iter().enumerate() {
            if given.len() != columns.len() || given.iter().any(|p| !p.is_finite()) {
                return Err(format!("row {} has no probability for each class", row + 1));
            }
            for (&class, &p) in columns.iter().zip(given) {
                probabilities[row * n_classes + class] = p;
            }
        }
        let codes = Labels::from_codes(truth.codes.iter().copied(), n_classes);
        let decided = Decision::BalancedError.decide(&own, &probabilities, &truth.priors);
        Ok(Scores {
            balanced_error: balanced_error_rate(&codes, &own),
            balanced_accuracy: balanced_accuracy(&codes, &own),
            accuracy: accuracy(&codes, &own),
            log_loss: log_loss(&codes, &probabilities),
            decided_balanced_error: balanced_error_rate(&codes, &decided),
            decided_accuracy: accuracy(&codes, &decided),
        })
    }
}

/// Columns of pitchpipe's predictions.
const PREDICTED: &str = "prediction";
const PROBABILITY: &str = "probability_";

#[cfg(test)]
mod tests {
    use super::*;

    fn truth() -> Truth {
        let classes = ["a", "b", "c"].map(str::to_owned).to_vec();
        Truth { classes, priors: vec![0.8, 0.1, 0.1], codes: vec![0, 0, 1, 2] }
    }

    fn predictions() -> Predictions {
        Predictions {
            classes: vec!["b".into(), "a".into()],
            predicted: ["a", "a", "a", "b"].map(str::to_owned).to_vec(),
            probabilities: vec![vec![0.05, 0.95], vec![0.1, 0.9], vec![0.3, 0.7], vec![0.6, 0.4]],
            fit_secs: None,
            n_evaluated: None,
        }
    }

    #[test]
    fn classes_are_matched_by_name_and_a_missing_one_has_no_probability() {
        let scores = predictions().score(&truth()).unwrap();
        assert_eq!(scores.accuracy, 0.5);
        // FNR 0, 1, 1; FPR 1/2, 1/3, 0.
        assert!((scores.balanced_error - (0.5 + 4.0 / 3.0 + 1.0) / 6.0).abs() < 1e-12);
        // Row 3 has b three times as probable as its prior: the balanced decision finds it.
        assert_eq!(scores.decided_accuracy, 0.75);
        assert!(scores.decided_balanced_error < scores.balanced_error);
        assert!(scores.log_loss > 36.0 / 4.0);
    }

    #[test]
    fn what_was_not_asked_for_is_turned_away() {
        let mut wrong = predictions();
        wrong.predicted[0] = "d".into();
        assert!(wrong.score(&truth()).is_err());
        let mut wrong = predictions();
        wrong.probabilities[1][0] = f64::NAN;
        assert!(wrong.score(&truth()).is_err());
        let mut wrong = predictions();
        wrong.predicted.pop();
        assert!(wrong.score(&truth()).is_err());
    }
}
