//! What a search tells its caller while it runs: values with a time stamp, which a program can keep.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pitchpipe_learn::Pipeline;
use pitchpipe_table::Metric;
use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::{Method, StopReason, in_words};

/// Something that happened during a search, and when.
///
/// As JSON it is one flat object: `{"elapsed_secs":1.2,"event":"failed","pipeline":"…","reason":"…"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds since the time budget began.
    pub elapsed_secs: f64,
    /// What happened.
    #[serde(flatten)]
    pub what: Happened,
}

/// What can happen during a search.
///
/// Each pipeline that is [`Started`](Self::Started) is told of once more: it has finished, failed or run out
/// of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Happened {
    /// The search begins.
    Begun {
        /// How pipelines are chosen.
        method: Method,
        /// What is optimised.
        metric: Metric,
        /// The time budget in seconds.
        budget_secs: f64,
        /// How many rows there are to learn from.
        n_rows: usize,
        /// How many features they have.
        n_features: usize,
        /// How many classes there are to tell apart.
        n_classes: usize,
    },
    /// The search goes on with so many rows: all of them, or a stratified sample.
    Level {
        /// How many rows are used.
        n_rows: usize,
        /// Of how many.
        of: usize,
    },
    /// Pipelines are being run.
    Started {
        /// Which ones.
        #[serde(with = "in_words::all")]
        pipelines: Vec<Pipeline>,
    },
    /// A pipeline has finished.
    Finished {
        /// Which one.
        #[serde(with = "in_words")]
        pipeline: Pipeline,
        /// Its error by the metric asked for.
        error: f64,
        /// Its balanced error, which is what is predicted.
        #[serde(default)]
        balanced_error: Option<f64>,
        /// The balanced error that was predicted when it was chosen, where the method predicts.
        #[serde(default)]
        predicted_error: Option<f64>,
        /// CPU seconds that it took, as if alone.
        secs: f64,
        /// How many pipelines have finished so far.
        n_evaluated: usize,
        /// The lowest error of a single pipeline so far, on the present rows.
        best_error: f64,
        /// The error of the ensemble as it was last made, if there is one.
        ensemble_error: Option<f64>,
    },
    /// A pipeline cannot be fitted on these rows.
    Failed {
        /// Which one.
        #[serde(with = "in_words")]
        pipeline: Pipeline,
        /// Why not.
        reason: String,
    },
    /// A pipeline took longer than it was given.
    OutOfTime {
        /// Which one.
        #[serde(with = "in_words")]
        pipeline: Pipeline,
        /// The seconds that its folds had taken by then.
        after_secs: f64,
    },
    /// The ensemble has other base learners, weights or another error than before.
    EnsembleChanged {
        /// Its error by the metric asked for.
        error: f64,
        /// Its base learners, heaviest first.
        base_learners: Vec<WeightedPipeline>,
    },
    /// The best pipelines are validated again, on other folds.
    Confirming {
        /// Which round this is; the first is 1.
        round: usize,
        /// How many there may be.
        n_rounds: usize,
        /// Which pipelines.
        #[serde(with = "in_words::all")]
        pipelines: Vec<Pipeline>,
    },
    /// The search is over and the model is put together.
    Assembling,
    /// The model is ready.
    Done {
        /// Why the search ended.
        stop_reason: StopReason,
        /// How many pipelines finished.
        n_evaluated: usize,
        /// How many failed.
        n_failed: usize,
        /// How many ran out of time.
        n_out_of_time: usize,
    },
}

/// A base learner of an ensemble.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightedPipeline {
    /// The pipeline.
    #[serde(with = "in_words")]
    pub pipeline: Pipeline,
    /// Its weight; all weights sum to one.
    pub weight: f64,
}

/// Whoever is told: the caller's function, which may end the search.
pub(crate) struct Listener<'a> {
    clock: &'a dyn Clock,
    hear: &'a mut (dyn FnMut(Event) -> ControlFlow<()> + Send),
    /// Raised when the caller has heard enough: whatever runs looks at it.
    cancel: Arc<AtomicBool>,
}

impl<'a> Listener<'a> {
    pub(crate) fn new(
        clock: &'a dyn Clock,
        hear: &'a mut (dyn FnMut(Event) -> ControlFlow<()> + Send),
        cancel: Arc<AtomicBool>,
    ) -> Self {
        Self { clock, hear, cancel }
    }

    /// Whatever is told to it is lost.
    #[cfg(test)]
    pub(crate) fn deaf(clock: &'a dyn Clock) -> Self {
        let hear = Box::leak(Box::new(|_| ControlFlow::Continue(())));
        Self::new(clock, hear, Arc::default())
    }

    pub(crate) fn tell(&mut self, what: Happened) {
        let elapsed_secs = self.clock.elapsed().as_secs_f64();
        if (self.hear)(Event { elapsed_secs, what }).is_break() {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
}
