//! Tables that both sides read, and scikit-learn's side of a measurement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use pitchpipe_learn::Pipeline;
use pitchpipe_table::{Column, Dataset, Labels, MISSING_CODE, stratified_folds};
use serde::{Deserialize, Serialize};

use crate::golden::single_thread;
use crate::{python, tests};

/// One pipeline on one table.
#[derive(Clone, Serialize)]
pub(crate) struct Case {
    pub(crate) key: String,
    pub(crate) table: String,
    pub(crate) pipeline: Pipeline,
}

impl Case {
    pub(crate) fn new(table: &str, pipeline: Pipeline) -> Self {
        Self { key: format!("{table} | {pipeline}"), table: table.to_owned(), pipeline }
    }
}

/// How patient the peer's side is.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Patience {
    pub(crate) repeats: usize,
    pub(crate) fold_cap_secs: f64,
    pub(crate) cap_secs: f64,
}

/// Tables by name, read from the files that scikit-learn reads, too.
pub(crate) struct Tables {
    folder: PathBuf,
    pub(crate) tables: BTreeMap<String, Dataset>,
}

#[derive(Deserialize)]
struct About {
    categorical: Vec<bool>,
    y: Vec<u32>,
}

impl Tables {
    /// Has Python write the tables that are not there yet, and reads them.
    pub(crate) fn read(names: &[&str]) -> Result<Self, String> {
        let folder = python::root().join("target/bench/tables");
        let missing: Vec<&str> =
            names.iter().copied().filter(|n| !folder.join(format!("{n}.json")).exists()).collect();
        if !missing.is_empty() {
            let python = python::environment("bench-learn")?;
            let script = python::root().join("bench/sklearn/tables.py");
            tests::run(Command::new(python).arg(script).arg(&folder).args(missing))?;
        }
        let tables = names
            .iter()
            .map(|name| Ok(((*name).to_owned(), read_table(&folder, name)?)))
            .collect::<Result<_, String>>()?;
        Ok(Self { folder, tables })
    }

    /// scikit-learn's CPU seconds for each case, in order; `None` where it refuses the pipeline. What an
    /// earlier, interrupted run of the same `name` measured is not measured again.
    pub(crate) fn peer_secs(
        &self,
        name: &str,
        cases: &[Case],
        patience: Patience,
    ) -> Result<Vec<Option<f64>>, String> {
        #[derive(Serialize)]
        struct Table<'a> {
            x: PathBuf,
            y: &'a [u32],
            categorical: Vec<bool>,
            fold: Vec<usize>,
        }
        #[derive(Serialize)]
        struct Job<'a> {
            tables: BTreeMap<&'a str, Table<'a>>,
            cases: &'a [Case],
            #[serde(flatten)]
            patience: Patience,
        }
        #[derive(Deserialize)]
        struct Line {
            key: String,
            secs: Option<f64>,
        }
        let table = |(name, dataset): (&'_ String, &'_ Dataset)| {
            let mut fold = vec![0; dataset.n_rows()];
            for (f, rows) in stratified_folds(dataset.labels(), 3, 0).iter().enumerate() {
                rows.test.iter().for_each(|&row| fold[row] = f);
            }
            let is_nominal = |c: &Column| matches!(c, Column::Categorical { .. });
            let categorical = dataset.columns().iter().map(is_nominal).collect();
            (self.folder.join(format!("{name}.f64")), categorical, fold)
        };
        let mut job = Job { tables: BTreeMap::new(), cases, patience };
        for (name, dataset) in &self.tables {
            let (x, categorical, fold) = table((name, dataset));
            job.tables.insert(name, Table { x, y: dataset.labels().codes(), categorical, fold });
        }
        let folder = self.folder.with_file_name("peer");
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let (asked, told) =
            (folder.join(format!("{name}-job.json")), folder.join(format!("{name}.jsonl")));
        let text = serde_json::to_string(&job).expect("a job is plain data");
        std::fs::write(&asked, text).map_err(|e| format!("{}: {e}", asked.display()))?;
        let python = python::environment("bench-learn")?;
        tests::run(
            single_thread(&mut Command::new(python))
                .arg(python::root().join("bench/sklearn/timings.py"))
                .args([&asked, &told]),
        )?;
        let text =
            std::fs::read_to_string(&told).map_err(|e| format!("{}: {e}", told.display()))?;
        let mut secs = BTreeMap::new();
        for line in text.lines() {
            let line: Line = serde_json::from_str(line).map_err(|e| format!("{line}: {e}"))?;
            secs.insert(line.key, line.secs);
        }
        // What a finished run measured must not meet times of a later one.
        std::fs::remove_file(&told).map_err(|e| format!("{}: {e}", told.display()))?;
        Ok(cases.iter().map(|case| secs.get(&case.key).copied().flatten()).collect())
    }
}

fn read_table(folder: &Path, name: &str) -> Result<Dataset, String> {
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let About { categorical, y } =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let path = folder.join(format!("{name}.f64"));
    let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (cells, _) = bytes.as_chunks::<8>();
    let n_cols = categorical.len();
    let cell = |row: usize, j: usize| f64::from_le_bytes(cells[row * n_cols + j]);
    let column = |(j, &is_nominal): (usize, &bool)| {
        let cells = (0..y.len()).map(|row| cell(row, j));
        if !is_nominal {
            return Column::Numeric(cells.collect());
        }
        let codes: Vec<u32> =
            cells.map(|v| if v.is_nan() { MISSING_CODE } else { v as u32 }).collect();
        let largest = codes.iter().filter(|&&c| c != MISSING_CODE).max();
        let n_levels = largest.map_or(0, |&c| c + 1);
        Column::categorical(codes, n_levels)
    };
    let columns = categorical.iter().enumerate().map(column).collect();
    let n_classes = y.iter().max().map_or(0, |&c| c as usize + 1);
    Ok(Dataset::new(columns, Labels::from_codes(y.iter().copied(), n_classes)))
}

/// The geometric mean.
pub(crate) fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value.ln();
        n += 1.0;
    }
    (sum / n).exp()
}
