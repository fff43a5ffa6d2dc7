//! Estimators: one file a kind, which says all that the rest of the house asks of it.

/// Hands the list of estimators to a macro. New ones go to the end: model files number them in this order.
macro_rules! with_estimators {
    ($take:ident) => {
        $take! {
            /// Boosted stumps.
            AdaBoost,
            /// One tree.
            DecisionTree,
            /// Trees with random thresholds.
            ExtraTrees,
            /// Boosted regression trees.
            GradientBoosting,
            /// Independent normal features.
            GaussianNb,
            /// Nearest neighbours.
            Knn,
            /// Logistic regression.
            LogisticRegression,
            /// A network with one hidden layer.
            Mlp,
            /// The perceptron.
            Perceptron,
            /// Trees on bootstrap samples.
            RandomForest,
            /// A linear support vector machine.
            LinearSvm,
            /// Boosted regression trees on histograms.
            HistogramBoosting,
        }
    };
}

mod abreast;
mod adaboost;
mod decision_tree;
mod extra_trees;
mod from_scores;
mod gaussian_nb;
mod gradient_boosting;
pub(crate) mod histogram_boosting;
mod knn;
mod linear;
mod linear_svm;
mod logistic_regression;
mod mlp;
mod perceptron;
mod random_forest;
mod spec;
pub(crate) mod tree;

pub use adaboost::{AdaBoost, FittedAdaBoost};
pub use decision_tree::DecisionTree;
pub use extra_trees::ExtraTrees;
pub use gaussian_nb::{FittedGaussianNb, GaussianNb};
pub use gradient_boosting::{FittedGradientBoosting, GradientBoosting};
pub use histogram_boosting::{ClassWeight, FittedHistogramBoosting, Growth, HistogramBoosting};
pub use knn::{FittedKnn, Knn, Minkowski};
pub use linear::calibrated::FittedMargins;
pub use linear_svm::LinearSvm;
pub use logistic_regression::{FittedLogisticRegression, LogisticRegression, Penalty, Solver};
pub use mlp::{FittedMlp, Mlp, MlpSolver};
pub use perceptron::Perceptron;
pub use random_forest::RandomForest;
pub use spec::{EstimatorKind, EstimatorSpec, FittedEstimator};
pub use tree::{Criterion, FittedForest, MaxFeatures, MinSamplesSplit};
