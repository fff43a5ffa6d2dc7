//! Components with scikit-learn's semantics, pipelines of them, and cross-validation under a deadline.
//!
//! This room knows datasets and time; it has never heard of error tensors.
//!
//! ```
//! use pitchpipe_learn::{Outcome, Pipeline, Validation};
//! use pitchpipe_table::{Column, Dataset, Labels};
//!
//! let heights: Vec<f64> = (0..30).map(|i| f64::from(i % 3) + f64::from(i) / 100.0).collect();
//! let labels = Labels::from_codes((0..30).map(|i| i % 3), 3);
//! let dataset = Dataset::new(vec![Column::numeric(heights)], labels);
//!
//! let text = "impute(mean) > one_hot > standardise > all_features > knn(n_neighbors=1, p=2)";
//! let pipeline: Pipeline = text.parse()?;
//!
//! let outcome = Validation::default().outcomes(&dataset, &[pipeline])?.remove(0);
//! let Outcome::Finished(evaluation) = outcome else { panic!("it has all the time it needs") };
//! assert_eq!(evaluation.error, 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
mod settings;

pub mod encode;
pub mod estimate;
pub mod impute;
pub mod reduce;
pub mod scale;
pub mod scikit_learn;
pub mod search_space;

mod classes;
mod component;
mod contained;
mod context;
mod derived;
mod error;
mod features;
mod landmark;
mod memory;
mod pipeline;
mod preparation;
mod probabilities;
mod raw_features;
mod shared;
mod stream;
mod sums;
mod text;
mod validate;
mod work_time;

pub use component::{Character, Classifier, Estimator, FamilyCost, Member, ModelSize, Prediction};
pub use contained::contained;
pub use context::FitContext;
pub use error::FitError;
pub use features::Features;
pub use landmark::landmarks;
pub use memory::{MemoryPool, Reservation};
pub use pipeline::{FittedPipeline, Pipeline};
pub use preparation::{FittedPreparation, Preparation};
pub use probabilities::Probabilities;
pub use raw_features::RawFeatures;
pub use search_space::{PipelineId, SearchSpace};
pub use settings::{ParseError, SettingTexts, Settings};
pub use stream::Stream;
pub use validate::{
    Activity, Effort, Evaluation, KeptFolds, LabelScores, Order, Outcome, Running, Supply, Team,
    Validation, Watch, Work,
};
