//! One search: from rows and a budget to a model.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::{FitContext, MemoryPool, Preparation, SearchSpace, Team, Validation};
use pitchpipe_surrogate::policy::Policy;
use pitchpipe_table::{Column, Dataset, Dependence, Labels, stratified_subsample};

use super::apart::Apart;
use super::budget::{Budget, End};
use super::clock::{Clock, WallClock};
use super::combine::Combiner;
use super::drafts::Drafts;
use super::drive::{Bench, Drive, Settings};
use super::evaluate::Engine;
use super::event::{Happened, Listener};
use super::families::plain_boosting;
use super::folds::Folds;
use super::levels::{Earlier, Level, Paces, levels};
use super::library::{Judging, Rule};
use super::many_classes::{self, predicted_secs};
use super::memory::{AddressSpace, MemoryWatch};
use super::pacing::Pacing;
use super::policies::{Made, Setup, make};
use super::space::Space;
use super::{
    AutoMl, AutoMlError, Event, Method, Report, RuntimeKind, StopReason, confirm, honest, memory,
};
use crate::ensemble::Combination;
use crate::model::Model;
use crate::surrogate::{ErrorKind, Surrogate, TableSize};

/// Ensembles are chosen by no more rows than this, or as many as have so many probabilities: with few classes there is time for
/// more, and on large tables learners differ by less than 6,000 rows can tell.
const MOST_JUDGED: usize = 6_000;
const JUDGED_CELLS: usize = 50_000;

/// And by no more probabilities of each learner than this: with more than 200 classes, by fewer rows.
const MOST_JUDGED_CELLS: usize = 1_200_000;

/// The probabilities of all rows and classes, in double precision, may take this share of the memory once. A family of a
/// dozen settings has them for each setting until its last fold is done.
const CELLS_SHARE: f64 = 1.0 / 28.0;

/// The share of the memory that candidate learners may take, counted as bytes in a file. In memory they take a few times
/// that: numbers that are short in a file have their full width there.
const LIBRARY_SHARE: f64 = 0.1;

/// The share of the memory that the models of one step may take.
const STEP_SHARE: f64 = 0.125;

/// The share of the memory up to which single fits are granted more than their part.
const GRANTED_SHARE: f64 = 0.75;

/// A number of rows that every table large enough to be sampled has.
const SMALL_SAMPLE: usize = 2_000;

/// Below this many rows there are more folds than three.
const FEW_ROWS: usize = 500;

/// Stride between the seeds of successive fold draws.
const OTHER_FOLDS: u64 = 0x9E37_79B9_7F4A_7C15;

/// The rows of a level, and those that learners are judged on.
struct Sample<'a> {
    rows: Cow<'a, Dataset>,
    judging: Judging<'a>,
}

impl Sample<'_> {
    /// The labels of the rows that learners are judged on, and which of these hang together.
    fn judged(&self) -> (Labels, Dependence) {
        self.judging.rows_of(&self.rows)
    }
}

/// How a search ended.
pub(super) struct Ended {
    pub(super) stop: StopReason,
    /// The rows that the ensemble was made on.
    pub(super) n_rows: usize,
    /// How often the best were validated again.
    pub(super) n_confirmed: usize,
}

/// What a search found.
pub(super) struct Found {
    pub(super) model: Model,
    /// The time that it left over, in seconds of work.
    pub(super) left_secs: f64,
}

/// One search.
pub(super) struct Fit<'a> {
    pub(super) automl: &'a AutoMl,
    pub(super) dataset: &'a Dataset,
    /// Rows kept apart from these for the rank rule.
    apart: Option<&'a Dataset>,
    pub(super) clock: WallClock,
    /// The pipelines there are to choose from.
    space: Arc<SearchSpace>,
    surrogate: Arc<Surrogate>,
    pub(super) pacing: Pacing,
    memory_limit: u64,
    /// What of it there was to plan with when the search began.
    free_bytes: u64,
    pub(super) n_folds: usize,
    /// Raised by the caller, or for one who has heard enough.
    cancel: Arc<AtomicBool>,
    /// What large requests may draw on; none in a repeatable run, where what is free on the machine may not decide.
    memory: Option<MemoryPool>,
    /// The threads, for the whole search.
    pub(super) team: Team,
}

