//! AutoML within a time budget: give a table and a number of seconds, get an ensemble of pipelines.
//!
//! 23,424 pipelines (imputer, encoder, scaler, reducer, estimator) were cross-validated on hundreds of datasets;
//! what was learnt from that tells, on a new table and after a few fast runs, which ones will do well. The method is
//! that of *Oboe*, *TensorOboe* and *KernelOboe*, and one of our own, the default.
//!
//! ```
//! use std::time::Duration;
//!
//! use pitchpipe::prelude::*;
//!
//! // A table with a column to predict: CSV, ARFF, Parquet and Arrow files work alike.
//! let mut csv = String::from("petal,sepal,colour,kind\n");
//! for i in 0..60 {
//!     let (kind, colour) = [("a", "blue"), ("b", "white"), ("c", "white")][i % 3];
//!     csv += &format!("{},{},{colour},{kind}\n", i % 3 * 2 + i % 2, i % 7);
//! }
//! let source = Source::Bytes { name: "flowers.csv".into(), bytes: csv.into_bytes() };
//! let dataset = pitchpipe::dataset(&source, "kind")?;
//!
//! let model = AutoMl::new()
//!     .time_budget(Duration::from_secs(60))
//!     .max_evaluations(20) // or leave this out, and use the time
//!     .fit(&dataset)?;
//! println!("balanced error {:.3}", model.report().scores.balanced_error);
//! for learner in model.base_learners() {
//!     println!("{:.2} {}", learner.weight(), learner.pipeline());
//! }
//! assert!(model.report().scores.balanced_error < 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Predicting, saving, loading
//!
//! A model is one file, which holds no code. Later tables are matched to the columns of the training table by name:
//! they may come in another order, without the target, and with columns and categories that were never met. They are read
//! by the rules of the training table: which cells stand for missing values, whether there is a header.
//!
//! ```
//! use pitchpipe::prelude::*;
//!
//! # let csv: String = (0..40).map(|i| 6 * i % 40).map(|i| format!("{},{}\n", i, if i < 20 { "low" } else { "high" })).collect();
//! # let source = Source::Bytes { name: "t.csv".into(), bytes: format!("size,kind\n{csv}").into_bytes() };
//! # let dataset = pitchpipe::dataset(&source, "kind")?;
//! # let folder = std::env::temp_dir().join(format!("pitchpipe-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("model.pp");
//! let model = AutoMl::new().max_evaluations(10).fit(&dataset)?;
//! model.write(&path)?;
//! let model = Model::read(&path)?;
//!
//! let new = Source::Bytes { name: "new.csv".into(), bytes: b"colour,size\nred,3\nblue,35\n".to_vec() };
//! let table = model.read_table(&new, ReadOptions::default(), &CancelCheck::never())?;
//! let answer = model.predict_table(table)?;
//! let classes = model.class_names().unwrap();
//! let names: Vec<&str> =
//!     answer.predictions.labels.codes().iter().map(|&code| classes[code as usize].as_str()).collect();
//! assert_eq!(names, ["low", "high"]);
//! assert!(answer.predictions.probabilities.row(0)[1] > 0.5); // classes are in the order of class_names()
//! assert_eq!(
//!     answer.notes[0].to_string(),
//!     "column \"colour\" was not there in training and is ignored"
//! );
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Measuring
//!
//! What a search reports and what a model is worth on other rows come in one shape, [`Scores`]. All scores of labels are of
//! labels made by the rule that the model predicts with ([`Model::decision`]); [`Model::out_of_fold`] gives the
//! predictions that those of the report were computed from.
//!
//! ```
//! use pitchpipe::prelude::*;
//!
//! # let csv: String = (0..40).map(|i| 6 * i % 40).map(|i| format!("{},{}\n", i, if i < 20 { "low" } else { "high" })).collect();
//! # let source = Source::Bytes { name: "t.csv".into(), bytes: format!("size,kind\n{csv}").into_bytes() };
//! # let dataset = pitchpipe::dataset(&source, "kind")?;
//! let model = AutoMl::new().max_evaluations(10).fit(&dataset)?;
//! let predicted = model.out_of_fold().unwrap();
//! assert_eq!(predicted.scores(), model.report().scores);
//!
//! let new = Source::Bytes { name: "new.csv".into(), bytes: b"size,kind\n3,low\n35,high\n".to_vec() };
//! let table = model.read_table(&new, ReadOptions::default(), &CancelCheck::never())?;
//! let evaluation = model.evaluate(&model.labelled_rows(table)?.dataset)?;
//! assert_eq!(evaluation.scores.accuracy, 1.0);
//! assert_eq!(evaluation.classes[0].recall, Some(1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Progress, and stopping early
//!
//! The search tells a callback what happens: events, which serialise, with the seconds since the budget began. It stops
//! when the callback breaks, or when a flag is raised ([`AutoMl::cancel`]), with the best model so far.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use pitchpipe::prelude::*;
//!
//! # let csv: String = (0..40).map(|i| 6 * i % 40).map(|i| format!("{},{}\n", i, if i < 20 { "low" } else { "high" })).collect();
//! # let source = Source::Bytes { name: "t.csv".into(), bytes: format!("size,kind\n{csv}").into_bytes() };
//! # let dataset = pitchpipe::dataset(&source, "kind")?;
//! let model = AutoMl::new().fit_with(&dataset, |event| {
//!     if let Happened::Finished { pipeline, error, .. } = event.what {
//!         println!("{:.1}s: {error:.3} {pipeline}", event.elapsed_secs);
//!         if error < 0.2 {
//!             return ControlFlow::Break(());
//!         }
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! assert!(model.report().n_evaluated >= 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A dataset without a file
//!
//! ```
//! use pitchpipe::prelude::*;
//!
//! let size = Column::Numeric((0..40).map(f64::from).collect());
//! let shop = Column::Categorical { codes: (0..40).map(|i| i % 3).collect(), n_levels: 3 };
//! let labels = Labels::from_codes((0..40).map(|i| u32::from(i >= 20)), 2);
//! let dataset = Dataset::new(vec![size, shop], labels);
//! let model = AutoMl::new().metric(Metric::Accuracy).max_evaluations(10).fit(&dataset)?;
//! let predictions = model.predict(dataset.frame())?;
//! assert_eq!(predictions.labels.len(), 40);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What else there is
//!
//! - [`export::script_of`]: a model as a scikit-learn script.
//! - [`importances`]: how much each column matters to a model.
//! - [`table`]: reading tables with more to say about them, schemas, splits, metrics.
//! - [`learn`]: the components and pipelines themselves, and cross-validation under a deadline.

pub use pitchpipe_automl::{
    AutoMl, AutoMlError, BaseLearner, Baseline, Candidate, ClassScores, Combination, Evaluation,
    Event, Happened, Importance, LabelledRows, Method, Model, ModelFileError, OutOfFold, Pipeline,
    PredictError, Predictions, Report, Scores, Speed, Standing, StopReason, TablePredictions,
    TimeSpent, WeightedPipeline, export, importances, surrogate,
};
pub use pitchpipe_learn as learn;
pub use pitchpipe_table as table;

use pitchpipe_table::{
    CancelCheck, Dataset, RawTable, ReadOptions, SchemaError, SchemaOptions, Source, TableError,
};

/// What most programs need.
pub mod prelude {
    pub use pitchpipe_automl::{AutoMl, Event, Happened, Method, Model, Predictions};
    pub use pitchpipe_table::{
        CancelCheck, Column, Dataset, Frame, Labels, Metric, ReadOptions, Source,
    };
}

/// Why a table is no dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// It could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// It cannot be learnt from.
    #[error("{file}: {source}")]
    Schema {
        /// The file's name.
        file: String,
        /// What is wrong with its columns.
        source: SchemaError,
    },
}

/// Reads a table, detecting all there is to detect. [`table::read`] takes options.
pub fn read(source: &Source) -> Result<RawTable, TableError> {
    pitchpipe_table::read(source, &ReadOptions::default(), &CancelCheck::never())
}

/// Reads a table whose column `target` is to be predicted. [`Dataset::from_table`] takes options, and reports what
/// was understood.
pub fn dataset(source: &Source, target: &str) -> Result<Dataset, DatasetError> {
    let options = SchemaOptions { target: Some(target.to_owned()), ..SchemaOptions::default() };
    // Labels stay as they are written.
    let reading = ReadOptions { target: options.target.clone(), ..ReadOptions::default() };
    let table = pitchpipe_table::read(source, &reading, &CancelCheck::never())?;
    let (dataset, _) = Dataset::from_table(table, &options)
        .map_err(|error| DatasetError::Schema { file: source.name(), source: error })?;
    Ok(dataset)
}
