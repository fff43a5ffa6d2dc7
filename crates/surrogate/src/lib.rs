//! pitchpipe-surrogate

mod algebra;
pub mod bayes;
mod bytes;
pub mod complete;
pub mod design;
pub mod embedding;
mod error;
mod improvement;
mod least_squares;
mod panels;
pub mod policy;
pub mod runtime;
mod scalar;
pub mod search;
pub mod simulate;
mod small;
pub mod tensor;
pub mod tucker;

pub use embedding::Pca;
pub use error::SurrogateError;
pub use least_squares::least_squares;
pub use scalar::Scalar;
pub use tensor::PartialTensor;
pub use tucker::Tucker;
