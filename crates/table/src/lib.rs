//! Bytes to a typed dataset: reading tables, schemas, splits, metrics; and results back to bytes.
//!
//! This room knows files and numbers; it has never heard of models.

mod buffer;
mod cell;
mod dataset;
mod error;
mod frame;
mod hold_out;
mod labels;
mod limits;
mod metafeature;
mod metric;
mod nearest;
mod note;
mod raw;
mod read;
mod schema;
mod split;
mod write;

pub use buffer::Buffer;
pub use cell::{CellRule, DateOrder, NumberRule, ShortClock, Unit, WordGroups};
pub use dataset::{Dataset, Target};
pub use error::TableError;
pub use frame::{Column, Frame, MISSING_CODE, UNSEEN_CODE};
pub use hold_out::HeldOut;
pub use labels::Labels;
pub use limits::Limits;
pub use metafeature::MetaFeature;
pub use metric::{
    ClassCounts, ConfusionMatrix, Decision, Metric, UnknownMetric, accuracy, balanced_accuracy,
    balanced_error_rate, brier_score, log_loss, log_losses, macro_f1, roc_auc,
};
pub use note::{Note, Severity};
pub use raw::{Cells, RawColumn, RawTable};
pub use read::{
    CancelCheck, DEFAULT_MISSING, Format, MissingCells, ReadOptions, Source, from_batches,
    from_batches_until, read,
};
pub use schema::{
    Applied, ColumnReport, DatePart, DependsOn, Input, Kind, LabelType, LeftOut, Levels, Mismatch,
    OTHER_LEVEL, Reading, Reason, Schema, SchemaError, SchemaOptions, TableReport, TargetColumn,
    Values, written_instant,
};
pub use split::{
    Dependence, Fold, Folds, RareClass, holdout, stratified_folds, stratified_subsample,
};
pub use write::{
    OutputCells, OutputColumn, OutputFormat, WriteError, abandon_writes, check_writable, stand_by,
    stand_down, take_over, write_atomically,
};
