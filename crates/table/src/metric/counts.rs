//! What is counted of each class, and the scores of labels that follow from it.

use super::Metric;
use crate::Labels;

/// How many rows of each class there are, were predicted, and were predicted rightly. All that scores of labels need: a
/// matrix of who is taken for whom would have the square of the number of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassCounts {
    n_rows: usize,
    classes: Vec<Counts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    truly: usize,
    predicted: usize,
    right: usize,
}

impl ClassCounts {
    /// Counts the rows of each class.
    ///
    /// # Panics
    /// If the two differ in length or in number of classes.
    pub fn new(truth: &Labels, predicted: &Labels) -> Self {
        assert_eq!(truth.len(), predicted.len(), "one prediction per row");
        assert_eq!(truth.n_classes(), predicted.n_classes(), "predictions of the same classes");
        let rows = truth.codes().iter().zip(predicted.codes());
        Self::of_tallies(truth.n_classes(), rows.map(|(&t, &p)| (t, p, 1)))
    }

    /// Of tallies: how many rows are of a class and were predicted as another, or as the same.
    ///
    /// # Panics
    /// If there are not so many classes.
    pub fn of_tallies(
        n_classes: usize,
        tallies: impl IntoIterator<Item = (u32, u32, usize)>,
    ) -> Self {
        let mut counts = Self { n_rows: 0, classes: vec![Counts::default(); n_classes] };
        for (truth, predicted, n) in tallies {
            counts.n_rows += n;
            counts.classes[truth as usize].truly += n;
            counts.classes[predicted as usize].predicted += n;
            counts.classes[truth as usize].right += if truth == predicted { n } else { 0 };
        }
        counts
    }

    /// The score by a metric; `None` where it looks at probabilities, which are not counted.
    pub fn score(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::BalancedError => Some(self.balanced_error_rate()),
            Metric::BalancedAccuracy => Some(self.balanced_accuracy()),
            Metric::Accuracy => Some(self.accuracy()),
            Metric::MacroF1 => Some(self.macro_f1()),
            Metric::LogLoss | Metric::RocAuc => None,
        }
    }

    /// See [`balanced_error_rate`].
    pub fn balanced_error_rate(&self) -> f64 {
        mean_over(self.present(), |class| {
            let false_negative_rate = share(class.truly - class.right, class.truly);
            let n_others = self.n_rows - class.truly;
            let false_positive_rate = share(class.predicted - class.right, n_others);
            (false_negative_rate + false_positive_rate) / 2.0
        })
    }

    /// See [`balanced_accuracy`].
    pub fn balanced_accuracy(&self) -> f64 {
        mean_over(self.present(), |class| share(class.right, class.truly))
    }

    /// See [`accuracy`].
    pub fn accuracy(&self) -> f64 {
        assert!(self.n_rows > 0, "there is no accuracy of no rows");
        share(self.classes.iter().map(|class| class.right).sum(), self.n_rows)
    }

    /// See [`macro_f1`].
    pub fn macro_f1(&self) -> f64 {
        let met = self.classes.iter().filter(|class| class.truly + class.predicted > 0);
        mean_over(met, |class| share(2 * class.right, class.truly + class.predicted))
    }

    /// The classes that some row is of.
    fn present(&self) -> impl Iterator<Item = &Counts> {
        self.classes.iter().filter(|class| class.truly > 0)
    }
}

/// The paper's balanced error rate (ALGORITHMS §3): for each class present in the truth, the mean of its
/// false negative rate and its false positive rate, one-vs-rest; then the plain mean over those classes.
///
/// A constant prediction scores 0.5 for any number of classes. With two classes this is
/// `1 - balanced_accuracy`; with more it is not. Where all rows are of one class, none can be a false
/// positive, and that rate counts as zero.
///
/// # Panics
/// If the predictions do not match the true labels in length or classes, or if there are none.
pub fn balanced_error_rate(truth: &Labels, predicted: &Labels) -> f64 {
    ClassCounts::new(truth, predicted).balanced_error_rate()
}

/// The mean recall of the classes present in the truth: scikit-learn's `balanced_accuracy_score`.
///
/// # Panics
/// As [`balanced_error_rate`].
pub fn balanced_accuracy(truth: &Labels, predicted: &Labels) -> f64 {
    ClassCounts::new(truth, predicted).balanced_accuracy()
}

