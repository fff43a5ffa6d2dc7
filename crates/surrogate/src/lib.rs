//! pitchpipe-surrogate

pub mod bayes;
pub mod design;
mod error;
mod improvement;
mod least_squares;
mod panels;
pub mod runtime;
pub mod search;
pub mod simulate;
mod small;

pub use error::SurrogateError;
pub use least_squares::least_squares;
