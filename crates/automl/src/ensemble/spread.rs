//! How far a score may be from the truth: its standard error over draws of the rows that it was measured on.

use pitchpipe_table::{Dependence, Folds};

use crate::scores::{OutOfFold, Scores};

/// Into how many parts rows are dealt.
const PARTS: usize = 20;

/// Scores with one part of the rows left out after the other (the delete-a-group jackknife).
///
/// Groups stay together, so that rows which are no witnesses of their own do not count as such. The error of having
/// learnt from these rows and not from others is not in it.
pub(crate) struct Jackknife {
    /// The rows that are left each time.
    left: Vec<Vec<usize>>,
    /// What the predictions score on them.
    scores: Vec<Scores>,
}

impl Jackknife {
    /// Of these predictions. `None` where there are too few rows to leave any out.
    pub(crate) fn of(scored: &OutOfFold, dependence: &Dependence) -> Option<Self> {
        let dependence = match dependence {
            Dependence::Groups(_) => dependence,
            Dependence::Independent | Dependence::Order(_) => &Dependence::Independent,
        };
        if scored.truth.len() < 2 {
            return None;
        }
        let Folds { folds, .. } = dependence.folds(&scored.truth, PARTS, 0);
        if folds.len() < 2 {
            return None;
        }
        let left: Vec<Vec<usize>> = folds.into_iter().map(|fold| fold.train).collect();
        let scores = left.iter().map(|rows| scored.select(rows).scores()).collect();
        Some(Self { left, scores })
    }

    /// The standard error of each score.
    pub(crate) fn standard_errors(&self) -> Option<Scores> {
        spread(&self.scores)
    }

    /// The standard error of how much each score differs from that of other predictions of the same rows: what is hard
    /// for both cancels out.
    pub(crate) fn standard_errors_beside(&self, other: &OutOfFold) -> Option<Scores> {
        let others = self.left.iter().map(|rows| other.select(rows).scores());
        let gaps: Vec<Scores> =
            self.scores.iter().zip(others).map(|(own, other)| minus(own, &other)).collect();
        spread(&gaps)
    }
}

fn spread(left: &[Scores]) -> Option<Scores> {
    let spread = |of: &dyn Fn(&Scores) -> Option<f64>| {
        let values: Option<Vec<f64>> = left.iter().map(of).collect();
        let values = values?;
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        Some((squares * (n - 1.0) / n).sqrt())
    };
    Some(Scores {
        balanced_error: spread(&|s| Some(s.balanced_error))?,
        balanced_accuracy: spread(&|s| Some(s.balanced_accuracy))?,
        accuracy: spread(&|s| Some(s.accuracy))?,
        macro_f1: spread(&|s| Some(s.macro_f1))?,
        roc_auc: spread(&|s| s.roc_auc),
        log_loss: spread(&|s| Some(s.log_loss))?,
        brier_score: spread(&|s| s.brier_score),
    })
}

fn minus(one: &Scores, other: &Scores) -> Scores {
    let both = |one: Option<f64>, other: Option<f64>| Some(one? - other?);
    Scores {
        balanced_error: one.balanced_error - other.balanced_error,
        balanced_accuracy: one.balanced_accuracy - other.balanced_accuracy,
        accuracy: one.accuracy - other.accuracy,
        macro_f1: one.macro_f1 - other.macro_f1,
        roc_auc: both(one.roc_auc, other.roc_auc),
        log_loss: one.log_loss - other.log_loss,
        brier_score: both(one.brier_score, other.brier_score),
    }
}

impl OutOfFold {
    /// The given rows, in the order given.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let n_classes = self.truth.n_classes();
        let row = |&row: &usize| &self.probabilities[row * n_classes..][..n_classes];
        Self {
            truth: self.truth.select(rows),
            labels: self.labels.select(rows),
            probabilities: rows.iter().flat_map(row).copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pitchpipe_table::Labels;

    use super::*;

    /// Rows of two classes in groups of so many, every third group predicted wrongly.
    fn scored(n_rows: u32, of_a_group: u32) -> (OutOfFold, Dependence) {
        let truth = Labels::from_codes((0..n_rows).map(|i| i / of_a_group % 2), 2);
        let is_wrong = |i: u32| (i / of_a_group).is_multiple_of(3);
        let labels = (0..n_rows).map(|i| (i / of_a_group % 2) ^ u32::from(is_wrong(i)));
        let labels = Labels::from_codes(labels, 2);
        let probabilities = labels
            .codes()
            .iter()
            .flat_map(|&c| if c == 0 { [0.9, 0.1] } else { [0.1, 0.9] })
            .collect();
        let groups = Dependence::Groups((0..n_rows).map(|i| i / of_a_group).collect());
        (OutOfFold { truth, labels, probabilities }, groups)
    }

    fn errors(scored: &OutOfFold, dependence: &Dependence) -> Scores {
        Jackknife::of(scored, dependence).and_then(|j| j.standard_errors()).unwrap()
    }

    #[test]
    fn the_standard_error_of_a_share_is_the_usual_one() {
        let (scored, _) = scored(600, 1);
        let errors = errors(&scored, &Dependence::Independent);
        let usual = (1.0 / 3.0 * 2.0 / 3.0 / 600.0_f64).sqrt();
        assert!((errors.accuracy / usual - 1.0).abs() < 0.5, "{} {usual}", errors.accuracy);
        assert!(errors.roc_auc.is_some_and(|e| e > 0.0 && e < 0.05));
    }

    #[test]
    fn rows_of_a_group_are_one_witness() {
        let (scored, groups) = scored(600, 10);
        let apart = errors(&scored, &Dependence::Independent).accuracy;
        let together = errors(&scored, &groups).accuracy;
        assert!(together > 2.0 * apart, "{together} {apart}");
    }

    #[test]
    fn what_is_hard_for_both_does_not_blur_their_difference() {
        let (scored, _) = scored(600, 1);
        let jackknife = Jackknife::of(&scored, &Dependence::Independent).unwrap();
        let same = jackknife.standard_errors_beside(&scored).unwrap();
        assert_eq!(same.accuracy, 0.0);
        // One row in sixty more is wrong.
        let codes = scored.labels.codes().iter().enumerate();
        let codes = codes.map(|(i, &c)| if i % 60 == 1 { 1 - c } else { c });
        let worse = OutOfFold { labels: Labels::from_codes(codes, 2), ..scored.clone() };
        let gap = jackknife.standard_errors_beside(&worse).unwrap().accuracy;
        let own = jackknife.standard_errors().unwrap().accuracy;
        assert!(gap > 0.0 && gap < 0.6 * own, "{gap} {own}");
    }
}
