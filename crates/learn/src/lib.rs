//! Components with scikit-learn's semantics, pipelines of them, and cross-validation under a deadline.
//!
//! This room knows datasets and time; it has never heard of error tensors.

pub mod encode;
pub mod estimate;
pub mod impute;
pub mod reduce;
pub mod scale;
pub mod search_space;

mod classes;
mod component;
mod context;
mod error;
mod features;
mod landmark;
mod pipeline;
mod preparation;
mod probabilities;
mod raw_features;
mod shared;
mod stream;
mod sums;
mod validate;

pub use component::{Classifier, Estimator, Member, Prediction};
pub use context::FitContext;
pub use error::FitError;
pub use features::Features;
pub use landmark::landmarks;
pub use pipeline::{FittedPipeline, Pipeline};
pub use preparation::{FittedPreparation, Preparation};
pub use probabilities::Probabilities;
pub use raw_features::RawFeatures;
pub use search_space::PipelineId;
pub use stream::Stream;
pub use validate::{Effort, Evaluation, LabelScores, Outcome, Validation};
