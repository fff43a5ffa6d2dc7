//! How many rows to search with: few at first on a large table, and more as time goes by.
//!
//! Rows double from level to level, and so does the time at which a level ends: each ends at half the time at which
//! the next one does.

use std::collections::VecDeque;
use std::time::Duration;

use pitchpipe_learn::PipelineId;
use pitchpipe_learn::estimate::EstimatorKind;

use super::combine::{Combiner, free_elsewhere};
use super::library::Library;

/// A stretch of the search on so many rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Level {
    pub(crate) n_rows: usize,
    /// When it ends, counted from the start of the budget; the last one ends with it.
    pub(crate) until: Duration,
}

/// The least that a sample has.
const LEAST_ROWS: usize = 2_000;

/// A level's typical pipeline takes at most this share of the time there is.
const FIRST_SHARE: f64 = 1.0 / 12.0;
const LAST_SHARE: f64 = 1.0 / 4.0;

/// The share of the time after which the last level has begun.
const LAST_BEGINS: f64 = 0.5;

/// The levels of a search on `n_rows` rows between `begun` and `budget`, where a typical pipeline takes
/// `typical_secs` on so many rows.
pub(crate) fn levels(
    n_rows: usize,
    begun: Duration,
    budget: Duration,
    typical_secs: impl Fn(usize) -> f64,
) -> Vec<Level> {
    let left = budget.saturating_sub(begun);
    let largest_within = |share: f64| {
        let limit = left.as_secs_f64() * share;
        let mut n = n_rows;
        while n > LEAST_ROWS && typical_secs(n) > limit {
            n = (n / 2).max(LEAST_ROWS);
        }
        n
    };
    let (mut first, last) = (largest_within(FIRST_SHARE), largest_within(LAST_SHARE));
    let mut sizes = vec![first];
    while first < last {
        first = first.saturating_mul(2).min(last);
        sizes.push(first);
    }
    let n = sizes.len();
    let end = |i: usize| {
        if i + 1 == n {
            budget
        } else {
            begun + left.mul_f64(LAST_BEGINS * 0.5f64.powi((n - 2 - i) as i32))
        }
    };
    sizes.iter().enumerate().map(|(i, &n_rows)| Level { n_rows, until: end(i) }).collect()
}

/// How many of the best are run again when there are more rows.
const RERUN: usize = 6;

/// The learners to run again on more rows: the best of each kind of estimator first, then others.
pub(crate) fn to_rerun(library: &Library) -> VecDeque<PipelineId> {
    let mut kinds: Vec<EstimatorKind> = Vec::new();
    let (mut firsts, mut others) = (Vec::new(), Vec::new());
    for learner in library.learners() {
        let kind = learner.kind();
        if kinds.contains(&kind) {
            others.push(learner.id);
        } else {
            kinds.push(kind);
            firsts.push(learner.id);
        }
    }
    firsts.truncate(RERUN * 2 / 3);
    others.truncate(RERUN - firsts.len());
    firsts.into_iter().chain(others).collect()
}

/// The best ensemble of the levels before the present one.
#[derive(Default)]
pub(crate) struct Earlier(Option<(Combiner, usize)>);

impl Earlier {
    /// Takes in the ensemble of a level that is over, made on so many rows.
    pub(crate) fn keep(&mut self, combiner: Combiner, n_rows: usize) {
        match &self.0 {
            Some((best, _)) if !is_better(&combiner, best) => free_elsewhere(combiner),
            _ => free_elsewhere(self.0.replace((combiner, n_rows))),
        }
    }

    /// Takes the place of the last level's ensemble, made on `n_rows`, where it is better and `may_win`; gives the rows
    /// of the one that is left.
    pub(crate) fn challenge(self, last: &mut Combiner, n_rows: usize, may_win: bool) -> usize {
        match self.0 {
            Some((best, n_before)) if may_win && is_better(&best, last) => {
                free_elsewhere(std::mem::replace(last, best));
                n_before
            }
            best => {
                free_elsewhere(best);
                n_rows
            }
        }
    }
}

/// Whether one ensemble is better than another; any is better than none.
fn is_better(one: &Combiner, other: &Combiner) -> bool {
    match (one.error(), other.error()) {
        (Some(one), Some(other)) => one < other,
        (one, _) => one.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_small_table_is_searched_whole() {
        let levels = levels(800, SECOND, 20 * SECOND, |n| n as f64);
        assert_eq!(levels, [Level { n_rows: 800, until: 20 * SECOND }]);
    }

    #[test]
    fn rows_double_as_the_time_does() {
        let levels = levels(1_000_000, 20 * SECOND, 60 * SECOND, |n| n as f64 * 1e-4);
        assert!(
            levels.windows(2).all(|w| w[1].n_rows == 2 * w[0].n_rows && w[0].until < w[1].until)
        );
        assert_eq!(levels.last().unwrap().until, 60 * SECOND);
        assert!(levels[0].n_rows as f64 * 1e-4 <= 40.0 / 12.0);
        assert!(levels.last().unwrap().n_rows as f64 * 1e-4 <= 10.0);
        assert!(levels.len() > 1);
    }

    #[test]
    fn no_time_means_the_smallest_sample() {
        let levels = levels(1_000_000, 5 * SECOND, 4 * SECOND, |n| n as f64);
        assert_eq!(levels.len(), 1);
        assert_eq!(levels[0].n_rows, LEAST_ROWS);
    }
}
