//! The block `paper`: 4 imputers, 2 encoders, 2 standardizers, 8 reducers and 183 estimators, the grids of
//! ALGORITHMS §2, in the order of the published tensor. Stores and surrogates rely on it: it never changes.

use std::num::NonZeroUsize;

use super::{Block, Product};
use crate::encode::Encoder;
use crate::estimate::{
    AdaBoost, Criterion, DecisionTree, EstimatorSpec, ExtraTrees, GaussianNb, GradientBoosting,
    Knn, LinearSvm, LogisticRegression, MaxFeatures, MinSamplesSplit, Minkowski, Mlp, MlpSolver,
    Penalty, Perceptron, RandomForest, Solver,
};
use crate::impute::Imputer;
use crate::reduce::Reducer;
use crate::scale::Scaler;
use MinSamplesSplit::{Count, Fraction};

/// The name of the paper's block.
pub const PAPER: &str = "paper";

/// All 23,424 pipelines.
pub(super) fn block() -> Block {
    let product = Product {
        imputers: Imputer::FILLING.to_vec(),
        encoders: Encoder::OF_NUMBERS.to_vec(),
        scalers: Scaler::ALL.to_vec(),
        reducers: Reducer::ALL.to_vec(),
        estimators: estimators(),
    };
    Block::product(PAPER, product)
}

/// In the tensor's order 256 comes before 2 for the tree and after it for the forests.
const TREE_SPLITS: [MinSamplesSplit; 14] = [
    Fraction(1e-4),
    Fraction(1e-3),
    Fraction(0.01),
    Count(1024),
    Count(128),
    Count(16),
    Fraction(1e-5),
    Count(256),
    Count(2),
    Count(32),
    Count(4),
    Count(512),
    Count(64),
    Count(8),
];

/// With 0.1, which the paper's table leaves out.
const FOREST_SPLITS: [MinSamplesSplit; 15] = [
    Fraction(1e-4),
    Fraction(1e-3),
    Fraction(0.01),
    Fraction(0.1),
    Count(1024),
    Count(128),
    Count(16),
    Fraction(1e-5),
    Count(2),
    Count(256),
    Count(32),
    Count(4),
    Count(512),
    Count(64),
    Count(8),
];

/// All estimators; in nested loops the innermost varies fastest.
fn estimators() -> Vec<EstimatorSpec> {
    let mut all = Vec::new();
    boosted_stumps(&mut all);
    all.extend(TREE_SPLITS.map(|min_samples_split| DecisionTree { min_samples_split }.into()));
    for (min_samples_split, criterion) in forest_settings() {
        all.push(ExtraTrees { min_samples_split, criterion }.into());
    }
    boosted_trees(&mut all);
    all.push(GaussianNb {}.into());
    neighbours(&mut all);
    logistic_regressions(&mut all);
    networks(&mut all);
    all.push(Perceptron {}.into());
    for (min_samples_split, criterion) in forest_settings() {
        all.push(RandomForest { min_samples_split, criterion }.into());
    }
    all.extend([0.125, 0.25, 0.5, 0.75, 16.0, 1.0, 2.0, 4.0, 8.0].map(|c| LinearSvm { c }.into()));
    all
}

fn forest_settings() -> impl Iterator<Item = (MinSamplesSplit, Criterion)> {
    FOREST_SPLITS.into_iter().flat_map(|s| [(s, Criterion::Entropy), (s, Criterion::Gini)])
}

fn boosted_stumps(all: &mut Vec<EstimatorSpec>) {
    for n_estimators in [100, 50] {
        for learning_rate in [1.0, 1.5, 2.0, 2.5, 3.0] {
            all.push(AdaBoost { n_estimators, learning_rate }.into());
        }
    }
}

fn boosted_trees(all: &mut Vec<EstimatorSpec>) {
    for learning_rate in [0.001, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5] {
        for max_depth in [3, 6] {
            for max_features in [MaxFeatures::Log2, MaxFeatures::All] {
                all.push(GradientBoosting { learning_rate, max_depth, max_features }.into());
            }
        }
    }
}

fn neighbours(all: &mut Vec<EstimatorSpec>) {
    for n_neighbors in [1, 11, 13, 15, 3, 5, 7, 9] {
        let n_neighbors = NonZeroUsize::new(n_neighbors).expect("none of them is zero");
        for p in [Minkowski::Manhattan, Minkowski::Euclidean] {
            all.push(Knn { n_neighbors, p }.into());
        }
    }
}

fn logistic_regressions(all: &mut Vec<EstimatorSpec>) {
    for c in [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0] {
        for solver in [Solver::Liblinear, Solver::Saga] {
            for penalty in [Penalty::L1, Penalty::L2] {
                all.push(LogisticRegression { c, solver, penalty }.into());
            }
        }
    }
}

fn networks(all: &mut Vec<EstimatorSpec>) {
    for learning_rate_init in [1e-4, 1e-3, 0.01] {
        for solver in [MlpSolver::Adam, MlpSolver::Sgd] {
            for alpha in [1e-4, 0.01] {
                all.push(Mlp { learning_rate_init, solver, alpha }.into());
            }
        }
    }
}
