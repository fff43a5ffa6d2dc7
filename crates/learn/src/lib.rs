//! Components with scikit-learn's semantics, pipelines of them, and cross-validation under a deadline.
//!
//! This room knows datasets and time; it has never heard of error tensors.

pub mod estimate;

mod component;
mod context;
mod error;
mod features;
mod probabilities;
mod stream;

pub use component::{Classifier, Estimator, Member, Prediction};
pub use context::FitContext;
pub use error::FitError;
pub use features::Features;
pub use probabilities::Probabilities;
pub use stream::Stream;
