//! The search as its caller sees it: settings, and a model.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pitchpipe_learn::search_space::N_PIPELINES;
use pitchpipe_learn::{PipelineId, Validation};
use pitchpipe_surrogate::simulate::InOrder;
use pitchpipe_table::{Dataset, Decision, Metric, MissingCells};

use super::clock::{Clock, WallClock};
use super::drive::{Drive, Settings};
use super::evaluate::Engine;
use super::{AutoMlError, Candidate, Method, Progress, Report, StopReason, memory};
use crate::ensemble::Combination;
use crate::model::{BaseLearner, Model, kinds_of};

/// The time budget where none is given.
pub const DEFAULT_TIME_BUDGET: Duration = Duration::from_secs(60);

/// How many bytes a model file may take where the caller does not say.
pub const DEFAULT_MODEL_SIZE_LIMIT: u64 = 50_000_000;

/// A search for the best ensemble within a time budget.
#[derive(Clone, Debug)]
pub struct AutoMl {
    budget: Duration,
    method: Method,
    metric: Metric,
    threads: usize,
    memory_limit: Option<u64>,
    max_evaluations: Option<usize>,
    seed: u64,
    started_at: Option<Instant>,
    cancel: Option<Arc<AtomicBool>>,
    #[allow(dead_code)] // Read once ensembles are chosen by these rows.
    validation: Option<Dataset>,
    #[allow(dead_code)]
    model_size_limit: u64,
}

impl Default for AutoMl {
    fn default() -> Self {
        Self {
            budget: DEFAULT_TIME_BUDGET,
            method: Method::default(),
            metric: Metric::BalancedError,
            threads: 1,
            memory_limit: None,
            max_evaluations: None,
            seed: 0,
            started_at: None,
            cancel: None,
            validation: None,
            model_size_limit: DEFAULT_MODEL_SIZE_LIMIT,
        }
    }
}

impl AutoMl {
    /// A search with all settings at their defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// All the time there is: reading, search, ensembling and saving are to fit in it.
    pub fn time_budget(self, budget: Duration) -> Self {
        Self { budget, ..self }
    }

    /// How pipelines are chosen.
    pub fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// What to optimise.
    pub fn metric(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    /// How many threads run pipelines.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// A ceiling on the bytes in use; by default seven tenths of what is free.
    pub fn memory_limit(self, bytes: u64) -> Self {
        Self { memory_limit: Some(bytes), ..self }
    }

    /// Ends the search after so many pipelines. The same pipelines are then run whatever the clock does,
    /// as long as the time budget is not used up.
    pub fn max_evaluations(self, n: usize) -> Self {
        Self { max_evaluations: Some(n), ..self }
    }

    /// The seed of folds and random streams.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// When the budget began; by default when [`AutoMl::fit`] is called.
    pub fn started_at(self, start: Instant) -> Self {
        Self { started_at: Some(start), ..self }
    }

    /// A flag that ends the search when set; the best ensemble so far is kept.
    pub fn cancel(self, flag: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(flag), ..self }
    }

    /// Rows to choose by, with the columns and classes of the training table; by default those that each
    /// fold leaves out.
    pub fn validation(self, rows: Dataset) -> Self {
        Self { validation: Some(rows), ..self }
    }

    /// A ceiling on the bytes of the model file.
    pub fn model_size_limit(self, bytes: u64) -> Self {
        Self { model_size_limit: bytes, ..self }
    }

    /// Searches, and gives the best ensemble found.
    pub fn fit(&self, dataset: &Dataset) -> Result<Model, AutoMlError> {
        self.fit_with(dataset, |_| {})
    }

    /// The same, and tells `progress` what happens meanwhile.
    pub fn fit_with(
        &self,
        dataset: &Dataset,
        mut progress: impl FnMut(Progress) + Send,
    ) -> Result<Model, AutoMlError> {
        let clock = WallClock::started_at(self.started_at.unwrap_or_else(Instant::now));
        self.check(dataset)?;
        progress(Progress::Begun {
            method: self.method,
            budget: self.budget,
            n_rows: dataset.n_rows(),
            elapsed: clock.elapsed(),
        });
        let mut engine = Engine {
            dataset,
            options: Validation {
                threads: self.threads,
                seed: self.seed,
                cancel: self.cancel.clone(),
                memory_limit: Some(self.memory_limit.unwrap_or_else(memory::default_limit)),
                keep_predictions: true,
                keep_models: true,
                ..Validation::default()
            },
        };
        let combination =
            if self.method.is_of_paper() { Combination::Vote } else { Combination::Average };
        let settings = Settings {
            budget: self.budget,
            metric: self.metric,
            combination,
            feeds_native: true,
            max_evaluations: self.max_evaluations,
            cancel: self.cancel.clone(),
            seed: self.seed,
        };
        let truth = dataset.labels().clone();
        let priors = truth.priors();
        let mut drive = Drive::new(settings, &clock, truth, &priors, None);
        let mut policy = InOrder::new(opening(), vec![Some(1e-3); N_PIPELINES]);
        let stop = drive.run(&mut policy, &mut engine, &mut progress)?;
        progress(Progress::Assembling { elapsed: clock.elapsed() });
        drive.ensemble(&mut progress);
        self.model(dataset, drive, &clock, stop, engine.options.n_folds)
    }

