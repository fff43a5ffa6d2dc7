//! How far a score may be from the truth: its standard error over draws of the rows that it was measured on.

use pitchpipe_table::{ConfusionMatrix, Dependence, Folds, Labels};
use rayon::prelude::*;

use crate::scores::{OutOfFold, Scores};

/// Into how many parts rows are dealt.
const PARTS: usize = 20;

/// Of more rows a part of this size tells as well how much scores vary.
const MOST_ROWS: usize = 200_000;

/// Scores with one part of the rows left out after the other (the delete-a-group jackknife).
///
/// Groups stay together, so that rows which are no witnesses of their own do not count as such. The error of having
/// learnt from these rows and not from others is not in it.
pub(crate) struct Jackknife<'a> {
    scored: &'a OutOfFold,
    /// The rows that are left each time.
    left: Vec<Vec<usize>>,
    /// What the predictions score on them.
    scores: Vec<Scores>,
    /// By how much smaller the variance of scores is of all rows than of those that were dealt.
    shrunk: f64,
    /// What rows that were not met add to each variance.
    unmet: Scores,
}

impl<'a> Jackknife<'a> {
    /// Of these predictions. `None` where there are too few rows to leave any out.
    pub(crate) fn of(scored: &'a OutOfFold, dependence: &Dependence) -> Option<Self> {
        let dependence = match dependence {
            Dependence::Groups(_) => dependence,
            Dependence::Independent | Dependence::Order(_) => &Dependence::Independent,
        };
        if scored.truth.len() < 2 {
            return None;
        }
        let (left, shrunk) = match dependence {
            Dependence::Independent => left_of_a_part(&scored.truth),
            _ => (left_each_time(dependence, &scored.truth), 1.0),
        };
        if left.len() < 2 {
            return None;
        }
        let scores = left.par_iter().map(|rows| scored.select(rows).scores()).collect();
        Some(Self { scored, left, scores, shrunk, unmet: unmet(scored) })
    }

    /// The standard error of each score.
    pub(crate) fn standard_errors(&self) -> Option<Scores> {
        let variances = spread(&self.scores)?;
        Some(both(&variances, &self.unmet, |v, unmet| (v * self.shrunk + unmet).sqrt()))
    }

    /// The standard error of how much each score differs from that of other predictions of the same rows: what is hard
    /// for both cancels out.
    pub(crate) fn standard_errors_beside(&self, other: &OutOfFold) -> Option<Scores> {
        let others: Vec<Scores> =
            self.left.par_iter().map(|rows| other.select(rows).scores()).collect();
        let gaps: Vec<Scores> = self
            .scores
            .iter()
            .zip(&others)
            .map(|(own, other)| both(own, other, |own, other| own - other))
            .collect();
        let variances = spread(&gaps)?;
        // Of two that say the same of every row met none is known of which they would not.
        let is_same =
            other.labels == self.scored.labels && other.probabilities == self.scored.probabilities;
        let unmet = if is_same { 0.0 } else { 1.0 };
        let error = |v: f64, more: f64| (v * self.shrunk + unmet * more).sqrt();
        Some(both(&variances, &self.unmet, error))
    }
}

/// The rows that are left when one part after the other is not there.
fn left_each_time(dependence: &Dependence, truth: &Labels) -> Vec<Vec<usize>> {
    let Folds { folds, .. } = dependence.folds(truth, PARTS, 0);
    folds.into_iter().map(|fold| fold.train).collect()
}

/// The same of independent rows, or of a part of them with its share of each class where they are very many; and that
/// part's share of the rows.
fn left_of_a_part(truth: &Labels) -> (Vec<Vec<usize>>, f64) {
    let n_parts = truth.len().div_ceil(MOST_ROWS);
    if n_parts < 2 {
        return (left_each_time(&Dependence::Independent, truth), 1.0);
    }
    let Folds { mut folds, .. } = Dependence::Independent.folds(truth, n_parts, 0);
    let part = folds.swap_remove(0).test;
    let left = left_each_time(&Dependence::Independent, &truth.select(&part));
    let in_all = |rows: Vec<usize>| rows.into_iter().map(|row| part[row]).collect();
    (left.into_iter().map(in_all).collect(), part.len() as f64 / truth.len() as f64)
}

