//! The search of [`crate::search`] as a policy to replay.

use std::sync::Arc;

use crate::error::SurrogateError;
use crate::runtime::CorrectedRuntimes;
use crate::search::{Actions, Search};
use crate::simulate::{Policy, Step};

/// Runs whatever the search chooses.
pub struct Searching {
    search: Search,
    actions: Arc<Actions>,
    n_workers: usize,
    /// At most this many actions.
    most_actions: usize,
    /// Corrects the search's predicted runtimes as runs come in.
    runtimes: Option<CorrectedRuntimes>,
}

impl Searching {
    /// A policy from a search over `actions`, for as many workers as the replay has.
    pub fn new(
        search: Search,
        actions: Arc<Actions>,
        n_workers: usize,
        most_actions: usize,
    ) -> Self {
        Self { search, actions, n_workers, most_actions, runtimes: None }
    }

    /// The same with runtimes corrected as runs come in: one runtime an action, that of its slowest member.
    pub fn correcting(self, runtimes: CorrectedRuntimes) -> Self {
        Self { runtimes: Some(runtimes), ..self }
    }
}

impl Policy for Searching {
    fn next(&mut self, left_secs: f64) -> Result<Option<Step>, SurrogateError> {
        if self.most_actions == 0 {
            return Ok(None);
        }
        let Some(action) = self.search.choose(left_secs)? else { return Ok(None) };
        self.most_actions -= 1;
        let members = self.search.fresh_members(action);
        if self.n_workers > 1 {
            self.search.start(action)?;
        }
        Ok(Some(Step { members, cost_factor: self.actions.cost_factor(action), mark: action }))
    }

    fn finished(
        &mut self,
        step: &Step,
        errors: &[(usize, f64)],
        secs: &[(usize, f64)],
    ) -> Result<(), SurrogateError> {
        let slowest = secs.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
        if let (Some(runtimes), Some((pipeline, took))) = (&mut self.runtimes, slowest) {
            runtimes.observe(&[pipeline], &[took])?;
            self.search.predict_secs(|j| runtimes.secs(j));
        }
        self.search.record(step.mark, errors)
    }
}
