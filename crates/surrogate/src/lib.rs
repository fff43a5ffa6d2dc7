//! What is learned from errors of pipelines on many datasets, and what it says of a new one: numbers and
//! indices only, no datasets, files or clocks.
//!
//! Errors of `m` datasets by `n` pipelines are a [`PartialTensor`] with a mask of what was observed.
//! [`complete`] fills in the rest; [`embedding`], [`tucker`] and [`bayes`] make of it vectors of pipelines, and
//! a Gaussian over all of them; [`runtime`] predicts seconds. On a new dataset, [`design`] and [`search`]
//! choose what to run next; [`columns`] takes in pipelines that were not trained on.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ndarray::Array2;
//! use pitchpipe_surrogate::bayes::{Prior, PriorSettings, Scale};
//! use pitchpipe_surrogate::complete::{EmOptions, complete_matrix};
//! use pitchpipe_surrogate::{PartialTensor, SurrogateError};
//!
//! # fn main() -> Result<(), SurrogateError> {
//! // Errors of 8 pipelines on 12 datasets, of which every fifth was not measured.
//! let errors = Array2::from_shape_fn((12, 8), |(i, j)| {
//!     let (hard, alike) = ((i as f32).sin(), (0.4 * j as f32).cos());
//!     0.3 + 0.1 * hard + 0.05 * hard * alike
//! });
//! let measured = Array2::from_shape_fn((12, 8), |(i, j)| (i + 3 * j) % 5 != 0);
//! let observed = PartialTensor::new(errors.into_dyn(), measured.into_dyn())?;
//!
//! let completed = complete_matrix(&observed, 2, &EmOptions::shrunk())?;
//! let rows = Array2::from_shape_vec((12, 8), completed.values).expect("12 rows of 8");
//! let prior = Arc::new(Prior::fit(rows.view(), Scale::Root, &PriorSettings::plain(3))?);
//!
//! // Two pipelines run on a new dataset tell of the other six.
//! let mut posterior = prior.posterior();
//! posterior.observe(&[0, 5], &[0.41, 0.38])?;
//! let expected = posterior.predict();
//! assert!((expected[1] - 0.41).abs() < 0.03);
//! # Ok(())
//! # }
//! ```

mod algebra;
pub mod bayes;
pub mod columns;
pub mod complete;
pub mod design;
pub mod embedding;
mod error;
mod improvement;
mod least_squares;
mod panels;
pub mod policy;
pub mod ranked;
pub mod runtime;
mod scalar;
pub mod search;
pub mod simulate;
pub mod sketch;
mod small;
pub mod tensor;
pub mod tucker;

pub use embedding::Pca;
pub use error::SurrogateError;
pub use least_squares::least_squares;
pub use ranked::{Ranks, TuckerEmbedding};
pub use scalar::Scalar;
pub use tensor::PartialTensor;
pub use tucker::Tucker;