/// What has not been met cannot vary: four rows that are all predicted rightly say little, and their scores seem to be
/// certain. So every variance is that of a sample with a row more that is predicted rightly and one that is not, of each
/// class where classes count alike (Laplace's rule); of losses, with one row more of which nothing is known. That is a few per cent of
/// the variance of some hundred rows, and nothing of that of thousands.
fn unmet(scored: &OutOfFold) -> Scores {
    let truth = &scored.truth;
    let confusion = ConfusionMatrix::new(truth, &scored.labels);
    let (n, scores) = (truth.len() as f64, scored.scores());
    let met: Vec<usize> = (0..truth.n_classes()).filter(|&k| confusion.n_true(k) > 0).collect();
    let n_met = met.len() as f64;
    let mean_of =
        |of: &dyn Fn(usize) -> f64| met.iter().map(|&k| of(k)).sum::<f64>() / n_met.powi(2);
    let missed = mean_of(&|k| {
        let n_true = confusion.n_true(k) as f64;
        of_two_rows_more(confusion.count(k, k) as f64 / n_true, n_true)
    });
    let taken = mean_of(&|k| {
        let n_others = n - confusion.n_true(k) as f64;
        let wrongly = (confusion.n_predicted(k) - confusion.count(k, k)) as f64;
        if n_others > 0.0 { of_two_rows_more(wrongly / n_others, n_others) } else { 0.0 }
    });
    // With two classes what one of them misses is what the other wrongly takes.
    let balanced_error = if met.len() == 2 { missed } else { (missed + taken) / 4.0 };
    let fewest = met.iter().map(|&k| confusion.n_true(k)).min().unwrap_or(1) as f64;
    let area = scores.roc_auc.map(|area| match truth.n_classes() {
        2 => of_two_rows_more(area, fewest),
        _ => mean_of(&|k| of_two_rows_more(area, confusion.n_true(k) as f64)),
    });
    let n_classes = truth.n_classes() as f64;
    let distance = if truth.n_classes() == 2 { 0.25 } else { 1.0 - 1.0 / n_classes };
    let of_one_row_more =
        |loss: f64, unknown: f64| (unknown - loss).powi(2) * n / (n + 1.0).powi(3);
    Scores {
        balanced_error,
        balanced_accuracy: missed,
        accuracy: of_two_rows_more(scores.accuracy, n),
        macro_f1: missed,
        roc_auc: area,
        log_loss: of_one_row_more(scores.log_loss, n_classes.ln()),
        brier_score: scores.brier_score.map(|loss| of_one_row_more(loss, distance)),
    }
}

/// What a zero and a one more add to the variance of the mean of so many numbers between the two.
fn of_two_rows_more(mean: f64, n: f64) -> f64 {
    let with = (n * mean + 1.0) / (n + 2.0);
    (n * (mean - with).powi(2) + (1.0 - with).powi(2) + with.powi(2)) / (n + 2.0).powi(2)
}

/// The variance of each score over draws of the rows.
fn spread(left: &[Scores]) -> Option<Scores> {
    let spread = |of: &dyn Fn(&Scores) -> Option<f64>| {
        let values: Option<Vec<f64>> = left.iter().map(of).collect();
        let values = values?;
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        Some(squares * (n - 1.0) / n)
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

/// Score by score.
fn both(one: &Scores, other: &Scores, of: impl Fn(f64, f64) -> f64) -> Scores {
    let both = |one: Option<f64>, other: Option<f64>| Some(of(one?, other?));
    Scores {
        balanced_error: of(one.balanced_error, other.balanced_error),
        balanced_accuracy: of(one.balanced_accuracy, other.balanced_accuracy),
        accuracy: of(one.accuracy, other.accuracy),
        macro_f1: of(one.macro_f1, other.macro_f1),
        roc_auc: both(one.roc_auc, other.roc_auc),
        log_loss: of(one.log_loss, other.log_loss),
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
    #[test]
    fn few_rows_that_are_all_right_are_not_certain() {
        let truth = Labels::from_codes([0, 0, 1, 1], 2);
        let probabilities = vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
        let scored = OutOfFold { labels: truth.clone(), truth, probabilities };
        let few = errors(&scored, &Dependence::Independent);
        // As of five right rows and a wrong one.
        let usual = (1.0 / 6.0 * 5.0 / 6.0 / 6.0_f64).sqrt();
        assert!((few.accuracy - usual).abs() < 1e-12, "{} {usual}", few.accuracy);
        for error in [few.balanced_error, few.macro_f1, few.log_loss] {
            assert!(error > 0.1 && error < 0.3, "{few:?}");
        }
        assert!(few.roc_auc > Some(0.1) && few.brier_score > Some(0.02), "{few:?}");
    }

    #[test]
    fn a_part_of_very_many_rows_tells_what_all_of_them_do() {
        let (scored, _) = scored(2 * MOST_ROWS as u32 + 1000, 1);
        let n = scored.truth.len() as f64;
        let errors = errors(&scored, &Dependence::Independent);
        let usual = (1.0 / 3.0 * 2.0 / 3.0 / n).sqrt();
        assert!((errors.accuracy / usual - 1.0).abs() < 0.5, "{} {usual}", errors.accuracy);
    }
}
