//! Forward selection with replacement (Caruana et al., 2004), bagged over candidates and rows.

use rand::RngExt;
use rayon::prelude::*;

use pitchpipe_learn::Stream;

use super::{Judge, Selection};

/// With more probabilities than this bags are grown one after the other, which takes less memory.
const MOST_CELLS_SIDE_BY_SIDE: usize = 1 << 24;

/// How an ensemble is grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GreedySettings {
    /// How many times a learner is added.
    pub n_rounds: usize,
    /// Over how many bags weights are averaged.
    pub n_bags: usize,
    /// The share of the candidates that a bag may choose among.
    pub bag_share: f64,
    /// Seed of the bags.
    pub seed: u64,
}

impl Default for GreedySettings {
    fn default() -> Self {
        Self { n_rounds: 24, n_bags: 8, bag_share: 0.4, seed: 0 }
    }
}

/// Chooses weights for candidates, given the probabilities of each, row-major and best candidate first. Once
/// `is_over` the ensemble is left as it is by then.
pub fn select(
    judge: &Judge,
    candidates: &[&[f32]],
    settings: &GreedySettings,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Selection {
    if candidates.is_empty() {
        return Selection::default();
    }
    let rows: Vec<u32> = (0..judge.n_rows() as u32).collect();
    let mut total = vec![0.0; candidates.len()];
    let n_bags = if candidates.len() < 4 { 1 } else { settings.n_bags.max(1) };
    let mut n_done = 0;
    let grow_bag = |bag: usize| {
        let among = bag_of(candidates.len(), bag, n_bags, settings);
        let is_late = bag > 0 && is_over();
        (!is_late).then(|| grow(judge, candidates, &among, &rows, settings.n_rounds, is_over))
    };
    // Each bag at work holds sums for all rows.
    let is_small = judge.n_rows() * judge.n_classes() <= MOST_CELLS_SIDE_BY_SIDE;
    let grown: Vec<Option<Vec<usize>>> = match is_small {
        true => (0..n_bags).into_par_iter().map(grow_bag).collect(),
        false => (0..n_bags).map(grow_bag).collect(),
    };
    for counts in grown.into_iter().flatten() {
        n_done += 1;
        let sum: usize = counts.iter().sum();
        for (weight, count) in total.iter_mut().zip(counts) {
            *weight += count as f64 / sum as f64;
        }
    }
    let mut weights: Vec<(usize, f64)> = total
        .into_iter()
        .enumerate()
        .filter(|(_, weight)| *weight > 0.0)
        .map(|(i, weight)| (i, weight / f64::from(n_done)))
        .collect();
    weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let loss = loss_of(judge, candidates, &weights, &rows);
    Selection { weights, loss }
}

/// The loss of given weights.
pub(super) fn loss_of(
    judge: &Judge,
    candidates: &[&[f32]],
    weights: &[(usize, f64)],
    rows: &[u32],
) -> f64 {
    let mut sums = vec![0.0f32; judge.n_rows() * judge.n_classes()];
    for &(i, weight) in weights {
        sums.iter_mut().zip(candidates[i]).for_each(|(s, p)| *s += weight as f32 * p);
    }
    judge.loss(&sums, 1.0, rows)
}

/// The candidates of one bag: the best one is in all of them, so that no bag is left with poor ones alone.
fn bag_of(n: usize, bag: usize, n_bags: usize, settings: &GreedySettings) -> Vec<usize> {
    if n_bags == 1 {
        return (0..n).collect();
    }
    let mut rng = Stream::new(settings.seed).named("bags").child(bag as u64).rng();
    (0..n).filter(|&i| i == 0 || rng.random_range(0.0..1.0) < settings.bag_share).collect()
}

/// How often each candidate is taken: at each round the one that lowers the loss most. The prefix with the
/// lowest loss is kept.
fn grow(
    judge: &Judge,
    candidates: &[&[f32]],
    among: &[usize],
    rows: &[u32],
    n_rounds: usize,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Vec<usize> {
    let size = judge.n_rows() * judge.n_classes();
    let (mut sums, mut trial) = (vec![0.0f32; size], vec![0.0f32; size]);
    let mut taken = Vec::with_capacity(n_rounds);
    let (mut lowest, mut best_len) = (f64::INFINITY, 0);
    for round in 0..n_rounds {
        if round > 0 && is_over() {
            break;
        }
        let factor = 1.0 / (round + 1) as f32;
        let mut choice: Option<(usize, f64)> = None;
        for &i in among {
            trial.iter_mut().zip(&sums).zip(candidates[i]).for_each(|((t, s), p)| *t = s + p);
            let loss = judge.loss(&trial, factor, rows);
            if choice.is_none_or(|(_, least)| loss < least) {
                choice = Some((i, loss));
            }
        }
        let Some((i, loss)) = choice else { break };
        sums.iter_mut().zip(candidates[i]).for_each(|(s, p)| *s += p);
        taken.push(i);
        if loss < lowest {
            (lowest, best_len) = (loss, taken.len());
        }
    }
    let mut counts = vec![0; candidates.len()];
    taken[..best_len].iter().for_each(|&i| counts[i] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use pitchpipe_table::{Labels, Metric};

    use super::*;

    /// Three learners that are each wrong on another third of the rows.
    fn complementary() -> (Judge, Vec<Vec<f32>>) {
        let codes: Vec<u32> = (0..30).map(|i| i % 2).collect();
        let truth = Labels::from_codes(codes.clone(), 2);
        let judge = Judge::new(&truth, &[0.5, 0.5], Metric::BalancedError).with_smooth_share(0.05);
        let learner = |wrong: usize| {
            let p = |i: usize| if i / 10 == wrong { 0.4 } else { 0.9 };
            codes
                .iter()
                .enumerate()
                .flat_map(|(i, &c)| if c == 0 { [p(i), 1.0 - p(i)] } else { [1.0 - p(i), p(i)] })
                .collect()
        };
        (judge, (0..3).map(learner).collect())
    }

    #[test]
    fn learners_that_err_apart_are_combined() {
        let (judge, learners) = complementary();
        let candidates: Vec<&[f32]> = learners.iter().map(Vec::as_slice).collect();
        let selection = select(&judge, &candidates, &GreedySettings::default(), &|| false);
        assert_eq!(selection.weights.len(), 3);
        assert!((selection.weights.iter().map(|w| w.1).sum::<f64>() - 1.0).abs() < 1e-12);
        let rows: Vec<u32> = (0..30).collect();
        let alone = loss_of(&judge, &candidates, &[(0, 1.0)], &rows);
        assert!(selection.loss < 0.05 && alone > 0.3, "{} {alone}", selection.loss);
    }

    #[test]
    fn one_candidate_is_the_ensemble() {
        let (judge, learners) = complementary();
        let selection = select(&judge, &[&learners[1]], &GreedySettings::default(), &|| false);
        assert_eq!(selection.weights, [(0, 1.0)]);
    }

    #[test]
    fn none_makes_none() {
        let (judge, _) = complementary();
        assert!(select(&judge, &[], &GreedySettings::default(), &|| false).weights.is_empty());
    }
}
