//! What one step of the search runs: a whole family of settings on one preparation.

use std::collections::BTreeMap;

use pitchpipe_learn::estimate::EstimatorSpec;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::search::{Action, Actions};

use super::space::Space;

/// The families of a space, one action each: computations that share a preparation and a family.
pub(crate) fn actions(space: &Space) -> Result<Actions, SurrogateError> {
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for at in 0..space.len() {
        let family = space.search().family(space.id(at));
        groups.entry((space.preparation_index(at), family)).or_default().push(at);
    }
    let action = |((_, _), members): ((usize, usize), Vec<usize>)| {
        let estimator = space.estimator(members[0]);
        Action { cost_factor: cost_factor(estimator, members.len()), members }
    };
    Actions::new(space.len(), groups.into_iter().map(action))
}

/// What a family costs in times of its dearest member alone (docs/decisions/0060-online.md).
pub(crate) fn cost_factor(estimator: &EstimatorSpec, n_members: usize) -> f64 {
    if n_members == 1 {
        return 1.0;
    }
    match estimator {
        EstimatorSpec::LogisticRegression(_) | EstimatorSpec::LinearSvm(_) => {
            1.0 + 0.3 * (n_members - 1) as f64
        }
        EstimatorSpec::DecisionTree(_) => 1.6,
        EstimatorSpec::RandomForest(_) | EstimatorSpec::ExtraTrees(_) => 1.3,
        _ => 1.2,
    }
}
