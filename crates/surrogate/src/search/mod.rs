//! Searching: which pipelines to run next, given what has been seen and how long each would take.
//!
//! One decision at a time, without rounds: the action with the largest expected improvement per second
//! under the posterior of [`crate::bayes`]. An action is whatever one fit reveals: a single pipeline or a
//! family of them.

mod actions;
mod choice;
mod joint;
mod looks;

pub use actions::{Action, Actions};
pub use choice::{Rule, Search, SearchSettings};
