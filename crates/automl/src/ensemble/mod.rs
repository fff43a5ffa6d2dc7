//! Ensembles: which candidate learners to combine, and with what weights.
//!
//! The default is forward selection with replacement on out-of-fold probabilities
//! (Caruana et al., 2004); the paper's is a majority vote of the five best
//! (docs/decisions/0060-online.md compares them).

mod cross_fit;
mod fast;
mod greedy;
mod judge;
mod spread;
mod tried;
mod vote;
mod within;

pub(crate) use cross_fit::{CHOOSING_CELLS, Choice, PARTS};
pub(crate) use fast::{Thinned, Timed, thin};
pub use greedy::{GreedySettings, select};
pub use judge::Judge;
pub(crate) use spread::Jackknife;
pub(crate) use tried::{NewTrial, Tried};
pub use vote::{VOTERS, majority, vote, vote_shares};
pub(crate) use within::within;

use pitchpipe_table::{Decision, Metric};
use serde::{Deserialize, Serialize};

/// How base learners are combined into one prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combination {
    /// The weighted mean of their probabilities.
    Average,
    /// Each votes for its own decision; the better-ranked wins a draw (paper, Section "Ensemble").
    Vote,
}

impl Combination {
    /// The rule by which what is so combined turns into labels, where this metric is to be met.
    pub fn decision(self, metric: Metric) -> Decision {
        match self {
            Self::Average => metric.decision(),
            Self::Vote => Decision::Native,
        }
    }
}

/// Candidate learners by position, with weights that sum to one; heaviest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Positions and weights.
    pub weights: Vec<(usize, f64)>,
    /// The loss that was minimised, on the rows it was chosen by.
    pub loss: f64,
}
