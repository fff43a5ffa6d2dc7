//! The loop: ask the policy, run what it says, take in what came of it, until the time is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pitchpipe_learn::{FitError, Outcome, PipelineId};
use pitchpipe_surrogate::simulate::Policy;
use pitchpipe_table::{Labels, Metric, balanced_error_rate};

use super::clock::Clock;
use super::evaluate::Evaluator;
use super::library::{Learner, Library};
use super::{AutoMlError, Progress, StopReason, TimeSpent};
use crate::ensemble::{
    Combination, GreedySettings, Judge, Selection, VOTERS, majority, select, vote,
};

/// What the loop is told.
pub(crate) struct Settings {
    pub(crate) budget: Duration,
    pub(crate) metric: Metric,
    pub(crate) combination: Combination,
    /// Whether the policy is fed the errors of native decisions.
    pub(crate) feeds_native: bool,
    pub(crate) max_evaluations: Option<usize>,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    pub(crate) seed: u64,
}

/// How many candidate learners an ensemble is chosen among.
const LIBRARY: usize = 40;

/// Time kept for ensembling and writing, at the least.
const LEAST_RESERVE: Duration = Duration::from_millis(40);

/// The loop and what it has found.
pub(crate) struct Drive<'a> {
    pub(crate) settings: Settings,
    clock: &'a dyn Clock,
    judge: Judge,
    truth: Labels,
    judged: Option<Vec<usize>>,
    pub(crate) library: Library,
    pub(crate) counts: Counts,
    pub(crate) selection: Selection,
    pub(crate) ensemble_error: Option<f64>,
    is_stale: bool,
    ensemble_secs: f64,
    pub(crate) time_spent: Vec<TimeSpent>,
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

impl<'a> Drive<'a> {
    /// `truth` are the labels of the rows ensembles are chosen by, `judged` these rows where not all.
    pub(crate) fn new(
        settings: Settings,
        clock: &'a dyn Clock,
        truth: Labels,
        priors: &[f64],
        judged: Option<Vec<usize>>,
    ) -> Self {
        let judge = Judge::new(&truth, priors, settings.metric);
        Self {
            settings,
            clock,
            judge,
            truth,
            judged,
            library: Library::new(LIBRARY),
            counts: Counts::default(),
            selection: Selection::default(),
            ensemble_error: None,
            is_stale: false,
            ensemble_secs: 0.0,
            time_spent: Vec::new(),
        }
    }

