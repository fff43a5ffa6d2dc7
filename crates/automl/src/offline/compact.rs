//! The compact form of a store: one Parquet file, scores to three or four digits, equal computations once.
//!
//! On a table without missing cells four imputers make one matrix, and without categories both encoders do:
//! many pipelines are one computation, to the last bit of every score. The compact form has one row for
//! each computation, with the list of pipelines that it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, UInt32Builder};
use arrow_array::{
    Array, ArrayRef, Float32Array, ListArray, RecordBatch, StringArray, UInt16Array, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use pitchpipe_learn::SearchSpace;
use pitchpipe_learn::search_space::STEPS;

use super::ComponentNames;
use super::entry::{Entry, EntryScores, Status};
use super::error::{OfflineError, at};
use super::shard::column;
use super::store::{About, FORM, Facts, Store, write_facts, write_whole};

const ENTRIES_FILE: &str = "entries.parquet";
const DATASETS_FILE: &str = "datasets.json";
/// What the fact [`FORM`] says of such a store.
pub(super) const COMPACT: &str = "compact";

const SCORES: [&str; 6] =
    ["error", "balanced_decision_error", "accuracy", "log_loss", "auc", "macro_f1"];

/// All that a compact store holds.
#[derive(Debug, Default)]
pub(super) struct Compact {
    pub(super) entries: BTreeMap<String, BTreeMap<u32, Entry>>,
    pub(super) about: BTreeMap<String, About>,
}

/// What a store came to in its compact form.
#[derive(Clone, Copy, Debug)]
pub struct Compacted {
    /// Datasets.
    pub n_datasets: usize,
    /// Entries.
    pub n_entries: usize,
    /// Distinct computations.
    pub n_computations: usize,
    /// Bytes of the file of entries.
    pub n_bytes: usize,
}

/// One computation: the pipelines it is and what it came to.
struct Computation {
    dataset: String,
    pipelines: Vec<u32>,
    status: Status,
    runtime_s: f32,
    marginal_s: f32,
}

/// Writes the compact form of a store into a folder.
pub fn compact(store: &Store, folder: &Path) -> Result<Compacted, OfflineError> {
    let is_other = |other: Store| other.facts().get(FORM).is_none_or(|form| form != COMPACT);
    if Store::open(folder).is_ok_and(is_other) {
        return Err(OfflineError::OtherStore { path: folder.to_owned() });
    }
    let (mut computations, mut about) = (Vec::new(), BTreeMap::new());
    let mut n_entries = 0;
    for dataset in store.datasets()? {
        let entries = store.entries(&dataset, &mut Vec::new())?;
        if entries.is_empty() {
            continue;
        }
        n_entries += entries.len();
        computations.extend(computations_of(store.space(), &dataset, entries.into_values()));
        if let Some(known) = store.about(&dataset)? {
            about.insert(dataset, known);
        }
    }
    let bytes = write(store.space(), &computations)?;
    fs::create_dir_all(folder).map_err(at(folder))?;
    let mut facts: Facts = store.facts().clone();
    facts.insert(FORM.into(), COMPACT.into());
    write_whole(&folder.join(ENTRIES_FILE), &bytes)?;
    let path = folder.join(DATASETS_FILE);
    let text = serde_json::to_vec_pretty(&about)
        .map_err(|source| OfflineError::Facts { path: path.clone(), source })?;
    write_whole(&path, &text)?;
    write_facts(folder, &facts)?;
    let mut datasets: Vec<&String> = computations.iter().map(|c| &c.dataset).collect();
    datasets.dedup();
    let (n_datasets, n_computations) = (datasets.len(), computations.len());
    Ok(Compacted { n_datasets, n_entries, n_computations, n_bytes: bytes.len() })
}

/// Entries of one dataset by what they have in common: one estimator and the same bits in every score.
fn computations_of(
    space: &SearchSpace,
    dataset: &str,
    entries: impl Iterator<Item = Entry>,
) -> Vec<Computation> {
    let mut places: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    let mut reasons: Vec<String> = Vec::new();
    let mut found: Vec<Computation> = Vec::new();
    for entry in entries {
        let estimator = space.estimator_index(entry.pipeline.into()) as u32;
        let key = match &entry.status {
            Status::Finished(s) => {
                let numbers =
                    [s.error, s.balanced_decision_error, s.accuracy, s.log_loss, s.auc, s.macro_f1];
                let numbers = numbers.iter().chain(&s.fold_errors).map(|v| v.to_bits());
                [0, estimator].into_iter().chain(numbers).collect()
            }
            Status::OutOfTime => vec![1, estimator, entry.runtime_s.to_bits()],
            Status::Failed(reason) => {
                let known = reasons.iter().position(|r| r == reason);
                let number = known.unwrap_or_else(|| {
                    reasons.push(reason.clone());
                    reasons.len() - 1
                });
                vec![2, number as u32]
            }
        };
        match places.get(&key) {
            Some(&place) => {
                let same = &mut found[place];
                let n = same.pipelines.len() as f32;
                same.runtime_s = (same.runtime_s * n + entry.runtime_s) / (n + 1.0);
                same.marginal_s += entry.marginal_s;
                same.pipelines.push(entry.pipeline);
            }
            None => {
                places.insert(key, found.len());
                let Entry { pipeline, status, runtime_s, marginal_s } = entry;
                let (dataset, pipelines) = (dataset.to_owned(), vec![pipeline]);
                found.push(Computation { dataset, pipelines, status, runtime_s, marginal_s });
            }
        }
    }
    found
}

fn schema() -> Schema {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let number = |name: &str| Field::new(name, DataType::Float32, true);
    let list = DataType::List(Arc::new(Field::new("item", DataType::UInt32, true)));
    let mut fields = vec![text("dataset")];
    fields.extend(STEPS.iter().map(|s| text(s)));
    fields.push(Field::new("pipelines", list, false));
    fields.extend(SCORES.iter().map(|s| number(s)));
    fields.extend([number("runtime_s"), number("marginal_s"), text("status")]);
    fields.push(Field::new("reason", DataType::Utf8, true));
    Schema::new(fields)
}

fn write(space: &SearchSpace, computations: &[Computation]) -> Result<Vec<u8>, OfflineError> {
    let texts = |of: &dyn Fn(&Computation) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(computations.iter().map(of)))
    };
    let mut columns = vec![texts(&|c| c.dataset.clone())];
    let names = ComponentNames::of(space);
    for step in 0..STEPS.len() {
        // Of pipelines that are one computation the first gives its name.
        columns.push(texts(&|c| names.get(c.pipelines[0], step).to_owned()));
    }
    let mut lists = ListBuilder::new(UInt32Builder::new());
    for computation in computations {
        lists.append_value(computation.pipelines.iter().map(|&j| Some(j)));
    }
    columns.push(Arc::new(lists.finish()));
    let score = |of: fn(&EntryScores) -> f32, digits: i32| -> ArrayRef {
        let values = computations.iter().map(|c| {
            let value = c.status.scores().map(of).filter(|v| !v.is_nan());
            value.map(|v| to_decimals(v, digits))
        });
        Arc::new(values.collect::<Float32Array>())
    };
    // Errors are what surrogates are trained on: a digit more than the rest.
    columns.push(score(|s| s.error, 4));
    columns.push(score(|s| s.balanced_decision_error, 4));
    columns.push(score(|s| s.accuracy, 3));
    columns.push(score(|s| s.log_loss, 3));
    columns.push(score(|s| s.auc, 3));
    columns.push(score(|s| s.macro_f1, 3));
    let secs = |of: fn(&Computation) -> f32| -> ArrayRef {
        Arc::new(Float32Array::from_iter_values(computations.iter().map(|c| to_digits(of(c)))))
    };
    columns.push(secs(|c| c.runtime_s));
    columns.push(secs(|c| c.marginal_s));
    columns.push(texts(&|c| c.status.word().to_owned()));
    let reasons = computations.iter().map(|c| match &c.status {
        Status::Failed(reason) => Some(reason.as_str()),
        _ => None,
    });
    columns.push(Arc::new(reasons.collect::<StringArray>()));
    let batch = RecordBatch::try_new(Arc::new(schema()), columns)?;
    let level = ZstdLevel::try_new(19).expect("19 is a zstd level");
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

