//! How much slower or faster than predicted each type of estimator is, on this table and machine.

use std::collections::BTreeMap;

use pitchpipe_learn::estimate::EstimatorKind;

/// Pull of a type's factor towards that of all types, in runs.
const PULL: f64 = 3.0;

/// How much older runs count less for each later one of the same type.
const FADING: f64 = 0.9;

/// Mean log ratios of measured to predicted seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    all: Mean,
    of_kind: BTreeMap<EstimatorKind, Mean>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, value: f64, fading: f64) {
        self.sum = self.sum * fading + value;
        self.weight = self.weight * fading + 1.0;
    }
}

impl Pace {
    /// Takes in a ratio of measured to predicted seconds.
    pub(crate) fn note(&mut self, kind: EstimatorKind, ratio: f64) {
        if !(ratio.is_finite() && ratio > 0.0) {
            return;
        }
        self.all.add(ratio.ln(), 1.0);
        self.of_kind.entry(kind).or_default().add(ratio.ln(), FADING);
    }

    /// What to multiply predicted seconds by.
    pub(crate) fn factor(&self, kind: EstimatorKind) -> f64 {
        let overall = self.all.sum / (self.all.weight + PULL);
        let own = self.of_kind.get(&kind).copied().unwrap_or_default();
        ((own.sum + PULL * overall) / (own.weight + PULL)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_one_type_is_guessed_of_others() {
        let mut pace = Pace::default();
        assert_eq!(pace.factor(EstimatorKind::Knn), 1.0);
        (0..20).for_each(|_| pace.note(EstimatorKind::Knn, 4.0));
        assert!(pace.factor(EstimatorKind::Knn) > 3.0);
        let other = pace.factor(EstimatorKind::Mlp);
        assert!(other > 1.5 && other < pace.factor(EstimatorKind::Knn), "{other}");
    }
}
