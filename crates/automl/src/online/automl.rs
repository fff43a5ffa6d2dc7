//! The search as its caller sees it: settings, and a model.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pitchpipe_learn::Watch;
use pitchpipe_table::{Dataset, Metric};

use super::drafts::Keeper;
use super::search::{Fit, Found};
use super::{AutoMlError, Event, Happened, Method, PaperOptions};
use super::{apart, fast, refit};
use crate::ensemble::Combination;
use crate::history::{Landscape, Recorder};
use crate::model::{Model, kinds_of};
use crate::surrogate::Surrogate;

/// The time budget where none is given.
pub const DEFAULT_TIME_BUDGET: Duration = Duration::from_secs(60);

/// How many bytes a model file may take where the caller does not say.
pub const DEFAULT_MODEL_SIZE_LIMIT: u64 = 50_000_000;

/// The most classes: a thousand rows of so many take 80 MB of probabilities, of every pipeline and fold.
const MOST_CLASSES: usize = 10_000;

/// The least rows that a table may have.
const LEAST_ROWS: usize = 4;

/// A search for the best ensemble within a time budget.
#[derive(Clone, Debug)]
pub struct AutoMl {
    pub(super) budget: Duration,
    pub(super) method: Method,
    pub(super) ensemble: Option<Combination>,
    pub(super) metric: Metric,
    pub(super) threads: usize,
    pub(super) memory_limit: Option<u64>,
    pub(super) max_evaluations: Option<usize>,
    pub(super) repeatable: bool,
    pub(super) seed: u64,
    pub(super) n_folds: Option<usize>,
    pub(super) surrogate: Option<Arc<Surrogate>>,
    pub(super) started_at: Option<Instant>,
    pub(super) cancel: Option<Arc<AtomicBool>>,
    pub(super) validation: Option<Dataset>,
    pub(super) held_out: Option<Dataset>,
    pub(super) model_size_limit: u64,
    pub(super) keeps_history: bool,
    pub(super) kept_back: Duration,
    pub(super) refits: bool,
    pub(super) fast_predict: bool,
    pub(super) watch: Option<Arc<Watch>>,
    pub(super) keeper: Option<Keeper>,
    pub(super) paper: PaperOptions,
}