impl<'a> Fit<'a> {
    pub(super) fn new(
        automl: &'a AutoMl,
        dataset: &'a Dataset,
        apart: Option<&'a Dataset>,
        start: Instant,
    ) -> Result<Self, AutoMlError> {
        let surrogate = automl.surrogate.clone().unwrap_or_else(Surrogate::embedded);
        let space = match automl.paper.fills_by_mode(automl.method) && has_categories(dataset) {
            true => Arc::new(surrogate.space().with_categories_by_mode()),
            false => Arc::clone(surrogate.space()),
        };
        let pacing = match automl.repeatable {
            true => Pacing::Repeatable,
            false => Pacing::Timed { threads: automl.threads },
        };
        let memory_limit = memory_limit(automl)?;
        // The paper's systems, and what is to be compared with their vote, have its three folds.
        let is_few = dataset.n_rows() < FEW_ROWS && combination_of(automl) == Combination::Average;
        let granted = (GRANTED_SHARE * memory_limit as f64) as u64;
        let memory = || MemoryPool::new(granted, memory::resident);
        Ok(Self {
            automl,
            dataset,
            apart,
            clock: WallClock::started_at(start),
            space,
            surrogate,
            pacing,
            memory_limit,
            free_bytes: pacing.free_bytes(memory_limit, memory::resident()),
            // No more folds than rows.
            n_folds: automl.n_folds.unwrap_or(if is_few { 5 } else { 3 }).min(dataset.n_rows()),
            cancel: automl.cancel.clone().unwrap_or_default(),
            memory: (!automl.repeatable).then(memory),
            team: Team::new(automl.threads)?,
        })
    }

    /// Searches, and puts the model together.
    pub(super) fn run(
        self,
        hear: &mut (dyn FnMut(Event) -> ControlFlow<()> + Send),
    ) -> Result<Found, AutoMlError> {
        let listener = &mut Listener::new(&self.clock, hear, Arc::clone(&self.cancel));
        listener.tell(self.begun());
        let levels = self.levels();
        let (mut policy, kind) = self.policy(&levels)?;
        let mut drive = self.drive(kind);
        let ended = self.search(&levels, &mut *policy, &mut drive, listener)?;
        listener.tell(Happened::Assembling);
        let left_secs = drive.budget.left_to_choose_in(End::default());
        let model = self.model(drive, &ended)?;
        let Report { stop_reason, n_evaluated, n_failed, n_out_of_time, .. } = model.report;
        listener.tell(Happened::Done { stop_reason, n_evaluated, n_failed, n_out_of_time });
        Ok(Found { model, left_secs })
    }

    fn policy(&self, levels: &[Level]) -> Result<Made, AutoMlError> {
        let (first, last) = (levels[0], levels[levels.len() - 1]);
        make(&Setup {
            method: self.automl.method,
            surrogate: &self.surrogate,
            space: Space::of(self.space(), self.dataset),
            secs: &self.policy_secs(first.n_rows),
            paper: self.automl.paper,
            n_rows: first.n_rows,
            most_rows: last.n_rows,
            opens_with_boosting: !first.is_glance,
            n_classes: self.dataset.labels().n_classes(),
            step_bytes: (STEP_SHARE * self.free_bytes as f64) as u64,
            budget_secs: self.automl.budget.saturating_sub(self.begun_after()).as_secs_f64(),
            seed: self.automl.seed,
            corrects_times: self.pacing.heeds_measurements(),
        })
    }

    /// How much of the budget had passed when the search began; nothing where the clock may not decide.
    fn begun_after(&self) -> Duration {
        self.pacing.seen(self.clock.elapsed())
    }

    fn threads_a_core(&self) -> f64 {
        let n_cores = available_parallelism().map_or(1, |n| n.get());
        // What the clock may not decide must not depend on the machine.
        if self.pacing.is_repeatable() { 1.0 } else { self.automl.threads as f64 / n_cores as f64 }
    }

