//! Running pipelines: the engine, or a script in tests.

use std::time::Instant;

use pitchpipe_learn::{Effort, FitError, Outcome, PipelineId, Validation};
use pitchpipe_table::Dataset;

use super::memory;

/// However little memory is left, a fit may try with this share of the ceiling: what was let go is not always given back
/// to the system, but is used again.
const LEAST_SHARE: u64 = 16;

/// What pipelines are run by.
pub(crate) trait Evaluator {
    /// Cross-validates pipelines by `deadline`; `each` is told what became of them.
    fn evaluate(
        &mut self,
        pipelines: &[PipelineId],
        deadline: Option<Instant>,
        each: &mut (dyn FnMut(PipelineId, Outcome) + Send),
    ) -> Result<Effort, FitError>;
}

/// The real thing.
pub(crate) struct Engine<'a> {
    dataset: &'a Dataset,
    options: Validation,
    ceiling: Option<u64>,
}

impl<'a> Engine<'a> {
    /// Every fit may take what is left below the ceiling when its step begins.
    pub(crate) fn new(dataset: &'a Dataset, options: Validation, ceiling: Option<u64>) -> Self {
        Self { dataset, options, ceiling }
    }

    /// What each of the fits that run side by side may take.
    fn fair_share(&self) -> Option<u64> {
        let ceiling = self.ceiling?;
        let left = ceiling.saturating_sub(memory::resident()?).max(ceiling / LEAST_SHARE);
        Some(left / self.options.threads.max(1) as u64)
    }
}

impl Evaluator for Engine<'_> {
    fn evaluate(
        &mut self,
        pipelines: &[PipelineId],
        deadline: Option<Instant>,
        each: &mut (dyn FnMut(PipelineId, Outcome) + Send),
    ) -> Result<Effort, FitError> {
        self.options.deadline = deadline;
        if let Some(share) = self.fair_share() {
            self.options.memory_limit = Some(share);
        }
        let all: Vec<_> = pipelines.iter().map(|id| id.pipeline()).collect();
        self.options.evaluate(self.dataset, &all, |i, outcome| each(pipelines[i], outcome))
    }
}
