//! The paper's dataset meta-features (Appendix B): those that need no model, then the landmarks.

use pitchpipe_learn::{FitContext, FitError, landmarks};
use pitchpipe_table::{Dataset, MetaFeature};

/// The seed of the landmarks' folds: a table has one description.
const SEED: u64 = 0;

/// All of them, in the order of the paper's table; a value is missing where the dataset has none.
pub fn meta_features(dataset: &Dataset) -> Result<Vec<MetaFeature>, FitError> {
    let mut features = dataset.meta_features();
    features.extend(landmarks(dataset, SEED, &FitContext::unhurried())?);
    Ok(features)
}
