//! Cross-fitting: each row is scored by an ensemble that was chosen on other rows.
//!
//! An ensemble that was chosen and scored on the same out-of-fold predictions flatters itself, on noise by as much as .15.
//! So the whole choice is made again for each part of the rows, on the others: which candidates enter the library among
//! all that were tried, which of them are taken, and with what weights (docs/decisions/0060-online.md has the figures).
//! What cannot be undone is that the search itself looked at all rows; measured on noise, that is small.
//!
//! A choice looks at how pipelines were first validated, which is known of all. What was chosen then predicts as the mean of
//! all validations that it had: the model is the mean of many fold models, and one alone is worse than that.

use std::cmp::Ordering;

use pitchpipe_table::{Decision, Fold, Labels, Metric, balanced_error_rate, stratified_subsample};

use super::greedy::loss_of;
use super::tried::{Trial, Tried};
use super::{
    Combination, GreedySettings, Judge, Selection, majority, select, vote, vote_shares, within,
};

/// Into how many parts rows are dealt.
pub(crate) const PARTS: usize = 5;

/// A choice is made by no more probabilities than this of each candidate, so that it stays cheap.
pub(crate) const CHOOSING_CELLS: usize = 12_000;

/// Candidates are ranked by no more probabilities than this, all together and for each part, as long as there are
/// [`LEAST_ROWS_TO_RANK`] rows.
const RANKING_CELLS: usize = 2_000_000;

/// Candidates are ranked by no fewer rows than this, where there are as many.
const LEAST_ROWS_TO_RANK: usize = 500;

/// Where there is no time to grow an ensemble, it may be the mean of so many of the best: on most tables as good as a grown
/// one, within noise (docs/decisions/0060-online.md).
const MEAN_OF: usize = 10;

/// How ensembles are chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) metric: Metric,
    pub(crate) combination: Combination,
    pub(crate) decision: Decision,
    /// Each class's share of the training rows.
    pub(crate) priors: &'a [f64],
    pub(crate) settings: GreedySettings,
    /// Candidates that an ensemble is chosen among: of all, and of a kind of estimator.
    pub(crate) n_candidates: usize,
    pub(crate) n_of_a_kind: usize,
    /// Bytes that the base learners of a model may take.
    pub(crate) size_limit: u64,
}

/// What ensembles that were chosen on other rows say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CrossFitted {
    /// The rows, as [`Tried`] counts them, ascending.
    pub(crate) rows: Vec<usize>,
    pub(crate) truth: Labels,
    pub(crate) labels: Labels,
    pub(crate) probabilities: Vec<f64>,
}

