//! The loop: ask the policy, run what it says, take in what came of it, until the time is over.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::{FitError, Outcome, Pipeline, PipelineId, SearchSpace};
use pitchpipe_surrogate::policy::{Next, Observation, Policy, Step};

use super::apart::Apart;
use super::budget::{Budget, End, Patience};
use super::candidates::Chosen;
use super::combine::Combiner;
use super::confirm::Confirmation;
use super::drafts::Drafts;
use super::evaluate::Evaluator;
use super::event::{Happened, Listener};
use super::ladder::{BoostingPace, Ladder, Rungs};
use super::ledger::Ledger;
use super::levels::to_rerun;
use super::library::{Judged, Judging, Learner};
use super::memory::MemoryWatch;
use super::shift::Shift;
use super::{AutoMlError, StopReason, honest};

/// What the loop is told.
pub(crate) struct Settings {
    /// What the policy's numbers are of.
    pub(crate) space: Arc<SearchSpace>,
    /// Whether the policy is fed the errors of native decisions.
    pub(crate) feeds_native: bool,
    pub(crate) max_evaluations: Option<usize>,
    /// The plain forest that the model is compared with.
    pub(crate) forest: Option<PipelineId>,
    pub(crate) cancel: Arc<AtomicBool>,
    /// Whether the policy looks at the ensemble's error: then nothing is chosen while one is made.
    pub(crate) heeds_ensemble: bool,
}

/// An ensemble's error and its base learners' weights.
type EnsembleNow = (Option<f64>, Vec<(usize, f64)>);

/// Bringing the ensemble up to date may take this share of the time that has passed.
const ENSEMBLE_SHARE: f64 = 0.1;

/// The share of the budget that is kept for the plain forest, if it is not tried anyway.
const FOREST_SHARE: f64 = 0.03;

/// What is run again on more rows may be expected to take this share of the time that is left, boosting on histograms that one, and
/// the fewest rounds of boosting that is to come before all else the last.
const RERUN_SHARE: f64 = 0.25;
const BOOSTING_RERUN_SHARE: f64 = 0.3;
const FIRST_SHARE: f64 = 0.6;

/// And may take so many times that share.
const RERUN_PATIENCE: f64 = 1.25;

/// What the first may take where each of its rounds is of use: one fit, which hands out fewer rounds on its way to more.
const GOING_ON_SHARE: f64 = 0.85;

/// What is expected to be worse than the best on these rows by this share of it, and a little, is not run again.
const HOPELESS: f64 = 0.5;
const HOPELESS_LEAST: f64 = 0.01;

fn rerun_share(kind: EstimatorKind) -> f64 {
    match kind {
        EstimatorKind::HistogramBoosting => BOOSTING_RERUN_SHARE,
        _ => RERUN_SHARE,
    }
}

/// The loop and what it has found.
pub(crate) struct Drive<'a> {
    pub(crate) settings: Settings,
    pub(crate) budget: Budget<'a>,
    pub(crate) ledger: Ledger,
    pub(crate) combiner: Combiner,
    pub(crate) confirmation: Confirmation,
    pub(super) memory: MemoryWatch,
    drafts: Drafts<'a>,
    pub(super) rows: Rows,
    /// How long boosting on histograms takes, next to predictions.
    boosting_pace: BoostingPace,
    /// Whether the plain forest was run, or cannot be.
    forest_is_over: bool,
    /// Rows that the policy is told the ensemble's error on, where these are not those that it is made by.
    apart: Option<Apart<'a>>,
    /// What the policy predicted for the pipelines that were run.
    predicted: BTreeMap<PipelineId, f64>,
}

/// The present rows.
#[derive(Default)]
pub(super) struct Rows {
    n_rows: usize,
    /// Predicted seconds of all pipelines on them.
    secs: Vec<f64>,
    /// The best of the rows before, which are still to be run again.
    rerun: VecDeque<Vec<PipelineId>>,
    /// Where boosting on histograms is run first, what follows by what came of it.
    ladder: Option<Ladder>,
    /// Families of boosting that go on for as long as most of the time holds. They have all threads to themselves, as what is awaited has.
    going_on: Vec<PipelineId>,
}

impl Rows {
    pub(super) fn secs_of(&self, id: PipelineId) -> Option<f64> {
        self.secs.get(id.index()).copied()
    }

