//! What one step of the search runs: a whole family of settings on one preparation.

use std::collections::BTreeMap;

use pitchpipe_learn::PipelineId;
use pitchpipe_learn::estimate::EstimatorSpec;
use pitchpipe_learn::search_space::{N_ESTIMATORS, estimators};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::search::{Action, Actions};

use super::space::Space;

/// The family of each estimator of the search space, numbered from zero.
pub(crate) fn family_of_estimators() -> Vec<usize> {
    let all = estimators();
    let mut firsts: Vec<usize> = Vec::new();
    (0..all.len())
        .map(|i| {
            let is_ours = |&first: &usize| all[first].is_family_of(&all[i]);
            firsts.iter().position(is_ours).unwrap_or_else(|| {
                firsts.push(i);
                firsts.len() - 1
            })
        })
        .collect()
}

/// The type of a pipeline's estimator.
pub(crate) fn kind_of(id: PipelineId) -> &'static str {
    estimators()[id.positions()[4]].name()
}

/// The families of a space, one action each: computations that share a preparation and a family.
pub(crate) fn actions(space: &Space) -> Result<Actions, SurrogateError> {
    let family = family_of_estimators();
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for at in 0..space.len() {
        let id = space.id(at);
        let estimator = id.positions()[4];
        let preparation = id.index() / N_ESTIMATORS;
        groups.entry((preparation, family[estimator])).or_default().push(at);
    }
    let action = |((_, _), members): ((usize, usize), Vec<usize>)| {
        let estimator = &estimators()[space.id(members[0]).positions()[4]];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_settings_of_one_type() {
        let family = family_of_estimators();
        assert_eq!(family.len(), N_ESTIMATORS);
        for i in 0..N_ESTIMATORS {
            for j in 0..i {
                if family[i] == family[j] {
                    assert_eq!(estimators()[i].name(), estimators()[j].name());
                }
            }
        }
        let n_families = family.iter().max().unwrap() + 1;
        assert!(n_families < 80, "{n_families}");
    }
}