/// Rounded to so many decimals.
fn to_decimals(value: f32, decimals: i32) -> f32 {
    let unit = 10_f64.powi(decimals);
    ((f64::from(value) * unit).round() / unit) as f32
}

/// Rounded to three significant digits.
fn to_digits(value: f32) -> f32 {
    if value <= 0.0 || !value.is_finite() {
        return value;
    }
    let decimals = 2 - f64::from(value).log10().floor() as i32;
    to_decimals(value, decimals)
}

impl Compact {
    /// Reads the compact form in a folder, of pipelines of this space.
    pub(super) fn read(folder: &Path, space: &SearchSpace) -> Result<Self, OfflineError> {
        let path = folder.join(DATASETS_FILE);
        let text = fs::read(&path).map_err(at(&path))?;
        let about = serde_json::from_slice(&text)
            .map_err(|source| OfflineError::Facts { path: path.clone(), source })?;
        let mut compact = Self { entries: BTreeMap::new(), about };
        let path = folder.join(ENTRIES_FILE);
        let bytes = fs::read(&path).map_err(at(&path))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))?;
        for batch in builder.build()? {
            compact.append(&batch?)?;
        }
        let numbers = compact.entries.values().flat_map(|entries| entries.keys());
        let n_pipelines = space.n_pipelines();
        match numbers.max().filter(|&&number| number as usize >= n_pipelines) {
            Some(&number) => Err(OfflineError::NoPipeline { number, n_pipelines }),
            None => Ok(compact),
        }
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<(), OfflineError> {
        let datasets: &StringArray = column(batch, "dataset")?;
        let lists: &ListArray = column(batch, "pipelines")?;
        let words: &StringArray = column(batch, "status")?;
        let reasons: &StringArray = column(batch, "reason")?;
        let mut numbers = Vec::new();
        for name in SCORES.into_iter().chain(["runtime_s", "marginal_s"]) {
            numbers.push(column::<Float32Array>(batch, name)?);
        }
        let number = |column: usize, i: usize| {
            if numbers[column].is_null(i) { f32::NAN } else { numbers[column].value(i) }
        };
        for i in 0..batch.num_rows() {
            let status = match words.value(i) {
                "finished" => Status::Finished(EntryScores {
                    error: number(0, i),
                    fold_errors: Vec::new(),
                    balanced_decision_error: number(1, i),
                    accuracy: number(2, i),
                    log_loss: number(3, i),
                    auc: number(4, i),
                    macro_f1: number(5, i),
                }),
                "out of time" => Status::OutOfTime,
                "failed" => Status::Failed(reasons.value(i).to_owned()),
                other => return Err(OfflineError::UnknownStatus { word: other.to_owned() }),
            };
            let pipelines = numbers_of(&lists.value(i))?;
            let (runtime_s, marginal_s) = (number(6, i), number(7, i));
            let entries = self.entries.entry(datasets.value(i).to_owned()).or_default();
            for (at, pipeline) in pipelines.into_iter().enumerate() {
                // What the computation cost was paid once.
                let marginal_s = if at == 0 { marginal_s } else { 0.0 };
                let status = status.clone();
                entries.insert(pipeline, Entry { pipeline, status, runtime_s, marginal_s });
            }
        }
        Ok(())
    }
}

