//! From a case's setting to our prediction.

use pitchpipe_learn::estimate::{
    AdaBoost, DecisionTree, ExtraTrees, GaussianNb, GradientBoosting, Knn, LinearSvm,
    LogisticRegression, Mlp, Perceptron, RandomForest,
};
use pitchpipe_learn::{Classifier, Estimator, FitContext, FitError, Prediction};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::table::Split;

/// Fits a setting, e.g. `{"Knn": {"n_neighbors": 5, "p": "Euclidean"}}`, and predicts the test rows.
pub(crate) fn fit_and_predict(
    spec: &Value,
    split: &Split,
    ctx: &FitContext,
) -> Result<Prediction, FitError> {
    let (kind, setting) = spec.as_object().and_then(|spec| spec.iter().next()).expect("a setting");
    match kind.as_str() {
        "AdaBoost" => with::<AdaBoost>(setting, split, ctx),
        "DecisionTree" => with::<DecisionTree>(setting, split, ctx),
        "ExtraTrees" => with::<ExtraTrees>(setting, split, ctx),
        "GaussianNb" => with::<GaussianNb>(setting, split, ctx),
        "GradientBoosting" => with::<GradientBoosting>(setting, split, ctx),
        "Knn" => with::<Knn>(setting, split, ctx),
        "LinearSvm" => with::<LinearSvm>(setting, split, ctx),
        "LogisticRegression" => with::<LogisticRegression>(setting, split, ctx),
        "Mlp" => with::<Mlp>(setting, split, ctx),
        "Perceptron" => with::<Perceptron>(setting, split, ctx),
        "RandomForest" => with::<RandomForest>(setting, split, ctx),
        _ => panic!("no such estimator: {kind}"),
    }
}

fn with<E: Estimator + DeserializeOwned>(
    setting: &Value,
    split: &Split,
    ctx: &FitContext,
) -> Result<Prediction, FitError> {
    let estimator: E = serde_json::from_value(setting.clone()).expect("one of our settings");
    estimator.fit(&split.train, &split.y_train, ctx)?.predict(&split.test, ctx)
}
