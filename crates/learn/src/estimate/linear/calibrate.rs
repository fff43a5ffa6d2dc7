//! Probabilities for estimators that have decision values only.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::Probabilities;

use super::model::Decisions;

/// One factor on the decision values before the softmax (two classes: the sigmoid): increasing in each
/// value, so the most probable class is the native decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    factor: f64,
}

impl Calibration {
    /// The reciprocal of the typical size of the training rows' decision values.
    pub(crate) fn fit(decisions: &Decisions, _: &Labels) -> Self {
        let mut sizes: Vec<f64> = decisions.values.iter().map(|v| v.abs()).collect();
        let middle = sizes.len() / 2;
        let (_, &mut median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
        Self { factor: if median > 1e-300 { 1.0 / median } else { 1.0 } }
    }

    /// The probabilities of each row.
    pub(crate) fn probabilities(&self, mut decisions: Decisions) -> Probabilities {
        for value in &mut decisions.values {
            *value = (*value * self.factor).clamp(-1e300, 1e300);
        }
        decisions.softmax_probabilities()
    }
}
