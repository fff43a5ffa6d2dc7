//! Policies: what to run next, given what has come back.
//!
//! A policy knows positions, costs and what is pending; it has never heard of tables, clocks or threads. What
//! depends on those comes in from outside: which positions there are (one for each distinct computation on a
//! table), what each is expected to take, how many members of an action the memory holds. So one
//! implementation is replayed on records ([`crate::simulate`]) and driven on a table.

mod auto;
mod in_order;
mod kernel;
mod overhead;
mod paper;
mod patience;
mod turns;
mod vectors;

pub use auto::{Auto, AutoSettings, AutoSetup, MostMembers};
pub use in_order::InOrder;
pub use kernel::{KERNEL_RIDGE, KernelSetup, Regress, kernel_oboe};
pub use overhead::Overhead;
pub use paper::{DesignRule, LastRound, PaperLoop, PaperSettings, Predictor, Rounds};
pub use patience::patience_secs;
pub use vectors::{RankRule, Vectors};

use crate::error::SurrogateError;

/// What a policy answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Run this.
    Run(Step),
    /// Ask again when one of the pending steps has come back; never said while none is pending.
    Wait,
    /// Nothing more is to be run in the time that is left.
    Done,
}

impl Next {
    /// The step to run, if there is one.
    pub fn step(self) -> Option<Step> {
        match self {
            Self::Run(step) => Some(step),
            Self::Wait | Self::Done => None,
        }
    }

    /// The answer where nothing can be chosen: wait for what is pending, if something is.
    fn nothing(n_pending: usize) -> Self {
        if n_pending > 0 { Self::Wait } else { Self::Done }
    }
}

/// Something a policy wants run.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The pipelines it reveals.
    pub members: Vec<usize>,
    /// What it is expected to cost.
    pub cost_secs: f64,
    /// Its cost in times of its slowest member: what it really costs, where members' times are recorded.
    pub cost_factor: f64,
    /// The policy's own mark, handed back with the results.
    pub mark: usize,
}

impl Step {
    /// One pipeline by itself.
    pub fn single(pipeline: usize, cost_secs: f64) -> Self {
        Self { members: vec![pipeline], cost_secs, cost_factor: 1.0, mark: pipeline }
    }
}

/// What became of one pipeline of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The pipeline.
    pub pipeline: usize,
    /// Its error; none where it ran out of time or failed.
    pub error: Option<f64>,
    /// The seconds it took; none where it failed.
    pub secs: Option<f64>,
    /// The rows of the sample that it ran on.
    pub n_rows: usize,
}

/// What to run next, given what has come back.
///
/// The contract: whoever drives a policy hands every step back once, by [`Policy::observe`], in any order. As long
/// as that is kept, a policy comes to [`Next::Done`] after finitely many steps, whatever fails and however long
/// things take, and says [`Next::Wait`] only while a step is pending.
pub trait Policy {
    /// The next step, given the seconds left.
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError>;

    /// A step has come back. A member without an observation was never begun.
    fn observe(&mut self, step: &Step, observations: &[Observation]) -> Result<(), SurrogateError>;

    /// What became of pipelines that the policy did not ask for: the best so far, run again on more rows.
    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError>;

    /// Choosing and running the steps that came back last took so many seconds of work, of all workers together, where
    /// somebody measures it.
    fn passed(&mut self, _work_secs: f64) {}

    /// The validation error of the ensemble of all that has finished, where somebody makes one.
    fn ensembled(&mut self, _error: f64) {}

    /// The error that is predicted for a pipeline, given what has come back, where the policy predicts any.
    fn expected_error(&self, _pipeline: usize) -> Option<f64> {
        None
    }

    /// The pipelines that the ensemble is to be made of, where not all that were run are.
    fn voters(&self) -> Option<Vec<usize>> {
        None
    }

    /// From now on pipelines run on so many rows, on which they are expected to take these times.
    fn resized(&mut self, n_rows: usize, secs: &[f64]);
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        (**self).next(left_secs)
    }

    fn observe(&mut self, step: &Step, observations: &[Observation]) -> Result<(), SurrogateError> {
        (**self).observe(step, observations)
    }

    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        (**self).observe_unasked(observations)
    }

    fn passed(&mut self, work_secs: f64) {
        (**self).passed(work_secs);
    }

    fn ensembled(&mut self, error: f64) {
        (**self).ensembled(error);
    }

    fn expected_error(&self, pipeline: usize) -> Option<f64> {
        (**self).expected_error(pipeline)
    }

    fn voters(&self) -> Option<Vec<usize>> {
        (**self).voters()
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        (**self).resized(n_rows, secs);
    }
}
