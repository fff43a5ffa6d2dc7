//! Confirmation: the best candidates are validated again on other folds, and judged by that.
//!
//! The best of hundreds owe part of their place to luck with the folds they were chosen by, the more so the
//! fewer rows there are. Folds they were not chosen by know nothing of that luck; and the models fitted
//! there join the bag (docs/decisions/0060-online.md).

use std::collections::BTreeMap;
use std::time::Duration;

use pitchpipe_learn::{Outcome, PipelineId};

use super::AutoMlError;
use super::drive::{Bench, Drive};
use super::event::{Happened, Listener};

/// How many rounds there are at most, how many time is kept for, and of how many the models are kept.
const MOST_ROUNDS: usize = 8;
const PLANNED_ROUNDS: usize = 4;
const ROUNDS_WITH_MODELS: usize = 2;

/// With more rows than this there is little luck, and the time is better spent on searching.
pub(crate) const MOST_ROWS: usize = 4_000;

/// Fewer candidates than this are too few to choose among, unless there are no more.
const LEAST: usize = 24;

/// What one round may take of the budget, and all of them.
const ROUND_SHARE: f64 = 0.13;
const WHOLE_SHARE: f64 = 0.5;

/// The share of the budget that writing the models may take.
const WRITING_SHARE: f64 = 0.06;

/// Whether the best are validated again, and what is known of how long that takes.
#[derive(Default)]
pub(crate) struct Confirmation {
    pub(crate) is_on: bool,
    /// What another round would take.
    next_round: Duration,
}

impl Drive<'_> {
    /// How many rounds there are to be at most.
    pub(crate) fn n_rounds(&self) -> usize {
        let n_learners = self.combiner.library.learners().len();
        match self.settings.max_evaluations {
            // As many evaluations again as were asked for, at most: the clock may not decide.
            Some(n) if self.budget.pacing().is_repeatable() => {
                (n / n_learners.max(1)).min(PLANNED_ROUNDS)
            }
            _ => MOST_ROUNDS,
        }
    }

    /// Whether it is time to confirm the best, as the rest of the budget will be needed for that.
    pub(super) fn is_time_to_confirm(&self) -> bool {
        if !self.confirmation.is_on || self.budget.pacing().is_repeatable() {
            return false;
        }
        let (candidates, secs) = self.to_confirm();
        let whole = (PLANNED_ROUNDS as f64 * secs).min(WHOLE_SHARE * self.budget.total_secs());
        self.is_enough(candidates.len()) && self.left().as_secs_f64() <= whole
    }

    /// The candidates of a round, the best that fit its share of the time, and the seconds it takes.
    fn to_confirm(&self) -> (Vec<PipelineId>, f64) {
        let most = self.budget.share_secs(ROUND_SHARE);
        let (mut ids, mut total) = (Vec::new(), 0.0);
        // One fit reveals all of a family: the seconds of its slowest member, and how many there are.
        let mut families: BTreeMap<(usize, usize), (f64, usize)> = BTreeMap::new();
        for learner in self.combiner.library.learners() {
            let space = &self.settings.space;
            let family = (space.preparation_index(learner.id), space.family(learner.id));
            let cost = |(slowest, n)| slowest * learner.kind().character().family.factor(n);
            let before = families.get(&family).copied().unwrap_or((0.0, 0));
            let wall_secs = learner.secs * self.budget.wall_per_cpu_of_many();
            let with = (before.0.max(wall_secs), before.1 + 1);
            let more = cost(with) - cost(before);
            if total + more <= most {
                families.insert(family, with);
                ids.push(learner.id);
                total += more;
            }
        }
        (ids, total)
    }

    fn is_enough(&self, n_candidates: usize) -> bool {
        n_candidates >= LEAST.min(self.combiner.library.learners().len().max(2))
    }

    /// Whether the models of a round can be kept: in memory, in the file, and in the time to write it.
    pub(crate) fn keeps_models(&self, round: usize) -> bool {
        let growth = (round + 1) as f64 / round as f64;
        let writing = self.combiner.write_time().as_secs_f64() * growth;
        let is_in_time = writing <= WRITING_SHARE * self.budget.total_secs();
        round <= ROUNDS_WITH_MODELS
            && self.combiner.has_room_for(growth)
            && self.budget.pacing().allows(is_in_time)
    }

    /// Validates the best once more, and keeps the models of it or not, as the evaluator does. Tells whether
    /// that was done, in time and for enough of them to choose by.
    pub(crate) fn confirm(
        &mut self,
        bench: &mut Bench<'_>,
        round: usize,
        keeps_models: bool,
        listener: &mut Listener<'_>,
    ) -> Result<bool, AutoMlError> {
        self.keep_to_memory();
        let (ids, _) = self.to_confirm();
        let more_writing = if keeps_models { self.combiner.write_time() } else { Duration::ZERO };
        let left = self.left().saturating_sub(more_writing);
        let is_in_time = self.budget.pacing().allows(left >= self.confirmation.next_round);
        if !self.is_enough(ids.len()) || !is_in_time {
            return Ok(false);
        }
        let n_rounds = self.n_rounds();
        let pipelines = self.pipelines_of(&ids);
        listener.tell(Happened::Confirming { round, n_rounds, pipelines });
        let (started, deadline) = (self.budget.elapsed(), self.budget.within(left));
        let effort = bench.evaluator.evaluate(&ids, deadline, &mut |id, outcome| {
            if let Outcome::Finished(evaluation) = outcome {
                self.combiner.library.confirm(id, *evaluation, bench.judging);
            }
        })?;
        self.ledger.spend_effort(&effort);
        let is_enough = self.is_enough(self.combiner.library.n_confirmed());
        if is_enough {
            self.combiner.judge_again();
            self.ensemble(listener);
        }
        let took = self.budget.since(started);
        self.confirmation.next_round = took + took / 10 + Duration::from_millis(5);
        Ok(is_enough && !self.is_cancelled())
    }
}
