//! Whose turn it is: half of the time goes where most is to be gained, half to each kind of estimator in turn.
//!
//! An ensemble wants good learners that differ. The gain alone is blind to that, and fills the time with
//! the settings of whatever kind is ahead (docs/decisions/0060-online.md).

/// The share of the time that goes to kinds of estimators in turn.
pub(super) const SHARE_IN_TURN: f64 = 0.5;

/// A kind's share of time falls as `exp(-(promise - best) / (BEHIND * best + BEHIND_LEAST))`, where `promise` is the lowest
/// error that it has or may come to, and `best` the lowest promise of all kinds.
const BEHIND: f64 = 0.25;
const BEHIND_LEAST: f64 = 0.005;

/// The time that kinds of estimators have had.
pub(super) struct Turns {
    /// The kind of each action.
    kinds: Vec<usize>,
    share: f64,
    spent_secs: Vec<f64>,
    in_turn_secs: f64,
    free_secs: f64,
}

impl Turns {
    /// Turns of actions that are of these kinds, for a share of the time.
    pub(super) fn new(kinds: Vec<usize>, share: f64) -> Self {
        let n_kinds = kinds.iter().max().map_or(0, |k| k + 1);
        let spent_secs = vec![0.0; n_kinds];
        Self { kinds, share, spent_secs, in_turn_secs: 0.0, free_secs: 0.0 }
    }

    /// The kind of each action.
    pub(super) fn kinds(&self) -> &[usize] {
        &self.kinds
    }

    /// Whether the next step goes to a kind in turn.
    pub(super) fn is_in_turn(&self) -> bool {
        self.in_turn_secs * (1.0 - self.share) < self.free_secs * self.share
    }

    /// The kinds, the one that is furthest from its due first, given the lowest error that each promises.
    pub(super) fn order(&self, promises: &[f64]) -> Vec<usize> {
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
    pub(super) fn spend(&mut self, action: usize, secs: f64, is_in_turn: bool) {
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
        Turns::new(vec![0, 1, 0, 2], SHARE_IN_TURN)
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
    fn the_kind_that_had_least_comes_first() {
        let mut turns = turns();
        turns.spend(0, 1.0, false);
        turns.spend(1, 0.5, true);
        assert_eq!(turns.order(&[0.1, 0.1, 0.1]), [2, 1, 0]);
    }

    #[test]
    fn a_kind_that_promises_little_waits() {
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
