//! Whose turn it is: half of the time goes where most is to be gained, half to each type of estimator in turn.
//!
//! An ensemble wants good learners that differ. The gain alone is blind to that, and fills the time with
//! the settings of whatever type is ahead (docs/decisions/0060-online.md).

/// The share of the time that goes to types of estimators in turn.
const SHARE_IN_TURN: f64 = 0.5;

/// A type that promises a lowest error higher than the lowest of all by this share of it, and a little, gets less
/// time by a factor of e.
const BEHIND: f64 = 0.25;
const BEHIND_LEAST: f64 = 0.005;

/// The time that types of estimators have had.
pub(crate) struct Turns {
    /// The type of each action.
    kinds: Vec<usize>,
    spent_secs: Vec<f64>,
    in_turn_secs: f64,
    free_secs: f64,
}

impl Turns {
    /// Turns of actions of these kinds.
    pub(crate) fn new<K: PartialEq>(kinds: impl Iterator<Item = K>) -> Self {
        let mut all: Vec<K> = Vec::new();
        let number = |kind| {
            all.iter().position(|k| *k == kind).unwrap_or_else(|| {
                all.push(kind);
                all.len() - 1
            })
        };
        let kinds: Vec<usize> = kinds.map(number).collect();
        Self { kinds, spent_secs: vec![0.0; all.len()], in_turn_secs: 0.0, free_secs: 0.0 }
    }

    /// The type of each action.
    pub(crate) fn kinds(&self) -> &[usize] {
        &self.kinds
    }

    /// Whether the next step goes to a type in turn.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.in_turn_secs * (1.0 - SHARE_IN_TURN) < self.free_secs * SHARE_IN_TURN
    }

    /// The types, the one that is furthest from its due first, given the lowest error that each promises.
    pub(crate) fn order(&self, promises: &[f64]) -> Vec<usize> {
        let lowest = promises.iter().copied().fold(f64::INFINITY, f64::min);
        let had = |(kind, &promise): (usize, &f64)| {
            // Not a number where nothing at all is left to run.
            let behind = (promise - lowest) / (BEHIND * lowest + BEHIND_LEAST);
            let had = if behind.is_finite() {
                behind.exp() * self.spent_secs[kind]
            } else {
                f64::INFINITY
            };
            (had, behind, kind)
        };
        let mut order: Vec<_> = promises.iter().enumerate().map(had).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        order.into_iter().map(|(_, _, kind)| kind).collect()
    }

    /// A step of so many seconds begins.
    pub(crate) fn spend(&mut self, action: usize, secs: f64, is_in_turn: bool) {
        self.spent_secs[self.kinds[action]] += secs;
        if is_in_turn {
            self.in_turn_secs += secs;
        } else {
            self.free_secs += secs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns() -> Turns {
        Turns::new(["trees", "lines", "trees", "neighbours"].into_iter())
    }

    #[test]
    fn time_is_shared_between_gain_and_turns() {
        let mut turns = turns();
        assert!(!turns.is_in_turn());
        turns.spend(0, 1.0, false);
        assert!(turns.is_in_turn());
        turns.spend(1, 1.0, true);
        assert!(!turns.is_in_turn());
    }

    #[test]
    fn the_type_that_had_least_comes_first() {
        let mut turns = turns();
        turns.spend(0, 1.0, false);
        turns.spend(1, 0.5, true);
        assert_eq!(turns.order(&[0.1, 0.1, 0.1]), [2, 1, 0]);
    }

    #[test]
    fn a_type_that_promises_little_waits() {
        let mut turns = turns();
        for (action, secs) in [(0, 1.0), (1, 0.5), (3, 0.9)] {
            turns.spend(action, secs, true);
        }
        assert_eq!(turns.order(&[0.1, 0.3, 0.11]), [0, 2, 1]);
    }

    #[test]
    fn of_those_that_had_nothing_the_most_promising_comes_first() {
        assert_eq!(turns().order(&[0.2, f64::INFINITY, 0.1]), [2, 0, 1]);
    }
}
