//! Bytes to a typed dataset: reading tables, schemas, splits, metrics; and results back to bytes.
//!
//! This room knows files and numbers; it has never heard of models.

mod dataset;
mod error;
mod labels;
mod metafeature;
mod metric;
mod nearest;
mod raw;
mod read;
mod schema;
mod split;
mod write;

pub use dataset::{Column, Dataset, MISSING_CODE, UNSEEN_CODE};
pub use error::TableError;
pub use labels::Labels;
pub use metafeature::MetaFeature;
pub use metric::{
    ConfusionMatrix, Decision, Metric, UnknownMetric, accuracy, balanced_accuracy,
    balanced_error_rate, brier_score, log_loss, macro_f1, roc_auc,
};
pub use raw::{Cells, RawColumn, RawTable};
pub use read::{CancelCheck, DEFAULT_MISSING, Format, MissingCells, ReadOptions, Source, read};
pub use schema::{
    Applied, ColumnReport, DatePart, Input, Kind, LeftOut, Levels, Mismatch, OTHER_LEVEL, Reason,
    Report, Schema, SchemaError, SchemaOptions, Target, Values, written_instant,
};
pub use split::{Fold, Folds, RareClass, holdout, stratified_folds, stratified_subsample};
pub use write::{
    OutputCells, OutputColumn, OutputFormat, WriteError, check_writable, write_atomically,
};
