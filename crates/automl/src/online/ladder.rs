//! Boosting on histograms on a large table: one family on all rows before all else, and those that its best number of rounds
//! speaks for.
//!
//! By expected improvement per second a family of a few seconds waits for hundreds of fits that take a hundredth of one, and a
//! look at a small sample says little of it where categories have many levels.

use std::sync::Arc;

use pitchpipe_learn::estimate::{EstimatorKind, HistogramBoosting};
use pitchpipe_learn::{PipelineId, SearchSpace};
use pitchpipe_surrogate::policy::Observation;

use super::families::{find_boosting, plain_boosting};
use super::levels::family_of;

/// How much slower than predicted boosting is taken to be at the most, by what it took before.
const SLOWEST: f64 = 10.0;

/// Larger trees are grown next where so many times what the first family took is left: that is what as many rounds of them take.
const LARGER_TREES: f64 = 2.0;

/// The families still to come.
pub(crate) struct Ladder {
    space: Arc<SearchSpace>,
    first: Vec<PipelineId>,
    goes_on: bool,
}

/// Families that are to be run next, one after the other, and one for when the best of other kinds have run.
pub(crate) struct Rungs {
    pub(crate) next: Vec<Vec<PipelineId>>,
    pub(crate) later: Vec<PipelineId>,
}

impl Ladder {
    /// The ladder of a space, if it has boosting on histograms.
    pub(crate) fn of(space: &Arc<SearchSpace>) -> Option<Self> {
        let first = family_of(space, plain_boosting(space)?);
        Some(Self { space: Arc::clone(space), first, goes_on: false })
    }

    /// The same where the first family goes on for as many rounds as most of the time holds.
    pub(crate) fn going_on(self, goes_on: bool) -> Self {
        Self { goes_on, ..self }
    }

    /// Whether the first family does so.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// The family to begin with.
    pub(crate) fn first(&self) -> &[PipelineId] {
        &self.first
    }

    /// What follows once the first family has run, or as much of it as there was time for: more rounds where the most that ran were
    /// best, unless there was no time for them; larger and more varied trees where many rounds were best, and smaller ones that
    /// learn more slowly where few were. Where that went on and little time is left (so many times what it took), many rounds
    /// are followed by rounds that learn faster, and what comes later comes next. `None` for other observations.
    pub(crate) fn climb(&self, seen: &[Observation], times_left: f64) -> Option<Rungs> {
        let place = |o: &Observation| self.first.iter().position(|id| id.index() == o.pipeline);
        let errors = || seen.iter().filter_map(|o| Some((place(o)?, o.error?)));
        let (best, _) = errors().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let n_seen = errors().map(|(place, _)| place + 1).max().unwrap_or(0);
        let slow = HistogramBoosting::default();
        let few_columns = |settings: HistogramBoosting| HistogramBoosting {
            min_samples_leaf: 5,
            column_share: 0.5,
            ..settings
        };
        let is_rising = best + 1 == n_seen;
        let wants_more = (is_rising && 1 < n_seen) || 2 * (best + 1) > self.first.len();
        let is_short = self.goes_on && times_left < LARGER_TREES;
        let [next, later] = match wants_more {
            true if is_short => {
                [HistogramBoosting { learning_rate: 0.3, ..slow.clone() }, few_columns(slow)]
            }
            true => [HistogramBoosting { max_leaf_nodes: 127, ..slow.clone() }, few_columns(slow)],
            false => {
                let slower = HistogramBoosting { learning_rate: 0.03, ..slow.clone() };
                [HistogramBoosting { max_leaf_nodes: 8, ..slow }, few_columns(slower)]
            }
        };
        let family = |settings| {
            let id = find_boosting(&self.space, settings);
            id.map_or_else(Vec::new, |id| family_of(&self.space, id))
        };
        let rest =
            if is_rising && !self.goes_on { self.first[n_seen..].to_vec() } else { Vec::new() };
        let (mut next, mut later) = (vec![rest, family(next)], family(later));
        if is_short {
            // By then nothing else can be had on these rows.
            next.push(std::mem::take(&mut later));
        }
        next.retain(|ids| !ids.is_empty());
        Some(Rungs { next, later })
    }
}

/// How long boosting takes here, as a multiple of what is predicted.
#[derive(Clone, Copy)]
pub(crate) struct BoostingPace(f64);

impl Default for BoostingPace {
    fn default() -> Self {
        Self(1.0)
    }
}

