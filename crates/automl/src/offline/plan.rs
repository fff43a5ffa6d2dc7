//! Which pipelines to run on a dataset, in which batches.
//!
//! A batch is made so that its pipelines share as much work as they can: all imputers and encoders of one
//! standardizer and one kind of reducer. On a complete numeric table those 8 preparations are one matrix.

use std::collections::{BTreeMap, BTreeSet};

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::scale::Scaler;
use pitchpipe_learn::{PipelineId, Preparation, SearchSpace, Stream};

/// The slice that every dataset gets in full: the mean, as in the paper's Oboe.
const SLICE: Preparation = Preparation::of_oboe(Imputer::Mean);

/// What part of the search space to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The share of the families of estimators to draw for each batch, at random; 1 is all.
    pub fraction: f64,
    /// The seed of that draw.
    pub seed: u64,
    /// Run all estimators behind Oboe's fixed preparation, whatever the fraction.
    pub slice: bool,
    /// Only estimators of these kinds; all where empty.
    pub kinds: Vec<EstimatorKind>,
    /// Only these preparations; all where empty.
    pub preparations: Vec<Preparation>,
}

impl Default for Scope {
    fn default() -> Self {
        Self { fraction: 1.0, seed: 0, slice: true, kinds: Vec::new(), preparations: Vec::new() }
    }
}

/// The batches for one dataset, in the order they are run: the slice first.
pub fn batches(space: &SearchSpace, scope: &Scope, dataset: &str) -> Vec<Vec<PipelineId>> {
    let mut planned = BTreeSet::new();
    let mut batches = Vec::new();
    let mut add = |wanted: Vec<PipelineId>| {
        let is_new = |id: &PipelineId| scope.includes(space, *id) && planned.insert(*id);
        let new: Vec<PipelineId> = wanted.into_iter().filter(is_new).collect();
        if !new.is_empty() {
            batches.push(new);
        }
    };
    if scope.slice {
        add(space.behind(SLICE));
    }
    let stream = Stream::new(scope.seed).named(dataset);
    let firsts = first_of_families(space);
    for (at, block) in space.blocks().iter().enumerate() {
        // The draws of the first block are those of stores that knew no other.
        let stream = if at == 0 { stream } else { stream.named(block.name()) };
        let mut sharing: BTreeMap<(usize, usize), Vec<PipelineId>> = BTreeMap::new();
        for id in space.range_of(block.name()).into_iter().flatten().filter_map(|j| space.id(j)) {
            let (scaler, reducers) = shared_work(space.preparation(id));
            let stream = stream.child(scaler as u64).child(reducers as u64);
            // Family by family, since one fit answers for a whole one.
            let family = stream.child(firsts[space.family(id)] as u64);
            let draw = family.key() as f64 / u64::MAX as f64;
            if draw < scope.fraction || scope.fraction >= 1.0 {
                sharing.entry((scaler, reducers)).or_default().push(id);
            }
        }
        sharing.into_values().for_each(&mut add);
    }
    batches
}

/// What preparations of one batch have in common: the standardizer, and reducers that share their work, as one
/// SVD serves all PCAs and one score all selections. The cheapest come first.
fn shared_work(preparation: Preparation) -> (usize, usize) {
    let scaler = match preparation.scaler {
        Scaler::Standardise => 0,
        Scaler::None => 1,
    };
    let reducers = match preparation.reducer {
        Reducer::VarianceThreshold | Reducer::None => 0,
        Reducer::SelectKBest(_) => 1,
        Reducer::Pca(_) => 2,
    };
    (scaler, reducers)
}

/// The first estimator of each family, by its place among the estimators.
fn first_of_families(space: &SearchSpace) -> Vec<usize> {
    let mut firsts = Vec::new();
    for id in space.ids() {
        let (estimator, family) = (space.estimator_index(id), space.family(id));
        if family == firsts.len() {
            firsts.push(estimator);
        }
    }
    firsts
}

impl Scope {
    fn includes(&self, space: &SearchSpace, id: PipelineId) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&space.kind(id)))
            && (self.preparations.is_empty() || self.preparations.contains(&space.preparation(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scope: &Scope, dataset: &str) -> Vec<Vec<PipelineId>> {
        batches(&SearchSpace::paper(), scope, dataset)
    }

    #[test]
    fn the_whole_space_is_planned_once() {
        let batches = batches(&SearchSpace::paper(), &Scope::default(), "iris");
        let ids: BTreeSet<PipelineId> = batches.iter().flatten().copied().collect();
        assert_eq!(ids.len(), 23_424);
        assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 23_424);
        assert_eq!(batches[0].len(), 183);
    }

    #[test]
    fn a_share_draws_whole_families_and_differs_by_dataset() {
        let scope = Scope { fraction: 0.2, slice: false, ..Scope::default() };
        let (a, b) = (of(&scope, "a"), of(&scope, "b"));
        let size = |batches: &[Vec<PipelineId>]| batches.iter().map(Vec::len).sum::<usize>();
        assert!((2_000..8_000).contains(&size(&a)), "{} pipelines", size(&a));
        assert_ne!(a, b);
        assert_eq!(a, of(&scope, "a"));
    }

    #[test]
    fn a_list_of_types_and_prefixes_narrows_the_plan() {
        let scope = Scope {
            kinds: vec![EstimatorKind::Knn],
            preparations: SearchSpace::paper().preparations()[30..32].to_vec(),
            ..Scope::default()
        };
        assert_eq!(of(&scope, "a").iter().flatten().count(), 2 * 16);
    }
}
