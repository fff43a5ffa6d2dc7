//! How components and pipelines are called where people read them.

use std::fmt::{self, Display, Formatter};

use crate::Pipeline;
use crate::encode::Encoder;
use crate::estimate::{
    Criterion, EstimatorSpec, MaxFeatures, MinSamplesSplit, Minkowski, MlpSolver, Penalty, Solver,
};
use crate::impute::Imputer;
use crate::preparation::Preparation;
use crate::reduce::Reducer;
use crate::scale::Scaler;

impl Display for Imputer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "impute(constant)",
            Self::Mean => "impute(mean)",
            Self::Median => "impute(median)",
            Self::MostFrequent => "impute(most_frequent)",
        })
    }
}

impl Display for Encoder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneHot => "one_hot",
            Self::None => "codes",
        })
    }
}

impl Display for Scaler {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standardise => "standardise",
            Self::None => "unscaled",
        })
    }
}

impl Display for Reducer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pca(share) => write!(f, "pca({}%)", share.percent()),
            Self::SelectKBest(share) => write!(f, "select_k_best({}%)", share.percent()),
            Self::VarianceThreshold => f.write_str("variance_threshold"),
            Self::None => f.write_str("all_features"),
        }
    }
}

impl Display for Preparation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} > {} > {}", self.imputer, self.encoder, self.scaler, self.reducer)
    }
}

impl Display for Pipeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.preparation, self.estimator)
    }
}

impl Display for EstimatorSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AdaBoost(m) => write!(
                f,
                "adaboost(n_estimators={}, learning_rate={})",
                m.n_estimators, m.learning_rate
            ),
            Self::DecisionTree(m) => {
                write!(f, "decision_tree(min_samples_split={})", split(m.min_samples_split))
            }
            Self::ExtraTrees(m) => forest(f, "extra_trees", m.min_samples_split, m.criterion),
            Self::GradientBoosting(m) => write!(
                f,
                "gradient_boosting(learning_rate={}, max_depth={}, max_features={})",
                m.learning_rate,
                m.max_depth,
                match m.max_features {
                    MaxFeatures::Log2 => "log2",
                    MaxFeatures::All => "all",
                }
            ),
            Self::GaussianNb(_) => f.write_str("gaussian_nb"),
            Self::Knn(m) => {
                let p = match m.p {
                    Minkowski::Manhattan => 1,
                    Minkowski::Euclidean => 2,
                };
                write!(f, "knn(n_neighbors={}, p={p})", m.n_neighbors)
            }
            Self::LogisticRegression(m) => {
                let solver = match m.solver {
                    Solver::Liblinear => "liblinear",
                    Solver::Saga => "saga",
                };
                let penalty = match m.penalty {
                    Penalty::L1 => "l1",
                    Penalty::L2 => "l2",
                };
                write!(f, "logistic_regression(c={}, solver={solver}, penalty={penalty})", m.c)
            }
            Self::Mlp(m) => {
                let solver = match m.solver {
                    MlpSolver::Adam => "adam",
                    MlpSolver::Sgd => "sgd",
                };
                write!(
                    f,
                    "mlp(learning_rate_init={}, solver={solver}, alpha={})",
                    m.learning_rate_init, m.alpha
                )
            }
            Self::Perceptron(_) => f.write_str("perceptron"),
            Self::RandomForest(m) => forest(f, "random_forest", m.min_samples_split, m.criterion),
            Self::LinearSvm(m) => write!(f, "linear_svm(c={})", m.c),
        }
    }
}

fn forest(
    f: &mut Formatter<'_>,
    name: &str,
    min_samples_split: MinSamplesSplit,
    criterion: Criterion,
) -> fmt::Result {
    let criterion = match criterion {
        Criterion::Entropy => "entropy",
        Criterion::Gini => "gini",
    };
    write!(f, "{name}(min_samples_split={}, criterion={criterion})", split(min_samples_split))
}

fn split(value: MinSamplesSplit) -> String {
    match value {
        MinSamplesSplit::Count(count) => count.to_string(),
        MinSamplesSplit::Fraction(share) => share.to_string(),
    }
}
