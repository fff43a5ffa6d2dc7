//! What follows the search where a model is not to stay as the search made it: the score on rows held out, and the
//! chosen pipelines fitted again on all rows, or on more than the sample that was searched.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pitchpipe_learn::{FitContext, FittedPipeline, Outcome, Pipeline, Validation};
use pitchpipe_table::{Dataset, Dependence, stratified_subsample};

use super::assemble::{FLATTERS, NO_FOREST};
use super::folds::Folds;
use super::honest::{FOREST, plain_forest};
use super::more_rows::affordable;
use super::search::memory_limit;
use super::{AutoMl, Measured, StopReason};
use crate::model::Model;
use crate::scores::OutOfFold;
use crate::surrogate::Surrogate;

/// The share of the budget that is kept for fitting again.
pub(super) const SHARE: f64 = 0.25;

/// The share of the budget by which all must be fitted, so that the model can still be written.
const END_SHARE: f64 = 0.97;

/// Keeps the draws of other folds apart.
const OTHER_FOLDS: u64 = 0x9E37_79B9_7F4A_7C15;

/// A plain forest to compare a score with may take this share of the budget.
const FOREST_SHARE: f64 = 0.03;

/// Whether time is kept for fitting again: with rows held out, and in order of time, where no fold's model has learnt from
/// the latest rows.
pub(super) fn keeps_time(automl: &AutoMl, dataset: &Dataset) -> bool {
    automl.refits && (automl.held_out.is_some() || is_ordered(dataset))
}

fn is_ordered(dataset: &Dataset) -> bool {
    matches!(dataset.dependence(), Dependence::Order(_))
}

/// Fits again within the time that is left.
pub(super) struct Refit<'a> {
    pub(super) automl: &'a AutoMl,
    pub(super) dataset: &'a Dataset,
    pub(super) start: Instant,
    pub(super) cancel: Arc<AtomicBool>,
}

