//! Each step before the estimator as the Python expression that makes it.

use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::scale::Scaler;
use pitchpipe_learn::scikit_learn::PythonScript;

/// Where the table has no categories, how these are filled makes no difference.
pub(super) fn imputer(
    imputer: Imputer,
    has_categories: bool,
    script: &mut PythonScript,
) -> Option<String> {
    let settings = match imputer {
        Imputer::MeanOrMode if has_categories => return Some("ByKind(\"mean\")".to_owned()),
        Imputer::MedianOrMode if has_categories => return Some("ByKind(\"median\")".to_owned()),
        Imputer::Constant => "strategy=\"constant\", fill_value=0",
        Imputer::Mean | Imputer::MeanOrMode => "strategy=\"mean\"",
        Imputer::Median | Imputer::MedianOrMode => "strategy=\"median\"",
        Imputer::MostFrequent => "strategy=\"most_frequent\"",
        Imputer::Keep => return None,
    };
    script.import("sklearn.impute", "SimpleImputer");
    Some(format!("SimpleImputer({settings})"))
}

pub(super) fn scaler(scaler: Scaler, script: &mut PythonScript) -> Option<String> {
    match scaler {
        Scaler::Standardise => {
            script.import("sklearn.preprocessing", "StandardScaler");
            Some("StandardScaler()".to_owned())
        }
        Scaler::None => None,
    }
}

/// Shares are of the features before one-hot encoding (ALGORITHMS §2).
pub(super) fn reducer(
    reducer: Reducer,
    n_features: usize,
    script: &mut PythonScript,
) -> Option<String> {
    match reducer {
        Reducer::Pca(share) => {
            script.import("sklearn.decomposition", "PCA");
            Some(format!("PCA(n_components={}, svd_solver=\"full\")", share.of(n_features)))
        }
        Reducer::SelectKBest(share) => {
            script.import("sklearn.feature_selection", "SelectKBest");
            script.import("sklearn.feature_selection", "f_classif");
            Some(format!("SelectKBest(f_classif, k={})", share.of(n_features)))
        }
        Reducer::VarianceThreshold => {
            script.import("sklearn.feature_selection", "VarianceThreshold");
            Some("VarianceThreshold()".to_owned())
        }
        Reducer::None => None,
    }
}