/// Numbers of pipelines; pitchpipe 0.1 wrote them in 16 bits.
fn numbers_of(list: &ArrayRef) -> Result<Vec<u32>, OfflineError> {
    if let Some(short) = list.as_any().downcast_ref::<UInt16Array>() {
        return Ok(short.values().iter().map(|&number| u32::from(number)).collect());
    }
    let long = list.as_any().downcast_ref::<UInt32Array>();
    let long = long.ok_or(OfflineError::MissingColumn { name: "pipelines" })?;
    Ok(long.values().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_what_they_say() {
        assert_eq!(to_decimals(0.123_456, 4), 0.1235);
        assert_eq!((to_digits(0.012_345), to_digits(98.765), to_digits(0.0)), (0.0123, 98.8, 0.0));
    }

    #[test]
    fn equal_scores_of_one_estimator_are_one_computation() {
        let scores = |error: f32| {
            Status::Finished(EntryScores {
                error,
                fold_errors: vec![error; 3],
                balanced_decision_error: error,
                accuracy: 1.0 - error,
                log_loss: 0.1,
                auc: 0.9,
                macro_f1: 0.8,
            })
        };
        let entry = |pipeline: u32, status: Status| Entry {
            pipeline,
            status,
            runtime_s: 2.0,
            marginal_s: 0.5,
        };
        // Estimator 5 behind two preparations, estimator 6 with the same scores, and one that differs.
        let entries = vec![
            entry(5, scores(0.1)),
            entry(188, scores(0.1)),
            entry(6, scores(0.1)),
            entry(371, scores(0.2)),
        ];
        let found = computations_of(&SearchSpace::paper(), "a", entries.into_iter());
        let pipelines: Vec<&[u32]> = found.iter().map(|c| c.pipelines.as_slice()).collect();
        assert_eq!(pipelines, [&[5, 188][..], &[6], &[371]]);
        assert_eq!((found[0].runtime_s, found[0].marginal_s), (2.0, 1.0));
    }
}
