//! One search: from rows and a budget to a model.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::{FitContext, Preparation, SearchSpace, Validation};
use pitchpipe_table::{Dataset, stratified_subsample};

use super::clock::{Clock, WallClock};
use super::combine::{Combiner, free_elsewhere};
use super::drive::{Drive, Settings};
use super::evaluate::Engine;
use super::event::{Happened, Listener};
use super::levels::{Level, levels};
use super::library::{Judging, Rule};
use super::memory::AddressSpace;
use super::policies::{Setup, make};
use super::space::Space;
use super::{AutoMl, AutoMlError, Candidate, Event, Method, Report, StopReason, confirm, memory};
use crate::ensemble::Combination;
use crate::model::{BaseLearner, Model, kinds_of};
use crate::surrogate::{DatasetSize, ErrorKind, Surrogate};

/// Ensembles are chosen by no more rows than this.
const MOST_JUDGED: usize = 6_000;

/// The share of the memory that candidate learners may take, counted as bytes in a file. In memory they take a few times
/// that: numbers that are short in a file have their full width there.
const LIBRARY_SHARE: f64 = 0.1;

/// The share of the memory that the models of one step may take.
const STEP_SHARE: f64 = 0.125;

/// A number of rows that every table large enough to be sampled has.
const SMALL_SAMPLE: usize = 2_000;

/// Below this many rows there are more folds than three.
const FEW_ROWS: usize = 500;

/// Seeds of other folds lie so far apart.
const OTHER_FOLDS: u64 = 0x9E37_79B9_7F4A_7C15;

/// One search.
pub(super) struct Fit<'a> {
    automl: &'a AutoMl,
    dataset: &'a Dataset,
    clock: WallClock,
    surrogate: Arc<Surrogate>,
    memory_limit: u64,
    /// What of it was free when the search began.
    free_memory: f64,
    n_folds: usize,
    /// Raised by the caller, or for one who has heard enough.
    cancel: Arc<AtomicBool>,
}

impl<'a> Fit<'a> {
    pub(super) fn new(
        automl: &'a AutoMl,
        dataset: &'a Dataset,
        start: Instant,
    ) -> Result<Self, AutoMlError> {
        let memory_limit = memory_limit(automl)?;
        // The paper's systems, and what is to be compared with their vote, have its three folds.
        let is_few = dataset.n_rows() < FEW_ROWS && combination_of(automl) == Combination::Average;
        Ok(Self {
            automl,
            dataset,
            clock: WallClock::started_at(start),
            surrogate: automl.surrogate.clone().unwrap_or_else(Surrogate::embedded),
            memory_limit,
            free_memory: free_memory(memory_limit, automl.max_evaluations.is_some()),
            // No more folds than rows.
            n_folds: automl.n_folds.unwrap_or(if is_few { 5 } else { 3 }).min(dataset.n_rows()),
            cancel: automl.cancel.clone().unwrap_or_default(),
        })
    }

