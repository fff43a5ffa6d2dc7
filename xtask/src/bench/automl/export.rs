//! One split of a dataset, as files that all systems read alike.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use pitchpipe_learn::Stream;
use pitchpipe_table::{
    CancelCheck, Cells, Labels, MISSING_CODE, RawTable, ReadOptions, Source, holdout, read,
};

use super::score::Truth;
use crate::corpus::Entry;
use crate::python::root;

/// The column to predict.
pub(super) const TARGET: &str = "class";

/// The share of rows that test.
pub(in crate::bench) const TEST_SHARE: f64 = 1.0 / 3.0;

/// Training rows with their classes, test rows without, and the truth that the systems do not see.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Split {
    pub(in crate::bench) train: PathBuf,
    pub(super) test: PathBuf,
    truth: PathBuf,
}

impl Split {
    /// Where the split of a dataset for a seed is.
    pub(in crate::bench) fn of(entry: &Entry, seed: u64) -> Self {
        let folder =
            root().join("target/bench/automl/splits").join(format!("{}-{seed}", entry.name));
        Self {
            train: folder.join("train.parquet"),
            test: folder.join("test.parquet"),
            truth: folder.join("truth.json"),
        }
    }

    /// Writes it, if it is not there yet. Numbers are floats, nominal columns are dictionaries, and so no
    /// system has to guess what a column is.
    pub(in crate::bench) fn write_once(&self, entry: &Entry, seed: u64) -> Result<(), String> {
        // The truth is written last: where it is, all is.
        if self.truth.exists() {
            return Ok(());
        }
        let folder = self.truth.parent().expect("the truth lies in the split's folder");
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        self.write(entry, seed)
    }

    pub(super) fn truth(&self) -> Result<Truth, String> {
        let path = &self.truth;
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn write(&self, entry: &Entry, seed: u64) -> Result<(), String> {
        let source = Source::Path(entry.path.clone());
        let table = read(&source, &ReadOptions::default(), &CancelCheck::never())
            .map_err(|e| format!("{}: {e}", entry.name))?;
        let (labels, classes) = target(&table).ok_or(format!("{}: no classes", entry.name))?;
        let key = Stream::new(seed).named(&entry.name).key();
        let fold = holdout(&labels, TEST_SHARE, key);
        write_parquet(&self.train, &table, &fold.train, true)?;
        write_parquet(&self.test, &table, &fold.test, false)?;
        let truth = Truth {
            classes,
            priors: labels.select(&fold.train).priors(),
            codes: labels.select(&fold.test).codes().to_vec(),
        };
        let text = serde_json::to_string(&truth).expect("the truth is plain data");
        fs::write(&self.truth, text).map_err(|e| format!("{}: {e}", self.truth.display()))
    }
}

/// The classes of all rows, and their names.
pub(in crate::bench) fn target(table: &RawTable) -> Option<(Labels, Vec<String>)> {
    let column = table.columns.iter().find(|c| c.name == TARGET)?;
    let Cells::Nominal { codes, levels } = &column.cells else { return None };
    let labels = Labels::from_codes(codes.iter().copied(), levels.len());
    Some((labels, levels.clone()))
}

/// Writes some rows, with the target or without.
pub(in crate::bench) fn write_parquet(
    path: &Path,
    table: &RawTable,
    rows: &[usize],
    with_target: bool,
) -> Result<(), String> {
    let columns = table.columns.iter().filter(|c| with_target || c.name != TARGET);
    let arrays: Vec<(&str, ArrayRef)> =
        columns.map(|c| (c.name.as_str(), array(&c.name, &c.cells, rows))).collect();
    let named = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let nullable = arrays.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(nullable).map_err(|e| named(&e))?;
    let file = File::create(path).map_err(|e| named(&e))?;
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).map_err(|e| named(&e))?;
    writer.write(&batch).map_err(|e| named(&e))?;
    writer.close().map_err(|e| named(&e))?;
    Ok(())
}

/// The cells of some rows. Classes are plain text: what predicts them is not to take them for numbers.
fn array(name: &str, cells: &Cells, rows: &[usize]) -> ArrayRef {
    match cells {
        Cells::Numbers { values, .. } | Cells::Instants { seconds: values } => {
            let cell = |&row: &usize| Some(values[row]).filter(|v| !v.is_nan());
            Arc::new(rows.iter().map(cell).collect::<Float64Array>())
        }
        Cells::Text { codes, dictionary: levels } | Cells::Nominal { codes, levels } => {
            let code = |row: usize| Some(codes[row]).filter(|&c| c != MISSING_CODE);
            if name == TARGET {
                let text = |&row: &usize| code(row).map(|c| levels[c as usize].as_str());
                return Arc::new(rows.iter().map(text).collect::<StringArray>());
            }
            let keys: Int32Array = rows.iter().map(|&row| code(row).map(|c| c as i32)).collect();
            let values = Arc::new(StringArray::from_iter_values(levels));
            Arc::new(DictionaryArray::new(keys, values))
        }
    }
}
