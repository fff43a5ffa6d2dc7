//! The offline phase: the error tensor of the meta-training datasets, recorded or published.

pub mod published;