    /// Searches, and puts the model together.
    pub(super) fn run(
        self,
        hear: &mut (dyn FnMut(Event) -> ControlFlow<()> + Send),
    ) -> Result<Model, AutoMlError> {
        let AutoMl { method, budget, .. } = *self.automl;
        let listener = &mut Listener::new(&self.clock, hear, Arc::clone(&self.cancel));
        let n_rows = self.dataset.n_rows();
        listener.tell(self.begun());
        let levels = self.levels();
        let is_repeatable = self.automl.max_evaluations.is_some();
        let mut secs = self.secs(levels[0].n_rows);
        let (mut policy, kind) = make(Setup {
            method,
            surrogate: &self.surrogate,
            space: Space::of(self.space(), self.dataset),
            secs: &secs,
            n_rows: levels[0].n_rows,
            step_bytes: (STEP_SHARE * self.free_memory) as u64,
            budget_secs: budget.saturating_sub(self.clock.elapsed()).as_secs_f64(),
            seed: self.automl.seed,
            is_repeatable,
            is_side_by_side: self.automl.threads > 1 && !is_repeatable,
        })?;
        let mut drive = Drive::new(self.settings(kind), &self.clock, self.combiner(None));
        let mut earlier: Option<(Combiner, usize)> = None;
        let mut stop = StopReason::TimeBudget;
        let mut n_used = n_rows;
        let mut n_confirmed = 0;
        for (i, level) in levels.iter().enumerate() {
            let (sample, judging) = self.sample(level);
            listener.tell(Happened::Level { n_rows: sample.n_rows(), of: n_rows });
            if i > 0 {
                secs = self.secs(level.n_rows);
                policy.resized(level.n_rows, &secs);
            }
            let combiner = self.combiner(Some((&sample, &judging)));
            let before = drive.begin_level(secs.clone(), combiner);
            if before.error().is_some() {
                earlier = Some((before, n_used));
            }
            n_used = sample.n_rows();
            let is_small = sample.n_rows() <= confirm::MOST_ROWS;
            drive.settings.confirms = i + 1 == levels.len() && is_small && self.confirms();
            let mut engine = Engine::new(self.space(), &sample, self.validation());
            let ended = drive.run(&mut *policy, &mut engine, &judging, level.until, listener)?;
            drive.ensemble(listener);
            let is_cut = matches!(ended, Some(StopReason::Cancelled | StopReason::TimeBudget));
            if drive.settings.confirms && !is_cut {
                n_confirmed = self.confirm(&mut drive, &sample, &judging, listener)?;
            }
            if let Some(ended) = ended
                && (ended != StopReason::NothingLeft || i + 1 == levels.len())
            {
                stop = ended;
                break;
            }
        }
        listener.tell(Happened::Assembling);
        if let Some((before, n_before)) = earlier {
            if n_confirmed == 0 && is_better(&before, &drive.combiner) {
                free_elsewhere(std::mem::replace(&mut drive.combiner, before));
                n_used = n_before;
            } else {
                free_elsewhere(before);
            }
        }
        if self.cancel.load(Ordering::Relaxed) {
            stop = StopReason::Cancelled;
        }
        let mut model = self.model(drive, stop, n_used)?;
        model.report.notes.extend((n_confirmed > 0).then(|| confirmed_note(n_confirmed)));
        let Report { n_evaluated, n_failed, n_out_of_time, .. } = model.report;
        listener.tell(Happened::Done { stop_reason: stop, n_evaluated, n_failed, n_out_of_time });
        Ok(model)
    }

    fn begun(&self) -> Happened {
        let AutoMl { method, metric, budget, .. } = *self.automl;
        Happened::Begun {
            method,
            metric,
            budget_secs: budget.as_secs_f64(),
            n_rows: self.dataset.n_rows(),
            n_features: self.dataset.columns().len(),
            n_classes: self.dataset.labels().n_classes(),
        }
    }

    /// Whether the best are validated again: by the default policy, where learners are judged out of fold.
    fn confirms(&self) -> bool {
        let is_ours = self.automl.method == Method::Auto;
        is_ours && self.combination() == Combination::Average && self.automl.validation.is_none()
    }

