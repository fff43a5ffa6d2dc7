//! What a search is told, as a dict of plain values.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pitchpipe_automl::surrogate::Surrogate;
use pitchpipe_automl::{AutoMl, Combination, Method, PaperOptions};
use pitchpipe_table::{DependsOn, LabelType, Limits, Metric, ReadOptions, SchemaOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::words::of_surrogate;

/// All of them, checked by whoever made the dict as far as Python can.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    target: String,
    label_type: String,
    time_budget: f64,
    /// Seconds of it that are gone.
    elapsed: f64,
    max_evaluations: Option<usize>,
    method: String,
    ensemble: Option<String>,
    metric: String,
    pub(crate) n_threads: usize,
    seed: u64,
    memory_limit: Option<u64>,
    categorical: Vec<String>,
    numeric: Vec<String>,
    exclude: Vec<String>,
    include: Vec<String>,
    max_classes: usize,
    max_levels: usize,
    missing: Vec<String>,
    group: Option<String>,
    time_order: Option<String>,
    surrogate: Option<PathBuf>,
    repeatable: bool,
    fast_predict: bool,
    refit: bool,
    pub(crate) holdout: Option<f64>,
    design: Option<String>,
    runtimes: Option<String>,
    kernel_prediction: Option<String>,
    rank_rule: Option<String>,
    /// In seconds.
    first_target: Option<f64>,
    last_round: Option<String>,
    best_predicted: Option<usize>,
    validation_share: Option<f64>,
    category_fill: Option<String>,
    n_folds: Option<usize>,
    /// The call in Python, for who looks at the model later.
    pub(crate) call: String,
}

impl Settings {
    /// The seed of folds and random streams.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// How the table is read.
    pub(crate) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            categorical: self.categorical.clone(),
            also_missing: self.missing.clone(),
            ..ReadOptions::default()
        }
    }

    /// What its columns are.
    pub(crate) fn schema_options(&self) -> SchemaOptions {
        let group = self.group.clone().map(DependsOn::Group);
        SchemaOptions {
            target: Some(self.target.clone()),
            exclude: self.exclude.clone(),
            include: self.include.clone(),
            limits: Limits {
                n_classes: self.max_classes,
                n_levels: self.max_levels,
                ..Limits::default()
            },
            categorical: self.categorical.clone(),
            numeric: self.numeric.clone(),
            depends_on: group.or_else(|| self.time_order.clone().map(DependsOn::TimeOrder)),
            label_type: match self.label_type.as_str() {
                "boolean" => LabelType::Boolean,
                "integer" => LabelType::Integer,
                "real" => LabelType::Real,
                _ => LabelType::Text,
            },
            ..SchemaOptions::default()
        }
    }

    /// The search, which ends when the flag is raised.
    pub(crate) fn search(&self, cancel: Arc<AtomicBool>) -> PyResult<AutoMl> {
        let method: Method = parsed(&self.method)?;
        let metric: Metric = parsed(&self.metric)?;
        let now = Instant::now();
        let elapsed = Duration::from_secs_f64(self.elapsed.max(0.0));
        let mut search = AutoMl::new()
            .time_budget(Duration::from_secs_f64(self.time_budget))
            .started_at(now.checked_sub(elapsed).unwrap_or(now))
            .method(method)
            .metric(metric)
            .threads(self.n_threads)
            .seed(self.seed)
            .repeatable(self.repeatable)
            .fast_predict(self.fast_predict)
            .refit(self.refit)
            .cancel(cancel);
        match self.ensemble.as_deref() {
            None => {}
            Some("average") => search = search.ensemble(Combination::Average),
            Some("vote") => search = search.ensemble(Combination::Vote),
            Some(other) => {
                let what = format!("there is no ensemble {other:?}; choose average or vote");
                return Err(PyValueError::new_err(what));
            }
        }
        search = search.paper_options(PaperOptions {
            design: self.design.as_deref().map(parsed).transpose()?,
            runtimes: self.runtimes.as_deref().map(parsed).transpose()?,
            kernel_prediction: self.kernel_prediction.as_deref().map(parsed).transpose()?,
            rank_rule: self.rank_rule.as_deref().map(parsed).transpose()?,
            first_target: self.first_target.map(seconds).transpose()?,
            last_round: self.last_round.as_deref().map(parsed).transpose()?,
            best_predicted: self.best_predicted,
            validation_share: self.validation_share,
            category_fill: self.category_fill.as_deref().map(parsed).transpose()?,
        });
        if let Some(n) = self.n_folds {
            search = search.folds(n);
        }
        if let Some(bytes) = self.memory_limit {
            search = search.memory_limit(bytes);
        }
        if let Some(n) = self.max_evaluations {
            search = search.max_evaluations(n);
        }
        if let Some(path) = &self.surrogate {
            search = search.surrogate(Arc::new(Surrogate::read(path).map_err(of_surrogate)?));
        }
        Ok(search)
    }
}

fn seconds(secs: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(secs)
        .map_err(|e| PyValueError::new_err(format!("first_target={secs:?}: {e}")))
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str) -> PyResult<T> {
    name.parse().map_err(|e: T::Err| PyValueError::new_err(e.to_string()))
}
