//! The tree core: what decision trees, forests and boosting are made of.
//!
//! Semantics are scikit-learn's: features in single precision, exact splits, thresholds half-way
//! between two values, the same rules for when a node is a leaf.

mod columns;
mod forest;
mod grow;
mod order;
mod partition;
mod regress;
mod sample;
mod score;
mod settings;
mod split;
mod store;
mod stump;
#[cfg(test)]
mod tests;

pub use forest::FittedForest;
pub(crate) use forest::{Recipe, evaluate_forest, fit_forest};
pub(crate) use regress::Regressor;
pub(crate) use settings::split_cost;
pub use settings::{Criterion, MaxFeatures, MinSamplesSplit};
pub(super) use store::plan;
pub(crate) use store::{Node, SinglePrecision, are_sound, find_leaves};
pub(crate) use stump::{StumpFinder, StumpSplit};