    /// Runs to the end of the time, or of what there is to run.
    pub(crate) fn run(
        &mut self,
        policy: &mut dyn Policy,
        evaluator: &mut dyn Evaluator,
        tell: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<StopReason, AutoMlError> {
        loop {
            if self.is_cancelled() {
                return Ok(StopReason::Cancelled);
            }
            if self.settings.max_evaluations.is_some_and(|n| self.counts.n_started >= n) {
                return Ok(StopReason::MaxEvaluations);
            }
            let left = self.left();
            if left.is_zero() {
                return Ok(StopReason::TimeBudget);
            }
            let started = self.clock.elapsed();
            let step = policy.next(left.as_secs_f64())?;
            self.spend("choosing", self.clock.elapsed().saturating_sub(started).as_secs_f64());
            let Some(step) = step else { return Ok(StopReason::NothingLeft) };
            let mut ids: Vec<PipelineId> =
                step.members.iter().filter_map(|&j| PipelineId::new(j)).collect();
            if let Some(most) = self.settings.max_evaluations {
                ids.truncate(most - self.counts.n_started);
            }
            let (errors, secs) = self.step(&ids, evaluator, tell)?;
            self.ensemble_if_cheap(tell);
            policy.finished(&step, &errors, &secs)?;
        }
    }

    /// Runs pipelines; gives the errors to feed to the policy, and the seconds.
    #[allow(clippy::type_complexity)]
    fn step(
        &mut self,
        ids: &[PipelineId],
        evaluator: &mut dyn Evaluator,
        tell: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(Vec<(usize, f64)>, Vec<(usize, f64)>), AutoMlError> {
        self.counts.n_started += ids.len();
        tell(Progress::Started { what: in_words(ids), n_pipelines: ids.len() });
        let deadline = self.deadline();
        let (mut errors, mut secs) = (Vec::new(), Vec::new());
        let effort = evaluator.evaluate(ids, deadline, None, &mut |id, outcome| match outcome {
            Outcome::Finished(evaluation) => {
                let fed = if self.settings.feeds_native {
                    evaluation.error
                } else {
                    evaluation.decided_error
                };
                errors.push((id.index(), fed));
                secs.push((id.index(), evaluation.alone_secs.max(1e-4)));
                self.take(id, *evaluation, tell);
            }
            Outcome::OutOfTime { .. } => self.counts.n_out_of_time += 1,
            Outcome::Failed(err) => {
                self.counts.n_failed += 1;
                self.counts.first_failure.get_or_insert(err);
            }
        })?;
        self.spend("preparation", effort.preparation_secs);
        for (name, secs) in effort.estimator_secs {
            self.spend(name, secs);
        }
        // Threads finish in any order; the policy must not see it.
        errors.sort_by_key(|e| e.0);
        secs.sort_by_key(|s| s.0);
        Ok((errors, secs))
    }

    fn take(
        &mut self,
        id: PipelineId,
        evaluation: pitchpipe_learn::Evaluation,
        tell: &mut (dyn FnMut(Progress) + Send),
    ) {
        self.counts.n_evaluated += 1;
        let is_native = self.settings.combination == Combination::Vote;
        let metric = self.settings.metric;
        let learner = Learner::new(id, evaluation, metric, is_native, self.judged.as_deref());
        let error = learner.error;
        if self.library.has_place_for(error) {
            self.is_stale |= self.library.add(learner);
        }
        tell(Progress::Finished {
            pipeline: id.pipeline().to_string(),
            error,
            n_evaluated: self.counts.n_evaluated,
            best_error: self.library.learners().first().map_or(error, |l| l.error),
            ensemble_error: self.ensemble_error,
            elapsed: self.clock.elapsed(),
        });
    }

    /// Brings the ensemble up to date where that has taken little of the time so far.
    fn ensemble_if_cheap(&mut self, tell: &mut (dyn FnMut(Progress) + Send)) {
        let elapsed = self.clock.elapsed().as_secs_f64();
        let spent = self.spent("ensemble");
        if self.ensemble_error.is_none() || spent + self.ensemble_secs < 0.1 * elapsed {
            self.ensemble(tell);
        }
    }

    /// Brings the ensemble up to date.
    pub(crate) fn ensemble(&mut self, tell: &mut (dyn FnMut(Progress) + Send)) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let start = Instant::now();
        let selection = match self.settings.combination {
            Combination::Vote => self.vote(),
            Combination::Average => {
                let candidates: Vec<&[f32]> =
                    self.library.learners().iter().map(|l| l.probabilities.as_slice()).collect();
                let settings =
                    GreedySettings { seed: self.settings.seed, ..GreedySettings::default() };
                select(&self.judge, &candidates, &settings)
            }
        };
        let is_better = self.ensemble_error.is_none_or(|error| selection.loss < error);
        self.ensemble_error = Some(selection.loss);
        self.selection = selection;
        self.ensemble_secs = start.elapsed().as_secs_f64();
        self.spend("ensemble", self.ensemble_secs);
        if is_better {
            tell(Progress::Improved {
                ensemble_error: self.selection.loss,
                n_base_learners: self.selection.weights.len(),
                elapsed: self.clock.elapsed(),
            });
        }
    }

    fn vote(&self) -> Selection {
        let learners = self.library.learners();
        let voters = &learners[..learners.len().min(VOTERS)];
        let n_classes = self.truth.n_classes();
        let voted = (0..self.truth.len()).map(|row| {
            let votes: Vec<u32> = voters.iter().map(|l| l.labels[row]).collect();
            majority(&votes, n_classes)
        });
        let voted = Labels::from_codes(voted, n_classes);
        Selection { loss: balanced_error_rate(&self.truth, &voted), ..vote(learners.len()) }
    }

    /// What is left for running pipelines.
    fn left(&self) -> Duration {
        let reserve = LEAST_RESERVE + Duration::from_secs_f64(1.5 * self.ensemble_secs);
        self.settings.budget.saturating_sub(self.clock.elapsed() + reserve)
    }

    fn deadline(&self) -> Option<Instant> {
        self.clock.instant(self.clock.elapsed() + self.left())
    }

    fn is_cancelled(&self) -> bool {
        self.settings.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed))
    }

    pub(crate) fn spend(&mut self, what: &str, secs: f64) {
        match self.time_spent.iter_mut().find(|spent| spent.what == what) {
            Some(spent) => spent.secs += secs,
            None => self.time_spent.push(TimeSpent { what: what.to_owned(), secs }),
        }
    }

    fn spent(&self, what: &str) -> f64 {
        self.time_spent.iter().filter(|spent| spent.what == what).map(|spent| spent.secs).sum()
    }
}

/// What runs: the estimator's name, and how many settings of it.
fn in_words(ids: &[PipelineId]) -> String {
    let Some(first) = ids.first() else { return String::new() };
    let name = first.pipeline().estimator.name();
    if ids.len() == 1 { name.to_owned() } else { format!("{name} x {}", ids.len()) }
}