impl Choice<'_> {
    /// For each fold chooses an ensemble by its training rows and predicts its test rows. Where the time of a part is
    /// over, its ensemble is what it is by then, or a mean of the best: `is_over` is asked with the share of the work that is
    /// done.
    pub(crate) fn cross_fit(
        &self,
        tried: &Tried,
        folds: &[Fold],
        is_over: &(dyn Fn(f64) -> bool + Sync),
    ) -> Option<CrossFitted> {
        let trials = tried.trials();
        if trials.is_empty() || folds.is_empty() {
            return None;
        }
        let n_classes = tried.truth().n_classes();
        let mut predicted: Vec<(usize, Vec<f64>, u32)> = Vec::new();
        for (i, fold) in folds.iter().enumerate() {
            let is_part_over = || is_over((i + 1) as f64 / folds.len() as f64);
            let chosen = self.choose(tried, &trials, &fold.train, &is_part_over);
            predicted.extend(self.predict(&chosen, &fold.test, n_classes));
        }
        predicted.sort_by_key(|p| p.0);
        let rows: Vec<usize> = predicted.iter().map(|p| p.0).collect();
        Some(CrossFitted {
            truth: tried.truth().select(&rows),
            labels: Labels::from_codes(predicted.iter().map(|p| p.2), n_classes),
            probabilities: predicted.into_iter().flat_map(|p| p.1).collect(),
            rows,
        })
    }

    /// The ensemble that these rows speak for.
    fn choose<'t>(
        &self,
        tried: &Tried,
        trials: &[&'t Trial],
        rows: &[usize],
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Vec<(&'t Trial, f64)> {
        let n_classes = tried.truth().n_classes();
        let most = (CHOOSING_CELLS / n_classes.max(1)).max(100);
        let all = tried.truth().select(rows);
        let rows: Vec<usize> =
            stratified_subsample(&all, most, self.settings.seed).iter().map(|&i| rows[i]).collect();
        let truth = tried.truth().select(&rows);
        let library = self.library(trials, &truth, &rows);
        let selection = match self.combination {
            Combination::Vote => {
                let labels: Vec<Vec<u32>> = library.iter().map(|t| t.labels_of(&rows)).collect();
                vote(&labels.iter().map(Vec::as_slice).collect::<Vec<_>>())
            }
            Combination::Average => {
                let judge = Judge::new(&truth, self.priors, self.metric);
                let candidates: Vec<Vec<f32>> =
                    library.iter().map(|t| t.probabilities(&rows, n_classes)).collect();
                let candidates: Vec<&[f32]> = candidates.iter().map(Vec::as_slice).collect();
                let grown = select(&judge, &candidates, &self.settings, is_over);
                if is_over() { hurried(&judge, &candidates, grown) } else { grown }
            }
        };
        // A model that is too large loses some of them.
        let taken = selection.weights.iter().map(|&(at, weight)| (at, weight, library[at].n_bytes));
        let taken = within(self.size_limit, &taken.collect::<Vec<_>>());
        taken.into_iter().map(|(at, weight)| (library[at], weight)).collect()
    }

    /// The candidates that an ensemble is chosen among, by these rows, best first.
    fn library<'t>(&self, trials: &[&'t Trial], truth: &Labels, rows: &[usize]) -> Vec<&'t Trial> {
        let most =
            (RANKING_CELLS / (trials.len() * truth.n_classes()).max(1)).max(LEAST_ROWS_TO_RANK);
        let positions = stratified_subsample(truth, most, self.settings.seed);
        let truth = &truth.select(&positions);
        let rows: &[usize] = &positions.iter().map(|&i| rows[i]).collect::<Vec<_>>();
        let judge = Judge::new(truth, self.priors, self.metric).with_smooth_share(0.0);
        let positions: Vec<u32> = (0..rows.len() as u32).collect();
        let error = |trial: &Trial| match self.combination {
            Combination::Vote => {
                let labels = Labels::from_codes(trial.labels_of(rows), truth.n_classes());
                balanced_error_rate(truth, &labels)
            }
            Combination::Average => {
                judge.loss(&trial.probabilities(rows, truth.n_classes()), 1.0, &positions)
            }
        };
        let mut ranked: Vec<(f64, &Trial)> = trials.iter().map(|&t| (error(t), t)).collect();
        // A stable sort: of two that are equally good the smaller key comes first.
        ranked.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        let mut library: Vec<&Trial> = Vec::new();
        for (_, trial) in ranked {
            let n_of_kind = library.iter().filter(|t| t.kind == trial.kind).count();
            if library.len() < self.n_candidates && n_of_kind < self.n_of_a_kind {
                library.push(trial);
            }
        }
        library
    }

    /// What an ensemble says of some rows: the row, its probabilities, its label.
    fn predict(
        &self,
        chosen: &[(&Trial, f64)],
        rows: &[usize],
        n_classes: usize,
    ) -> Vec<(usize, Vec<f64>, u32)> {
        let mut sums = vec![0.0; rows.len() * n_classes];
        if self.combination == Combination::Vote {
            let mut voted = Vec::with_capacity(rows.len());
            for (at, &row) in rows.iter().enumerate() {
                let votes: Vec<u32> = chosen.iter().map(|(t, _)| t.labels[row]).collect();
                let shares = &mut sums[at * n_classes..][..n_classes];
                vote_shares(&votes, shares);
                voted.push((row, shares.to_vec(), majority(&votes, n_classes)));
            }
            return voted;
        }
        for (trial, weight) in chosen {
            let own = trial.mean_probabilities(rows, n_classes);
            sums.iter_mut().zip(own).for_each(|(s, p)| *s += weight * f64::from(p));
        }
        for row in sums.chunks_exact_mut(n_classes) {
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= total);
        }
        let none = Labels::from_codes(vec![0; rows.len()], n_classes);
        let labels = self.decision.decide(&none, &sums, self.priors);
        let each = rows.iter().zip(sums.chunks_exact(n_classes)).zip(labels.codes());
        each.map(|((&row, p), &label)| (row, p.to_vec(), label)).collect()
    }
}

/// Of what an ensemble is when time is over and the plain mean of the best, the one with the lower loss: where one pipeline is
/// far ahead of all others, a mean is nothing that a search would choose, and its score not that of the model.
fn hurried(judge: &Judge, candidates: &[&[f32]], grown: Selection) -> Selection {
    let mean = mean_of_the_best(candidates.len());
    let rows: Vec<u32> = (0..judge.n_rows() as u32).collect();
    let loss = loss_of(judge, candidates, &mean.weights, &rows);
    if loss < grown.loss { Selection { loss, ..mean } } else { grown }
}

/// Equal weights for the first of so many candidates.
fn mean_of_the_best(n_candidates: usize) -> Selection {
    let n = n_candidates.min(MEAN_OF);
    Selection { weights: (0..n).map(|i| (i, 1.0 / n as f64)).collect(), ..Selection::default() }
}

impl Trial {
    /// The native decisions on some rows.
    pub(crate) fn labels_of(&self, rows: &[usize]) -> Vec<u32> {
        rows.iter().map(|&row| self.labels[row]).collect()
    }
}

#[cfg(test)]
mod tests {
    use pitchpipe_learn::Stream;
    use pitchpipe_learn::estimate::EstimatorKind;
    use pitchpipe_table::{balanced_accuracy, stratified_folds};

    use super::super::tried::NewTrial;
    use super::*;