impl Default for AutoMl {
    fn default() -> Self {
        Self {
            budget: DEFAULT_TIME_BUDGET,
            method: Method::default(),
            ensemble: None,
            metric: Metric::BalancedError,
            threads: 1,
            memory_limit: None,
            max_evaluations: None,
            repeatable: false,
            seed: 0,
            n_folds: None,
            surrogate: None,
            started_at: None,
            cancel: None,
            validation: None,
            held_out: None,
            model_size_limit: DEFAULT_MODEL_SIZE_LIMIT,
            keeps_history: true,
            kept_back: Duration::ZERO,
            refits: true,
            fast_predict: false,
            watch: None,
            keeper: None,
            paper: PaperOptions::default(),
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

    /// How the paper's systems do what can be done in several ways; other methods have none of these.
    pub fn paper_options(self, paper: PaperOptions) -> Self {
        Self { paper, ..self }
    }

    /// How base learners are combined; by default the paper's systems vote, and others average.
    pub fn ensemble(self, combination: Combination) -> Self {
        Self { ensemble: Some(combination), ..self }
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

    /// Ends the search after so many pipelines.
    pub fn max_evaluations(self, n: usize) -> Self {
        Self { max_evaluations: Some(n), ..self }
    }

    /// Whether the run is to be the same every time, on any number of threads: pipelines are then chosen by predicted
    /// times instead of the clock, which only ends the search where the time budget is used up. Asks for
    /// [`AutoMl::max_evaluations`].
    pub fn repeatable(self, is_repeatable: bool) -> Self {
        Self { repeatable: is_repeatable, ..self }
    }

    /// The seed of folds and random streams.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// How many folds pipelines are cross-validated on; by default three, and more on small tables.
    pub fn folds(self, n: usize) -> Self {
        Self { n_folds: Some(n), ..self }
    }

    /// What was learned from other tables; by default what comes with the program.
    pub fn surrogate(self, surrogate: Arc<Surrogate>) -> Self {
        Self { surrogate: Some(surrogate), ..self }
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

    /// Rows that nothing sees until the model is made, with the columns and classes of the training table, as
    /// [`Dataset::from_table_holding_out`] parts them: its scores are measured on these. A quarter of the budget is kept
    /// for fitting the chosen pipelines again on all rows after that, unless [`AutoMl::refit`] says otherwise.
    pub fn held_out(self, rows: Dataset) -> Self {
        Self { held_out: Some(rows), ..self }
    }

    /// A ceiling on the bytes of the model file.
    pub fn model_size_limit(self, bytes: u64) -> Self {
        Self { model_size_limit: bytes, ..self }
    }

    /// Whether the model keeps what a report tells beyond it ([`Model::history`]); it does by default.
    pub fn keep_history(self, keeps_history: bool) -> Self {
        Self { keeps_history, ..self }
    }

    /// Is handed the best model so far, now and then, for a process that memory may run out under: each time half as much
    /// time again has passed. What it is handed says that memory ran out ([`StopReason::OutOfMemory`]).
    ///
    /// [`StopReason::OutOfMemory`]: super::StopReason::OutOfMemory
    pub fn keep_drafts(self, keep: impl Fn(&Model) + Send + Sync + 'static) -> Self {
        Self { keeper: Some(Keeper::new(keep)), ..self }
    }

    /// How much of the budget the caller needs after the search, to write a report say.
    pub fn keep_back(self, time: Duration) -> Self {
        Self { kept_back: time, ..self }
    }

    /// Whether the chosen pipelines may be fitted again when the search is over; by default they are where rows are held
    /// out, in order of time, and where a search on a sample ends before its time, then on as many rows as that allows.
    pub fn refit(self, refits: bool) -> Self {
        Self { refits, ..self }
    }

    /// Whether base learners are left out that take much of the time of a prediction and change the ensemble's error by no more than
    /// its noise; the report says how much of both. By default all stay.
    pub fn fast_predict(self, fast_predict: bool) -> Self {
        Self { fast_predict, ..self }
    }

    /// Where to show what each thread is at while pipelines run.
    pub fn watch(self, watch: Arc<Watch>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Searches, and gives the best ensemble found.
    pub fn fit(&self, dataset: &Dataset) -> Result<Model, AutoMlError> {
        self.fit_with(dataset, |_| ControlFlow::Continue(()))
    }

    /// The same, and tells `hear` what happens meanwhile. Where it breaks, the search ends as if it had been
    /// cancelled, and the best ensemble so far is kept; the flag of [`AutoMl::cancel`], if one was given, is
    /// then raised.
    pub fn fit_with(
        &self,
        dataset: &Dataset,
        mut hear: impl FnMut(Event) -> ControlFlow<()> + Send,
    ) -> Result<Model, AutoMlError> {
        let start = self.started_at.unwrap_or_else(Instant::now);
        self.check(dataset)?;
        let (budget, budget_secs) = (self.budget, self.budget.as_secs_f64());
        let search = Self { budget: budget.saturating_sub(self.kept_back), ..self.clone() };
        let mut recorder = self.keeps_history.then(Recorder::default);
        let made = search.search(dataset, start, &mut |mut event| {
            if let Happened::Begun { budget_secs: told, .. } = &mut event.what {
                *told = budget_secs;
            }
            if let Some(recorder) = &mut recorder {
                recorder.note(&event);
            }
            hear(event)
        });
        let mut model = made.map_err(|error| match error {
            AutoMlError::OutOfTime { n_started, .. } => {
                AutoMlError::OutOfTime { budget, n_started }
            }
            other => other,
        })?;
        model.report.budget_secs = budget_secs;
        if let Some(recorder) = recorder {
            let history = recorder.finish(dataset, self.landscape(), &model);
            model.keep_history(history, self.model_size_limit);
        }
        Ok(model)
    }

    /// What was predicted before the search. Only `auto` begins with mean errors: the paper's methods predict from
    /// embeddings, which say nothing before something has run.
    fn landscape(&self) -> Option<Landscape> {
        let surrogate = || self.surrogate.clone().unwrap_or_else(Surrogate::embedded);
        (self.method == Method::Auto).then(surrogate).and_then(|s| Landscape::of(&s))
    }

    fn search(
        &self,
        dataset: &Dataset,
        start: Instant,
        hear: &mut (dyn FnMut(Event) -> ControlFlow<()> + Send),
    ) -> Result<Model, AutoMlError> {
        let share = self.paper.validation_share;
        let parts = share.map(|share| apart::parted(dataset, share, self.seed));
        let (dataset, apart) = match &parts {
            Some((training, apart)) => {
                self.check(training)?;
                (training, Some(apart))
            }
            None => (dataset, None),
        };
        let cancel = self.cancel.clone().unwrap_or_default();
        let budget = match refit::keeps_time(self, dataset) {
            true => self.budget.mul_f64(1.0 - refit::SHARE),
            false => self.budget,
        };
        let budget = if self.fast_predict { budget.mul_f64(1.0 - fast::SHARE) } else { budget };
        let search = Self { budget, cancel: Some(Arc::clone(&cancel)), ..self.clone() };
        let Found { mut model, left_secs } = Fit::new(&search, dataset, apart, start)?.run(hear)?;
        refit::Refit { automl: self, dataset, start, cancel }.finish(&mut model, left_secs);
        Ok(model)
    }

    fn check(&self, dataset: &Dataset) -> Result<(), AutoMlError> {
        let n_rows = dataset.n_rows();
        if n_rows < LEAST_ROWS {
            return Err(AutoMlError::TooFewRows { n_rows, needed: LEAST_ROWS });
        }
        if dataset.columns().is_empty() {
            return Err(AutoMlError::NoFeatures);
        }
        if dataset.labels().counts().iter().filter(|&&n| n > 0).count() < 2 {
            return Err(AutoMlError::OneClass);
        }
        let n_classes = dataset.labels().n_classes();
        if n_classes > MOST_CLASSES {
            return Err(AutoMlError::TooManyClasses { n_classes, limit: MOST_CLASSES });
        }
        let setting = |name, value: usize, wanted| {
            Err(AutoMlError::Setting { name, value: value.to_string(), wanted })
        };
        match (self.n_folds, self.max_evaluations) {
            (Some(n @ 0..2), _) => return setting("folds", n, "at least 2"),
            (_, Some(0)) => return setting("max_evaluations", 0, "at least 1"),
            (_, None) if self.repeatable => {
                let (value, wanted) = ("not given".to_owned(), "at least 1 for a repeatable run");
                return Err(AutoMlError::Setting { name: "max_evaluations", value, wanted });
            }
            _ if self.repeatable && self.fast_predict => {
                let (value, wanted) =
                    ("on".to_owned(), "off in a repeatable run, as it goes by the clock");
                return Err(AutoMlError::Setting { name: "fast_predict", value, wanted });
            }
            _ => {}
        }
        self.paper.check(self.method)?;
        if !dataset.dependence().can_split() {
            return Err(AutoMlError::OneUnit);
        }
        for rows in [&self.validation, &self.held_out].into_iter().flatten() {
            check_rows(dataset, rows)?;
        }
        Ok(())
    }
}

/// Whether rows are of the same columns and classes.
fn check_rows(dataset: &Dataset, rows: &Dataset) -> Result<(), AutoMlError> {
    let classes = |d: &Dataset| d.labels().n_classes();
    if classes(rows) != classes(dataset) {
        let (wanted, got) = (classes(dataset), classes(rows));
        return Err(AutoMlError::OtherValidation { wanted, got });
    }
    if kinds_of(rows.frame()) != kinds_of(dataset.frame()) || rows.n_rows() == 0 {
        let (wanted, got) = (dataset.columns().len(), rows.columns().len());
        return Err(AutoMlError::OtherValidation { wanted, got });
    }
    Ok(())
}
