//! Bytes to a typed dataset: reading tables, schemas, splits, metrics.
//!
//! This room knows files and numbers; it has never heard of models.

mod dataset;
mod labels;
mod raw;

pub use dataset::{Column, Dataset, MISSING_CODE};
pub use labels::Labels;
pub use raw::{Cells, RawColumn, RawTable};