    /// Whether what comes of this one says what is run next.
    pub(super) fn awaits(&self, id: PipelineId) -> bool {
        self.ladder.as_ref().is_some_and(|ladder| ladder.first().contains(&id))
    }

    /// Whether this one is of a fit that goes on for as long as most of the time holds.
    pub(super) fn goes_on(&self, id: PipelineId) -> bool {
        self.going_on.contains(&id)
    }

    /// What a step was predicted to take before anything was measured here.
    pub(super) fn predicted_secs(&self, step: &Step) -> f64 {
        let secs = step.members.iter().filter_map(|&j| self.secs.get(j).copied());
        secs.fold(0.0, f64::max) * step.cost_factor
    }
}

/// What runs pipelines on the present rows, and what they are judged on.
pub(crate) struct Bench<'a> {
    pub(crate) evaluator: &'a mut dyn Evaluator,
    pub(crate) judging: &'a Judging<'a>,
}

impl<'a> Drive<'a> {
    pub(crate) fn new(
        settings: Settings,
        budget: Budget<'a>,
        memory: MemoryWatch,
        combiner: Combiner,
        drafts: Drafts<'a>,
        apart: Option<Apart<'a>>,
    ) -> Self {
        Self {
            settings,
            budget,
            ledger: Ledger::default(),
            combiner,
            confirmation: Confirmation::default(),
            memory,
            drafts,
            rows: Rows::default(),
            boosting_pace: BoostingPace::default(),
            forest_is_over: false,
            apart,
            predicted: BTreeMap::new(),
        }
    }

    /// Goes on with other rows, so many, on which pipelines are expected to take `secs`. The best so far are run
    /// again there. Gives the candidates so far.
    pub(crate) fn begin_level(
        &mut self,
        n_rows: usize,
        secs: Vec<f64>,
        combiner: Combiner,
    ) -> Combiner {
        let rerun = to_rerun(&self.settings.space, &self.combiner.library);
        self.rows = Rows { n_rows, secs, rerun, ladder: None, going_on: Vec::new() };
        self.boosting_pace = self.boosting_pace.on_more_rows();
        std::mem::replace(&mut self.combiner, combiner)
    }

    /// Runs boosting on histograms on the present rows before all else. With one fold its fit goes on for as many rounds as most of
    /// the time holds; with more of them the first would leave nothing to the others.
    pub(crate) fn boost_first(&mut self, has_one_fold: bool) {
        let Some(ladder) = Ladder::of(&self.settings.space) else { return };
        let first = ladder.first().to_vec();
        self.rows.rerun.retain(|ids| !ids.iter().any(|id| first.contains(id)));
        self.rows.rerun.push_front(first);
        let goes_on = has_one_fold && self.budget.pacing().heeds_measurements();
        if goes_on {
            self.rows.going_on = ladder.first().to_vec();
        }
        self.rows.ladder = Some(ladder.going_on(goes_on));
    }

    /// Runs until `until`, to the end of the time, or of what there is to run. `None` where the level is
    /// over and the search is not.
    pub(crate) fn run(
        &mut self,
        policy: &mut (dyn Policy + Send),
        bench: &mut Bench<'_>,
        until: Duration,
        listener: &mut Listener<'_>,
    ) -> Result<Option<StopReason>, AutoMlError> {
        if self.budget.pacing().is_repeatable() {
            return self.run_in_batches(policy, bench, until, listener);
        }
        let Bench { evaluator, judging } = bench;
        Shift::new(self, policy, listener, judging, until).run(*evaluator)
    }

    /// The same step by step in batches, each of which is over before the next is chosen.
    fn run_in_batches(
        &mut self,
        policy: &mut (dyn Policy + Send),
        bench: &mut Bench<'_>,
        until: Duration,
        listener: &mut Listener<'_>,
    ) -> Result<Option<StopReason>, AutoMlError> {
        loop {
            if let Some(reason) = self.reason_to_stop() {
                return Ok(Some(reason));
            }
            if self.budget.is_past(until) || self.is_time_to_confirm() {
                return Ok(None);
            }
            self.keep_to_memory();
            if let Some(ids) = self.next_rerun(policy) {
                self.run_again(&ids, policy, bench, listener)?;
                continue;
            }
            let steps = self.choose(policy)?;
            if steps.is_empty() {
                return Ok(Some(StopReason::NothingLeft));
            }
            self.run_steps(&steps, policy, bench, listener)?;
        }
    }

