//! Block designs: one fit reveals a whole family of pipelines at one cost.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::design::greedy::Information;
use crate::design::{DesignVectors, check_limit};
use crate::error::SurrogateError;
use crate::panels::Panels;
use crate::search::Actions;
use crate::small::{Square, dot};

/// The actions to run, in the order they were chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockDesign {
    /// Indices of the chosen actions.
    pub actions: Vec<usize>,
    /// Their predicted seconds together.
    pub secs: f64,
}

/// Chooses actions within `limit_secs`, each time the one that adds most to the log-determinant per second:
/// `log det(I + Y_Fᵀ X⁻¹ Y_F) / t_F`, from a prior of unit variances (`X = I` before the first).
///
/// The gain is submodular, so a gain worked out earlier bounds the present one from above; only actions
/// whose bound is on top are worked out again (lazy greedy). The first bounds come from Hadamard's
/// inequality: `Σ log(1 + payoff)` over the members.
pub fn design_blocks(
    y: &DesignVectors,
    actions: &Actions,
    secs: &[f64],
    limit_secs: f64,
) -> Result<BlockDesign, SurrogateError> {
    y.check_secs(secs)?;
    check_limit(limit_secs)?;
    if actions.n_pipelines() != y.n_pipelines() {
        let (wanted, got) = (y.n_pipelines(), actions.n_pipelines());
        return Err(SurrogateError::Size { what: "pipelines of actions", wanted, got });
    }
    let Information { mut inverse, payoffs } = Information::of_unit_prior(&y.panels);
    let costs: Vec<f64> = (0..actions.len())
        .map(|a| actions.cost_secs(a, secs, |_| true).expect("actions have members"))
        .collect();
    let mut heap: BinaryHeap<Bound> = (0..actions.len())
        .map(|action| {
            let gain: f64 = actions.members(action).iter().map(|&j| payoffs[j].ln_1p()).sum();
            Bound { per_sec: gain / costs[action], action, as_of: usize::MAX }
        })
        .collect();
    let mut design = BlockDesign::default();
    while let Some(top) = heap.pop() {
        if design.secs + costs[top.action] > limit_secs {
            continue; // time only runs out: what does not fit now never will
        }
        let members = actions.members(top.action);
        if top.as_of == design.actions.len() {
            design.secs += costs[top.action];
            design.actions.push(top.action);
            add_block(&y.panels, &mut inverse, members);
            continue;
        }
        let per_sec = gain(&y.panels, &inverse, members) / costs[top.action];
        heap.push(Bound { per_sec, action: top.action, as_of: design.actions.len() });
    }
    Ok(design)
}

/// A bound on an action's gain per second, exact once it is as of the present design.
struct Bound {
    per_sec: f64,
    action: usize,
    as_of: usize,
}

impl Ord for Bound {
    fn cmp(&self, other: &Self) -> Ordering {
        self.per_sec.total_cmp(&other.per_sec).then(other.action.cmp(&self.action))
    }
}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Bound {}

/// `X⁻¹ y` of each member, and `I + Y_Fᵀ X⁻¹ Y_F`.
fn block(y: &Panels, inverse: &Square, members: &[usize]) -> (Vec<Vec<f64>>, Square) {
    let columns: Vec<Vec<f64>> = members.iter().map(|&j| y.column(j)).collect();
    let images: Vec<Vec<f64>> = columns.iter().map(|c| inverse.times(c)).collect();
    let mut spread = Square::identity(members.len());
    for i in 0..members.len() {
        for j in 0..=i {
            let c = dot(&columns[i], &images[j]);
            spread.set(i, j, spread.at(i, j) + c);
            if i != j {
                spread.set(j, i, c);
            }
        }
    }
    (images, spread)
}

fn gain(y: &Panels, inverse: &Square, members: &[usize]) -> f64 {
    block(y, inverse, members).1.cholesky().map_or(0.0, |factor| factor.log_det())
}

/// Sherman-Morrison-Woodbury for the whole block.
fn add_block(y: &Panels, inverse: &mut Square, members: &[usize]) {
    let (mut images, spread) = block(y, inverse, members);
    let Some(factor) = spread.cholesky() else { return };
    for i in 0..members.len() {
        let (done, rest) = images.split_at_mut(i);
        for (j, u) in done.iter().enumerate() {
            let c = factor.at(i, j);
            rest[0].iter_mut().zip(u).for_each(|(x, u)| *x -= c * u);
        }
        rest[0].iter_mut().for_each(|x| *x /= factor.at(i, i));
        inverse.add_outer(-1.0, &rest[0]);
    }
}
