//! The loop: ask the policy, run what it says, take in what came of it, until the time is over.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::{Effort, Evaluation, FitError, Outcome, Pipeline, PipelineId, SearchSpace};
use pitchpipe_surrogate::simulate::{Policy, Step};

use super::clock::Clock;
use super::combine::Combiner;
use super::evaluate::Evaluator;
use super::event::{Happened, Listener};
use super::library::{Judging, Learner, Library};
use super::{AutoMlError, StopReason, TimeSpent, memory};

/// What the loop is told.
pub(crate) struct Settings {
    /// What the policy's numbers are of.
    pub(crate) space: Arc<SearchSpace>,
    pub(crate) budget: Duration,
    /// Whether the policy is fed the errors of native decisions.
    pub(crate) feeds_native: bool,
    pub(crate) max_evaluations: Option<usize>,
    pub(crate) cancel: Arc<AtomicBool>,
    /// How many steps are run side by side.
    pub(crate) side_by_side: usize,
    /// What a second of work is expected to take on the clock, before any was measured.
    pub(crate) wall_per_cpu: f64,
    /// Bytes that the process may have in memory.
    pub(crate) memory_limit: u64,
    /// Whether the best are to be validated again at the end.
    pub(crate) confirms: bool,
}

/// Time kept for putting the model together and writing it, at the least.
const LEAST_RESERVE: Duration = Duration::from_millis(30);

/// A step may take this many times as long as predicted, and a little more.
const PATIENCE: f64 = 5.0;
const PATIENCE_SECS: f64 = 0.25;

/// However busy the machine is, no more than so many times the usual reserve is kept.
const MOST_SLOWDOWN: f64 = 6.0;

/// Learners are let go where the process has this share of its ceiling in memory.
const FULL_SHARE: f64 = 0.6;

/// And again where it has grown by this share since.
const GROWTH_SHARE: f64 = 0.04;

/// How many of the best are run again when there are more rows.
const RERUN: usize = 6;

/// The loop and what it has found.
pub(crate) struct Drive<'a> {
    pub(crate) settings: Settings,
    pub(super) clock: &'a dyn Clock,
    pub(crate) counts: Counts,
    pub(crate) time_spent: Vec<TimeSpent>,
    pub(crate) combiner: Combiner,
    /// Predicted seconds of all pipelines on the present rows.
    secs: Vec<f64>,
    pub(super) wall_per_cpu: f64,
    rerun: VecDeque<PipelineId>,
    /// The longest that a choice, and taking in the results of a step, took so far.
    choice_secs: f64,
    taking_secs: f64,
    /// What another round of confirming would take.
    pub(super) last_round: Duration,
    /// Bytes in memory beyond which learners are let go again; none while memory was never short.
    full_bytes: Option<f64>,
}

/// How many pipelines met what end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) n_started: usize,
    pub(crate) n_evaluated: usize,
    pub(crate) n_failed: usize,
    pub(crate) n_out_of_time: usize,
    pub(crate) first_failure: Option<FitError>,
}

/// What a step gave: errors and seconds by pipeline.
type Results = (Vec<(usize, f64)>, Vec<(usize, f64)>);

impl<'a> Drive<'a> {
    pub(crate) fn new(settings: Settings, clock: &'a dyn Clock, combiner: Combiner) -> Self {
        Self {
            wall_per_cpu: settings.wall_per_cpu,
            settings,
            clock,
            counts: Counts::default(),
            time_spent: Vec::new(),
            combiner,
            secs: Vec::new(),
            rerun: VecDeque::new(),
            choice_secs: 0.0,
            taking_secs: 0.0,
            last_round: Duration::ZERO,
            full_bytes: None,
        }
    }

    /// Goes on with other rows, on which pipelines are expected to take `secs`. The best so far are run
    /// again there.
    /// Gives the candidates so far.
    pub(crate) fn begin_level(&mut self, secs: Vec<f64>, combiner: Combiner) -> Combiner {
        self.rerun = best_of_each_kind(&self.combiner.library).into();
        self.secs = secs;
        std::mem::replace(&mut self.combiner, combiner)
    }

