//! pitchpipe-surrogate

mod error;

pub use error::SurrogateError;
