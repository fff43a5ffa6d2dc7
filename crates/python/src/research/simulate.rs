//! The simulator: policies replayed on recorded errors and seconds.

use std::sync::{Arc, Mutex};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::policy::{
    self, Auto, AutoSettings, AutoSetup, InOrder, KernelSetup, Next, Observation, PaperLoop,
    PaperSettings, Rounds, Step,
};
use pitchpipe_surrogate::search::{Action, Actions};
use pitchpipe_surrogate::simulate::{self, Trace};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyAny;

use super::complete::KernelModel;
use super::predict::Prior;
use super::{known_secs, refused};

type Boxed = Box<dyn policy::Policy + Send>;

/// A policy of ours: used up by one replay.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Policy {
    inner: Mutex<Boxed>,
}

impl Policy {
    fn of(policy: impl policy::Policy + Send + 'static) -> Self {
        Self { inner: Mutex::new(Box::new(policy)) }
    }
}

#[pymethods]
impl Policy {
    /// Pipelines in this order.
    #[staticmethod]
    fn in_order(order: Vec<usize>, secs: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let secs = known_secs(&secs);
        match order.iter().find(|&&j| j >= secs.len()) {
            Some(j) => Err(PyIndexError::new_err(format!("there is no pipeline {j}"))),
            None => Ok(Self::of(InOrder::new(order, secs))),
        }
    }

    /// All pipelines in an order that depends on the seed alone.
    #[staticmethod]
    fn random(secs: PyReadonlyArray1<'_, f64>, seed: u64) -> Self {
        Self::of(InOrder::random(known_secs(&secs), seed))
    }

    /// The paper's loop: one round with this share for its design, or rounds that double.
    #[staticmethod]
    fn paper(
        y: PyReadonlyArray2<'_, f32>,
        rank: usize,
        secs: PyReadonlyArray1<'_, f64>,
        budget_secs: f64,
        design_share: Option<f64>,
        baseline: Option<usize>,
    ) -> PyResult<Self> {
        let rounds = match design_share {
            Some(design_share) => Rounds::Once { design_share },
            None => Rounds::Doubling,
        };
        let secs = known_secs(&secs);
        check_baseline(baseline, secs.len())?;
        PaperLoop::new(y.as_array(), rank, &secs, budget_secs, rounds, baseline)
            .map(Self::of)
            .map_err(refused)
    }

    /// The same on the codes of KFMC.
    #[staticmethod]
    fn kernel(
        model: Py<KernelModel>,
        secs: PyReadonlyArray1<'_, f64>,
        budget_secs: f64,
        baseline: Option<usize>,
    ) -> PyResult<Self> {
        let codes = model.get().inner.codes().t().mapv(|v| v as f32);
        let secs = known_secs(&secs);
        check_baseline(baseline, secs.len())?;
        let model = model.get().inner.clone();
        let setup = KernelSetup {
            codes: codes.view(),
            regress: Box::new(move |pipelines, errors, ridge| {
                model.predict_dataset(pipelines, errors, ridge)
            }),
            secs: &secs,
            budget_secs,
            baseline,
            settings: PaperSettings::default(),
        };
        policy::kernel_oboe(setup).map(Self::of).map_err(refused)
    }

    /// The search that pitchpipe ships, on pipelines one by one or on families (members, cost factor).
    #[staticmethod]
    fn auto(
        prior: &Prior,
        secs: PyReadonlyArray1<'_, f64>,
        families: Option<Vec<(Vec<usize>, f64)>>,
    ) -> PyResult<Self> {
        let secs = known_secs(&secs);
        let family = |(members, cost_factor)| Action { members, cost_factor };
        let actions = match families {
            Some(all) => Actions::new(secs.len(), all.into_iter().map(family)).map_err(refused)?,
            None => Actions::singles(secs.len()),
        };
        let setup = AutoSetup::plain(prior.inner.posterior(), Arc::new(actions), &secs);
        Auto::new(setup, AutoSettings::default()).map(Self::of).map_err(refused)
    }
}

fn check_baseline(baseline: Option<usize>, n: usize) -> PyResult<()> {
    match baseline {
        Some(j) if j >= n => Err(PyIndexError::new_err(format!("there is no pipeline {j}"))),
        _ => Ok(()),
    }
}

/// Recorded errors and seconds, datasets x pipelines.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Recording {
    inner: simulate::Recording,
}

/// The second, the pipeline and the error of all that came to be known, and how many steps were run.
type Events<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<usize>>, Bound<'py, PyArray1<f64>>, usize);

#[pymethods]
impl Recording {
    /// NaN where nothing was recorded.
    #[new]
    fn new(
        errors: PyReadonlyArray2<'_, f32>,
        secs: PyReadonlyArray2<'_, f32>,
        replicate_period: usize,
    ) -> PyResult<Self> {
        let errors = errors.as_array().to_owned();
        let mut secs = secs.as_array().mapv(|s| if s.is_nan() { 0.0 } else { s });
        if errors.dim() == secs.dim() {
            secs.zip_mut_with(&errors, |s, e| *s = if e.is_nan() { 0.0 } else { *s });
        }
        let errors = errors.mapv(|e| if e.is_nan() { 0.0 } else { e });
        let inner = simulate::Recording::new(errors, secs, replicate_period).map_err(refused)?;
        Ok(Self { inner })
    }

