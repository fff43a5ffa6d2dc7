//! What a search tells its caller while it runs.

use std::time::Duration;

use super::Method;

/// Something that happened during a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Progress {
    /// The search begins.
    Begun {
        /// How pipelines are chosen.
        method: Method,
        /// The time budget.
        budget: Duration,
        /// How many rows there are to learn from.
        n_rows: usize,
        /// How much of the budget had passed by then.
        elapsed: Duration,
    },
    /// The search goes on with so many rows, a stratified sample.
    Sampled {
        /// How many rows are used.
        n_rows: usize,
        /// Of how many.
        of: usize,
    },
    /// Pipelines are being run.
    Started {
        /// What runs, in words: `random_forest x 15`, say.
        what: String,
        /// How many pipelines that is.
        n_pipelines: usize,
    },
    /// A pipeline has finished.
    Finished {
        /// The pipeline, in words.
        pipeline: String,
        /// Its error by the metric asked for.
        error: f64,
        /// How many pipelines have finished so far.
        n_evaluated: usize,
        /// The lowest error of a single pipeline so far.
        best_error: f64,
        /// The error of the ensemble as it was last made, if there is one.
        ensemble_error: Option<f64>,
        /// How much of the budget has passed.
        elapsed: Duration,
    },
    /// A better ensemble was found.
    Improved {
        /// Its error.
        ensemble_error: f64,
        /// How many base learners it has.
        n_base_learners: usize,
        /// How much of the budget has passed.
        elapsed: Duration,
    },
    /// The search is over and the model is put together.
    Assembling {
        /// How much of the budget has passed.
        elapsed: Duration,
    },
}
