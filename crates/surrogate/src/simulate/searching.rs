//! The search of [`crate::search`] as a policy to replay.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::bayes::Posterior;
use crate::error::SurrogateError;
use crate::runtime::CorrectedRuntimes;
use crate::search::{Actions, Search};
use crate::simulate::{Policy, Step};

/// Runs whatever the search chooses.
pub struct Searching<'a> {
    search: Search,
    actions: Arc<Actions>,
    n_workers: usize,
    /// At most this many actions.
    most_actions: usize,
    /// Corrects the search's predicted runtimes as runs come in.
    runtimes: Option<CorrectedRuntimes>,
    /// Actions to run before the search is asked.
    first: VecDeque<usize>,
    rethinking: Option<Rethinking<'a>>,
    seen: Vec<(usize, f64)>,
}

/// A posterior from all that was observed.
pub type Rethink<'a> = Box<dyn Fn(&[(usize, f64)]) -> Result<Posterior, SurrogateError> + 'a>;

struct Rethinking<'a> {
    after_actions: usize,
    posterior: Rethink<'a>,
}

impl<'a> Searching<'a> {
    /// A policy from a search over `actions`, for as many workers as the replay has.
    pub fn new(
        search: Search,
        actions: Arc<Actions>,
        n_workers: usize,
        most_actions: usize,
    ) -> Self {
        Self {
            search,
            actions,
            n_workers,
            most_actions,
            runtimes: None,
            first: VecDeque::new(),
            rethinking: None,
            seen: Vec::new(),
        }
    }

    /// The same after some actions that are run first, those of them that fit.
    pub fn starting_with(self, first: impl IntoIterator<Item = usize>) -> Self {
        Self { first: first.into_iter().collect(), ..self }
    }

    /// The same with another posterior made from all observations once so many actions have finished.
    pub fn rethinking(self, after_actions: usize, posterior: Rethink<'a>) -> Self {
        Self { rethinking: Some(Rethinking { after_actions, posterior }), ..self }
    }

    /// The next action: those to start with, then what the search chooses.
    fn pick(&mut self, left_secs: f64) -> Result<Option<usize>, SurrogateError> {
        while let Some(action) = self.first.pop_front() {
            if self.search.cost_secs(action).is_some_and(|secs| secs <= left_secs) {
                return Ok(Some(action));
            }
        }
        self.search.choose(left_secs)
    }

    /// The same with runtimes corrected as runs come in: one runtime an action, that of its slowest member.
    pub fn correcting(self, runtimes: CorrectedRuntimes) -> Self {
        Self { runtimes: Some(runtimes), ..self }
    }
}

impl Policy for Searching<'_> {
    fn next(&mut self, left_secs: f64) -> Result<Option<Step>, SurrogateError> {
        if self.most_actions == 0 {
            return Ok(None);
        }
        let Some(action) = self.pick(left_secs)? else { return Ok(None) };
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
        self.search.record(step.mark, errors)?;
        self.seen.extend(errors);
        if let Some(plan) = &mut self.rethinking {
            plan.after_actions = plan.after_actions.saturating_sub(1);
        }
        match self.rethinking.take_if(|plan| plan.after_actions == 0) {
            Some(plan) => self.search.rethink((plan.posterior)(&self.seen)?),
            None => Ok(()),
        }
    }
}
