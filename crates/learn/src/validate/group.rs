//! Which pipelines share a preparation, and in what order preparations are made.

use std::collections::HashMap;

use pitchpipe_table::{Column, Dataset};

use super::fold::FoldData;
use crate::encode::Encoder;
use crate::estimate::EstimatorSpec;
use crate::impute::Imputer;
use crate::reduce::{Reducer, Share};
use crate::scale::Scaler;
use crate::{Pipeline, Preparation};

/// Pipelines whose preparations give the same matrices for a reason known beforehand: imputers that
/// fill in the same numbers, encoders of a table without categories.
pub(super) struct Group {
    /// The imputer that stands for the others, fold by fold.
    pub(super) imputers: Vec<Imputer>,
    /// The rest of the preparation; its imputer is that of the first fold.
    pub(super) preparation: Preparation,
    /// The shares of PCA that groups with the same scaled matrix want.
    pub(super) shares: Vec<Share>,
    /// Pipelines, by their position in the caller's list.
    pub(super) pipelines: Vec<usize>,
}

impl Group {
    /// What to prepare in one fold.
    pub(super) fn in_fold(&self, fold: usize) -> Preparation {
        Preparation { imputer: self.imputers[fold], ..self.preparation }
    }
}

type Base = (Vec<Imputer>, Encoder, Scaler);

/// The groups: those that share their first steps follow each other, in order of first appearance.
pub(super) fn groups(
    dataset: &Dataset,
    pipelines: &[Pipeline],
    folds: &[FoldData<'_>],
) -> Vec<Group> {
    let has_categories = dataset.columns().iter().any(|c| matches!(c, Column::Categorical { .. }));
    let mut groups: Vec<Group> = Vec::new();
    let mut found: HashMap<(Base, Reducer), usize> = HashMap::new();
    let mut base_order: HashMap<Base, usize> = HashMap::new();
    for (position, pipeline) in pipelines.iter().enumerate() {
        let mut preparation = pipeline.preparation;
        if !has_categories && !preparation.keeps_gaps() {
            preparation.encoder = Encoder::None;
        }
        let imputers: Vec<_> = folds.iter().map(|f| f.same_as(preparation.imputer)).collect();
        let base = (imputers.clone(), preparation.encoder, preparation.scaler);
        let n_bases = base_order.len();
        base_order.entry(base.clone()).or_insert(n_bases);
        let at = *found.entry((base, preparation.reducer)).or_insert_with(|| {
            groups.push(Group { imputers, preparation, shares: Vec::new(), pipelines: Vec::new() });
            groups.len() - 1
        });
        groups[at].pipelines.push(position);
    }
    share_projections(&mut groups, &base_order);
    groups
}

/// Puts groups of one base next to each other and tells each of the PCA shares wanted beside its own.
fn share_projections(groups: &mut [Group], base_order: &HashMap<Base, usize>) {
    let base = |g: &Group| (g.imputers.clone(), g.preparation.encoder, g.preparation.scaler);
    let mut shares: HashMap<Base, Vec<Share>> = HashMap::new();
    for group in groups.iter() {
        if let Reducer::Pca(share) = group.preparation.reducer {
            shares.entry(base(group)).or_default().push(share);
        }
    }
    for group in groups.iter_mut() {
        group.shares = shares.get(&base(group)).cloned().unwrap_or_default();
    }
    // Within the bases of one imputer, encoders and scalers would alternate in the caller's order.
    let first = |g: &Group| {
        base_order.iter().filter(|((i, ..), _)| *i == g.imputers).map(|(_, &n)| n).min()
    };
    groups.sort_by_cached_key(|g| {
        let p = g.preparation;
        let reducer = Reducer::ALL.iter().position(|&r| r == p.reducer);
        (first(g), p.encoder as usize, p.scaler as usize, reducer)
    });
}

/// The distinct estimators, and which of them each pipeline has.
pub(super) fn distinct_estimators(pipelines: &[Pipeline]) -> (Vec<EstimatorSpec>, Vec<usize>) {
    let mut distinct: Vec<EstimatorSpec> = Vec::new();
    let of_pipeline = pipelines
        .iter()
        .map(|pipeline| {
            let same = |e: &EstimatorSpec| *e == pipeline.estimator;
            distinct.iter().position(same).unwrap_or_else(|| {
                distinct.push(pipeline.estimator.clone());
                distinct.len() - 1
            })
        })
        .collect();
    (distinct, of_pipeline)
}
