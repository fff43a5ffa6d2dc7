//! The part of a finished entry that training looks at.

use arrow_array::{Array, Float32Array, RecordBatch, StringArray, UInt32Array};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::entry::Entry;
use super::error::OfflineError;
use super::shard::column;

const COLUMNS: [&str; 5] = ["pipeline", "error", "balanced_decision_error", "runtime_s", "status"];

/// A pipeline that finished on a dataset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The flat index of the pipeline.
    pub pipeline: u32,
    /// Balanced error under the native decision.
    pub error: f32,
    /// Balanced error under the balanced decision, where it was measured.
    pub decided: Option<f32>,
    /// Seconds as if it had run alone.
    pub runtime_s: f32,
}

impl Seen {
    /// The part of an entry, if it finished.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let scores = entry.status.scores().filter(|s| s.error.is_finite())?;
        let decided = Some(scores.balanced_decision_error).filter(|e| e.is_finite());
        let (pipeline, runtime_s) = (entry.pipeline, entry.runtime_s);
        Some(Self { pipeline, error: scores.error, decided, runtime_s })
    }

    /// The finished entries of a shard.
    pub(super) fn read(bytes: Vec<u8>) -> Result<Vec<Self>, OfflineError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), COLUMNS);
        let mut seen = Vec::new();
        for batch in builder.with_projection(mask).build()? {
            append(&batch?, &mut seen)?;
        }
        Ok(seen)
    }
}

fn append(batch: &RecordBatch, seen: &mut Vec<Seen>) -> Result<(), OfflineError> {
    let pipelines: &UInt32Array = column(batch, "pipeline")?;
    let words: &StringArray = column(batch, "status")?;
    let errors: &Float32Array = column(batch, "error")?;
    let decided: &Float32Array = column(batch, "balanced_decision_error")?;
    let secs: &Float32Array = column(batch, "runtime_s")?;
    for i in 0..batch.num_rows() {
        let error = errors.value(i);
        if words.value(i) == "finished" && errors.is_valid(i) && error.is_finite() {
            let decided = decided.is_valid(i).then(|| decided.value(i)).filter(|e| e.is_finite());
            let (pipeline, runtime_s) = (pipelines.value(i), secs.value(i));
            seen.push(Seen { pipeline, error, decided, runtime_s });
        }
    }
    Ok(())
}
