//! Each component as the Python expression that makes it.

use pitchpipe_learn::estimate::{
    Criterion, EstimatorSpec, LogisticRegression, MaxFeatures, MinSamplesSplit, Minkowski,
    MlpSolver, Penalty, Solver,
};
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::scale::Scaler;

use super::imports::Imports;

pub(super) fn imputer(imputer: Imputer, imports: &mut Imports) -> String {
    imports.add("sklearn.impute", "SimpleImputer");
    let settings = match imputer {
        Imputer::Constant => "strategy=\"constant\", fill_value=0",
        Imputer::Mean => "strategy=\"mean\"",
        Imputer::Median => "strategy=\"median\"",
        Imputer::MostFrequent => "strategy=\"most_frequent\"",
    };
    format!("SimpleImputer({settings})")
}

pub(super) fn scaler(scaler: Scaler, imports: &mut Imports) -> Option<String> {
    match scaler {
        Scaler::Standardise => {
            imports.add("sklearn.preprocessing", "StandardScaler");
            Some("StandardScaler()".to_owned())
        }
        Scaler::None => None,
    }
}

/// Shares are of the features before one-hot encoding (ALGORITHMS §2).
pub(super) fn reducer(
    reducer: Reducer,
    n_features: usize,
    imports: &mut Imports,
) -> Option<String> {
    match reducer {
        Reducer::Pca(share) => {
            imports.add("sklearn.decomposition", "PCA");
            Some(format!("PCA(n_components={}, svd_solver=\"full\")", share.of(n_features)))
        }
        Reducer::SelectKBest(share) => {
            imports.add("sklearn.feature_selection", "SelectKBest");
            imports.add("sklearn.feature_selection", "f_classif");
            Some(format!("SelectKBest(f_classif, k={})", share.of(n_features)))
        }
        Reducer::VarianceThreshold => {
            imports.add("sklearn.feature_selection", "VarianceThreshold");
            Some("VarianceThreshold()".to_owned())
        }
        Reducer::None => None,
    }
}

pub(super) fn estimator(
    spec: &EstimatorSpec,
    n_classes: usize,
    seed: u64,
    imports: &mut Imports,
) -> String {
    // scikit-learn's seeds have 32 bits.
    let seed = seed % (1 << 32);
    match spec {
        EstimatorSpec::AdaBoost(e) => {
            imports.samme_r();
            let (n, rate) = (e.n_estimators, e.learning_rate);
            format!("SammeR(n_estimators={n}, learning_rate={rate:?}, random_state={seed})")
        }
        EstimatorSpec::DecisionTree(e) => {
            imports.add("sklearn.tree", "DecisionTreeClassifier");
            let split = split(e.min_samples_split);
            format!("DecisionTreeClassifier(min_samples_split={split}, random_state={seed})")
        }
        EstimatorSpec::ExtraTrees(e) => {
            imports.add("sklearn.ensemble", "ExtraTreesClassifier");
            forest("ExtraTreesClassifier", e.min_samples_split, e.criterion, seed)
        }
        EstimatorSpec::RandomForest(e) => {
            imports.add("sklearn.ensemble", "RandomForestClassifier");
            forest("RandomForestClassifier", e.min_samples_split, e.criterion, seed)
        }
        EstimatorSpec::GradientBoosting(e) => {
            imports.add("sklearn.ensemble", "GradientBoostingClassifier");
            let max_features = match e.max_features {
                MaxFeatures::Log2 => "\"log2\"",
                MaxFeatures::All => "None",
            };
            let (rate, depth) = (e.learning_rate, e.max_depth);
            format!(
                "GradientBoostingClassifier(learning_rate={rate:?}, max_depth={depth}, \
                 max_features={max_features}, random_state={seed})"
            )
        }
        EstimatorSpec::GaussianNb(_) => {
            imports.add("sklearn.naive_bayes", "GaussianNB");
            "GaussianNB()".to_owned()
        }
        EstimatorSpec::Knn(e) => {
            imports.add("sklearn.neighbors", "KNeighborsClassifier");
            let p = match e.p {
                Minkowski::Manhattan => 1,
                Minkowski::Euclidean => 2,
            };
            format!("KNeighborsClassifier(n_neighbors={}, p={p})", e.n_neighbors)
        }
        EstimatorSpec::LogisticRegression(e) => logistic_regression(e, n_classes, seed, imports),
        EstimatorSpec::Mlp(e) => {
            imports.add("sklearn.neural_network", "MLPClassifier");
            let solver = match e.solver {
                MlpSolver::Adam => "adam",
                MlpSolver::Sgd => "sgd",
            };
            let (rate, alpha) = (e.learning_rate_init, e.alpha);
            format!(
                "MLPClassifier(learning_rate_init={rate:?}, learning_rate=\"adaptive\", \
                 solver=\"{solver}\", alpha={alpha:?}, random_state={seed})"
            )
        }
        EstimatorSpec::Perceptron(_) => {
            imports.add("sklearn.linear_model", "Perceptron");
            imports.soft_decisions();
            format!("SoftDecisions(Perceptron(random_state={seed}))")
        }
        EstimatorSpec::LinearSvm(e) => {
            imports.add("sklearn.svm", "LinearSVC");
            imports.soft_decisions();
            format!("SoftDecisions(LinearSVC(C={:?}, dual=True, random_state={seed}))", e.c)
        }
    }
}

/// Newer releases leave one-vs-rest to a wrapper; older ones do the same inside.
fn logistic_regression(
    e: &LogisticRegression,
    n_classes: usize,
    seed: u64,
    imports: &mut Imports,
) -> String {
    imports.add("sklearn.linear_model", "LogisticRegression");
    let solver = match e.solver {
        Solver::Liblinear => "liblinear",
        Solver::Saga => "saga",
    };
    let penalty = match e.penalty {
        Penalty::L1 => {
            imports.l1();
            ", **L1"
        }
        Penalty::L2 => "",
    };
    let c = e.c;
    let model =
        format!("LogisticRegression(C={c:?}, solver=\"{solver}\", random_state={seed}{penalty})");
    if e.solver == Solver::Liblinear && n_classes > 2 {
        imports.add("sklearn.multiclass", "OneVsRestClassifier");
        return format!("OneVsRestClassifier({model})");
    }
    model
}

fn forest(class: &str, split_at: MinSamplesSplit, criterion: Criterion, seed: u64) -> String {
    let criterion = match criterion {
        Criterion::Entropy => "entropy",
        Criterion::Gini => "gini",
    };
    let split = split(split_at);
    format!("{class}(min_samples_split={split}, criterion=\"{criterion}\", random_state={seed})")
}

fn split(value: MinSamplesSplit) -> String {
    match value {
        MinSamplesSplit::Count(count) => count.to_string(),
        MinSamplesSplit::Fraction(share) => format!("{share:?}"),
    }
}
