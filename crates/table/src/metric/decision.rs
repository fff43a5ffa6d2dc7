//! From probabilities to labels: each metric has its own best rule.

use serde::{Deserialize, Serialize};

use crate::Labels;

/// How a row's class is decided, given calibrated probabilities p and the classes' shares pi of the
/// training rows (ALGORITHMS §19).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// As the estimator itself decides, whatever its probabilities say: the rule behind the errors of the
    /// published tensor.
    #[default]
    Native,
    /// The largest p: best for accuracy.
    Accuracy,
    /// The largest p / pi: best for the mean recall.
    BalancedAccuracy,
    /// The largest (p - pi) / (pi (1 - pi)): best for the paper's balanced error rate. With two classes,
    /// or classes of one size, it agrees with `BalancedAccuracy`.
    BalancedError,
}

impl Decision {
    /// The labels of rows whose estimator decided on `native` and gave these probabilities.
    ///
    /// The smaller code wins a draw. A class without training rows (`pi = 0`) is never chosen by the two
    /// balanced rules, which know nothing of it.
    ///
    /// # Panics
    /// If there is not one row of probabilities per native label and one prior per class.
    pub fn decide(self, native: &Labels, probabilities: &[f64], priors: &[f64]) -> Labels {
        let n_classes = native.n_classes();
        assert_eq!(priors.len(), n_classes, "one prior per class");
        assert_eq!(probabilities.len(), native.len() * n_classes, "one row per label");
        if self == Self::Native {
            return native.clone();
        }
        let decide = |row: &[f64]| {
            let value = |k: usize| self.value(row[k], priors[k]);
            let better = |(best, most): (usize, f64), k: usize| {
                let value = value(k);
                if value > most { (k, value) } else { (best, most) }
            };
            (1..n_classes).fold((0, value(0)), better).0 as u32
        };
        Labels::from_codes(probabilities.chunks_exact(n_classes.max(1)).map(decide), n_classes)
    }

    /// What choosing a class is worth.
    fn value(self, p: f64, prior: f64) -> f64 {
        match self {
            Self::Native | Self::Accuracy => p,
            _ if prior <= 0.0 => f64::NEG_INFINITY,
            Self::BalancedAccuracy => p / prior,
            // The only class there was: nothing else to choose.
            Self::BalancedError if prior >= 1.0 => f64::INFINITY,
            Self::BalancedError => (p - prior) / (prior * (1.0 - prior)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRIORS: [f64; 3] = [0.8, 0.1, 0.1];

    fn decide(rule: Decision, row: [f64; 3], priors: [f64; 3]) -> u32 {
        rule.decide(&Labels::from_codes([2], 3), &row, &priors).codes()[0]
    }

    #[test]
    fn the_rules_differ() {
        let row = [0.6, 0.22, 0.18];
        assert_eq!(decide(Decision::Native, row, PRIORS), 2);
        assert_eq!(decide(Decision::Accuracy, row, PRIORS), 0);
        assert_eq!(decide(Decision::BalancedAccuracy, row, PRIORS), 1);
        assert_eq!(decide(Decision::BalancedError, row, PRIORS), 1);
        // p / pi: 1.1, 1.2, 0; (p - pi) / (pi (1 - pi)): 0.5, 0.22, -1.1.
        let row = [0.88, 0.12, 0.0];
        assert_eq!(decide(Decision::BalancedAccuracy, row, PRIORS), 1);
        assert_eq!(decide(Decision::BalancedError, row, PRIORS), 0);
    }

    #[test]
    fn a_class_never_seen_is_never_chosen() {
        let priors = [0.5, 0.5, 0.0];
        assert_eq!(decide(Decision::BalancedAccuracy, [0.2, 0.3, 0.5], priors), 1);
        assert_eq!(decide(Decision::BalancedError, [0.2, 0.3, 0.5], priors), 1);
        assert_eq!(decide(Decision::BalancedError, [0.2, 0.3, 0.5], [0.0, 1.0, 0.0]), 1);
    }

    proptest! {
        #[test]
        fn the_balanced_rules_agree_for_two_classes(p in 0.0_f64..1.0, prior in 0.01_f64..0.99) {
            prop_assume!((p - prior).abs() > 1e-9);
            let native = Labels::from_codes([0], 2);
            let of = |rule: Decision| rule.decide(&native, &[1.0 - p, p], &[1.0 - prior, prior]);
            prop_assert_eq!(of(Decision::BalancedAccuracy), of(Decision::BalancedError));
        }
    }

    /// The rule maximises the expected score: with the truth drawn from p, no other choice of one row's
    /// label does better in expectation.
    #[test]
    fn the_balanced_error_rule_minimises_the_expected_rate() {
        // Choosing k for a row changes the sum over classes of TPR + TNR by
        // p_k / pi_k + sum over c != k of (1 - p_c) / (1 - pi_c), up to the number of rows.
        let worth = |row: [f64; 3], k: usize| {
            let others = (0..3).filter(|&c| c != k);
            row[k] / PRIORS[k] + others.map(|c| (1.0 - row[c]) / (1.0 - PRIORS[c])).sum::<f64>()
        };
        for i in 0..=20 {
            for j in 0..=20 - i {
                let row = [f64::from(i) / 20., f64::from(j) / 20., f64::from(20 - i - j) / 20.];
                let chosen = decide(Decision::BalancedError, row, PRIORS) as usize;
                let best = (0..3).map(|k| worth(row, k)).fold(f64::MIN, f64::max);
                assert!(worth(row, chosen) > best - 1e-9, "{row:?}");
            }
        }
    }
}
