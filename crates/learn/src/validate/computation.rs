//! Distinct computations: one estimator on one set of prepared folds, for all pipelines that share it.

use std::collections::HashMap;
use std::sync::Arc;

use pitchpipe_table::Labels;

use super::Validation;
use super::family::MemberResult;
use super::fold::FoldData;
use super::score::{self, Scores};
use crate::estimate::FittedEstimator;
use crate::work_time::WorkTime;
use crate::{FitError, Prediction};

/// A pipeline that waits for a computation.
#[derive(Clone, Copy)]
pub(super) struct Subscriber {
    pub(super) pipeline: usize,
    pub(super) group: usize,
}

/// One estimator on one set of prepared folds.
pub(super) struct Computation {
    pub(super) subscribers: Vec<Subscriber>,
    results: Vec<Option<MemberResult>>,
    done: Option<Arc<Done>>,
}

/// A finished computation.
pub(super) struct Done {
    pub(super) result: Result<Scores, FitError>,
    pub(super) out_of_fold: Option<Arc<Prediction>>,
    pub(super) models: Vec<Option<FittedEstimator>>,
    pub(super) alone_secs: f64,
    pub(super) marginal_secs: f64,
}

impl Computation {
    pub(super) fn new(n_folds: usize) -> Self {
        Self { subscribers: Vec::new(), results: vec![None; n_folds], done: None }
    }

    /// The finished computation, if it is.
    pub(super) fn done(&self) -> Option<&Arc<Done>> {
        self.done.as_ref()
    }

    /// CPU seconds that the folds have taken, as if alone.
    pub(super) fn alone_secs(&self) -> f64 {
        self.results.iter().flatten().flatten().map(|member| member.alone_secs).sum()
    }

    /// Whether some fold ran out of time, so that the others are not worth running.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.results.iter().flatten().any(|r| matches!(r, Err(FitError::OutOfTime)))
    }

    /// Notes a fold's result; gives all of them once they are complete.
    pub(super) fn put(&mut self, fold: usize, result: MemberResult) -> Option<Vec<MemberResult>> {
        self.results[fold] = Some(result);
        let is_complete = self.results.iter().all(Option::is_some);
        is_complete.then(|| std::mem::take(&mut self.results).into_iter().flatten().collect())
    }

    /// Ends the computation; gives those who waited for it.
    pub(super) fn finish(&mut self, done: Arc<Done>) -> Vec<Subscriber> {
        self.done = Some(done);
        std::mem::take(&mut self.subscribers)
    }
}

impl Done {
    /// Nothing but the reason why there is no score.
    pub(super) fn failed(reason: FitError) -> Self {
        let (alone_secs, marginal_secs) = (0.0, 0.0);
        let (out_of_fold, models) = (None, Vec::new());
        Self { result: Err(reason), out_of_fold, models, alone_secs, marginal_secs }
    }

    /// Measures the folds' predictions.
    pub(super) fn of(
        truth: &Labels,
        folds: &[FoldData<'_>],
        results: Vec<MemberResult>,
        options: &Validation,
    ) -> Self {
        let start = WorkTime::now();
        let members: Result<Vec<_>, FitError> =
            results.iter().map(|r| r.as_ref()).collect::<Result<_, _>>().map_err(Clone::clone);
        let mut done = Self {
            result: Err(FitError::OutOfTime),
            out_of_fold: None,
            models: Vec::new(),
            alone_secs: results.iter().flatten().map(|m| m.alone_secs).sum(),
            marginal_secs: results.iter().flatten().map(|m| m.marginal_secs).sum(),
        };
        match members {
            Err(err) => done.result = Err(err),
            Ok(members) => {
                let pairs: Vec<_> =
                    folds.iter().zip(members.iter().map(|m| &m.prediction)).collect();
                let all = score::out_of_fold(truth.n_classes(), &pairs);
                done.result = Ok(score::scores(truth, &pairs, &all, options.area));
                done.out_of_fold = options.keep_predictions.then(|| Arc::new(all));
            }
        }
        done.models = results.into_iter().flatten().map(|m| m.model).collect();
        let secs = start.elapsed().as_secs_f64();
        done.alone_secs += secs;
        done.marginal_secs += secs;
        done
    }
}

/// The computations on one set of prepared folds, by estimator.
#[derive(Default)]
pub(super) struct Class {
    pub(super) computations: HashMap<usize, Computation>,
    pub(super) n_tasks_left: usize,
}