    /// A number between 0 and 1 that depends on all that it is given.
    fn drawn(seed: u64, candidate: u64, row: u64) -> f32 {
        let key = Stream::new(seed).child(candidate).child(row).key();
        (key >> 40) as f32 / (1u64 << 24) as f32
    }

    fn new(key: usize, error: f64) -> NewTrial {
        let kind = EstimatorKind::ALL[key % 5];
        NewTrial { key, print: key as u64, kind, error, n_bytes: 10, is_plain: false }
    }

    /// Candidates that guess, the first of which may know more.
    fn tried(seed: u64, n_rows: usize, n_candidates: u64, first_knows: bool) -> Tried {
        let truth = Labels::from_codes((0..n_rows as u32).map(|i| i % 2), 2);
        let mut tried = Tried::of(&truth, 0);
        for candidate in 0..n_candidates {
            let p: Vec<f32> = (0..n_rows)
                .flat_map(|row| {
                    let guess = drawn(seed, candidate, row as u64);
                    let p = match (candidate, first_knows, row % 2) {
                        (0, true, 0) => 0.4 * guess,
                        (0, true, _) => 1.0 - 0.4 * guess,
                        _ => guess,
                    };
                    [1.0 - p, p]
                })
                .collect();
            tried.add(new(candidate as usize, 0.5), &p, &vec![0; n_rows]);
        }
        tried
    }

    fn choice(combination: Combination) -> Choice<'static> {
        Choice {
            metric: Metric::BalancedError,
            combination,
            decision: Decision::BalancedError,
            priors: &[0.5, 0.5],
            settings: GreedySettings::default(),
            n_candidates: 40,
            n_of_a_kind: 8,
            size_limit: u64::MAX,
        }
    }

    fn accuracy(tried: &Tried, seed: u64) -> f64 {
        let folds = stratified_folds(tried.truth(), PARTS, seed);
        let fitted = choice(Combination::Average).cross_fit(tried, &folds.folds, &|_| false);
        let fitted = fitted.expect("there are candidates");
        assert_eq!(fitted.rows, (0..tried.truth().len()).collect::<Vec<_>>());
        balanced_accuracy(&fitted.truth, &fitted.labels)
    }

    #[test]
    fn the_best_of_many_guesses_are_worth_no_more_than_a_guess() {
        let mean = (0..20).map(|s| accuracy(&tried(s, 60, 100, false), s)).sum::<f64>() / 20.0;
        assert!((mean - 0.5).abs() < 0.04, "{mean}");
    }

    #[test]
    fn a_candidate_that_knows_is_found_on_the_other_rows() {
        assert!(accuracy(&tried(1, 60, 100, true), 1) > 0.9);
    }

    #[test]
    fn one_that_is_far_ahead_is_not_lost_in_a_mean_when_time_is_over() {
        let all = tried(1, 60, 20, true);
        let folds = stratified_folds(all.truth(), PARTS, 1);
        let fitted = choice(Combination::Average).cross_fit(&all, &folds.folds, &|_| true).unwrap();
        let accuracy = balanced_accuracy(&fitted.truth, &fitted.labels);
        assert!(accuracy > 0.95, "{accuracy}");
    }

    #[test]
    fn a_vote_is_cross_fitted_too() {
        let truth = Labels::from_codes((0..40).map(|i| i % 2), 2);
        let mut all = Tried::of(&truth, 0);
        let p = vec![0.5; 80];
        let wrong: Vec<u32> = truth.codes().iter().map(|c| 1 - c).collect();
        all.add(new(0, 0.0), &p, truth.codes());
        all.add(new(1, 1.0), &p, &wrong);
        let folds = stratified_folds(&truth, PARTS, 0);
        let vote = choice(Combination::Vote).cross_fit(&all, &folds.folds, &|_| false).unwrap();
        // The two disagree on every row, and the better-ranked one wins.
        assert_eq!(vote.labels, truth);
    }

    #[test]
    fn a_model_with_room_for_one_learner_is_scored_as_such() {
        let all = tried(3, 60, 20, false);
        let folds = stratified_folds(all.truth(), PARTS, 0);
        let one = Choice { size_limit: 19, ..choice(Combination::Average) };
        let fitted = one.cross_fit(&all, &folds.folds, &|_| false).unwrap();
        let test = &folds.folds[0].test;
        let is_of = |trial: &&Trial| {
            let own = trial.probabilities(test, 2);
            test.iter()
                .zip(own.chunks(2))
                .all(|(&row, p)| (fitted.probabilities[row * 2] - f64::from(p[0])).abs() < 1e-4)
        };
        assert!(all.trials().iter().any(is_of));
    }

    #[test]
    fn where_nothing_was_tried_there_is_no_score() {
        let truth = Labels::from_codes([0, 1, 0, 1], 2);
        let folds = stratified_folds(&truth, 2, 0);
        let none = Tried::of(&truth, 0);
        let fitted = choice(Combination::Average).cross_fit(&none, &folds.folds, &|_| false);
        assert_eq!(fitted, None);
    }
}
