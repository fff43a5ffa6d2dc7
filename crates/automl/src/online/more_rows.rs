//! How many rows the chosen pipelines can be fitted on in the time that a search has left.

use std::sync::LazyLock;

use pitchpipe_learn::PipelineId;
use pitchpipe_table::Dataset;

use super::Candidate;
use super::folds::Folds;
use crate::model::Model;
use crate::surrogate::{Surrogate, TableSize};

/// Fits are expected to take at most this share of the time that is left: predictions err.
const SHARE: f64 = 0.7;

/// It must be so many times the rows that the models have learnt from.
const LEAST_GAIN: f64 = 1.5;

/// The most rows, halving from all of them, on which the model's pipelines are expected to be fitted within so many seconds
/// of work. Measured times count, unless the run is to be repeatable. `None` where it is not worth it.
pub(super) fn affordable(
    model: &Model,
    dataset: &Dataset,
    surrogate: &Surrogate,
    left_secs: f64,
    is_repeatable: bool,
) -> Option<usize> {
    let report = &model.report;
    // Pipelines that fill categories by their mode have the numbers of those that do not.
    let by_mode = LazyLock::new(|| surrogate.space().with_categories_by_mode());
    let pipelines = model.learners.iter().map(|learner| {
        let of_surrogate = surrogate.space().find(&learner.pipeline);
        let id = of_surrogate.or_else(|| by_mode.find(&learner.pipeline))?;
        let measured = report.leaderboard.iter().find(|c| c.pipeline == learner.pipeline);
        Some((id, measured.filter(|_| !is_repeatable)))
    });
    let pipelines: Vec<(PipelineId, Option<&Candidate>)> = pipelines.collect::<Option<_>>()?;
    let size = TableSize::of(dataset);
    let predict = |n: usize| surrogate.runtimes().predict_secs(&size.with_rows(n));
    let before = predict(report.n_rows_used);
    // Recorded times are of three folds.
    let of_folds = Folds::of_report(report.n_folds).cost();
    let secs_on = |n: usize| {
        let predicted = predict(n);
        let secs = |&(id, measured): &(PipelineId, Option<&Candidate>)| match measured {
            Some(candidate) => candidate.secs * predicted[id.index()] / before[id.index()],
            None => predicted[id.index()] * of_folds,
        };
        pipelines.iter().map(secs).sum::<f64>()
    };
    let least = (LEAST_GAIN * report.n_rows_used as f64).ceil() as usize;
    let halves = std::iter::successors(Some(dataset.n_rows()), |&n| Some(n / 2));
    halves.take_while(|&n| n >= least.max(1)).find(|&n| secs_on(n) <= SHARE * left_secs)
}
