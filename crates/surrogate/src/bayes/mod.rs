//! The empirical-Bayes predictor: rows of the error tensor as draws from one Gaussian.
//!
//! The paper estimates a new dataset's embedding by least squares. Its factors also say how embeddings
//! are *distributed*; conditioning that distribution on what was observed predicts from any number of
//! observations, none included, needs no rank to be chosen, and says how sure it is.

mod columns;
mod embed;
mod posterior;
mod prior;
mod separable;

pub use posterior::Posterior;
pub use prior::{Prior, PriorRows, PriorSettings, Scale};
pub use separable::Separable;
