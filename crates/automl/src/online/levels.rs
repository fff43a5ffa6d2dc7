//! How many rows to search with: few at first on a large table, and more as time goes by.
//!
//! Rows double from level to level, and so does the time at which a level ends: each ends at half the time at which
//! the next one does. Where boosting on histograms can have more rows than that, it gets them soon: a short look at
//! a sample, and then as many rows as it can take.

use std::collections::VecDeque;
use std::time::Duration;

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::{PipelineId, SearchSpace};

use super::combine::{Combiner, free_elsewhere};
use super::library::Library;

/// A stretch of the search on so many rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Level {
    pub(crate) n_rows: usize,
    /// When it ends, counted from the start of the budget; the last one ends with it.
    pub(crate) until: Duration,
    /// Whether boosting on histograms is run first: it has more rows here than other kinds could have.
    pub(crate) is_for_boosting: bool,
    /// Whether there is only time for a first model: what comes of it is of no use on the rows that follow.
    pub(crate) is_glance: bool,
}

impl Level {
    fn of(n_rows: usize, until: Duration) -> Self {
        Self { n_rows, until, is_for_boosting: false, is_glance: false }
    }
}

/// The least that a sample has.
const LEAST_ROWS: usize = 2_000;

/// A level's typical pipeline takes at most this share of the time there is.
const FIRST_SHARE: f64 = 1.0 / 12.0;
const LAST_SHARE: f64 = 1.0 / 4.0;

/// The share of the time after which the last level has begun.
const LAST_BEGINS: f64 = 0.5;

/// Where boosting on histograms gets as many rows as any: a typical pipeline takes at most this share of the time on the
/// sample that is looked at first, and after this one the look is over.
const LOOK_SHARE: f64 = 1.0 / 40.0;
const LOOK_ENDS: f64 = 0.1;

/// A look says what is worth running on all rows. Where a typical pipeline would take more than this share of the time there,
/// nothing else is, and the look is a glance.
const GLANCE_SHARE: f64 = 0.5;
const GLANCE_ENDS: f64 = 0.02;

/// What pipelines take on so many rows, in seconds.
pub(crate) struct Paces<'a> {
    /// A typical pipeline.
    pub(crate) typical: &'a dyn Fn(usize) -> f64,
    /// Whether the search begins with boosting where there is no time for much else.
    pub(crate) may_glance: bool,
    /// Boosting on histograms, if it is among those to search.
    pub(crate) boosting: Option<&'a dyn Fn(usize) -> f64>,
}

/// The levels of a search on `n_rows` rows between `begun` and `budget`.
pub(crate) fn levels(
    n_rows: usize,
    begun: Duration,
    budget: Duration,
    paces: &Paces<'_>,
) -> Vec<Level> {
    let left = budget.saturating_sub(begun);
    let largest_within = |share: f64, secs: &dyn Fn(usize) -> f64| {
        let limit = left.as_secs_f64() * share;
        let mut n = n_rows;
        while n > LEAST_ROWS && secs(n) > limit {
            n = (n / 2).max(LEAST_ROWS);
        }
        n
    };
    let mut first = largest_within(FIRST_SHARE, paces.typical);
    let last = largest_within(LAST_SHARE, paces.typical);
    let largest = paces.boosting.map_or(0, |secs| largest_within(LAST_SHARE, secs));
    if largest >= last && first < largest {
        let n_rows = largest_within(LOOK_SHARE, paces.typical).min(largest);
        let is_glance =
            paces.may_glance && (paces.typical)(largest) > GLANCE_SHARE * left.as_secs_f64();
        let ends = if is_glance { GLANCE_ENDS } else { LOOK_ENDS };
        let look = Level { is_glance, ..Level::of(n_rows, begun + left.mul_f64(ends)) };
        return vec![look, Level { is_for_boosting: true, ..Level::of(largest, budget) }];
    }
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
    sizes.iter().enumerate().map(|(i, &n_rows)| Level::of(n_rows, end(i))).collect()
}

/// How many of the best are run again when there are more rows.
const RERUN: usize = 6;

/// The learners to run again on more rows: the best of each kind of estimator first, then others. Each comes with what its
/// fit answers for as well: of a family with more rounds, fewer.
pub(crate) fn to_rerun(space: &SearchSpace, library: &Library) -> VecDeque<Vec<PipelineId>> {
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
    let mut runs: VecDeque<Vec<PipelineId>> = VecDeque::new();
    for id in firsts.into_iter().chain(others) {
        if !runs.iter().any(|run| run.contains(&id)) {
            runs.push_back(family_of(space, id));
        }
    }
    runs
}