    /// Validates the best again on other folds, as often as the time allows; gives the number of times.
    fn confirm(
        &self,
        drive: &mut Drive<'_>,
        sample: &Dataset,
        judging: &Judging<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<usize, AutoMlError> {
        let n_rounds = drive.n_rounds();
        for round in 1..=n_rounds {
            let seed = self.automl.seed.wrapping_add(OTHER_FOLDS.wrapping_mul(round as u64));
            let keep_models = drive.keeps_models(round);
            let validation = Validation { seed, keep_models, ..self.validation() };
            let mut engine = Engine::new(self.space(), sample, validation);
            if !drive.confirm(&mut engine, round, keep_models, judging, listener)? {
                return Ok(round - 1);
            }
        }
        Ok(n_rounds)
    }

    /// The rows to search with, and when. A repeatable run uses one sample, as the clock may not decide.
    fn levels(&self) -> Vec<Level> {
        let (n_rows, budget) = (self.dataset.n_rows(), self.automl.budget);
        let typical = self.typical_secs();
        let is_repeatable = self.automl.max_evaluations.is_some();
        let begun = if is_repeatable { Duration::ZERO } else { self.clock.elapsed() };
        let all = levels(n_rows, begun, budget, typical);
        if is_repeatable || self.automl.method != Method::Auto {
            return vec![Level { until: budget, ..all[0] }];
        }
        all
    }

    /// The pipelines there are to choose from.
    fn space(&self) -> &Arc<SearchSpace> {
        self.surrogate.space()
    }

    /// What a forest on plain columns takes on so many rows: neither the fastest nor the slowest of what is
    /// good. Predicted at two sizes, and by a power of the rows between them.
    fn typical_secs(&self) -> impl Fn(usize) -> f64 + use<> {
        let size = DatasetSize::of(self.dataset);
        let plain = self.space().behind(Preparation::of_oboe(Imputer::Mean));
        let is_forest = |id| self.space().kind(id) == EstimatorKind::RandomForest;
        let forest = plain.into_iter().find(|&id| is_forest(id)).map_or(0, |id| id.index());
        let predict = |n: usize| self.surrogate.runtimes().predict_secs(&size.with_rows(n))[forest];
        let (low, high) = (SMALL_SAMPLE, self.dataset.n_rows().max(2 * SMALL_SAMPLE));
        let (fast, slow) = (predict(low), predict(high));
        let power = (slow / fast).ln() / (high as f64 / low as f64).ln();
        move |n: usize| fast * (n as f64 / low as f64).powf(power)
    }

    /// Predicted seconds of all pipelines on so many rows; the recorded ones had three folds.
    fn secs(&self, n_rows: usize) -> Vec<f64> {
        let size = DatasetSize::of(self.dataset).with_rows(n_rows);
        let mut secs = self.surrogate.runtimes().predict_secs(&size);
        // k folds of (k - 1) / k of the rows each.
        let factor = (self.n_folds as f64 - 1.0) / 2.0;
        secs.iter_mut().for_each(|t| *t *= factor);
        secs
    }

    fn combination(&self) -> Combination {
        combination_of(self.automl)
    }

    fn settings(&self, kind: ErrorKind) -> Settings {
        let AutoMl { budget, threads, max_evaluations, .. } = *self.automl;
        Settings {
            space: Arc::clone(self.space()),
            budget,
            feeds_native: kind == ErrorKind::Native,
            max_evaluations,
            cancel: Arc::clone(&self.cancel),
            side_by_side: if max_evaluations.is_some() { 1 } else { threads.max(1) },
            wall_per_cpu: 1.0 / threads.clamp(1, self.n_folds) as f64,
            memory_limit: self.memory_limit,
            confirms: false,
        }
    }

    fn validation(&self) -> Validation {
        Validation {
            n_folds: self.n_folds,
            threads: self.automl.threads.max(1),
            seed: self.automl.seed,
            cancel: Some(Arc::clone(&self.cancel)),
            memory_limit: Some(self.memory_limit),
            keep_predictions: true,
            keep_models: true,
            ..Validation::default()
        }
    }

    /// The rows of a level, and those that learners are judged on.
    fn sample(&self, level: &Level) -> (Cow<'a, Dataset>, Judging<'a>) {
        let seed = self.automl.seed;
        let sample = if level.n_rows < self.dataset.n_rows() {
            let rows = stratified_subsample(self.dataset.labels(), level.n_rows, seed);
            Cow::Owned(self.dataset.select(&rows))
        } else {
            Cow::Borrowed(self.dataset)
        };
        if let Some(dataset) = &self.automl.validation {
            let deadline = self.clock.instant(self.automl.budget);
            let ctx = FitContext::unhurried().with_deadline(deadline);
            return (sample, Judging::Rows { dataset, ctx });
        }
        let is_many = sample.n_rows() > MOST_JUDGED;
        let rows = is_many.then(|| stratified_subsample(sample.labels(), MOST_JUDGED, seed));
        (sample, Judging::OutOfFold { rows })
    }

    fn combiner(&self, on: Option<(&Dataset, &Judging<'_>)>) -> Combiner {
        let truth = match on {
            None => self.dataset.labels().select(&[]),
            Some((_, Judging::Rows { dataset, .. })) => dataset.labels().clone(),
            Some((sample, Judging::OutOfFold { rows: None })) => sample.labels().clone(),
            Some((sample, Judging::OutOfFold { rows: Some(rows) })) => sample.labels().select(rows),
        };
        let AutoMl { metric, seed, model_size_limit, .. } = *self.automl;
        let combination = self.combination();
        let (priors, decision) = (self.dataset.labels().priors(), combination.decision(metric));
        let rule = Rule { truth, priors, metric, decision };
        let memory = (LIBRARY_SHARE * self.free_memory) as u64;
        Combiner::new(rule, combination, seed, memory, model_size_limit)
    }

    fn model(
        &self,
        drive: Drive<'_>,
        stop: StopReason,
        n_used: usize,
    ) -> Result<Model, AutoMlError> {
        let counts = drive.counts.clone();
        let Some(scores) = drive.combiner.scores.clone() else {
            return Err(match (stop, counts.first_failure) {
                (StopReason::Cancelled, _) => AutoMlError::Cancelled,
                (_, Some(first)) if counts.n_out_of_time == 0 => {
                    AutoMlError::AllFailed { n_failed: counts.n_failed, first }
                }
                _ => AutoMlError::OutOfTime {
                    budget: self.automl.budget,
                    n_started: counts.n_started,
                },
            });
        };
        let combination = self.combination();
        let weights = drive.combiner.selection.weights.clone();
        let weight_of = |key: usize| weights.iter().find(|w| w.0 == key).map_or(0.0, |w| w.1);
        let leaderboard: Vec<Candidate> = drive
            .combiner
            .library
            .learners()
            .iter()
            .map(|l| l.candidate(weight_of(l.key())))
            .collect();
        let time_spent = drive.time_spent;
        let out_of_fold = drive.combiner.predicted();
        let learners: Vec<BaseLearner> = drive
            .combiner
            .into_base_learners()
            .into_iter()
            .map(|(learner, weight)| BaseLearner {
                pipeline: learner.pipeline,
                weight,
                models: learner.models,
            })
            .collect();
        let AutoMl { method, metric, seed, budget, .. } = *self.automl;
        let labels = self.dataset.labels();
        let report = Report {
            method,
            metric,
            seed,
            budget_secs: budget.as_secs_f64(),
            elapsed_secs: self.clock.elapsed().as_secs_f64(),
            n_rows: self.dataset.n_rows(),
            n_features: self.dataset.columns().len(),
            n_classes: labels.n_classes(),
            n_rows_used: n_used,
            n_folds: self.n_folds,
            n_evaluated: counts.n_evaluated,
            n_failed: counts.n_failed,
            n_out_of_time: counts.n_out_of_time,
            scores,
            standard_errors: None,
            baselines: Vec::new(),
            leaderboard,
            time_spent,
            stop_reason: stop,
            notes: Vec::new(),
        };
        let mut model = Model {
            schema: self.dataset.schema().map(|s| (**s).clone()),
            columns: kinds_of(self.dataset.frame()),
            n_classes: labels.n_classes(),
            priors: labels.priors(),
            decision: combination.decision(metric),
            combination,
            learners,
            report,
            out_of_fold: Some(out_of_fold),
        };
        model.shrink_to(self.automl.model_size_limit)?;
        Ok(model)
    }
}

/// How base learners are combined: the paper's systems vote, unless told otherwise.
fn combination_of(automl: &AutoMl) -> Combination {
    let usual = if automl.method.is_of_paper() { Combination::Vote } else { Combination::Average };
    automl.ensemble.unwrap_or(usual)
}

fn confirmed_note(n_times: usize) -> String {
    let times = match n_times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    };
    format!("scores are of validating the best pipelines again, {times}, on other folds")
}

/// Whether the ensemble of an earlier level is to be preferred.
fn is_better(before: &Combiner, now: &Combiner) -> bool {
    match (before.error(), now.error()) {
        (Some(before), Some(now)) => before < now,
        (before, _) => before.is_some(),
    }
}

/// The bytes that the process may have in memory: what the caller says, within what the shell allows.
fn memory_limit(automl: &AutoMl) -> Result<u64, AutoMlError> {
    let needed = memory::least_limit();
    if let Some(limit) = automl.memory_limit.filter(|&limit| limit < needed) {
        return Err(AutoMlError::TooLittleMemory { limit, needed });
    }
    let limit = automl.memory_limit.unwrap_or_else(memory::default_limit);
    let Some(space) = AddressSpace::limited(automl.threads) else { return Ok(limit) };
    let (needed, n_threads) = (space.needed, automl.threads);
    if space.limit < needed {
        return Err(AutoMlError::TooLittleAddressSpace { limit: space.limit, needed, n_threads });
    }
    Ok(limit.min(space.ceiling))
}

/// What a search may take beyond what the process already has; in a repeatable run all of its limit, as the process may not decide.
fn free_memory(limit: u64, is_repeatable: bool) -> f64 {
    let resident = if is_repeatable { None } else { memory::resident() };
    resident.map_or(limit as f64, |bytes| limit.saturating_sub(bytes) as f64)
}