    /// Why nothing more may be begun, if so.
    pub(super) fn reason_to_stop(&self) -> Option<StopReason> {
        if self.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        let n_started = self.ledger.counts.n_started;
        if self.settings.max_evaluations.is_some_and(|n| n_started >= n) {
            return Some(StopReason::MaxEvaluations);
        }
        self.left().is_zero().then_some(StopReason::TimeBudget)
    }

    /// Lets go of learners where the process comes near its ceiling.
    pub(super) fn keep_to_memory(&mut self) {
        if self.memory.is_short() {
            self.combiner.shrink();
        }
    }

    /// The next of those to run again that is expected to be worth its time.
    pub(super) fn next_rerun(&mut self, policy: &dyn Policy) -> Option<Vec<PipelineId>> {
        let left_secs = self.budget.left_to_choose_in(self.end());
        let (space, pace) = (Arc::clone(&self.settings.space), self.boosting_pace);
        let best = self.combiner.library.learners().first().map(|learner| learner.error);
        let most = best.map_or(f64::INFINITY, |best| (1.0 + HOPELESS) * best + HOPELESS_LEAST);
        let is_of_paper = self.settings.heeds_ensemble;
        let is_hopeless = |id: &PipelineId| {
            let is_boosting = space.kind(*id) == EstimatorKind::HistogramBoosting;
            !is_boosting
                && !is_of_paper
                && policy.expected_error(id.index()).is_some_and(|error| error > most)
        };
        let rows = &mut self.rows;
        while let Some(mut ids) = rows.rerun.pop_front() {
            if ids.iter().all(is_hopeless) {
                continue;
            }
            let secs = |id: PipelineId| {
                let secs = rows.secs_of(id).unwrap_or(0.0);
                pace.secs(space.kind(id), secs)
            };
            let fits = |share: f64| move |id: &PipelineId| secs(*id) <= share * left_secs;
            // What is to come first comes, if only as its fewest rounds.
            let cheapest = ids.iter().copied().min_by(|&a, &b| secs(a).total_cmp(&secs(b)));
            let comes_first = |id: PipelineId| rows.awaits(id) || rows.goes_on(id);
            let first = cheapest.filter(|&id| comes_first(id) && fits(FIRST_SHARE)(&id));
            ids.retain(|id| {
                let is_in_time = || fits(rerun_share(space.kind(*id)))(id);
                first.is_some_and(|first| first == *id || rows.goes_on(*id)) || is_in_time()
            });
            if !ids.is_empty() {
                return Some(ids);
            }
        }
        None
    }