    /// Runs a policy on a dataset: one of ours, or any object with `next(left)` and `observe(seen)`.
    fn replay<'py>(
        &self,
        py: Python<'py>,
        dataset: usize,
        policy: &Bound<'py, PyAny>,
        budget_secs: f64,
        n_workers: usize,
    ) -> PyResult<Events<'py>> {
        if dataset >= self.inner.n_datasets() {
            let n = self.inner.n_datasets();
            let what = format!("there is no dataset {dataset} among {n}");
            return Err(PyIndexError::new_err(what));
        }
        if budget_secs.is_nan() {
            return Err(PyValueError::new_err("the budget is not a number"));
        }
        let row = self.inner.row(dataset);
        let trace = if let Ok(ours) = policy.cast::<Policy>() {
            let ours = ours.get();
            py.detach(|| {
                let mut policy = ours.inner.lock().unwrap_or_else(|p| p.into_inner());
                simulate::replay(&mut **policy, &row, budget_secs, n_workers)
            })
            .map_err(refused)?
        } else {
            let n_pipelines = self.inner.n_pipelines();
            let mut theirs =
                Theirs { policy: policy.clone(), n_pipelines, n_pending: 0, raised: None };
            let done = simulate::replay(&mut theirs, &row, budget_secs, n_workers);
            match theirs.raised {
                Some(error) => return Err(error),
                None => done.map_err(refused)?,
            }
        };
        Ok(events(py, &trace))
    }

    /// The lowest error recorded on a dataset, and the seconds of all its pipelines together.
    fn bounds(&self, dataset: usize) -> PyResult<(f64, f64)> {
        if dataset >= self.inner.n_datasets() {
            return Err(PyIndexError::new_err(format!("there is no dataset {dataset}")));
        }
        let row = self.inner.row(dataset);
        Ok((row.lowest_error(), row.total_secs()))
    }
}

fn events<'py>(py: Python<'py>, trace: &Trace) -> Events<'py> {
    let all = trace.events();
    (
        PyArray1::from_iter(py, all.iter().map(|e| e.0)),
        PyArray1::from_iter(py, all.iter().map(|e| e.1)),
        PyArray1::from_iter(py, all.iter().map(|e| e.2)),
        trace.n_steps(),
    )
}

/// A policy written in Python. An exception ends the replay.
struct Theirs<'py> {
    policy: Bound<'py, PyAny>,
    n_pipelines: usize,
    n_pending: usize,
    raised: Option<PyErr>,
}

/// What Python answers: a pipeline, or a family of them.
#[derive(FromPyObject)]
enum Answer {
    One(usize),
    Family(Vec<usize>),
}

impl Theirs<'_> {
    fn ask(&self, left_secs: f64) -> PyResult<Option<Step>> {
        self.policy.py().check_signals()?;
        let answer: Option<Answer> =
            self.policy.call_method1("next", (left_secs,))?.extract().map_err(|_| {
                PyValueError::new_err("next() answers with a pipeline, a list of them, or None")
            })?;
        let members = match answer {
            None => return Ok(None),
            Some(Answer::One(pipeline)) => vec![pipeline],
            Some(Answer::Family(members)) => members,
        };
        match members.iter().find(|&&j| j >= self.n_pipelines) {
            Some(j) => Err(PyIndexError::new_err(format!("there is no pipeline {j}"))),
            None if members.is_empty() => Err(PyValueError::new_err("a family has members")),
            None => {
                let mark = members[0];
                // It does not say what it expects: no step is given up.
                let cost_secs = f64::INFINITY;
                Ok(Some(Step { members, cost_secs, cost_factor: 1.0, mark }))
            }
        }
    }

    /// The replay ends by an error, whose words nobody reads: the exception is raised instead.
    fn end(&mut self, raised: PyErr) -> SurrogateError {
        self.raised = Some(raised);
        SurrogateError::Empty { what: "the answer of the policy" }
    }
}

impl policy::Policy for Theirs<'_> {
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        match self.ask(left_secs) {
            Ok(Some(step)) => {
                self.n_pending += 1;
                Ok(Next::Run(step))
            }
            Ok(None) => Ok(if self.n_pending > 0 { Next::Wait } else { Next::Done }),
            Err(error) => Err(self.end(error)),
        }
    }

    fn observe(&mut self, _: &Step, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.n_pending -= 1;
        let seen: Vec<_> = observations.iter().map(|o| (o.pipeline, o.error, o.secs)).collect();
        match self.policy.call_method1("observe", (seen,)) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.end(error)),
        }
    }

    fn observe_unasked(&mut self, _: &[Observation]) -> Result<(), SurrogateError> {
        Ok(())
    }

    fn resized(&mut self, _: usize, _: &[f64]) {}
}
