//! Boosting on histograms, behind nothing: missing cells and categories as they are.

use super::Block;
use crate::estimate::HistogramBoosting;
use crate::{Pipeline, Preparation};

/// The name of its block.
pub const HISTOGRAM_BOOSTING: &str = "histogram_boosting";

/// Rounds that are worth looking at for each learning rate.
const ROUNDS: [(f64, &[usize]); 3] =
    [(0.3, &[25, 50, 100, 200]), (0.1, &[50, 100, 200, 400]), (0.03, &[100, 200, 400, 1000])];

/// The most rounds of trees with many leaves: more are too dear for what they bring.
const MOST_LARGE: usize = 400;

/// Trees of 8, 31 and 127 leaves at three learning rates; the smaller ones also with small leaves and half the columns a
/// tree.
pub(super) fn block() -> Block {
    let mut settings = Vec::new();
    for max_leaf_nodes in [8, 31, 127] {
        for (learning_rate, rounds) in ROUNDS {
            let plain = HistogramBoosting {
                learning_rate,
                max_leaf_nodes,
                l2_regularization: 1.0,
                ..HistogramBoosting::default()
            };
            let few_columns =
                HistogramBoosting { min_samples_leaf: 5, column_share: 0.5, ..plain.clone() };
            let is_small = max_leaf_nodes < 127;
            let rounds = rounds.iter().filter(|&&rounds| is_small || rounds <= MOST_LARGE);
            let with = |of: &HistogramBoosting| {
                let of = of.clone();
                rounds.clone().map(move |&max_iter| HistogramBoosting { max_iter, ..of.clone() })
            };
            settings.extend(with(&plain));
            if is_small && learning_rate < 0.3 {
                settings.extend(with(&few_columns));
            }
        }
    }
    let preparation = Preparation::AS_IT_IS;
    let pipeline =
        |settings: HistogramBoosting| Pipeline { preparation, estimator: settings.into() };
    Block::list(HISTOGRAM_BOOSTING, settings.into_iter().map(pipeline).collect())
}
