//! Tells the caller what became of each pipeline, with what it cost and the models it asked for.

use std::sync::Arc;
use std::time::Instant;

use pitchpipe_table::Labels;

use super::computation::{Done, Subscriber};
use super::family::MemberResult;
use super::fold::FoldData;
use super::outcome::{Evaluation, Outcome};
use super::path::{Cost, Steps};
use super::schedule::{Ground, Schedule};
use crate::estimate::FittedEstimator;
use crate::{FitError, FittedPipeline, FittedPreparation, Pipeline, contained};

/// With more classes, and so many probabilities, scoring takes as long as fitting does, for each member of a family.
const MANY_CLASSES: usize = 20;
const MANY_PROBABILITIES: usize = 1 << 20;

impl Schedule<'_> {
    /// Whether the time is over, and scoring would take much more of it.
    fn is_too_late_to_score(&self, truth: &Labels) -> bool {
        let n_classes = truth.n_classes();
        let is_dear = n_classes > MANY_CLASSES && truth.len() * n_classes > MANY_PROBABILITIES;
        is_dear && self.order.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// Measures a computation whose folds are complete and tells those who wait for it.
    pub(super) fn finish(&self, class: usize, estimator: usize, results: Vec<MemberResult>) {
        let Ground { truth, folds, options, .. } = self.ground;
        let is_late = self.is_too_late_to_score(truth);
        let scored = contained("scoring", || {
            if is_late && results.iter().all(Result::is_ok) {
                return Done::failed(FitError::OutOfTime);
            }
            #[cfg(test)]
            super::tests::break_off("scoring", &self.estimators[estimator]);
            Done::of(truth, folds, results, options)
        });
        let done = Arc::new(scored.unwrap_or_else(Done::failed));
        let subscribers = self.lock().computation(class, estimator).finish(Arc::clone(&done));
        let n = subscribers.len();
        for subscriber in subscribers {
            self.tell(subscriber.pipeline, self.outcome(subscriber, &done, n));
        }
    }

    /// What a finished computation means to one pipeline; `n_sharing` pipelines bear its cost.
    pub(super) fn outcome(&self, subscriber: Subscriber, done: &Done, n_sharing: usize) -> Outcome {
        let pipeline = &self.order.pipelines[subscriber.pipeline];
        let imputer = pipeline.preparation.imputer;
        let starts = self.ground.folds.iter().map(|fold| fold.start_secs(imputer)).sum::<f64>();
        // Models are copied below; the others must not wait for that.
        let prepared: Vec<(Cost, Option<Steps>)> = self.lock().prepared[&subscriber.group]
            .iter()
            .map(|p| (p.cost, p.steps.clone()))
            .collect();
        let alone_secs = done.alone_secs
            + starts
            + prepared.iter().map(|(cost, _)| cost.alone_secs).sum::<f64>();
        let scores = match &done.result {
            Ok(scores) => scores,
            Err(err) => return Outcome::from_error(err, alone_secs),
        };
        let n_prepared = self.groups[subscriber.group].pipelines.len() as f64;
        let spent = prepared.iter().map(|(cost, _)| cost.spent_secs).sum::<f64>() / n_prepared;
        let own = if n_sharing > 0 { done.marginal_secs / n_sharing as f64 } else { 0.0 };
        let parts = self.ground.folds.iter().zip(&prepared).zip(&done.models);
        let models = parts.filter_map(|((fold, (_, steps)), model)| {
            Some(model_of(pipeline, fold, steps.as_ref()?, model.clone()))
        });
        let models = models.collect();
        Outcome::Finished(Box::new(Evaluation {
            error: scores.fold_errors.iter().sum::<f64>() / scores.fold_errors.len() as f64,
            fold_errors: scores.fold_errors.clone(),
            decided_error: scores.decided_error,
            native: scores.native,
            decided: scores.decided,
            log_loss: scores.log_loss,
            roc_auc: scores.roc_auc,
            out_of_fold: done.out_of_fold.clone(),
            models,
            alone_secs,
            marginal_secs: own + spent + starts / self.order.pipelines.len() as f64,
        }))
    }

    /// Passes an outcome to the caller.
    pub(super) fn tell(&self, pipeline: usize, outcome: Outcome) {
        self.ground.work.tell(self.order.id, pipeline, outcome);
    }
}

/// A kept model has its own imputer: those that agree on these rows differ on future missing cells.
fn model_of(
    pipeline: &Pipeline,
    fold: &FoldData<'_>,
    steps: &Steps,
    estimator: Option<FittedEstimator>,
) -> FittedPipeline {
    let imputer = fold
        .fitted_imputer(pipeline.preparation.imputer)
        .expect("a fold that was prepared has its imputer");
    let preparation = FittedPreparation {
        imputer,
        encoder: Arc::clone(&steps.encoder),
        scaler: Arc::clone(&steps.scaler),
        reducer: Arc::clone(&steps.reducer),
    };
    FittedPipeline::new(preparation, fold.classes.clone(), pipeline, estimator)
}
