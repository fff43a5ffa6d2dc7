//! The paper's two phases: meta-training ([`offline`]), and the search for an ensemble within a time
//! budget ([`online`]), with a [`surrogate`] between them.
//!
//! ```
//! use std::time::Duration;
//!
//! use pitchpipe_automl::AutoMl;
//! use pitchpipe_table::{Column, Dataset, Labels};
//!
//! let heights: Vec<f64> = (0..60).map(|i| f64::from(i % 3) + f64::from(i) / 100.0).collect();
//! let labels = Labels::from_codes((0..60).map(|i| i % 3), 3);
//! let dataset = Dataset::new(vec![Column::numeric(heights)], labels);
//!
//! let model = AutoMl::new().time_budget(Duration::from_secs(60)).max_evaluations(4).fit(&dataset)?;
//! let predictions = model.predict(dataset.frame())?;
//! assert_eq!(predictions.labels.len(), 60);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod ensemble;
pub mod export;
pub mod offline;
pub mod online;
pub mod surrogate;

mod compare;
mod explain;
mod history;
mod importance;
mod meta_features;
mod model;
mod scores;
mod threads;

pub use compare::{Answers, PairedDifference, paired_differences};
pub use ensemble::Combination;
pub use explain::{ColumnDependence, ColumnValue, Explanation, explain};
pub use history::{
    CalibrationBin, ClassCount, ClassCurves, ColumnProfile, Curves, DataProfile, EnsemblePoint,
    History, Landscape, LeftOutColumn, LevelBegun, Origin, Trial, TrialOutcome,
};
pub use importance::{Importance, importances};
pub use meta_features::meta_features;
pub use model::{
    BaseLearner, ClassScores, Evaluation, FORMAT, LabelledRows, Model, ModelFileError,
    PredictError, Predictions, Speed, TablePredictions,
};
pub use online::{
    AutoMl, AutoMlError, Candidate, CategoryFill, DesignKind, Event, Families, Happened,
    KernelPrediction, LastRoundKind, Measured, Method, PaperOptions, RankGrowth, Report,
    RuntimeKind, StopReason, TimeSpent, UnknownMethod, UnknownOption, WeightedPipeline,
};
pub use pitchpipe_learn::{Activity, Pipeline, Running, Watch};
pub use scores::{Baseline, OutOfFold, Scores, Standing};
pub use threads::on_threads;