    fn drive(&self, kind: ErrorKind) -> Drive<'_> {
        let AutoMl { budget, threads, max_evaluations, .. } = *self.automl;
        let settings = Settings {
            space: Arc::clone(self.space()),
            feeds_native: kind == ErrorKind::Native,
            max_evaluations,
            forest: honest::plain_forest().and_then(|f| self.surrogate.space().find(&f)),
            cancel: Arc::clone(&self.cancel),
            heeds_ensemble: self.automl.method.is_of_paper(),
        };
        let wall_per_cpu = 1.0 / threads.clamp(1, self.n_folds) as f64;
        let budget = Budget::new(&self.clock, budget, self.pacing, wall_per_cpu);
        let n_cells = self.dataset.n_rows() * self.dataset.columns().len();
        let n_probabilities = self.most_rows() * self.dataset.labels().n_classes();
        let n_numbers =
            self.dataset.columns().len() * self.dataset.labels().n_classes() * self.n_folds;
        let budget = budget
            .crowded(self.threads_a_core())
            .for_cells(n_cells, n_probabilities)
            .for_first_model(n_numbers);
        let memory = MemoryWatch::new(self.memory_limit, self.pacing.heeds_measurements());
        let drafts = match &self.automl.keeper {
            None => Drafts::default(),
            Some(keeper) => Drafts::new(move |combiner, ledger, n_rows| {
                if let Some(model) = self.draft(combiner, ledger, n_rows) {
                    keeper.keep(&model);
                }
            }),
        };
        let ctx = FitContext::unhurried().with_deadline(self.clock.instant(self.automl.budget));
        let apart = self.apart.map(|rows| Apart::new(rows, ctx));
        Drive::new(settings, budget, memory, self.combiner(None), drafts, apart)
    }

    /// Goes through the levels.
    fn search(
        &self,
        levels: &[Level],
        policy: &mut (dyn Policy + Send),
        drive: &mut Drive<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<Ended, AutoMlError> {
        let mut earlier = Earlier::default();
        let of = self.dataset.n_rows();
        let mut ended = Ended { stop: StopReason::TimeBudget, n_rows: of, n_confirmed: 0 };
        for (i, level) in levels.iter().enumerate() {
            let sample = self.sample(level);
            let n_rows = sample.rows.n_rows();
            listener.tell(Happened::Level { n_rows, of });
            policy.resized(n_rows, &self.policy_secs(n_rows));
            let secs = self.secs(n_rows);
            let before = drive.begin_level(n_rows, secs, self.combiner(Some(&sample)));
            if i > 0 {
                earlier.keep(before, ended.n_rows);
            }
            if level.is_for_boosting && self.automl.method == Method::Auto {
                drive.boost_first(self.folds(n_rows).tested == 1);
            }
            ended.n_rows = n_rows;
            let is_last = i + 1 == levels.len();
            drive.confirmation.is_on = is_last && n_rows <= confirm::MOST_ROWS && self.confirms();
            let stop = self.search_level(&sample, level.until, policy, drive, listener)?;
            let is_cut = matches!(stop, Some(StopReason::Cancelled | StopReason::TimeBudget));
            if drive.confirmation.is_on && !is_cut {
                ended.n_confirmed = self.confirm(drive, &sample, listener)?;
            }
            let stop = stop.filter(|&stop| is_last || stop != StopReason::NothingLeft);
            if is_last || stop.is_some() {
                let validation = self.validation(n_rows);
                let mut engine = Engine::new(self.space(), &sample.rows, validation);
                drive
                    .run_forest(&mut Bench { evaluator: &mut engine, judging: &sample.judging })?;
            }
            if let Some(stop) = stop {
                ended.stop = stop;
                break;
            }
        }
        let may_win = ended.n_confirmed == 0;
        ended.n_rows = earlier.challenge(&mut drive.combiner, ended.n_rows, may_win);
        if self.cancel.load(Ordering::Relaxed) {
            ended.stop = StopReason::Cancelled;
        }
        Ok(ended)
    }

    /// Searches on one sample; gives why the search is over, if it is.
    fn search_level(
        &self,
        sample: &Sample<'_>,
        until: Duration,
        policy: &mut (dyn Policy + Send),
        drive: &mut Drive<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<Option<StopReason>, AutoMlError> {
        let validation = self.validation(sample.rows.n_rows());
        let mut engine = Engine::new(self.space(), &sample.rows, validation);
        let mut bench = Bench { evaluator: &mut engine, judging: &sample.judging };
        let stop = drive.run(policy, &mut bench, until, listener)?;
        self.team.install(|| drive.ensemble(listener));
        Ok(stop)
    }

    fn space(&self) -> &Arc<SearchSpace> {
        &self.space
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
        sample: &Sample<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<usize, AutoMlError> {
        let n_rounds = drive.n_rounds();
        for round in 1..=n_rounds {
            let seed = self.automl.seed.wrapping_add(OTHER_FOLDS.wrapping_mul(round as u64));
            let keep_models = drive.keeps_models(round);
            let validation =
                Validation { seed, keep_models, ..self.validation(sample.rows.n_rows()) };
            let mut engine = Engine::new(self.space(), &sample.rows, validation);
            let mut bench = Bench { evaluator: &mut engine, judging: &sample.judging };
            if !drive.confirm(&mut bench, round, keep_models, listener)? {
                return Ok(round - 1);
            }
        }
        Ok(n_rounds)
    }

    /// The rows to search with, and when; the same for all methods.
    fn levels(&self) -> Vec<Level> {
        let (n_rows, budget) = (self.most_rows(), self.automl.budget);
        let size = TableSize::of(self.dataset);
        let predict = |n: usize| self.surrogate.runtimes().predict_secs(&size.with_rows(n));
        let (low, high) = (SMALL_SAMPLE, n_rows.max(2 * SMALL_SAMPLE));
        let (fast, slow) = (predict(low), predict(high));
        // Predicted at two sizes, and by a power of the rows between them.
        let pace = |id: usize| {
            let (fast, slow) = (fast[id], slow[id]);
            let power = (slow / fast).ln() / (high as f64 / low as f64).ln();
            move |n: usize| fast * (n as f64 / low as f64).powf(power)
        };
        // A forest on plain columns: neither the fastest nor the slowest of what is good.
        let plain = self.surrogate.space().behind(Preparation::of_oboe(Imputer::Mean));
        let is_forest = |id| self.space().kind(id) == EstimatorKind::RandomForest;
        let forest = plain.into_iter().find(|&id| is_forest(id)).map_or(0, |id| id.index());
        let boosting = plain_boosting(self.space()).map(|id| {
            let pace = pace(id.index());
            move |n: usize| pace(n) * self.folds(n).cost() / Folds::all(self.n_folds).cost()
        });
        let paces = Paces {
            typical: &pace(forest),
            may_glance: self.automl.method == Method::Auto,
            boosting: boosting.as_ref().map(|pace| pace as &dyn Fn(usize) -> f64),
        };
        levels(n_rows, self.begun_after(), budget, &paces)
    }

    /// The most rows whose probabilities fit the memory and the time: all, unless classes are many.
    fn most_rows(&self) -> usize {
        let n_classes = self.dataset.labels().n_classes();
        let cells = (CELLS_SHARE * self.memory_limit as f64) as usize / size_of::<f64>();
        let in_memory = (cells / n_classes.max(1)).max(SMALL_SAMPLE);
        let budget_secs = self.automl.budget.as_secs_f64() / self.threads_a_core().max(1.0);
        let in_time = many_classes::most_rows(n_classes, budget_secs);
        self.dataset.n_rows().min(in_memory).min(in_time)
    }

    /// Predicted seconds of all pipelines on so many rows; the recorded ones had three folds.
    fn secs(&self, n_rows: usize) -> Vec<f64> {
        let size = TableSize::of(self.dataset).with_rows(n_rows);
        let mut secs = predicted_secs(&self.surrogate, self.space(), size);
        let factor = self.folds(n_rows).cost();
        secs.iter_mut().for_each(|t| *t *= factor);
        secs
    }

    /// The same as the policy sees them: those of the paper's systems in the paper's form, unless told otherwise.
    fn policy_secs(&self, n_rows: usize) -> Vec<f64> {
        let mut secs = self.secs(n_rows);
        let wants_log = self.automl.paper.runtimes == Some(RuntimeKind::Log);
        if wants_log || !self.automl.method.is_of_paper() {
            return secs;
        }
        let Some(runtimes) = &self.surrogate.paper_parts().runtimes else { return secs };
        let size = TableSize::of(self.dataset).with_rows(n_rows);
        let factor = self.folds(n_rows).cost();
        let in_form = runtimes.predict_secs(self.space(), &size);
        for (own, predicted) in secs.iter_mut().zip(in_form) {
            *own = predicted.map_or(*own, |t| t * factor);
        }
        secs
    }

    pub(super) fn combination(&self) -> Combination {
        combination_of(self.automl)
    }

    /// The folds that pipelines are validated on, on so many rows.
    pub(super) fn folds(&self, n_rows: usize) -> Folds {
        let folds = Folds::all(self.n_folds);
        let is_free = self.automl.n_folds.is_none() && self.automl.validation.is_none();
        let is_ordered = matches!(self.dataset.dependence(), Dependence::Order(_));
        let averages = self.combination() == Combination::Average;
        let plain = plain_boosting(self.space());
        let Some(plain) = plain.filter(|_| is_free && averages && !is_ordered) else {
            return folds;
        };
        folds.or_held_out(n_rows, self.automl.budget.as_secs_f64(), || {
            let size = TableSize::of(self.dataset).with_rows(n_rows);
            self.surrogate.runtimes().predict_secs(&size)[plain.index()]
        })
    }

    fn validation(&self, n_rows: usize) -> Validation {
        let Folds { parts, tested } = self.folds(n_rows);
        Validation {
            n_folds: parts,
            most_folds: tested,
            threads: self.automl.threads.max(1),
            team: Some(self.team.clone()),
            seed: self.automl.seed,
            heeds_pace: self.pacing.heeds_measurements(),
            cancel: Some(Arc::clone(&self.cancel)),
            memory_limit: Some(self.memory_limit),
            memory: self.memory.clone(),
            keep_predictions: true,
            keep_models: true,
            watch: self.automl.watch.clone(),
            ..Validation::default()
        }
    }

    /// The rows of a level, and those that learners are judged on.
    fn sample(&self, level: &Level) -> Sample<'a> {
        let seed = self.automl.seed;
        let rows = if level.n_rows < self.dataset.n_rows() {
            let rows = stratified_subsample(self.dataset.labels(), level.n_rows, seed);
            Cow::Owned(self.dataset.select(&rows))
        } else {
            Cow::Borrowed(self.dataset)
        };
        let judging = match &self.automl.validation {
            Some(dataset) => {
                let deadline = self.clock.instant(self.automl.budget);
                let ctx = FitContext::unhurried().with_deadline(deadline);
                Judging::Rows { dataset, ctx }
            }
            None => {
                let is_ordered = matches!(rows.dependence(), Dependence::Order(_));
                let Folds { parts, tested } = self.folds(rows.n_rows());
                let is_part = is_ordered || tested < parts;
                let validation = self.validation(rows.n_rows());
                let tested = if is_part { validation.tested_rows(&rows) } else { None };
                Judging::OutOfFold { tested, rows: None }
            }
        };
        let mut sample = Sample { rows, judging };
        if let Judging::OutOfFold { .. } = sample.judging {
            let (labels, _) = sample.judged();
            let most = most_judged(labels.n_classes());
            let is_many = labels.len() > most;
            let judged = is_many.then(|| stratified_subsample(&labels, most, seed));
            if let Judging::OutOfFold { rows, .. } = &mut sample.judging {
                *rows = judged;
            }
        }
        sample
    }

    fn combiner(&self, on: Option<&Sample<'_>>) -> Combiner {
        let none = || (self.dataset.labels().select(&[]), Dependence::Independent);
        let (truth, dependence) = on.map_or_else(none, Sample::judged);
        let AutoMl { metric, seed, model_size_limit, .. } = *self.automl;
        let combination = self.combination();
        let (priors, decision) = (self.dataset.labels().priors(), combination.decision(metric));
        let rule = Rule { truth, priors, metric, decision };
        let memory = (LIBRARY_SHARE * self.free_bytes as f64) as u64;
        Combiner::new(rule, dependence, combination, seed, memory, model_size_limit)
    }
}

/// How base learners are combined: the paper's systems vote, unless told otherwise.
fn combination_of(automl: &AutoMl) -> Combination {
    let usual = if automl.method.is_of_paper() { Combination::Vote } else { Combination::Average };
    automl.ensemble.unwrap_or(usual)
}

/// Whether there are categories: one may be missing, if not here, on rows to come.
fn has_categories(dataset: &Dataset) -> bool {
    dataset.columns().iter().any(|column| matches!(column, Column::Categorical { .. }))
}

/// The bytes that the process may have in memory: what the caller says, within what the shell allows.
pub(super) fn memory_limit(automl: &AutoMl) -> Result<u64, AutoMlError> {
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

/// By how many rows ensembles are chosen at most, where there are so many classes.
fn most_judged(n_classes: usize) -> usize {
    let n_classes = n_classes.max(1);
    MOST_JUDGED.max(JUDGED_CELLS / n_classes).min(MOST_JUDGED_CELLS / n_classes)
}