impl Refit<'_> {
    /// Scores the model on the rows held out, if there are any, and then fits its pipelines again, on all rows or as many
    /// as the time allows. The search left so many seconds of work.
    pub(super) fn finish(&self, model: &mut Model, left_secs: f64) {
        model.report.budget_secs = self.automl.budget.as_secs_f64();
        if let Some(held_out) = &self.automl.held_out {
            self.score(model, held_out);
        }
        if self.automl.held_out.is_some() || is_ordered(self.dataset) {
            self.on_all_rows(model);
        } else {
            self.on_more_rows(model, left_secs);
        }
        model.report.elapsed_secs = self.start.elapsed().as_secs_f64();
    }

    /// Scores the model on rows that nothing had seen.
    fn score(&self, model: &mut Model, held_out: &Dataset) {
        let said = match model.predict(held_out.frame()) {
            Ok(said) => said,
            Err(error) => {
                return model.report.notes.push(format!("no score on rows held out: {error}"));
            }
        };
        let (truth, probabilities) =
            (held_out.labels().clone(), said.probabilities.values().to_vec());
        let scored = OutOfFold { truth, labels: said.labels, probabilities };
        let forest = self.forest(model, held_out);
        let lacks_forest = forest.is_none() && !self.is_cancelled();
        model.take_held_out(scored, forest, held_out.dependence());
        if lacks_forest {
            model.report.notes.push(NO_FOREST.to_owned());
        }
    }

    /// What a plain forest on as many rows as the model has learnt from says of those held out, if there is time for it.
    fn forest(&self, model: &Model, held_out: &Dataset) -> Option<OutOfFold> {
        let rows = self.sample(self.dataset, model.report.n_rows_used);
        let most = Instant::now() + self.automl.budget.mul_f64(FOREST_SHARE);
        let most = if self.automl.repeatable { self.deadline() } else { most };
        let ctx = self.context(most.min(self.deadline()));
        let forest = plain_forest()?.fit(&rows, &ctx).ok()?;
        let said = forest.predict(held_out.frame(), &ctx).ok()?;
        let probabilities = said.probabilities.values().to_vec();
        let labels = model.decision.decide(&said.labels, &probabilities, &model.priors);
        Some(OutOfFold { truth: held_out.labels().clone(), labels, probabilities })
    }

    /// Fits again on all rows, those held out with the others.
    fn on_all_rows(&self, model: &mut Model) {
        let all = match &self.automl.held_out {
            Some(held_out) => self.dataset.concat(held_out),
            None => self.dataset.clone(),
        };
        let n_rows = all.n_rows();
        model.report.n_rows = n_rows;
        let is_ordered = is_ordered(self.dataset);
        let fitted = match (self.automl.refits, is_ordered) {
            (false, _) => None,
            (_, true) => self.once(model, &all),
            _ => self.by_folds(model, &all),
        };
        let is_scored = self.automl.held_out.is_some();
        let of_before = if is_scored { "; the scores are of the model before" } else { "" };
        if fitted.is_some_and(|models| self.replace(model, models, n_rows)) {
            return model
                .report
                .notes
                .push(format!("fitted again on all {n_rows} rows{of_before}"));
        }
        if is_ordered {
            // The last of them has learnt from the latest rows.
            for learner in &mut model.learners {
                learner.models.drain(..learner.models.len().saturating_sub(1));
            }
        }
        let which = if is_ordered { "the latest" } else { "those held out" };
        let why = match self.automl.refits {
            true => "no time was left to fit again on all rows",
            false => "not fitted again on all rows",
        };
        model.report.notes.push(format!("{why}: {which} are not learnt from"));
    }

    /// Where a search on a sample ended before its time: fits again on as many rows as the rest allows.
    fn on_more_rows(&self, model: &mut Model, left_secs: f64) {
        let (n_before, n_all) = (model.report.n_rows_used, self.dataset.n_rows());
        let ended = model.report.stop_reason;
        let is_early = matches!(ended, StopReason::MaxEvaluations | StopReason::NothingLeft);
        if !self.automl.refits || !is_early || n_before >= n_all {
            return;
        }
        let surrogate = self.automl.surrogate.clone().unwrap_or_else(Surrogate::embedded);
        let is_repeatable = self.automl.repeatable;
        let n_rows = affordable(model, self.dataset, &surrogate, left_secs, is_repeatable);
        let Some(n_rows) = n_rows else { return };
        let rows = self.sample(self.dataset, n_rows);
        let fitted = self.by_folds(model, &rows);
        let of =
            if n_rows < n_all { format!("{n_rows} of {n_all}") } else { format!("all {n_all}") };
        let note = match fitted.is_some_and(|models| self.replace(model, models, n_rows)) {
            true => format!(
                "fitted again on {of} rows; the scores are of the model before, which was fitted on {n_before}"
            ),
            false => format!(
                "fitting again on {of} rows took too much time or memory, so the models are those of {n_before} rows"
            ),
        };
        model.report.notes.push(note);
    }

    /// Puts models into the places of those that the search made, unless they are too large.
    fn replace(&self, model: &mut Model, models: Vec<Vec<FittedPipeline>>, n_rows: usize) -> bool {
        let fits = model.fits(&models, self.automl.model_size_limit);
        if fits {
            for (learner, models) in model.learners.iter_mut().zip(models) {
                learner.models = models;
            }
            model.report.n_rows_used = n_rows;
        }
        fits
    }

    /// So many of the rows, or all of them.
    fn sample<'d>(&self, dataset: &'d Dataset, n_rows: usize) -> Cow<'d, Dataset> {
        if n_rows >= dataset.n_rows() {
            return Cow::Borrowed(dataset);
        }
        let rows = stratified_subsample(dataset.labels(), n_rows, self.automl.seed);
        Cow::Owned(dataset.select(&rows))
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn deadline(&self) -> Instant {
        self.start + self.automl.budget.mul_f64(END_SHARE)
    }

    /// Models of folds, as the search made them; as many rounds of them as the time allows, up to as many as there were.
    /// `None` where not even one was done.
    fn by_folds(&self, model: &Model, all: &Dataset) -> Option<Vec<Vec<FittedPipeline>>> {
        let pipelines: Vec<Pipeline> = model.learners.iter().map(|l| l.pipeline.clone()).collect();
        let Folds { parts, tested } = Folds::of_report(model.report.n_folds);
        let most = model.learners.iter().map(|l| l.models.len()).max().unwrap_or(0) / tested.max(1);
        let mut fitted: Vec<Vec<FittedPipeline>> = vec![Vec::new(); pipelines.len()];
        let mut longest = Duration::ZERO;
        for round in 0..most.max(1) as u64 {
            let begun = Instant::now();
            // In a run that is to be repeatable the clock only ends what goes beyond the budget.
            let is_late = !self.automl.repeatable && begun + longest > self.deadline();
            if round > 0 && is_late {
                break;
            }
            let validation = Validation {
                n_folds: parts.max(2),
                most_folds: tested.max(1),
                seed: self.automl.seed.wrapping_add(OTHER_FOLDS.wrapping_mul(round)),
                threads: self.automl.threads.max(1),
                deadline: Some(self.deadline()),
                memory_limit: memory_limit(self.automl).ok(),
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
    fn once(&self, model: &Model, all: &Dataset) -> Option<Vec<Vec<FittedPipeline>>> {
        let ctx = self.context(self.deadline());
        let fit = |pipeline: &Pipeline| Some(vec![pipeline.fit(all, &ctx).ok()?]);
        model.learners.iter().map(|learner| fit(&learner.pipeline)).collect()
    }

    fn context(&self, deadline: Instant) -> FitContext {
        FitContext::unhurried().with_deadline(Some(deadline)).with_cancel(Arc::clone(&self.cancel))
    }
}

impl Model {
    /// From here on what it scores on rows that nothing had seen is what is said about it; what was said of the scores before
    /// is no longer so.
    fn take_held_out(
        &mut self,
        scored: OutOfFold,
        forest: Option<OutOfFold>,
        dependence: &Dependence,
    ) {
        self.report.notes.retain(|note| note != FLATTERS && note != NO_FOREST);
        let beside = forest.map(|forest| (FOREST, forest));
        let standing = scored.standing_beside(dependence, &self.priors, beside);
        self.take(Measured::HeldOut, standing, scored);
    }

    /// Whether these models would keep to a limit of bytes.
    fn fits(&self, models: &[Vec<FittedPipeline>], limit: u64) -> bool {
        let size =
            |m: &FittedPipeline| postcard::experimental::serialized_size(m).unwrap_or(0) as u64;
        models.iter().flatten().map(size).sum::<u64>() <= limit
    }
}