impl BoostingPace {
    /// Learns from one step: the dearest of its pipelines counts.
    pub(crate) fn note(
        &mut self,
        space: &SearchSpace,
        seen: &[Observation],
        predicted_secs: impl Fn(PipelineId) -> Option<f64>,
    ) {
        let ratio = |o: &Observation| {
            let id = space.id(o.pipeline)?;
            let is_boosting = space.kind(id) == EstimatorKind::HistogramBoosting;
            let predicted = predicted_secs(id).filter(|&secs| is_boosting && secs > 0.0)?;
            o.error?;
            Some((predicted, o.secs? / predicted))
        };
        let dearest = seen.iter().filter_map(ratio).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, ratio)) = dearest {
            self.0 = ratio.clamp(1.0, SLOWEST);
        }
    }

    /// The same on more rows, before anything has run there: part of what a small sample took did not come of its rows.
    pub(crate) fn on_more_rows(self) -> Self {
        Self(self.0.sqrt())
    }

    /// What a pipeline of this kind is to be taken to need.
    pub(crate) fn secs(self, kind: EstimatorKind, predicted: f64) -> f64 {
        if kind == EstimatorKind::HistogramBoosting { predicted * self.0 } else { predicted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ids: &[PipelineId], errors: &[f64]) -> Vec<Observation> {
        let one = |(id, &error): (&PipelineId, &f64)| Observation {
            pipeline: id.index(),
            error: Some(error),
            secs: Some(4.0),
            n_rows: 1000,
        };
        ids.iter().zip(errors).map(one).collect()
    }

    #[test]
    fn the_best_number_of_rounds_says_what_comes_next() {
        let space = SearchSpace::all();
        let ladder = Ladder::of(&space).unwrap();
        assert_eq!(ladder.first().len(), 4);
        let leaves = |ids: &[PipelineId]| {
            ids.iter().map(|&id| space.pipeline(id).to_string()).collect::<Vec<_>>().join("\n")
        };
        let more = ladder.climb(&seen(ladder.first(), &[0.4, 0.3, 0.2, 0.1]), 100.0).unwrap();
        assert!(leaves(&more.next[0]).contains("max_leaf_nodes=127"));
        let fewer = ladder.climb(&seen(ladder.first(), &[0.1, 0.2, 0.3, 0.4]), 100.0).unwrap();
        assert!(leaves(&fewer.next[0]).contains("max_leaf_nodes=8"));
        assert!(leaves(&fewer.later).contains("learning_rate=0.03"));
        assert!(ladder.climb(&seen(&more.next[0], &[0.1]), 100.0).is_none());
        assert!(Ladder::of(&SearchSpace::paper()).is_none());
    }

    #[test]
    fn rounds_that_there_was_no_time_for_follow_where_they_promise_more() {
        let space = SearchSpace::all();
        let ladder = Ladder::of(&space).unwrap();
        let rising = ladder.climb(&seen(&ladder.first()[..2], &[0.2, 0.1]), 100.0).unwrap();
        assert_eq!(rising.next[0], ladder.first()[2..]);
        assert_eq!(rising.next.len(), 2);
        // One number of rounds does not say whether larger trees are wanted, and past the best there is nothing to look for.
        let one = ladder.climb(&seen(&ladder.first()[..1], &[0.2]), 100.0).unwrap();
        assert_eq!(one.next[0], ladder.first()[1..]);
        assert!(space.pipeline(one.next[1][0]).to_string().contains("max_leaf_nodes=8"));
        let falling = ladder.climb(&seen(&ladder.first()[..2], &[0.1, 0.2]), 100.0).unwrap();
        assert_eq!(falling.next.len(), 1);
        // What had most of the time does not begin again.
        let ladder = ladder.going_on(true);
        let rising = |times_left| {
            let seen = seen(&ladder.first()[..2], &[0.2, 0.1]);
            ladder.climb(&seen, times_left).unwrap()
        };
        assert!(!rising(100.0).next.iter().flatten().any(|id| ladder.first().contains(id)));
        let next = |times_left| space.pipeline(rising(times_left).next[0][0]).to_string();
        assert!(next(100.0).contains("max_leaf_nodes=127"));
        // With little time left: fast learning.
        assert_eq!((rising(1.0).next.len(), rising(1.0).later.len()), (2, 0));
        assert!(next(1.0).contains("learning_rate=0.3"));
    }

    #[test]
    fn what_boosting_took_corrects_what_it_will_take() {
        let space = SearchSpace::all();
        let ladder = Ladder::of(&space).unwrap();
        let mut pace = BoostingPace::default();
        pace.note(&space, &seen(ladder.first(), &[0.1; 4]), |id| {
            Some(if id == ladder.first()[3] { 2.0 } else { 0.5 })
        });
        assert_eq!(pace.secs(EstimatorKind::HistogramBoosting, 1.5), 3.0);
        assert_eq!(pace.secs(EstimatorKind::Knn, 1.5), 1.5);
        assert!(pace.on_more_rows().secs(EstimatorKind::HistogramBoosting, 1.5) < 3.0);
    }
}
