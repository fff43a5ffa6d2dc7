//! Running pipelines: the engine, or a script in tests.

use std::sync::Arc;
use std::time::Instant;

use pitchpipe_learn::{
    Effort, FitError, KeptFolds, Outcome, PipelineId, SearchSpace, Validation, Work,
};
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

    /// Cross-validates what threads ask for when they are free, until nothing more is to come.
    fn keep_busy(&mut self, work: &dyn Work) -> Result<(), FitError>;
}

/// The real thing.
pub(crate) struct Engine<'a> {
    space: Arc<SearchSpace>,
    /// The rows, with what is prepared of them once for all steps.
    folds: KeptFolds<'a>,
    options: Validation,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(space: &Arc<SearchSpace>, dataset: &'a Dataset, options: Validation) -> Self {
        let folds = KeptFolds::new(dataset, &options);
        Self { space: Arc::clone(space), folds, options }
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
        let all: Vec<_> = pipelines.iter().map(|&id| self.space.pipeline(id)).collect();
        self.folds.evaluate(&self.options, &all, |i, outcome| each(pipelines[i], outcome))
    }

    fn keep_busy(&mut self, work: &dyn Work) -> Result<(), FitError> {
        self.folds.run(&self.options, work)
    }
}
