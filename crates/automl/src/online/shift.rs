//! Threads that are never idle for want of a choice: each that is free is given the next step, while others are still at
//! theirs. The policy counts on what is still running.
//!
//! What takes a while is done without holding the others up: judging a learner, and choosing an ensemble.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pitchpipe_learn::{Effort, Order, Outcome, Pipeline, PipelineId, Supply, Work};
use pitchpipe_surrogate::policy::{Next, Observation, Policy, Step};

use super::budget::Patience;
use super::candidates::Candidates;
use super::drive::Drive;
use super::evaluate::Evaluator;
use super::event::{Happened, Listener};
use super::library::{Judged, Judging, Rule};
use super::many_classes::MOST_SEEN;
use super::{AutoMlError, StopReason};

/// One level of a search, as threads see it.
pub(super) struct Shift<'s, 'a, 'l> {
    judging: &'s Judging<'s>,
    rule: Arc<Rule>,
    orders: Mutex<Vec<Pipelines>>,
    desk: Mutex<Desk<'s, 'a, 'l>>,
}

/// The pipelines of an order.
type Pipelines = Arc<Vec<(PipelineId, Pipeline)>>;

/// What one thread at a time looks at.
struct Desk<'s, 'a, 'l> {
    drive: &'s mut Drive<'a>,
    policy: &'s mut (dyn Policy + Send),
    listener: &'s mut Listener<'l>,
    until: Duration,
    /// Until when the time that steps took has been told to the policy.
    told_until: Duration,
    /// What runs, by the numbers of the orders.
    running: BTreeMap<usize, Running>,
    n_orders: usize,
    /// Why the search is over, if it is.
    stop: Option<StopReason>,
    error: Option<AutoMlError>,
}

/// A step that runs.
struct Running {
    /// None where the policy did not ask for it: the best so far, on more rows.
    step: Option<Step>,
    ids: Vec<PipelineId>,
    /// When it was chosen, and then begun.
    chosen: Duration,
    begun: Duration,
    seen: Vec<Observation>,
    /// What taking in its results took so far.
    taking: Duration,
}

impl<'s, 'a, 'l> Shift<'s, 'a, 'l> {
    pub(super) fn new(
        drive: &'s mut Drive<'a>,
        policy: &'s mut (dyn Policy + Send),
        listener: &'s mut Listener<'l>,
        judging: &'s Judging<'s>,
        until: Duration,
    ) -> Self {
        let rule = Arc::clone(drive.combiner.rule());
        let (running, n_orders, stop, error) = (BTreeMap::new(), 0, None, None);
        let told_until = drive.budget.elapsed();
        let desk =
            Desk { drive, policy, listener, until, told_until, running, n_orders, stop, error };
        Self { judging, rule, orders: Mutex::default(), desk: Mutex::new(desk) }
    }