    /// Runs one of the best again, on more rows, and tells the policy.
    fn run_again(
        &mut self,
        ids: &[PipelineId],
        policy: &mut (dyn Policy + Send),
        bench: &mut Bench<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<(), AutoMlError> {
        let patience = self.rerun_patience(ids);
        self.budget.note_predicted(patience.cost_secs);
        self.note_predictions(ids, policy);
        let begun = self.budget.elapsed();
        let seen = self.evaluate(ids, patience, bench, listener)?;
        self.climb(&seen, self.budget.since(begun));
        policy.observe_unasked(&seen)?;
        self.ensemble_if_cheap(listener);
        Ok(())
    }

    /// How long those that are run again are waited for.
    pub(super) fn rerun_patience(&self, ids: &[PipelineId]) -> Patience {
        let secs = ids.iter().filter_map(|&id| self.rows.secs_of(id));
        let cost_secs = secs.fold(0.0, f64::max);
        if ids.iter().any(|&id| self.rows.goes_on(id)) {
            return Patience { cost_secs, most_of_left: GOING_ON_SHARE, goes_on: true };
        }
        let share = |&id: &PipelineId| match self.rows.awaits(id) {
            true => FIRST_SHARE,
            false => rerun_share(self.settings.space.kind(id)),
        };
        let most_of_left = RERUN_PATIENCE * ids.iter().map(share).fold(0.0, f64::max);
        Patience { cost_secs, most_of_left, goes_on: false }
    }

    /// Queues what the first family of boosting speaks for, once it has run.
    pub(super) fn climb(&mut self, seen: &[Observation], took: Duration) {
        let times_left = self.left().as_secs_f64() / took.as_secs_f64().max(1e-3);
        let climbed = self.rows.ladder.as_ref().and_then(|l| l.climb(seen, times_left));
        let Some(Rungs { next, later }) = climbed else { return };
        let goes_on = self.rows.ladder.take().is_some_and(|ladder| ladder.goes_on());
        if goes_on {
            self.rows.going_on.extend(next.iter().flatten());
        }
        let is_rung =
            |id: &PipelineId| later.contains(id) || next.iter().flatten().any(|n| n == id);
        self.rows.rerun.retain(|ids| !ids.iter().any(is_rung));
        next.into_iter().rev().for_each(|ids| self.rows.rerun.push_front(ids));
        if !later.is_empty() {
            self.rows.rerun.push_back(later);
        }
    }

    /// The steps to run together, with no more pipelines than may still be evaluated.
    fn choose(&mut self, policy: &mut (dyn Policy + Send)) -> Result<Vec<Step>, AutoMlError> {
        let n_started = self.ledger.counts.n_started;
        let mut most = self.settings.max_evaluations.map(|n| n - n_started);
        let mut steps = Vec::new();
        while steps.len() < self.budget.width() && most != Some(0) {
            let Next::Run(mut step) = self.ask(policy)? else { break };
            if let Some(most) = &mut most {
                step.members.truncate(*most);
                *most -= step.members.len();
            }
            steps.push(step);
        }
        Ok(steps)
    }

    /// What the policy wants run next.
    pub(super) fn ask(&mut self, policy: &mut (dyn Policy + Send)) -> Result<Next, AutoMlError> {
        let started = self.budget.elapsed();
        let next = policy.next(self.budget.left_to_choose_in(self.end()))?;
        let secs = self.budget.since(started).as_secs_f64();
        self.budget.note_choice(secs);
        self.ledger.spend("choosing", secs);
        Ok(next)
    }

    /// Runs steps together, and tells the policy what came of each.
    fn run_steps(
        &mut self,
        steps: &[Step],
        policy: &mut (dyn Policy + Send),
        bench: &mut Bench<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<(), AutoMlError> {
        let members = steps.iter().flat_map(|step| &step.members);
        let ids: Vec<PipelineId> = members.filter_map(|&j| self.settings.space.id(j)).collect();
        let cost_secs = steps.iter().map(|step| step.cost_secs).sum();
        self.budget.note_predicted(cost_secs);
        self.note_predictions(&ids, policy);
        // A step is given up by the longer of two predictions: what was learned of other families may not hold here.
        let patience_secs = steps.iter().map(|step| self.rows.predicted_secs(step)).sum();
        let cost_secs = f64::max(cost_secs, patience_secs);
        let patience = Patience { cost_secs, most_of_left: 1.0, goes_on: false };
        let seen = self.evaluate(&ids, patience, bench, listener)?;
        self.ensemble_if_cheap(listener);
        let started = self.budget.elapsed();
        self.tell_of_ensemble(policy);
        for step in steps {
            let is_of_step = |o: &&Observation| step.members.contains(&o.pipeline);
            let of_step: Vec<Observation> = seen.iter().filter(is_of_step).copied().collect();
            policy.observe(step, &of_step)?;
        }
        self.combiner.elect(policy.voters());
        self.ledger.spend("choosing", self.budget.since(started).as_secs_f64());
        Ok(())
    }

    /// Tells the policy how good the ensemble is.
    pub(super) fn tell_of_ensemble(&mut self, policy: &mut (dyn Policy + Send)) {
        let error = match &mut self.apart {
            Some(apart) => apart.error(&self.combiner),
            None => self.combiner.error(),
        };
        if let Some(error) = error {
            policy.ensembled(error);
        }
    }

    /// Keeps what is predicted for pipelines, before what comes of them changes it.
    pub(super) fn note_predictions(&mut self, ids: &[PipelineId], policy: &dyn Policy) {
        let predicted = |&id: &PipelineId| Some((id, policy.expected_error(id.index())?));
        self.predicted.extend(ids.iter().filter_map(predicted));
    }

    /// Runs pipelines as long as patience lasts; gives what became of them, in the order of
    /// pipelines: threads finish in any order, which the policy must not see.
    fn evaluate(
        &mut self,
        ids: &[PipelineId],
        patience: Patience,
        bench: &mut Bench<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<Vec<Observation>, AutoMlError> {
        self.ledger.counts.n_started += ids.len();
        listener.tell(Happened::Started { pipelines: self.pipelines_of(ids) });
        let started = self.budget.elapsed();
        let deadline = self.budget.deadline(patience, self.end());
        let mut held = Vec::with_capacity(ids.len());
        let Bench { evaluator, judging } = bench;
        // What the library keeps where memory is short depends on the order.
        let effort =
            evaluator.evaluate(ids, deadline, &mut |id, outcome| held.push((id, outcome)))?;
        held.sort_by_key(|(id, _)| id.index());
        let rule = Arc::clone(self.combiner.rule());
        let take_in = |(id, outcome)| {
            let pipeline = self.settings.space.pipeline(id);
            let judged = Judged::of(outcome, id, pipeline, &rule, judging);
            self.take_in(id, judged, listener)
        };
        let seen: Vec<Observation> = held.into_iter().map(take_in).collect();
        self.ledger.spend_effort(&effort);
        self.budget.note_work(&effort, self.budget.since(started), Duration::ZERO);
        self.note_pace(&seen);
        Ok(seen)
    }

    /// Learns how long boosting takes here.
    pub(super) fn note_pace(&mut self, seen: &[Observation]) {
        let predicted = |id| self.rows.secs_of(id);
        self.boosting_pace.note(&self.settings.space, seen, predicted);
    }

    /// Takes in what became of a pipeline.
    pub(super) fn take_in(
        &mut self,
        id: PipelineId,
        judged: Judged,
        listener: &mut Listener<'_>,
    ) -> Observation {
        let (error, secs) = match judged {
            Judged::Finished { native, decided, secs, learner } => {
                match learner {
                    Ok(learner) => self.add(*learner, listener),
                    Err(err) => self.fail(id, err, listener),
                }
                (Some(if self.settings.feeds_native { native } else { decided }), Some(secs))
            }
            Judged::OutOfTime { after } => {
                let after_secs = after.as_secs_f64();
                self.ledger.counts.n_out_of_time += 1;
                let pipeline = self.settings.space.pipeline(id);
                listener.tell(Happened::OutOfTime { pipeline, after_secs });
                (None, Some(after_secs))
            }
            Judged::Failed(err) => {
                self.fail(id, err, listener);
                (None, None)
            }
        };
        let secs = secs.map(|s| self.budget.pacing().secs(s, self.rows.secs_of(id)));
        Observation { pipeline: id.index(), error, secs, n_rows: self.rows.n_rows }
    }

    /// Takes a candidate learner.
    fn add(&mut self, learner: Learner, listener: &mut Listener<'_>) {
        self.ledger.counts.n_evaluated += 1;
        let (id, error, secs) = (learner.id, learner.error, learner.secs);
        let pipeline = learner.pipeline.clone();
        let balanced_error = Some(learner.balanced_error(self.combiner.rule()));
        self.combiner.add(learner);
        listener.tell(Happened::Finished {
            pipeline,
            error,
            balanced_error,
            predicted_error: self.predicted.get(&id).copied(),
            secs,
            n_evaluated: self.ledger.counts.n_evaluated,
            best_error: self.combiner.library.learners().first().map_or(error, |l| l.error),
            ensemble_error: self.combiner.error(),
        });
    }

    fn fail(&mut self, id: PipelineId, err: FitError, listener: &mut Listener<'_>) {
        self.ledger.counts.n_failed += 1;
        let (pipeline, reason) = (self.settings.space.pipeline(id), err.to_string());
        self.ledger.counts.first_failure.get_or_insert(err);
        listener.tell(Happened::Failed { pipeline, reason });
    }

    /// Brings the ensemble up to date where that takes little of the time.
    pub(super) fn ensemble_if_cheap(&mut self, listener: &mut Listener<'_>) {
        if self.is_ensemble_cheap() {
            self.ensemble(listener);
        }
    }

    /// Whether that takes little of the time; always so where the run is to be repeatable, as the paper's rank rule
    /// looks at it.
    pub(super) fn is_ensemble_cheap(&self) -> bool {
        let most = ENSEMBLE_SHARE * self.budget.elapsed().as_secs_f64();
        let is_cheap = self.ledger.spent("ensemble") + self.combiner.expected_secs() < most;
        self.budget.pacing().allows(is_cheap) || self.combiner.error().is_none()
    }

    /// Brings the ensemble up to date.
    pub(crate) fn ensemble(&mut self, listener: &mut Listener<'_>) {
        let before = self.ensemble_now();
        let secs = self.combiner.update(self.budget.ensemble_deadline(self.end()));
        self.note_ensemble(&before, secs, listener);
    }

    /// Takes in an ensemble that was chosen while the search went on.
    pub(super) fn take_ensemble(&mut self, chosen: Chosen, listener: &mut Listener<'_>) {
        let before = self.ensemble_now();
        let secs = self.combiner.finish(chosen, self.budget.ensemble_deadline(self.end()));
        self.note_ensemble(&before, secs, listener);
    }

    fn ensemble_now(&self) -> EnsembleNow {
        (self.combiner.error(), self.combiner.selection.weights.clone())
    }

    /// Tells of the ensemble where it is not what it was.
    fn note_ensemble(&mut self, before: &EnsembleNow, secs: f64, listener: &mut Listener<'_>) {
        self.ledger.spend("ensemble", secs);
        if let Some(error) = self.combiner.error()
            && *before != self.ensemble_now()
        {
            let base_learners = self.combiner.weighted_pipelines();
            listener.tell(Happened::EnsembleChanged { error, base_learners });
            let (elapsed, n_rows) = (self.budget.elapsed(), self.rows.n_rows);
            self.drafts.make_if_due(elapsed, &self.combiner, &self.ledger, n_rows);
        }
    }

    /// What is left for running pipelines.
    pub(super) fn left(&self) -> Duration {
        self.budget.left(self.end())
    }

    /// What the end of the search will take, as things are.
    pub(super) fn end(&self) -> End {
        let most = honest::SHARE * self.budget.total_secs();
        let scoring_secs = self.combiner.scoring_secs().min(most);
        let ensemble_secs = self.combiner.expected_secs() + scoring_secs + self.forest_secs();
        End { ensemble_secs, write_time: self.combiner.write_time() }
    }

    /// What is kept for the plain forest: nothing where it was run, or would take too long.
    fn forest_secs(&self) -> f64 {
        let is_wanted = !self.forest_is_over && self.combiner.evidence.lacks_forest();
        let secs = self.settings.forest.filter(|_| is_wanted).and_then(|id| self.rows.secs_of(id));
        let secs = secs.unwrap_or(0.0) * self.budget.wall_per_cpu();
        if secs <= FOREST_SHARE * self.budget.total_secs() { secs } else { 0.0 }
    }

    /// Runs the plain forest for comparison, where it was not tried and there is time for it.
    pub(super) fn run_forest(&mut self, bench: &mut Bench<'_>) -> Result<(), AutoMlError> {
        self.forest_is_over = true;
        let Some(id) = self.settings.forest else { return Ok(()) };
        let secs = self.rows.secs_of(id).unwrap_or(f64::INFINITY) * self.budget.wall_per_cpu();
        let is_affordable = self.budget.allows_secs(secs, self.end());
        let is_of_use = self.combiner.scores.is_some() && self.combiner.evidence.lacks_forest();
        if !is_affordable || !is_of_use || self.is_cancelled() || self.memory.was_short() {
            return Ok(());
        }
        let deadline = self.budget.within(self.left());
        let mut finished = None;
        let Bench { evaluator, judging } = bench;
        let effort = evaluator.evaluate(&[id], deadline, &mut |_, outcome| {
            if let Outcome::Finished(evaluation) = outcome {
                finished = Some(evaluation);
            }
        })?;
        self.ledger.spend_effort(&effort);
        let pipeline = self.settings.space.pipeline(id);
        let learner = finished
            .and_then(|e| Learner::new(id, pipeline, *e, self.combiner.rule(), judging).ok());
        if let Some(learner) = learner {
            self.combiner.evidence.compare(&learner);
        }
        Ok(())
    }

    /// When scoring has to end; never in a run that is to be repeatable.
    pub(super) fn scoring_deadline(&self) -> Option<Instant> {
        let end = self.budget.ensemble_deadline(self.end())?;
        let most = Duration::from_secs_f64(honest::SHARE * self.budget.total_secs());
        let most = if self.is_cancelled() { Duration::ZERO } else { most };
        Some(self.budget.within(most).map_or(end, |most| most.min(end)))
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.settings.cancel.load(Ordering::Relaxed)
    }

    /// The pipelines that have these numbers.
    pub(super) fn pipelines_of(&self, ids: &[PipelineId]) -> Vec<Pipeline> {
        ids.iter().map(|&id| self.settings.space.pipeline(id)).collect()
    }
}