/// The share of rows predicted rightly.
///
/// # Panics
/// As [`balanced_error_rate`].
pub fn accuracy(truth: &Labels, predicted: &Labels) -> f64 {
    ClassCounts::new(truth, predicted).accuracy()
}

/// The plain mean of the F1 scores of the classes met in the truth or among the predictions:
/// scikit-learn's `f1_score(average="macro")`.
///
/// # Panics
/// As [`balanced_error_rate`].
pub fn macro_f1(truth: &Labels, predicted: &Labels) -> f64 {
    ClassCounts::new(truth, predicted).macro_f1()
}

/// `part / whole`, and zero of nothing.
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn mean_over<'a>(classes: impl Iterator<Item = &'a Counts>, value: impl Fn(&Counts) -> f64) -> f64 {
    let (mut sum, mut n) = (0.0, 0);
    for class in classes {
        sum += value(class);
        n += 1;
    }
    assert!(n > 0, "there is no score of no rows");
    sum / f64::from(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> (Labels, Labels) {
        let truth = Labels::from_codes([0, 0, 0, 0, 0, 1, 1, 1, 2, 2], 4);
        let predicted = Labels::from_codes([0, 0, 0, 1, 2, 1, 1, 0, 2, 3], 4);
        (truth, predicted)
    }

    #[test]
    fn the_balanced_error_rate_by_hand() {
        // Class 0: FNR 2/5, FPR 1/5. Class 1: FNR 1/3, FPR 1/7. Class 2: FNR 1/2, FPR 1/8. Class 3 is
        // absent from the truth and does not count.
        let (truth, predicted) = case();
        let expected =
            ((0.4 + 0.2) / 2.0 + (1. / 3. + 1. / 7.) / 2.0 + (0.5 + 1. / 8.) / 2.0) / 3.0;
        assert!((balanced_error_rate(&truth, &predicted) - expected).abs() < 1e-15);
        assert!((expected - (1.0 - balanced_accuracy(&truth, &predicted))).abs() > 0.05);
    }

    #[test]
    fn agrees_with_scikit_learn() {
        // scikit-learn 1.9.1: balanced_accuracy_score, accuracy_score, f1_score(average="macro").
        let (truth, predicted) = case();
        assert!((balanced_accuracy(&truth, &predicted) - 0.588_888_888_888_888_9).abs() < 1e-12);
        assert!((accuracy(&truth, &predicted) - 0.6).abs() < 1e-12);
        assert!((macro_f1(&truth, &predicted) - 0.458_333_333_333_333_3).abs() < 1e-12);
    }

    #[test]
    fn a_constant_prediction_scores_one_half() {
        for n_classes in 2..6 {
            let truth = Labels::from_codes((0..60).map(|i| i % n_classes), n_classes as usize);
            for constant in 0..n_classes {
                let predicted = Labels::from_codes(vec![constant; 60], n_classes as usize);
                assert!((balanced_error_rate(&truth, &predicted) - 0.5).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn two_classes_make_it_one_minus_the_mean_recall() {
        let truth = Labels::from_codes([0, 0, 0, 1, 1], 2);
        let predicted = Labels::from_codes([0, 1, 0, 1, 0], 2);
        let ber = balanced_error_rate(&truth, &predicted);
        assert!((ber - (1.0 - balanced_accuracy(&truth, &predicted))).abs() < 1e-15);
    }

    #[test]
    fn rows_of_one_class_have_no_false_positives() {
        let truth = Labels::from_codes([1, 1, 1, 1], 3);
        let predicted = Labels::from_codes([1, 1, 0, 2], 3);
        assert_eq!(balanced_error_rate(&truth, &predicted), 0.25);
    }

    #[test]
    fn all_wrong_is_worse_than_constant() {
        let truth = Labels::from_codes([0, 1], 2);
        let predicted = Labels::from_codes([1, 0], 2);
        assert_eq!(balanced_error_rate(&truth, &predicted), 1.0);
    }

    #[test]
    fn a_hundred_thousand_classes_take_no_matrix() {
        // Squared they would be ten thousand million counts.
        let truth = Labels::from_codes(0..100_000, 100_000);
        let predicted = Labels::from_codes((0..100_000).map(|c| c / 2 * 2), 100_000);
        assert!((accuracy(&truth, &predicted) - 0.5).abs() < 1e-12);
        assert!((balanced_accuracy(&truth, &predicted) - 0.5).abs() < 1e-9);
    }
}