    /// Runs until `until`, to the end of the time, or of what there is to run. `None` where the level is
    /// over and the search is not.
    pub(crate) fn run(
        &mut self,
        policy: &mut dyn Policy,
        evaluator: &mut dyn Evaluator,
        judging: &Judging<'_>,
        until: Duration,
        listener: &mut Listener<'_>,
    ) -> Result<Option<StopReason>, AutoMlError> {
        loop {
            if self.is_cancelled() {
                return Ok(Some(StopReason::Cancelled));
            }
            if self.settings.max_evaluations.is_some_and(|n| self.counts.n_started >= n) {
                return Ok(Some(StopReason::MaxEvaluations));
            }
            if self.left().is_zero() {
                return Ok(Some(StopReason::TimeBudget));
            }
            let is_over = self.clock.elapsed() >= until || self.is_time_to_confirm();
            if !self.is_repeatable() && is_over {
                return Ok(None);
            }
            self.keep_to_memory();
            if let Some(id) = self.next_rerun() {
                self.evaluate(&[id], f64::INFINITY, evaluator, judging, listener)?;
                self.ensemble_if_cheap(listener);
                continue;
            }
            if !self.is_repeatable() && self.left().as_secs_f64() < self.choice_secs {
                return Ok(Some(StopReason::TimeBudget));
            }
            let started = self.clock.elapsed();
            let steps = self.next_steps(policy)?;
            let choice_secs = self.clock.elapsed().saturating_sub(started).as_secs_f64();
            self.choice_secs = self.choice_secs.max(choice_secs);
            self.spend("choosing", choice_secs);
            if steps.is_empty() {
                return Ok(Some(StopReason::NothingLeft));
            }
            let space = &self.settings.space;
            let ids: Vec<PipelineId> =
                steps.iter().flat_map(|s| &s.members).filter_map(|&j| space.id(j)).collect();
            let cost = steps.iter().map(|step| self.cost_secs(step)).sum();
            let (errors, mut secs) = self.evaluate(&ids, cost, evaluator, judging, listener)?;
            if self.is_repeatable() {
                // Measured times would let the clock choose.
                secs.iter_mut().for_each(|s| s.1 = self.secs.get(s.0).copied().unwrap_or(s.1));
            }
            self.ensemble_if_cheap(listener);
            let started = self.clock.elapsed();
            if let Some(error) = self.combiner.error() {
                policy.ensembled(error);
            }
            for step in &steps {
                let of_step = |all: &[(usize, f64)]| -> Vec<(usize, f64)> {
                    all.iter().copied().filter(|r| step.members.contains(&r.0)).collect()
                };
                policy.finished(step, &of_step(&errors), &of_step(&secs))?;
            }
            self.spend("choosing", self.clock.elapsed().saturating_sub(started).as_secs_f64());
        }
    }

    /// Lets go of learners where the process comes near its ceiling, and from then on runs one step at a time: what the
    /// steps of several threads prepare takes the more. Not in a repeatable run, which must not depend on the allocator.
    pub(super) fn keep_to_memory(&mut self) {
        let limit = self.settings.memory_limit as f64;
        let bytes = memory::filled(self.settings.memory_limit) * limit;
        if !self.is_repeatable() && bytes > self.full_bytes.unwrap_or(FULL_SHARE * limit) {
            self.combiner.shrink();
            // What was let go is used again before the process grows, but is not given back at once.
            self.full_bytes = Some(bytes + GROWTH_SHARE * limit);
        }
    }

    /// The steps to run side by side, no more than evaluations are left.
    fn next_steps(&self, policy: &mut dyn Policy) -> Result<Vec<Step>, AutoMlError> {
        // A run that is to be repeatable must not look at the clock.
        let left_secs = if self.is_repeatable() {
            self.settings.budget.as_secs_f64()
        } else {
            self.left().as_secs_f64() / self.wall_per_cpu
        };
        let mut most = self.settings.max_evaluations.map(|n| n - self.counts.n_started);
        let mut steps = Vec::new();
        let n_steps = if self.full_bytes.is_some() { 1 } else { self.settings.side_by_side.max(1) };
        while steps.len() < n_steps && most != Some(0) {
            let Some(mut step) = policy.next(left_secs)? else { break };
            if let Some(most) = &mut most {
                step.members.truncate(*most);
                *most -= step.members.len();
            }
            steps.push(step);
        }
        Ok(steps)
    }

