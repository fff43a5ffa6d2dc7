//! The score that is reported: of ensembles chosen on other rows than those they are scored on.

use std::time::{Duration, Instant};

use pitchpipe_learn::{Pipeline, Preparation};
use pitchpipe_table::{Dependence, Labels};

use super::Measured;
use super::combine::LIBRARY;
use super::library::{Learner, MOST_OF_A_KIND, Rule};
use crate::ensemble::{
    CHOOSING_CELLS, Choice, Combination, GreedySettings, NewTrial, PARTS, Tried,
};
use crate::model::Model;
use crate::scores::{OutOfFold, Standing};

/// The share of the budget that scoring may take.
pub(crate) const SHARE: f64 = 0.03;

/// A forest of default settings on plain columns: the first thing that somebody in a hurry would try.
const PLAIN_FOREST: &str = "impute(mean) > one_hot > unscaled > all_features > \
     random_forest(min_samples_split=2, criterion=gini)";

/// What the scores of that forest are called.
pub(super) const FOREST: &str = "random forest";

/// Keeps the draw of the parts apart from that of the folds.
const OTHER_PARTS: u64 = 0x5851_F42D_4C95_7F2D;

/// All that was tried on some rows, winners and losers.
pub(crate) struct Evidence {
    tried: Tried,
    rule: Rule,
    combination: Combination,
    dependence: Dependence,
    seed: u64,
    plain: Option<Pipeline>,
}

/// A score that the model can be held to.
pub(crate) struct Honest {
    pub(crate) out_of_fold: OutOfFold,
    pub(crate) standing: Standing,
}

impl Evidence {
    /// Nothing yet, on rows of which these hang together.
    pub(crate) fn new(
        rule: Rule,
        combination: Combination,
        dependence: Dependence,
        seed: u64,
    ) -> Self {
        let tried = Tried::of(&rule.truth, seed);
        let dependence = tried.rows().map_or(dependence.clone(), |rows| dependence.select(rows));
        Self { tried, rule, combination, dependence, seed, plain: plain_forest() }
    }

    /// Remembers a learner as it was first judged.
    pub(crate) fn add(&mut self, learner: &Learner) {
        let trial = self.trial(learner);
        self.tried.add(trial, &learner.probabilities, &learner.labels);
    }

    /// Remembers the other validations of a learner.
    pub(crate) fn confirm(&mut self, learner: &Learner) {
        let (sums, n) = learner.again();
        if n > 0 {
            self.tried.confirm(learner.print(), learner.kind(), (sums, n), learner.n_bytes);
        }
    }

    /// Remembers the plain forest, run for comparison only.
    pub(crate) fn compare(&mut self, forest: &Learner) {
        let trial = self.trial(forest);
        self.tried.compare(trial, &forest.probabilities, &forest.labels);
    }

    fn trial(&self, learner: &Learner) -> NewTrial {
        NewTrial {
            key: learner.key(),
            print: learner.print(),
            kind: learner.pipeline.estimator.kind(),
            error: learner.error,
            n_bytes: learner.n_bytes,
            is_plain: self.plain.as_ref().is_some_and(|plain| is_same(plain, &learner.pipeline)),
        }
    }

    /// Whether the plain forest has not been run yet.
    pub(crate) fn lacks_forest(&self) -> bool {
        self.tried.plain().is_none()
    }

    /// How many times the work of choosing one ensemble by all rows scoring is.
    pub(crate) fn n_updates(&self) -> f64 {
        let n_cells = self.rule.truth.len() * self.rule.truth.n_classes();
        PARTS as f64 * (CHOOSING_CELLS as f64 / n_cells.max(1) as f64).min(1.0)
    }

    /// Scores ensembles that were chosen on other rows, of models that take no more than so many bytes. With less
    /// time ensembles are simpler. `None` where rows are too few to do without some.
    pub(crate) fn score(&self, size_limit: u64, deadline: Option<Instant>) -> Option<Honest> {
        let Rule { priors, metric, decision, .. } = &self.rule;
        let choice = Choice {
            metric: *metric,
            combination: self.combination,
            decision: *decision,
            priors,
            settings: GreedySettings { seed: self.seed, ..GreedySettings::default() },
            n_candidates: LIBRARY,
            n_of_a_kind: MOST_OF_A_KIND,
            size_limit,
        };
        let seed = self.seed ^ OTHER_PARTS;
        let folds = self.dependence.folds(self.tried.truth(), PARTS, seed);
        let start = Instant::now();
        let time = deadline.map(|end| end.saturating_duration_since(start));
        let is_over =
            |share: f64| time.is_some_and(|t: Duration| start.elapsed() > t.mul_f64(share));
        let fitted = choice.cross_fit(&self.tried, &folds.folds, &is_over)?;
        let out_of_fold = OutOfFold {
            truth: fitted.truth,
            labels: fitted.labels,
            probabilities: fitted.probabilities,
        };
        let dependence = self.dependence.select(&fitted.rows);
        let forest = self.forest(&out_of_fold.truth, &fitted.rows);
        let beside = forest.map(|forest| (FOREST, forest));
        let standing = out_of_fold.standing_beside(&dependence, priors, beside);
        Some(Honest { out_of_fold, standing })
    }

    /// What a forest of default settings says of the same rows, where there was time for it.
    fn forest(&self, truth: &Labels, rows: &[usize]) -> Option<OutOfFold> {
        let Rule { priors, decision, .. } = &self.rule;
        let forest = self.tried.plain()?;
        let probabilities: Vec<f64> =
            forest.probabilities(rows, truth.n_classes()).into_iter().map(f64::from).collect();
        let native = Labels::from_codes(forest.labels_of(rows), truth.n_classes());
        let labels = decision.decide(&native, &probabilities, priors);
        Some(OutOfFold { truth: truth.clone(), labels, probabilities })
    }
}

impl Model {
    /// From here on this is what is said about the model.
    pub(crate) fn take_score(&mut self, honest: Honest) {
        self.take(Measured::CrossFitted, honest.standing, honest.out_of_fold);
    }

    /// The same of predictions of any rows that it was not chosen by.
    pub(super) fn take(&mut self, measured: Measured, standing: Standing, scored: OutOfFold) {
        self.report.measured = measured;
        self.report.n_rows_scored = scored.truth.len();
        self.report.scores = standing.scores;
        self.report.standard_errors = standing.standard_errors;
        self.report.baselines = standing.baselines;
        self.out_of_fold = Some(scored);
    }
}

/// Whether two pipelines are the same, however categories are filled.
fn is_same(one: &Pipeline, other: &Pipeline) -> bool {
    let by_mode = |pipeline: &Pipeline| {
        let imputer = pipeline.preparation.imputer.with_categories_by_mode();
        Preparation { imputer, ..pipeline.preparation }
    };
    one.estimator == other.estimator && by_mode(one) == by_mode(other)
}

pub(super) fn plain_forest() -> Option<Pipeline> {
    PLAIN_FOREST.parse().ok()
}

#[cfg(test)]
mod tests {
    use pitchpipe_learn::SearchSpace;

    use super::*;

    #[test]
    fn the_plain_forest_is_in_the_search_space() {
        let forest = plain_forest().expect("a pipeline reads back");
        assert!(SearchSpace::paper().find(&forest).is_some());
    }
}
