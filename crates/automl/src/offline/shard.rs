//! A shard: a batch of entries of one dataset as the bytes of a Parquet file.
//!
//! Any Parquet reader shows a shard as a table with one row an entry; the dataset's content hash and the
//! facts of the store travel in the file's key-value metadata.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, Float32Array, ListArray, RecordBatch, StringArray, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use pitchpipe_learn::SearchSpace;

use super::ComponentNames;
use super::entry::{Entry, EntryScores, Status};
use super::error::OfflineError;

/// Entries of one dataset, with the facts that travel with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    /// The dataset's name.
    pub dataset: String,
    /// Facts for the file's metadata: content hash, search-space version, machine.
    pub facts: BTreeMap<String, String>,
    /// The entries.
    pub entries: Vec<Entry>,
}

/// The columns of a shard, in order.
fn schema() -> Schema {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let number = |name: &str| Field::new(name, DataType::Float32, true);
    let folds = DataType::List(Arc::new(Field::new("item", DataType::Float32, true)));
    Schema::new(vec![
        text("dataset"),
        text("imputer"),
        text("encoder"),
        text("standardizer"),
        text("reducer"),
        text("estimator"),
        Field::new("pipeline", DataType::UInt32, false),
        number("error"),
        Field::new("fold_errors", folds, true),
        number("balanced_decision_error"),
        number("accuracy"),
        number("log_loss"),
        number("auc"),
        number("macro_f1"),
        number("runtime_s"),
        number("marginal_s"),
        text("status"),
        Field::new("reason", DataType::Utf8, true),
    ])
}

impl Shard {
    /// The bytes of the Parquet file; its pipelines are numbers of this space.
    pub fn to_bytes(&self, space: &SearchSpace) -> Result<Vec<u8>, OfflineError> {
        let facts = self.facts.iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone()));
        let level = ZstdLevel::try_new(6).expect("6 is a zstd level");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_key_value_metadata(Some(facts.collect()))
            .build();
        let batch = self.to_batch(space)?;
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(bytes)
    }

    fn to_batch(&self, space: &SearchSpace) -> Result<RecordBatch, OfflineError> {
        let n = self.entries.len();
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(StringArray::from_iter_values((0..n).map(|_| &self.dataset)))];
        let names = ComponentNames::of(space);
        for step in 0..5 {
            let components = self.entries.iter().map(|e| names.get(e.pipeline, step));
            columns.push(Arc::new(StringArray::from_iter_values(components)));
        }
        columns
            .push(Arc::new(UInt32Array::from_iter_values(self.entries.iter().map(|e| e.pipeline))));
        columns.push(self.numbers(|s| s.error));
        columns.push(self.fold_errors());
        columns.push(self.numbers(|s| s.balanced_decision_error));
        columns.push(self.numbers(|s| s.accuracy));
        columns.push(self.numbers(|s| s.log_loss));
        columns.push(self.numbers(|s| s.auc));
        columns.push(self.numbers(|s| s.macro_f1));
        let seconds = |of: fn(&Entry) -> f32| -> ArrayRef {
            Arc::new(Float32Array::from_iter_values(self.entries.iter().map(of)))
        };
        columns.push(seconds(|e| e.runtime_s));
        columns.push(seconds(|e| e.marginal_s));
        columns.push(Arc::new(StringArray::from_iter_values(
            self.entries.iter().map(|e| e.status.word()),
        )));
        columns.push(self.reasons());
        Ok(RecordBatch::try_new(Arc::new(schema()), columns)?)
    }

    fn numbers(&self, of: fn(&EntryScores) -> f32) -> ArrayRef {
        // A score that was never measured, as in published rows, is no number and is left empty.
        let values = self.entries.iter().map(|e| e.status.scores().map(of).filter(|v| !v.is_nan()));
        Arc::new(values.collect::<Float32Array>())
    }

    fn fold_errors(&self) -> ArrayRef {
        let mut lists = ListBuilder::new(Float32Builder::new());
        for entry in &self.entries {
            match entry.status.scores() {
                Some(scores) => lists.append_value(scores.fold_errors.iter().map(|&e| Some(e))),
                None => lists.append_null(),
            }
        }
        Arc::new(lists.finish())
    }

    fn reasons(&self) -> ArrayRef {
        let mut reasons = StringBuilder::new();
        for entry in &self.entries {
            match &entry.status {
                Status::Failed(reason) => reasons.append_value(reason),
                _ => reasons.append_null(),
            }
        }
        Arc::new(reasons.finish())
    }

    /// A shard from the bytes of a Parquet file that [`Shard::to_bytes`] wrote.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, OfflineError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))?;
        let metadata = builder.metadata().file_metadata().key_value_metadata();
        let facts = metadata
            .into_iter()
            .flatten()
            .filter_map(|kv| Some((kv.key.clone(), kv.value.clone()?)))
            .filter(|(key, _)| !key.starts_with("ARROW"))
            .collect();
        let mut shard = Shard { dataset: String::new(), facts, entries: Vec::new() };
        for batch in builder.build()? {
            shard.append(&batch?)?;
        }
        Ok(shard)
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<(), OfflineError> {
        let datasets: &StringArray = column(batch, "dataset")?;
        if batch.num_rows() > 0 {
            self.dataset = datasets.value(0).to_owned();
        }
        let pipelines: &UInt32Array = column(batch, "pipeline")?;
        let words: &StringArray = column(batch, "status")?;
        let reasons: &StringArray = column(batch, "reason")?;
        let folds: &ListArray = column(batch, "fold_errors")?;
        let numbers = |name: &'static str| column::<Float32Array>(batch, name);
        let error = numbers("error")?;
        let balanced_decision_error = numbers("balanced_decision_error")?;
        let (accuracy, log_loss) = (numbers("accuracy")?, numbers("log_loss")?);
        let (auc, macro_f1) = (numbers("auc")?, numbers("macro_f1")?);
        let (runtime, marginal) = (numbers("runtime_s")?, numbers("marginal_s")?);
        let number = |column: &Float32Array, i: usize| {
            if column.is_null(i) { f32::NAN } else { column.value(i) }
        };
        for i in 0..batch.num_rows() {
            let status = match words.value(i) {
                "finished" => Status::Finished(EntryScores {
                    error: number(error, i),
                    fold_errors: fold_row(folds, i)?,
                    balanced_decision_error: number(balanced_decision_error, i),
                    accuracy: number(accuracy, i),
                    log_loss: number(log_loss, i),
                    auc: number(auc, i),
                    macro_f1: number(macro_f1, i),
                }),
                "out of time" => Status::OutOfTime,
                "failed" => Status::Failed(reasons.value(i).to_owned()),
                other => return Err(OfflineError::UnknownStatus { word: other.to_owned() }),
            };
            self.entries.push(Entry {
                pipeline: pipelines.value(i),
                status,
                runtime_s: runtime.value(i),
                marginal_s: marginal.value(i),
            });
        }
        Ok(())
    }
}

/// The column `name`, if it is there with the type expected.
pub(super) fn column<'a, A: Array + 'static>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<&'a A, OfflineError> {
    batch
        .column_by_name(name)
        .and_then(|c| c.as_any().downcast_ref::<A>())
        .ok_or(OfflineError::MissingColumn { name })
}

/// The fold errors of row `i`.
fn fold_row(folds: &ListArray, i: usize) -> Result<Vec<f32>, OfflineError> {
    let row = folds.value(i);
    let row = row
        .as_any()
        .downcast_ref::<Float32Array>()
        .ok_or(OfflineError::MissingColumn { name: "fold_errors" })?;
    Ok(row.values().to_vec())
}