    fn check(&self, dataset: &Dataset) -> Result<(), AutoMlError> {
        let (n_rows, needed) = (dataset.n_rows(), 4);
        if n_rows < needed {
            return Err(AutoMlError::TooFewRows { n_rows, needed });
        }
        if dataset.columns().is_empty() {
            return Err(AutoMlError::NoFeatures);
        }
        if dataset.labels().counts().iter().filter(|&&n| n > 0).count() < 2 {
            return Err(AutoMlError::OneClass);
        }
        Ok(())
    }

    fn model(
        &self,
        dataset: &Dataset,
        mut drive: Drive<'_>,
        clock: &dyn Clock,
        stop: StopReason,
        n_folds: usize,
    ) -> Result<Model, AutoMlError> {
        let counts = drive.counts.clone();
        if drive.selection.weights.is_empty() {
            return Err(match (stop, counts.first_failure) {
                (StopReason::Cancelled, _) => AutoMlError::Cancelled,
                (_, Some(first)) if counts.n_out_of_time == 0 => {
                    AutoMlError::AllFailed { n_failed: counts.n_failed, first }
                }
                _ => AutoMlError::OutOfTime { budget: self.budget, n_started: counts.n_started },
            });
        }
        let weight_of =
            |at: usize| drive.selection.weights.iter().find(|(i, _)| *i == at).map_or(0.0, |w| w.1);
        let learners = drive.library.learners();
        let leaderboard: Vec<Candidate> =
            learners.iter().enumerate().map(|(i, l)| l.candidate(weight_of(i))).collect();
        let base = drive.selection.weights.iter().map(|&(i, weight)| BaseLearner {
            pipeline: learners[i].id.pipeline(),
            weight,
            models: learners[i].models.clone(),
        });
        let base: Vec<BaseLearner> = base.collect();
        let report = Report {
            method: self.method,
            metric: self.metric,
            seed: self.seed,
            budget_secs: self.budget.as_secs_f64(),
            elapsed_secs: clock.elapsed().as_secs_f64(),
            n_rows: dataset.n_rows(),
            n_features: dataset.columns().len(),
            n_classes: dataset.labels().n_classes(),
            n_rows_used: dataset.n_rows(),
            n_folds,
            n_evaluated: counts.n_evaluated,
            n_failed: counts.n_failed,
            n_out_of_time: counts.n_out_of_time,
            ensemble: leaderboard[0].errors.clone(),
            leaderboard,
            time_spent: std::mem::take(&mut drive.time_spent),
            stop_reason: stop,
            notes: Vec::new(),
        };
        Ok(Model {
            schema: dataset.schema().map(|s| (**s).clone()),
            columns: kinds_of(dataset),
            n_classes: dataset.labels().n_classes(),
            priors: dataset.labels().priors(),
            decision: if self.method.is_of_paper() {
                Decision::Native
            } else {
                self.metric.decision()
            },
            combination: drive.settings.combination,
            learners: base,
            missing: MissingCells::default(),
            report,
        })
    }
}

/// Fast pipelines that are good on many tables, to begin with.
fn opening() -> Vec<usize> {
    let wanted =
        ["gaussian_nb", "decision_tree", "logistic", "extra_trees", "random_forest", "gradient"];
    let all: Vec<PipelineId> =
        PipelineId::oboe_slice(pitchpipe_learn::impute::Imputer::Mean).collect();
    wanted
        .iter()
        .flat_map(|name| {
            let named = |id: &&PipelineId| id.pipeline().estimator.name().contains(name);
            all.iter().filter(named).take(2).map(|id| id.index()).collect::<Vec<_>>()
        })
        .collect()
}
