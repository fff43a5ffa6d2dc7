//! Metrics that look at probabilities: log loss, Brier score, area under the ROC curve.

use crate::Labels;

/// The mean negative natural logarithm of the probability given to the true class.
///
/// Clipped as scikit-learn's `log_loss` clips (to `[eps, 1 - eps]` with the machine's `eps`), so that one
/// certain mistake costs 36 and not infinity.
///
/// # Panics
/// If the probabilities are not one row per label, or if there are none.
pub fn log_loss(truth: &Labels, probabilities: &[f64]) -> f64 {
    log_losses(truth, probabilities).sum::<f64>() / truth.len() as f64
}

/// What each row adds to [`log_loss`], before the mean.
///
/// # Panics
/// As [`log_loss`].
pub fn log_losses<'a>(
    truth: &'a Labels,
    probabilities: &'a [f64],
) -> impl Iterator<Item = f64> + 'a {
    rows(truth, probabilities)
        .map(|(row, class)| -row[class].clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln())
}

/// The mean squared distance between the probabilities and the truth (one for the true class, zero for
/// the others): over the second class's probability where there are two classes, summed over all classes
/// where there are more.
///
/// So a binary score lies in 0..=1 and a multiclass one in 0..=2, as scikit-learn's `brier_score_loss` has
/// it (its `scale_by_half="auto"`).
///
/// # Panics
/// As [`log_loss`].
pub fn brier_score(truth: &Labels, probabilities: &[f64]) -> f64 {
    let squared = |p: f64, is_true: bool| (p - f64::from(u8::from(is_true))).powi(2);
    let distance = |(row, class): (&[f64], usize)| match row {
        [_, p] => squared(*p, class == 1),
        _ => row.iter().enumerate().map(|(k, &p)| squared(p, k == class)).sum(),
    };
    rows(truth, probabilities).map(distance).sum::<f64>() / truth.len() as f64
}

/// The area under the ROC curve: of the second class where there are two, otherwise the plain mean of the
/// classes' areas, one-vs-rest (scikit-learn's `multi_class="ovr", average="macro"`).
///
/// Classes absent from the truth have no curve and are left out of the mean (scikit-learn refuses them);
/// `None` where fewer than two classes are present.
///
/// # Panics
/// As [`log_loss`].
pub fn roc_auc(truth: &Labels, probabilities: &[f64]) -> Option<f64> {
    let counts = truth.counts();
    let present: Vec<usize> = (0..counts.len()).filter(|&k| counts[k] > 0).collect();
    let rows: Vec<(&[f64], usize)> = rows(truth, probabilities).collect();
    let area =
        |class: usize| area_under_curve(rows.iter().map(|(row, c)| (row[class], *c == class)));
    match (present.len(), truth.n_classes()) {
        (0 | 1, _) => None,
        (_, 2) => Some(area(1)),
        (n, _) => Some(present.into_iter().map(area).sum::<f64>() / n as f64),
    }
}

/// The probability that a positive row scores above a negative one; a draw counts half.
///
/// Only the positive rows are sorted: of a thousand classes each has few, and the others need no order.
fn area_under_curve(scored: impl Iterator<Item = (f64, bool)> + Clone) -> f64 {
    let mut positives: Vec<f64> = scored.clone().filter(|s| s.1).map(|s| s.0).collect();
    positives.sort_unstable_by(f64::total_cmp);
    // Negatives next below a positive score and above the one before, and those that draw with it.
    let (mut below, mut drawn) = (vec![0_u64; positives.len()], vec![0_u64; positives.len()]);
    let mut n_negatives = 0_u64;
    for (score, _) in scored.filter(|s| !s.1) {
        n_negatives += 1;
        let at = positives.partition_point(|&p| p < score);
        if let Some(&positive) = positives.get(at) {
            let counts = if positive == score { &mut drawn } else { &mut below };
            counts[at] += 1;
        }
    }
    let (mut negatives_below, mut won, mut at) = (0.0, 0.0, 0);
    // `-0.0` and `0.0` sort apart but are one score, hence `==`.
    for same in positives.chunk_by(|a, b| a == b) {
        negatives_below += below[at] as f64;
        won += same.len() as f64 * (negatives_below + drawn[at] as f64 / 2.0);
        negatives_below += drawn[at] as f64;
        at += same.len();
    }
    won / (positives.len() as f64 * n_negatives as f64)
}

