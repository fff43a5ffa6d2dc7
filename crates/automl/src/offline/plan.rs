//! Which pipelines to run on a dataset, in which batches.
//!
//! A batch is made so that its pipelines share as much work as they can: all imputers and encoders of one
//! standardizer and one kind of reducer. On a complete numeric table those 8 preparations are one matrix.

use std::collections::BTreeSet;

use pitchpipe_learn::Stream;
use pitchpipe_learn::search_space::{AXES, N_ESTIMATORS, PipelineId, estimators};

/// Reducers that share their work: one SVD serves three PCAs, one score three selections.
const REDUCER_KINDS: [&[usize]; 3] = [&[6, 7], &[3, 4, 5], &[0, 1, 2]];

/// The imputer of the slice that every dataset gets in full: the mean, as in the paper's Oboe.
const SLICE_IMPUTER: usize = 1;

/// What part of the search space to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The share of the families of estimators to draw for each batch, at random; 1 is all.
    pub fraction: f64,
    /// The seed of that draw.
    pub seed: u64,
    /// Run the 183 estimators behind Oboe's fixed preparation in full, whatever the fraction.
    pub slice: bool,
    /// Only estimators of these types (`"random_forest"`, …); all where empty.
    pub estimator_types: Vec<String>,
    /// Only these preparations, as positions on the four axes; all where empty.
    pub prefixes: Vec<[usize; 4]>,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            fraction: 1.0,
            seed: 0,
            slice: true,
            estimator_types: Vec::new(),
            prefixes: Vec::new(),
        }
    }
}

/// The batches for one dataset, in the order they are run: the slice first.
pub fn batches(scope: &Scope, dataset: &str) -> Vec<Vec<PipelineId>> {
    let mut planned = BTreeSet::new();
    let mut batches = Vec::new();
    let mut add = |wanted: Vec<PipelineId>| {
        let new: Vec<PipelineId> =
            wanted.into_iter().filter(|id| scope.includes(*id) && planned.insert(*id)).collect();
        if !new.is_empty() {
            batches.push(new);
        }
    };
    if scope.slice {
        add(prefix_members([SLICE_IMPUTER, 0, 0, 7], 0..N_ESTIMATORS).collect());
    }
    let stream = Stream::new(scope.seed).named(dataset);
    for standardizer in 0..AXES[2] {
        for (kind, reducers) in REDUCER_KINDS.iter().enumerate() {
            let stream = stream.child(standardizer as u64).child(kind as u64);
            let drawn = drawn_estimators(scope.fraction, stream);
            let prefixes = (0..AXES[0]).flat_map(|imputer| (0..AXES[1]).map(move |e| (imputer, e)));
            let pipelines = prefixes.flat_map(|(imputer, encoder)| {
                reducers.iter().flat_map({
                    let drawn = &drawn;
                    move |&reducer| {
                        let prefix = [imputer, encoder, standardizer, reducer];
                        prefix_members(prefix, drawn.iter().copied())
                    }
                })
            });
            add(pipelines.collect());
        }
    }
    batches
}

impl Scope {
    fn includes(&self, id: PipelineId) -> bool {
        let [imputer, encoder, standardizer, reducer, estimator] = id.positions();
        let has_type = |name: &str| self.estimator_types.iter().any(|t| t == name);
        (self.estimator_types.is_empty() || has_type(estimators()[estimator].name()))
            && (self.prefixes.is_empty()
                || self.prefixes.contains(&[imputer, encoder, standardizer, reducer]))
    }
}

fn prefix_members(
    [imputer, encoder, standardizer, reducer]: [usize; 4],
    estimators: impl IntoIterator<Item = usize>,
) -> impl Iterator<Item = PipelineId> {
    estimators.into_iter().map(move |estimator| {
        PipelineId::from_positions([imputer, encoder, standardizer, reducer, estimator])
            .expect("positions are in range")
    })
}

/// Estimators drawn family by family, since one fit answers for a whole family.
fn drawn_estimators(fraction: f64, stream: Stream) -> Vec<usize> {
    let all = estimators();
    let mut first_of: Vec<usize> = Vec::new();
    let mut drawn = Vec::new();
    for (position, estimator) in all.iter().enumerate() {
        let first = first_of.iter().copied().find(|&f| all[f].is_family_of(estimator));
        let first = first.unwrap_or_else(|| {
            first_of.push(position);
            position
        });
        let draw = stream.child(first as u64).key() as f64 / u64::MAX as f64;
        if draw < fraction || fraction >= 1.0 {
            drawn.push(position);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_space_is_planned_once() {
        let batches = batches(&Scope::default(), "iris");
        let ids: BTreeSet<PipelineId> = batches.iter().flatten().copied().collect();
        assert_eq!(ids.len(), 23_424);
        assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 23_424);
        assert_eq!(batches[0].len(), 183);
    }

    #[test]
    fn a_share_draws_whole_families_and_differs_by_dataset() {
        let scope = Scope { fraction: 0.2, slice: false, ..Scope::default() };
        let (a, b) = (batches(&scope, "a"), batches(&scope, "b"));
        let size = |batches: &[Vec<PipelineId>]| batches.iter().map(Vec::len).sum::<usize>();
        assert!((2_000..8_000).contains(&size(&a)), "{} pipelines", size(&a));
        assert_ne!(a, b);
        assert_eq!(a, batches(&scope, "a"));
    }

    #[test]
    fn a_list_of_types_and_prefixes_narrows_the_plan() {
        let scope = Scope {
            estimator_types: vec!["knn".into()],
            prefixes: vec![[0, 0, 0, 7], [1, 1, 1, 0]],
            ..Scope::default()
        };
        assert_eq!(batches(&scope, "a").iter().flatten().count(), 2 * 16);
    }
}