    fn cost_secs(&self, step: &Step) -> f64 {
        let secs = |&j: &usize| self.secs.get(j).copied().unwrap_or(0.0);
        step.members.iter().map(secs).fold(0.0, f64::max) * step.cost_factor
    }

    /// Runs pipelines that are expected to take so many seconds of work; gives errors and seconds.
    fn evaluate(
        &mut self,
        ids: &[PipelineId],
        cost_secs: f64,
        evaluator: &mut dyn Evaluator,
        judging: &Judging<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<Results, AutoMlError> {
        self.counts.n_started += ids.len();
        listener.tell(Happened::Started { pipelines: self.pipelines_of(ids) });
        let started = self.clock.elapsed();
        let deadline = self.clock.instant(started + self.patience(cost_secs));
        let (mut errors, mut secs) = (Vec::new(), Vec::new());
        let mut taking = Duration::ZERO;
        let effort = evaluator.evaluate(ids, deadline, &mut |id, outcome| match outcome {
            Outcome::Finished(evaluation) => {
                let is_native = self.settings.feeds_native;
                let error = if is_native { evaluation.error } else { evaluation.decided_error };
                errors.push((id.index(), error));
                secs.push((id.index(), evaluation.alone_secs.max(1e-4)));
                let taken = self.clock.elapsed();
                self.take(id, *evaluation, judging, listener);
                taking += self.clock.elapsed().saturating_sub(taken);
            }
            Outcome::OutOfTime { after } => {
                self.counts.n_out_of_time += 1;
                secs.push((id.index(), after.as_secs_f64().max(1e-4)));
                let after_secs = after.as_secs_f64();
                listener.tell(Happened::OutOfTime {
                    pipeline: self.settings.space.pipeline(id),
                    after_secs,
                });
            }
            Outcome::Failed(err) => {
                let reason = err.to_string();
                self.fail(id, reason, listener);
                self.counts.first_failure.get_or_insert(err);
            }
        })?;
        self.taking_secs = self.taking_secs.max(taking.as_secs_f64());
        let wall = self.clock.elapsed().saturating_sub(started).as_secs_f64();
        let cpu: f64 =
            effort.estimator_secs.iter().map(|s| s.1).sum::<f64>() + effort.preparation_secs;
        if cpu > 1e-3 {
            let ratio = (wall / cpu).clamp(0.02, 50.0);
            self.wall_per_cpu = 0.7 * self.wall_per_cpu + 0.3 * ratio;
        }
        self.note_effort(effort);
        // Threads finish in any order; the policy must not see it.
        errors.sort_by_key(|e| e.0);
        secs.sort_by_key(|s| s.0);
        Ok((errors, secs))
    }

    /// Counts what work was spent on.
    pub(super) fn note_effort(&mut self, effort: Effort) {
        self.spend("preparation", effort.preparation_secs);
        for (name, secs) in effort.estimator_secs {
            self.spend(name, secs);
        }
    }

    fn take(
        &mut self,
        id: PipelineId,
        evaluation: Evaluation,
        judging: &Judging<'_>,
        listener: &mut Listener<'_>,
    ) {
        let pipeline = self.settings.space.pipeline(id);
        let rule = self.combiner.rule();
        let learner = Learner::new(id, pipeline.clone(), evaluation, rule, judging);
        let Some(learner) = learner else {
            let reason = "it could not predict the validation table".to_owned();
            return self.fail(id, reason, listener);
        };
        self.counts.n_evaluated += 1;
        let Learner { error, secs, .. } = learner;
        self.combiner.add(learner);
        listener.tell(Happened::Finished {
            pipeline,
            error,
            secs,
            n_evaluated: self.counts.n_evaluated,
            best_error: self.combiner.library.learners().first().map_or(error, |l| l.error),
            ensemble_error: self.combiner.error(),
        });
    }

    fn fail(&mut self, id: PipelineId, reason: String, listener: &mut Listener<'_>) {
        self.counts.n_failed += 1;
        listener.tell(Happened::Failed { pipeline: self.settings.space.pipeline(id), reason });
    }

    /// The next of those to run again that is expected to be worth its time.
    fn next_rerun(&mut self) -> Option<PipelineId> {
        let left = self.left().as_secs_f64() / self.wall_per_cpu;
        while let Some(id) = self.rerun.pop_front() {
            if self.secs.get(id.index()).is_none_or(|&secs| secs <= left / 2.0) {
                return Some(id);
            }
        }
        None
    }

    /// Brings the ensemble up to date where that takes little of the time; always where the run is to be
    /// repeatable, as the paper's rank rule looks at it.
    fn ensemble_if_cheap(&mut self, listener: &mut Listener<'_>) {
        let elapsed = self.clock.elapsed().as_secs_f64();
        let spent = self.spent("ensemble");
        let is_cheap = spent + self.combiner.expected_secs() < 0.1 * elapsed;
        if self.is_repeatable() || self.combiner.error().is_none() || is_cheap {
            self.ensemble(listener);
        }
    }

    /// Brings the ensemble up to date.
    pub(crate) fn ensemble(&mut self, listener: &mut Listener<'_>) {
        let before = (self.combiner.error(), self.combiner.selection.weights.clone());
        let end = self.settings.budget.saturating_sub(self.reserve(0.0));
        let deadline = if self.is_repeatable() { None } else { self.clock.instant(end) };
        let secs = self.combiner.update(deadline);
        self.spend("ensemble", secs);
        if let Some(error) = self.combiner.error()
            && before != (Some(error), self.combiner.selection.weights.clone())
        {
            let base_learners = self.combiner.weighted_pipelines();
            listener.tell(Happened::EnsembleChanged { error, base_learners });
        }
    }

    /// What is left for running pipelines.
    pub(super) fn left(&self) -> Duration {
        // What a step's last results take to be measured and taken in comes after its deadline.
        let after = self.combiner.expected_secs() + 2.0 * self.taking_secs;
        let reserve = self.reserve(after.min(0.1 * self.budget_secs()));
        self.settings.budget.saturating_sub(self.clock.elapsed() + reserve)
    }

    /// What is kept for the end: for so many seconds of work, for putting the model together and writing it; more of it
    /// where the machine is busy with other things.
    fn reserve(&self, work_secs: f64) -> Duration {
        let work = Duration::from_secs_f64(work_secs);
        (LEAST_RESERVE + self.combiner.write_time() + work).mul_f64(self.slowdown())
    }

    /// How many times as long as on an idle machine work takes.
    fn slowdown(&self) -> f64 {
        (self.wall_per_cpu / self.settings.wall_per_cpu).clamp(1.0, MOST_SLOWDOWN)
    }

    pub(super) fn budget_secs(&self) -> f64 {
        self.settings.budget.as_secs_f64()
    }

    /// How long a step may take that is expected to take so many seconds of work: one mistaken guess
    /// must not use up all there is.
    fn patience(&self, cost_secs: f64) -> Duration {
        let left = self.left();
        if self.is_repeatable() || !cost_secs.is_finite() {
            return left;
        }
        let expected = PATIENCE * cost_secs * self.wall_per_cpu + PATIENCE_SECS;
        let patience = expected.max(0.1 * self.budget_secs());
        Duration::try_from_secs_f64(patience).map_or(left, |patience| patience.min(left))
    }

    pub(super) fn is_repeatable(&self) -> bool {
        self.settings.max_evaluations.is_some()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.settings.cancel.load(Ordering::Relaxed)
    }

    fn spend(&mut self, what: &str, secs: f64) {
        match self.time_spent.iter_mut().find(|spent| spent.what == what) {
            Some(spent) => spent.secs += secs,
            None => self.time_spent.push(TimeSpent { what: what.to_owned(), secs }),
        }
    }

    /// The pipelines that have these numbers.
    pub(super) fn pipelines_of(&self, ids: &[PipelineId]) -> Vec<Pipeline> {
        ids.iter().map(|&id| self.settings.space.pipeline(id)).collect()
    }

    fn spent(&self, what: &str) -> f64 {
        self.time_spent.iter().filter(|spent| spent.what == what).map(|spent| spent.secs).sum()
    }
}

/// The best learners: first the best of each type of estimator, then others.
fn best_of_each_kind(library: &Library) -> Vec<PipelineId> {
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
    firsts.extend(others);
    firsts
}
