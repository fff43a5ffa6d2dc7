//! Running pipelines: the engine, or a script in tests.

use std::time::Instant;

use pitchpipe_learn::{Effort, FitError, Outcome, PipelineId, Validation};
use pitchpipe_table::Dataset;

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
}

impl<'a> Engine<'a> {
    pub(crate) fn new(dataset: &'a Dataset, options: Validation) -> Self {
        Self { dataset, options }
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
        let all: Vec<_> = pipelines.iter().map(|id| id.pipeline()).collect();
        self.options.evaluate(self.dataset, &all, |i, outcome| each(pipelines[i], outcome))
    }
}
