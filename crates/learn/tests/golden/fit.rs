//! From a case's setting to our prediction.

use pitchpipe_learn::estimate::EstimatorSpec;
use pitchpipe_learn::{Classifier, FitContext, FitError, Prediction};
use serde_json::Value;

use crate::table::Split;

/// Fits a setting, e.g. `{"Knn": {"n_neighbors": 5, "p": "Euclidean"}}`, and predicts the test rows.
pub(crate) fn fit_and_predict(
    spec: &Value,
    split: &Split,
    ctx: &FitContext,
) -> Result<Prediction, FitError> {
    let spec: EstimatorSpec = serde_json::from_value(spec.clone()).expect("one of our settings");
    spec.fit(&split.train, &split.y_train, ctx)?.predict(&split.test, ctx)
}
