//! Putting the model together from what a search has found, and the report of how it was found.

use std::time::Instant;

use super::clock::Clock;
use super::combine::{Combiner, free_elsewhere};
use super::drive::Drive;
use super::fast;
use super::honest::FOREST;
use super::ledger::{Counts, Ledger};
use super::search::{Ended, Fit};
use super::{AutoMl, AutoMlError, Candidate, Measured, Report, StopReason};
use crate::model::{BaseLearner, Model, kinds_of};
use crate::scores::{OutOfFold, Scores};

/// What is said where rows are too few to choose by some and score by others.
pub(super) const FLATTERS: &str =
    "the scores are of the rows that the ensemble was chosen by, and flatter it";

/// What is said where the model is compared with the most common class only.
pub(super) const NO_FOREST: &str =
    "there was no time for a plain random forest to compare the model with";

impl Fit<'_> {
    /// The model of what a search has found.
    pub(super) fn model(&self, drive: Drive<'_>, ended: &Ended) -> Result<Model, AutoMlError> {
        let scoring_deadline = drive.scoring_deadline();
        let Drive { mut combiner, ledger, .. } = drive;
        let faster = self.automl.fast_predict.then(|| fast::leave_out(self, &mut combiner));
        let (n_left, n_chosen) = combiner.keep_within_limit();
        let Some(scores) = combiner.scores.clone() else {
            return Err(self.why_no_model(ended.stop, ledger.counts));
        };
        let weights = combiner.selection.weights.clone();
        let weight_of = |key: usize| weights.iter().find(|w| w.0 == key).map_or(0.0, |w| w.1);
        let learners = combiner.library.learners().iter();
        let leaderboard =
            learners.map(|l| l.candidate(weight_of(l.key()), combiner.rule())).collect();
        let out_of_fold = combiner.predicted();
        let (base_learners, evidence) = combiner.into_parts();
        let base_learners = base_learners.into_iter().map(|(learner, weight)| BaseLearner {
            pipeline: learner.pipeline,
            weight,
            models: learner.models,
        });
        let report = self.report(ended, ledger, scores, leaderboard);
        let mut model = self.unscored(base_learners.collect(), report, out_of_fold);
        model.check_size(self.automl.model_size_limit)?;
        if n_left < n_chosen {
            let note =
                format!("{n_left} of {n_chosen} base learners fit the limit of the model's size");
            model.report.notes.push(note);
        }
        // What is scored would have to fit the limit as well.
        let score = || evidence.score(self.automl.model_size_limit, scoring_deadline);
        match self.team.install(score) {
            Some(honest) => {
                let has_forest =
                    honest.standing.baselines.iter().any(|baseline| baseline.name == FOREST);
                if !has_forest && ended.stop != StopReason::Cancelled {
                    model.report.notes.push(NO_FOREST.to_owned());
                }
                model.take_score(honest);
            }
            None => model.report.notes.push(FLATTERS.to_owned()),
        }
        model.report.notes.extend(faster);
        free_elsewhere(evidence);
        Ok(model)
    }

    /// The model as it would be if the search ended here, while it goes on: its learners are copied.
    pub(super) fn draft(
        &self,
        combiner: &Combiner,
        ledger: &Ledger,
        n_rows: usize,
    ) -> Option<Model> {
        let ended = Ended { stop: StopReason::OutOfMemory, n_rows, n_confirmed: 0 };
        let learners = combiner.weighted_learners().map(|(learner, weight)| BaseLearner {
            pipeline: learner.pipeline.clone(),
            weight,
            models: learner.models.clone(),
        });
        let leaderboard = combiner.weighted_learners();
        let leaderboard = leaderboard.map(|(l, weight)| l.candidate(weight, combiner.rule()));
        let report =
            self.report(&ended, ledger.clone(), combiner.scores.clone()?, leaderboard.collect());
        let mut model = self.unscored(learners.collect(), report, combiner.predicted());
        match combiner.evidence.score(u64::MAX, Some(Instant::now())) {
            Some(honest) => model.take_score(honest),
            None => model.report.notes.push(FLATTERS.to_owned()),
        }
        Some(model)
    }

    /// A model whose scores are those that its ensemble was chosen by.
    fn unscored(
        &self,
        learners: Vec<BaseLearner>,
        mut report: Report,
        out_of_fold: OutOfFold,
    ) -> Model {
        let (labels, combination) = (self.dataset.labels(), self.combination());
        report.n_rows_scored = out_of_fold.truth.len();
        Model {
            schema: self.dataset.schema().map(|s| (**s).clone()),
            columns: kinds_of(self.dataset.frame()),
            n_classes: labels.n_classes(),
            priors: labels.priors(),
            decision: combination.decision(self.automl.metric),
            combination,
            learners,
            report,
            out_of_fold: Some(out_of_fold),
            history: None,
        }
    }

    fn why_no_model(&self, stop: StopReason, counts: Counts) -> AutoMlError {
        let Counts { n_started, n_failed, n_out_of_time, first_failure, .. } = counts;
        match (stop, first_failure) {
            (StopReason::Cancelled, _) => AutoMlError::Cancelled,
            (_, Some(first)) if n_out_of_time == 0 => AutoMlError::AllFailed { n_failed, first },
            _ => AutoMlError::OutOfTime { budget: self.automl.budget, n_started },
        }
    }

    fn report(
        &self,
        ended: &Ended,
        ledger: Ledger,
        scores: Scores,
        leaderboard: Vec<Candidate>,
    ) -> Report {
        let AutoMl { method, metric, seed, budget, .. } = *self.automl;
        let Counts { n_evaluated, n_failed, n_out_of_time, .. } = ledger.counts;
        Report {
            method,
            metric,
            seed,
            budget_secs: budget.as_secs_f64(),
            elapsed_secs: self.clock.elapsed().as_secs_f64(),
            n_rows: self.dataset.n_rows(),
            n_features: self.dataset.columns().len(),
            n_classes: self.dataset.labels().n_classes(),
            n_rows_used: ended.n_rows,
            n_folds: self.folds(ended.n_rows).tested,
            n_evaluated,
            n_failed,
            n_out_of_time,
            measured: Measured::Chosen,
            n_rows_scored: 0,
            scores,
            standard_errors: None,
            baselines: Vec::new(),
            leaderboard,
            time_spent: ledger.time_spent,
            stop_reason: ended.stop,
            notes: self.notes(ended),
        }
    }

    /// What the user should know of how the search went.
    fn notes(&self, ended: &Ended) -> Vec<String> {
        let is_cut = self.pacing.is_repeatable() && ended.stop == StopReason::TimeBudget;
        let cut = "the time budget was used up before all evaluations were made, so that another run may differ";
        let confirmed = (ended.n_confirmed > 0).then(|| confirmed_note(ended.n_confirmed));
        confirmed.into_iter().chain(is_cut.then(|| cut.to_owned())).collect()
    }
}

fn confirmed_note(n_times: usize) -> String {
    let times = match n_times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    };
    format!(
        "the best pipelines were cross-validated {times} more, on new folds, before the ensemble was chosen"
    )
}
