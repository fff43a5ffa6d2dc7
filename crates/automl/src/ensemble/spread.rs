//! How far a score may be from the truth: its standard error over draws of the rows that it was measured on.

use pitchpipe_table::{Dependence, Folds};

use crate::scores::{OutOfFold, Scores};

/// Into how many parts rows are dealt.
const PARTS: usize = 20;

/// Standard errors of all scores, by leaving out one part of the rows after the other (the delete-a-group jackknife).
///
/// Groups stay together, so that rows which are no witnesses of their own do not count as such. The error of having
/// learnt from these rows and not from others is not in it. `None` where there are too few rows to leave any out.
pub(crate) fn standard_errors(scored: &OutOfFold, dependence: &Dependence) -> Option<Scores> {
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
    let left: Vec<Scores> = folds.iter().map(|fold| scored.select(&fold.train).scores()).collect();
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

    #[test]
    fn the_standard_error_of_a_share_is_the_usual_one() {
        let (scored, _) = scored(600, 1);
        let errors = standard_errors(&scored, &Dependence::Independent).unwrap();
        let usual = (1.0 / 3.0 * 2.0 / 3.0 / 600.0_f64).sqrt();
        assert!((errors.accuracy / usual - 1.0).abs() < 0.5, "{} {usual}", errors.accuracy);
        assert!(errors.roc_auc.is_some_and(|e| e > 0.0 && e < 0.05));
    }

    #[test]
    fn rows_of_a_group_are_one_witness() {
        let (scored, groups) = scored(600, 10);
        let apart = standard_errors(&scored, &Dependence::Independent).unwrap().accuracy;
        let together = standard_errors(&scored, &groups).unwrap().accuracy;
        assert!(together > 2.0 * apart, "{together} {apart}");
    }
}