/// The pipelines that one fit of a family answers for; where that is no gift, the pipeline alone.
pub(super) fn family_of(space: &SearchSpace, id: PipelineId) -> Vec<PipelineId> {
    if !space.kind(id).character().family.is_nested() {
        return vec![id];
    }
    let key = |id| (space.preparation_index(id), space.family(id));
    space.ids().filter(|&other| key(other) == key(id)).collect()
}

/// The best ensemble of the levels before the present one.
#[derive(Default)]
pub(crate) struct Earlier(Option<(Combiner, usize)>);

impl Earlier {
    /// Takes in the ensemble of a level that is over, made on so many rows.
    pub(crate) fn keep(&mut self, combiner: Combiner, n_rows: usize) {
        match &self.0 {
            Some((best, _)) if is_surely_better(best, &combiner) => free_elsewhere(combiner),
            _ => free_elsewhere(self.0.replace((combiner, n_rows))),
        }
    }

    /// Takes the place of the last level's ensemble, made on `n_rows`, where it is surely better and `may_win`; gives the
    /// rows of the one that is left.
    pub(crate) fn challenge(self, last: &mut Combiner, n_rows: usize, may_win: bool) -> usize {
        match self.0 {
            Some((best, n_before)) if may_win && is_surely_better(&best, last) => {
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

/// Whether an ensemble made on fewer rows is better than a later one beyond chance; any is better than none. They are judged on
/// different rows, and of two that seem equal the one that learnt from more is better.
fn is_surely_better(one: &Combiner, later: &Combiner) -> bool {
    match (one.error(), later.error()) {
        (Some(a), Some(b)) => is_surely_less((a, one.n_judged()), (b, later.n_judged())),
        (one, _) => one.is_some(),
    }
}

/// Whether an error over so many rows is less than another by more than a standard error of their difference, as if both were
/// shares of rows.
fn is_surely_less(one: (f64, usize), other: (f64, usize)) -> bool {
    let variance = |(error, n): (f64, usize)| {
        let share = error.clamp(0.0, 1.0);
        share * (1.0 - share) / n.max(1) as f64
    };
    one.0 < other.0 - (variance(one) + variance(other)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn typically(secs: &dyn Fn(usize) -> f64) -> Paces<'_> {
        Paces { typical: secs, may_glance: true, boosting: None }
    }

    #[test]
    fn boosting_has_its_rows_soon() {
        let (forest, boosting) = (|n: usize| n as f64 * 1e-4, |n: usize| n as f64 * 2e-5);
        let paces = Paces { typical: &forest, may_glance: true, boosting: Some(&boosting) };
        let of = |n_rows| levels(n_rows, Duration::ZERO, 30 * SECOND, &paces);
        let large = of(120_000);
        let all = Level { is_for_boosting: true, ..Level::of(120_000, 30 * SECOND) };
        assert_eq!(large.last(), Some(&all));
        assert_eq!((large.len(), large[0].until), (2, 3 * SECOND));
        assert!(large[0].n_rows <= 7_500 && !large[0].is_glance);
        // A forest would take most of the time there, so it need not be known how good it is.
        let glance = of(200_000)[0];
        assert!(glance.is_glance && glance.until < SECOND);
        // More than it can have: what it can.
        assert_eq!(of(1_000_000)[1].n_rows, 250_000);
        // As many for all kinds: nothing is to be hurried.
        assert_eq!(of(20_000), [Level::of(20_000, 30 * SECOND)]);
    }

    #[test]
    fn chance_does_not_let_fewer_rows_win() {
        // Of two samples of 6,000 rows each the errors differ by .009 as often as not.
        assert!(!is_surely_less((0.4240, 6000), (0.4263, 6000)));
        assert!(is_surely_less((0.40, 6000), (0.4263, 6000)));
        assert!(!is_surely_less((0.1, 6000), (0.1, 6000)));
    }

    #[test]
    fn a_small_table_is_searched_whole() {
        let levels = levels(800, SECOND, 20 * SECOND, &typically(&|n| n as f64));
        assert_eq!(levels, [Level::of(800, 20 * SECOND)]);
    }

    #[test]
    fn rows_double_as_the_time_does() {
        let secs = |n: usize| n as f64 * 1e-4;
        let levels = levels(1_000_000, 20 * SECOND, 60 * SECOND, &typically(&secs));
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
        let levels = levels(1_000_000, 5 * SECOND, 4 * SECOND, &typically(&|n| n as f64));
        assert_eq!(levels.len(), 1);
        assert_eq!(levels[0].n_rows, LEAST_ROWS);
    }
}
