//! What one step of the search runs: a whole family of settings on one preparation.

use std::collections::BTreeMap;
use std::sync::Arc;

use pitchpipe_learn::estimate::{EstimatorKind, HistogramBoosting};
use pitchpipe_learn::{Pipeline, PipelineId, Preparation, SearchSpace};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::search::{Action, Actions};

/// What the default policy has to know of pipelines: numbers, so that it need not know pipelines. The same for a
/// table and for a replay.
pub struct Families {
    /// What one fit reveals: pipelines that share a preparation and a family.
    pub actions: Arc<Actions>,
    /// The kind of each pipeline's estimator.
    pub kinds: Vec<usize>,
    /// The preparation of each pipeline.
    pub preparations: Vec<usize>,
    /// The actions to open with.
    pub opening: Vec<usize>,
    /// Boosting on histograms as most would try it first, and then faster ones.
    pub boosting: Vec<usize>,
}

/// The kinds that open, behind a preparation that is scaled and has all columns.
const OPENING: [EstimatorKind; 2] = [EstimatorKind::GaussianNb, EstimatorKind::DecisionTree];

impl Families {
    /// The families of these pipelines of a search space, which are known by their positions from then on.
    pub fn of(space: &SearchSpace, ids: &[PipelineId]) -> Result<Self, SurrogateError> {
        let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (at, &id) in ids.iter().enumerate() {
            let family = (space.preparation_index(id), space.family(id));
            groups.entry(family).or_default().push(at);
        }
        let action = |members: Vec<usize>| {
            let family = space.kind(ids[members[0]]).character().family;
            Action { cost_factor: family.factor(members.len()), members }
        };
        let actions = Actions::new(ids.len(), groups.into_values().map(action))?;
        let mut kinds: Vec<EstimatorKind> = Vec::new();
        let number = |&id: &PipelineId| {
            let kind = space.kind(id);
            kinds.iter().position(|k| *k == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            })
        };
        Ok(Self {
            kinds: ids.iter().map(number).collect(),
            preparations: ids.iter().map(|&id| space.preparation_index(id)).collect(),
            opening: opening(space, ids, &actions),
            boosting: boosting(space, ids, &actions),
            actions: Arc::new(actions),
        })
    }
}

/// Boosting on histograms as most would try it first, if the space has it: it says how many rows there is time for.
pub(crate) fn plain_boosting(space: &SearchSpace) -> Option<PipelineId> {
    find_boosting(space, HistogramBoosting::default())
}

/// Boosting on histograms with these settings and the block's regularisation.
pub(crate) fn find_boosting(
    space: &SearchSpace,
    settings: HistogramBoosting,
) -> Option<PipelineId> {
    let settings = HistogramBoosting { l2_regularization: 1.0, ..settings };
    let pipeline = Pipeline { preparation: Preparation::AS_IT_IS, estimator: settings.into() };
    space.find(&pipeline)
}

/// The families of boosting to open with, the dearest first: slow learning, fast learning, and that with small trees.
fn boosting(space: &SearchSpace, ids: &[PipelineId], actions: &Actions) -> Vec<usize> {
    let slow = HistogramBoosting::default();
    let fast = HistogramBoosting { learning_rate: 0.3, ..slow.clone() };
    let small = HistogramBoosting { max_leaf_nodes: 8, ..fast.clone() };
    let action = |settings| {
        let id = find_boosting(space, settings)?;
        let at = ids.iter().position(|&other| other == id)?;
        (0..actions.len()).find(|&action| actions.members(action).contains(&at))
    };
    [slow, fast, small].into_iter().filter_map(action).collect()
}

fn opening(space: &SearchSpace, ids: &[PipelineId], actions: &Actions) -> Vec<usize> {
    let wanted = |kind: &EstimatorKind| {
        (0..actions.len()).find(|&action| {
            let id = ids[actions.members(action)[0]];
            let preparation = space.preparation(id);
            preparation == Preparation::of_oboe(preparation.imputer) && space.kind(id) == *kind
        })
    };
    OPENING.iter().filter_map(wanted).collect()
}
