//! How much slower or faster than predicted each kind of estimator is, on this table and machine.

/// Pull of a kind's factor towards that of all kinds, in runs.
const PULL: f64 = 3.0;

/// How much older runs count less for each later one of the same kind.
const FADING: f64 = 0.9;

/// Mean log ratios of measured to predicted seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    all: Mean,
    of_kind: Vec<Mean>,
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
    pub(super) fn note(&mut self, kind: usize, ratio: f64) {
        if !(ratio.is_finite() && ratio > 0.0) {
            return;
        }
        self.all.add(ratio.ln(), 1.0);
        if self.of_kind.len() <= kind {
            self.of_kind.resize(kind + 1, Mean::default());
        }
        self.of_kind[kind].add(ratio.ln(), FADING);
    }

    /// What to multiply predicted seconds by.
    pub(super) fn factor(&self, kind: usize) -> f64 {
        let overall = self.all.sum / (self.all.weight + PULL);
        let own = self.of_kind.get(kind).copied().unwrap_or_default();
        ((own.sum + PULL * overall) / (own.weight + PULL)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_one_kind_is_guessed_of_others() {
        let mut pace = Pace::default();
        assert_eq!(pace.factor(0), 1.0);
        (0..20).for_each(|_| pace.note(0, 4.0));
        assert!(pace.factor(0) > 3.0);
        let other = pace.factor(3);
        assert!(other > 1.5 && other < pace.factor(0), "{other}");
    }
}
