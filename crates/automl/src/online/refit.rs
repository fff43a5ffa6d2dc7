//! What follows the search where a model is not to stay as the search made it: the score on rows held out, and the
//! chosen pipelines fitted again on all rows.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pitchpipe_learn::{FitContext, FittedPipeline, Outcome, Pipeline, Validation};
use pitchpipe_table::{Dataset, Dependence};

use super::{AutoMl, Measured};
use crate::model::Model;
use crate::scores::OutOfFold;

/// The share of the budget that is kept for fitting again.
pub(super) const SHARE: f64 = 0.25;

/// The share of the budget by which all must be fitted, so that the model can still be written.
const END_SHARE: f64 = 0.97;

/// Keeps the draws of other folds apart.
const OTHER_FOLDS: u64 = 0x9E37_79B9_7F4A_7C15;

/// Whether a model is fitted again: with rows held out, and in order of time, where no fold's model has learnt from the
/// latest rows.
pub(super) fn is_wanted(automl: &AutoMl, dataset: &Dataset) -> bool {
    automl.held_out.is_some() || matches!(dataset.dependence(), Dependence::Order(_))
}

/// Fits again within the time that is left.
pub(super) struct Refit<'a> {
    pub(super) automl: &'a AutoMl,
    pub(super) dataset: &'a Dataset,
    pub(super) start: Instant,
    pub(super) cancel: Arc<AtomicBool>,
}

impl Refit<'_> {
    /// Scores the model on the rows held out, if there are any, and then fits its pipelines again on all rows.
    pub(super) fn finish(&self, model: &mut Model) {
        model.report.budget_secs = self.automl.budget.as_secs_f64();
        if let Some(held_out) = &self.automl.held_out {
            match model.predict(held_out.frame()) {
                Ok(said) => {
                    let (truth, probabilities) =
                        (held_out.labels().clone(), said.probabilities.values().to_vec());
                    let scored = OutOfFold { truth, labels: said.labels, probabilities };
                    model.take_held_out(scored, held_out.dependence());
                }
                Err(error) => {
                    model.report.notes.push(format!("no score on rows held out: {error}"))
                }
            }
        }
        let all = match &self.automl.held_out {
            Some(held_out) => self.dataset.concat(held_out),
            None => self.dataset.clone(),
        };
        let n_rows = all.n_rows();
        model.report.n_rows = n_rows;
        let is_ordered = matches!(self.dataset.dependence(), Dependence::Order(_));
        let fitted =
            if is_ordered { self.on_all_rows(model, &all) } else { self.by_folds(model, &all) };
        let is_scored = self.automl.held_out.is_some();
        let of_before = if is_scored { "; the scores are of the model before" } else { "" };
        match fitted {
            Some(models) if model.fits(&models, self.automl.model_size_limit) => {
                for (learner, models) in model.learners.iter_mut().zip(models) {
                    learner.models = models;
                }
                model.report.n_rows_used = n_rows;
                let note = format!("fitted again on all {n_rows} rows{of_before}");
                model.report.notes.push(note);
            }
            _ if is_ordered => {
                for learner in &mut model.learners {
                    learner.models.drain(..learner.models.len().saturating_sub(1));
                }
                let note =
                    "no time was left to fit again on all rows: the latest are not learnt from";
                model.report.notes.push(note.to_owned());
            }
            _ if is_scored => {
                let note =
                    "no time was left to fit again on all rows: those held out are not learnt from";
                model.report.notes.push(note.to_owned());
            }
            _ => {}
        }
        model.report.elapsed_secs = self.start.elapsed().as_secs_f64();
    }

    fn deadline(&self) -> Instant {
        self.start + self.automl.budget.mul_f64(END_SHARE)
    }

    /// Models of folds, as the search made them; as many rounds of them as the time allows, up to as many as there were.
    /// `None` where not even one was done.
    fn by_folds(&self, model: &Model, all: &Dataset) -> Option<Vec<Vec<FittedPipeline>>> {
        let pipelines: Vec<Pipeline> = model.learners.iter().map(|l| l.pipeline.clone()).collect();
        let n_folds = model.report.n_folds.max(2);
        let most = model.learners.iter().map(|l| l.models.len()).max().unwrap_or(0) / n_folds;
        let mut fitted: Vec<Vec<FittedPipeline>> = vec![Vec::new(); pipelines.len()];
        let mut longest = Duration::ZERO;
        for round in 0..most.max(1) as u64 {
            let begun = Instant::now();
            if round > 0 && begun + longest > self.deadline() {
                break;
            }
            let validation = Validation {
                n_folds,
                seed: self.automl.seed.wrapping_add(OTHER_FOLDS.wrapping_mul(round)),
                threads: self.automl.threads.max(1),
                deadline: self.limit(),
                cancel: Some(Arc::clone(&self.cancel)),
                keep_models: true,
                watch: self.automl.watch.clone(),
                ..Validation::default()
            };
            let outcomes = validation.outcomes(all, &pipelines).ok()?;
            let finished = |outcome| match outcome {
                Outcome::Finished(evaluation) => Some(evaluation.models),
                _ => None,
            };
            let models: Option<Vec<Vec<FittedPipeline>>> =
                outcomes.into_iter().map(finished).collect();
            match models {
                Some(models) => {
                    fitted.iter_mut().zip(models).for_each(|(all, new)| all.extend(new))
                }
                None => break,
            }
            longest = longest.max(begun.elapsed());
        }
        (!fitted.iter().any(Vec::is_empty)).then_some(fitted)
    }

    /// One model of each pipeline.
    fn on_all_rows(&self, model: &Model, all: &Dataset) -> Option<Vec<Vec<FittedPipeline>>> {
        let ctx = FitContext::unhurried()
            .with_deadline(self.limit())
            .with_cancel(Arc::clone(&self.cancel));
        let fit = |pipeline: &Pipeline| Some(vec![pipeline.fit(all, &ctx).ok()?]);
        model.learners.iter().map(|learner| fit(&learner.pipeline)).collect()
    }

    /// A run that is to be repeatable is not cut short by the clock.
    fn limit(&self) -> Option<Instant> {
        (!self.automl.repeatable).then(|| self.deadline())
    }
}

impl Model {
    /// From here on what it scores on rows that nothing had seen is what is said about it.
    fn take_held_out(&mut self, scored: OutOfFold, dependence: &Dependence) {
        let standing = scored.standing(dependence, &self.priors);
        self.take(Measured::HeldOut, standing, scored);
    }

    /// Whether these models would keep to a limit of bytes.
    fn fits(&self, models: &[Vec<FittedPipeline>], limit: u64) -> bool {
        let size =
            |m: &FittedPipeline| postcard::experimental::serialized_size(m).unwrap_or(0) as u64;
        models.iter().flatten().map(size).sum::<u64>() <= limit
    }
}