    /// Works until the level is over; gives why the search is over, if it is.
    pub(super) fn run(
        self,
        evaluator: &mut dyn Evaluator,
    ) -> Result<Option<StopReason>, AutoMlError> {
        evaluator.keep_busy(&self)?;
        let desk = self.desk.into_inner().unwrap_or_else(PoisonError::into_inner);
        match desk.error {
            Some(error) => Err(error),
            // Whoever is told of a result may end the search when nobody asks for more.
            None => Ok(desk.stop.or(desk.drive.is_cancelled().then_some(StopReason::Cancelled))),
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk<'s, 'a, 'l>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn orders(&self) -> MutexGuard<'_, Vec<Pipelines>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work for Shift<'_, '_, '_> {
    fn next(&self) -> Supply {
        let mut desk = self.desk();
        match desk.next() {
            Ok(Asked::Run(order, pipelines)) => {
                self.orders().push(pipelines);
                Supply::Order(order)
            }
            Ok(Asked::Later) => Supply::Later,
            Ok(Asked::Over(stop)) => {
                desk.stop = stop;
                Supply::Over
            }
            Err(error) => {
                desk.error.get_or_insert(error);
                Supply::Over
            }
        }
    }

    fn tell(&self, order: usize, position: usize, outcome: Outcome) {
        let begun = std::time::Instant::now();
        let pipelines = Arc::clone(&self.orders()[order]);
        let (id, pipeline) = pipelines[position].clone();
        let is_dear = self.rule.truth.n_classes() > MOST_SEEN;
        // With few classes that takes no time.
        let judged = match outcome {
            Outcome::Finished(evaluation) if is_dear && self.desk().is_too_late_to_judge() => {
                let after = Duration::from_secs_f64(evaluation.alone_secs.max(0.0));
                Judged::OutOfTime { after }
            }
            outcome => Judged::of(outcome, id, pipeline, &self.rule, self.judging),
        };
        let mut desk = self.desk();
        let Desk { drive, listener, running, .. } = &mut *desk;
        let seen = drive.take_in(id, judged, listener);
        if let Some(running) = running.get_mut(&order) {
            running.seen.push(seen);
            running.taking += begun.elapsed();
        }
    }

    fn ended(&self, order: usize, effort: Effort) {
        let mut desk = self.desk();
        let candidates = match desk.end(order, &effort) {
            Ok(candidates) => candidates,
            Err(error) => {
                desk.error.get_or_insert(error);
                return;
            }
        };
        let Some(candidates) = candidates else { return };
        let deadline = desk.drive.budget.ensemble_deadline(desk.drive.end());
        drop(desk);
        let chosen = candidates.choose(deadline);
        let mut desk = self.desk();
        let Desk { drive, listener, policy, .. } = &mut *desk;
        policy.passed(chosen.secs);
        drive.take_ensemble(chosen, listener);
    }
}

/// What a thread that is free is given.
enum Asked {
    Run(Order, Pipelines),
    Later,
    Over(Option<StopReason>),
}

impl Desk<'_, '_, '_> {
    /// Whether the time is over and there is a model, so that what has just come is not to be looked at any more.
    fn is_too_late_to_judge(&self) -> bool {
        let has_model = self.drive.ledger.counts.n_evaluated > 0;
        has_model && self.drive.left().is_zero()
    }

    fn next(&mut self) -> Result<Asked, AutoMlError> {
        if self.error.is_some() {
            return Ok(Asked::Over(None));
        }
        let drive = &mut *self.drive;
        if let Some(reason) = drive.reason_to_stop() {
            return Ok(Asked::Over(Some(reason)));
        }
        // What a level is for is a first model at the least.
        let is_past = drive.budget.is_past(self.until) && self.n_orders > 0;
        if is_past || drive.is_time_to_confirm() {
            return Ok(Asked::Over(None));
        }
        drive.keep_to_memory();
        // What the steps of several threads prepare takes the more.
        if drive.memory.was_short() && !self.running.is_empty() {
            return Ok(Asked::Later);
        }
        let unasked = || self.running.values().filter(|r| r.step.is_none()).flat_map(|r| &r.ids);
        if unasked().any(|&id| drive.rows.awaits(id) || drive.rows.goes_on(id)) {
            return Ok(Asked::Later);
        }
        let chosen = drive.budget.elapsed();
        if let Some(ids) = drive.next_rerun(self.policy) {
            let patience = drive.rerun_patience(&ids);
            drive.budget.note_predicted(patience.cost_secs);
            return Ok(self.begin(ids, None, patience, chosen));
        }
        if drive.budget.is_too_short_to_choose(drive.end()) {
            return Ok(Asked::Over(Some(StopReason::TimeBudget)));
        }
        let mut step = match drive.ask(self.policy)? {
            Next::Run(step) => step,
            _ if !self.running.is_empty() => return Ok(Asked::Later),
            _ => return Ok(Asked::Over(Some(StopReason::NothingLeft))),
        };
        // The policy has not heard of those yet.
        if unasked().any(|id| step.members.contains(&id.index())) {
            self.policy.observe(&step, &[])?;
            return Ok(Asked::Later);
        }
        if let Some(most) = drive.settings.max_evaluations {
            step.members.truncate(most - drive.ledger.counts.n_started);
        }
        // A step is given up by the longer of two predictions: what was learned of other families may not hold here.
        let cost_secs = f64::max(step.cost_secs, drive.rows.predicted_secs(&step));
        let patience = Patience { cost_secs, most_of_left: 1.0, goes_on: false };
        drive.budget.note_predicted(step.cost_secs);
        let space = &drive.settings.space;
        let ids = step.members.iter().filter_map(|&j| space.id(j)).collect();
        Ok(self.begin(ids, Some(step), patience, chosen))
    }

    /// Begins a step.
    fn begin(
        &mut self,
        ids: Vec<PipelineId>,
        step: Option<Step>,
        patience: Patience,
        chosen: Duration,
    ) -> Asked {
        let drive = &mut *self.drive;
        drive.note_predictions(&ids, self.policy);
        drive.ledger.counts.n_started += ids.len();
        let pipelines = drive.pipelines_of(&ids);
        self.listener.tell(Happened::Started { pipelines: pipelines.clone() });
        let deadline = drive.budget.deadline(patience, drive.end());
        let (begun, seen, taking) = (drive.budget.elapsed(), Vec::new(), Duration::ZERO);
        let id = self.n_orders;
        self.n_orders += 1;
        let known = ids.iter().copied().zip(pipelines.iter().cloned()).collect();
        self.running.insert(id, Running { step, ids, chosen, begun, seen, taking });
        Asked::Run(Order { id, pipelines, deadline }, Arc::new(known))
    }

    /// A step is over. Gives the candidates for an ensemble where one is to be chosen while the search goes on.
    fn end(&mut self, order: usize, effort: &Effort) -> Result<Option<Candidates>, AutoMlError> {
        let Desk { drive, policy, listener, running, told_until, .. } = self;
        let Some(Running { step, chosen, begun, mut seen, taking, .. }) = running.remove(&order)
        else {
            return Ok(None);
        };
        drive.ledger.spend_effort(effort);
        drive.budget.note_work(effort, drive.budget.since(begun), taking);
        // Threads finish in any order, which the policy must not see.
        seen.sort_by_key(|o| o.pipeline);
        drive.note_pace(&seen);
        if step.is_none() {
            drive.climb(&seen, drive.budget.since(begun));
        }
        let is_aside = !drive.settings.heeds_ensemble && drive.combiner.error().is_some();
        if !is_aside {
            drive.ensemble_if_cheap(listener);
        }
        let started = drive.budget.elapsed();
        drive.tell_of_ensemble(&mut **policy);
        match &step {
            Some(step) => {
                policy.observe(step, &seen)?;
                // What steps took at the same time counts once.
                let since = chosen.max(*told_until);
                policy.passed(drive.budget.work_secs_since(since));
                *told_until = drive.budget.elapsed();
            }
            None => policy.observe_unasked(&seen)?,
        }
        drive.combiner.elect(policy.voters());
        drive.ledger.spend("choosing", drive.budget.since(started).as_secs_f64());
        // At the end one more is chosen anyway, in the time kept for that.
        let is_due = is_aside && drive.is_ensemble_cheap() && !drive.left().is_zero();
        Ok(if is_due { drive.combiner.begin() } else { None })
    }
}