/// The row of probabilities and the true class of each row.
fn rows<'a>(
    truth: &'a Labels,
    probabilities: &'a [f64],
) -> impl Iterator<Item = (&'a [f64], usize)> {
    assert!(!truth.is_empty(), "there is no score of no rows");
    assert_eq!(probabilities.len(), truth.len() * truth.n_classes(), "one row per label");
    let classes = truth.codes().iter().map(|&c| c as usize);
    probabilities.chunks_exact(truth.n_classes()).zip(classes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // scikit-learn 1.9.1 on these very numbers.
    fn binary() -> (Labels, Vec<f64>) {
        let p1 = [0.1, 0.4, 0.4, 0.8, 0.7, 0.0];
        let rows = p1.iter().flat_map(|p| [1.0 - p, *p]).collect();
        (Labels::from_codes([0, 0, 1, 1, 0, 1], 2), rows)
    }

    #[rustfmt::skip]
    fn three() -> (Labels, Vec<f64>) {
        let rows = vec![
            0.7, 0.2, 0.1,
            0.3, 0.3, 0.4,
            0.2, 0.5, 0.3,
            0.1, 0.1, 0.8,
            0.5, 0.25, 0.25,
            0.0, 0.0, 1.0,
            0.4, 0.3, 0.3,
        ];
        (Labels::from_codes([0, 0, 1, 2, 1, 2, 2], 3), rows)
    }

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
    }

    #[test]
    fn binary_scores_agree_with_scikit_learn() {
        let (truth, p) = binary();
        close(log_loss(&truth, &p), 6.500_541_102_675_879);
        close(brier_score(&truth, &p), 0.343_333_333_333_333_3);
        close(roc_auc(&truth, &p).unwrap(), 0.5);
    }

    #[test]
    fn multiclass_scores_agree_with_scikit_learn() {
        let (truth, p) = three();
        close(log_loss(&truth, &p), 0.723_886_520_797_807_1);
        close(brier_score(&truth, &p), 0.419_285_714_285_714_4);
        close(roc_auc(&truth, &p).unwrap(), 0.825);
    }

    #[test]
    fn a_curve_needs_two_classes() {
        let truth = Labels::from_codes([1, 1], 3);
        assert_eq!(roc_auc(&truth, &[0.2, 0.5, 0.3, 0.1, 0.8, 0.1]), None);
    }

    #[test]
    fn an_absent_class_has_no_curve() {
        let truth = Labels::from_codes([0, 2, 2], 3);
        let p = [0.9, 0.0, 0.1, 0.2, 0.0, 0.8, 0.3, 0.1, 0.6];
        assert_eq!(roc_auc(&truth, &p), Some(1.0));
    }

    proptest! {
        /// Every pair of a positive and a negative row, counted.
        #[test]
        fn the_area_is_the_share_of_pairs_in_order(
            rows in prop::collection::vec((0_u8..8, any::<bool>()), 2..60),
        ) {
            let score = |s: u8| if s == 0 { -0.0 } else { f64::from(s / 2) };
            let of = |is: bool| rows.iter().filter(move |r| r.1 == is).map(|r| score(r.0));
            let (n_positive, n_negative) = (of(true).count(), of(false).count());
            prop_assume!(n_positive > 0 && n_negative > 0);
            let worth = |p: f64, n: f64| if p > n { 1.0 } else if p == n { 0.5 } else { 0.0 };
            let won: f64 = of(true).map(|p| of(false).map(|n| worth(p, n)).sum::<f64>()).sum();
            let area = area_under_curve(rows.iter().map(|&(s, is)| (score(s), is)));
            prop_assert!((area - won / (n_positive * n_negative) as f64).abs() < 1e-12);
        }
    }

    #[test]
    fn equal_scores_are_worth_one_half() {
        let truth = Labels::from_codes([0, 1, 1], 2);
        assert_eq!(roc_auc(&truth, &[0.5; 6]), Some(0.5));
        assert_eq!(roc_auc(&truth, &[1., 0., 1., -0., 1., 0.]), Some(0.5));
    }
}
