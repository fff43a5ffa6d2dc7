//! The tables that golden cases are about, and the files of cases.

use std::path::PathBuf;

use pitchpipe_learn::{Features, FitContext, Preparation, RawFeatures};
use pitchpipe_table::{Column, Dataset, Labels, MISSING_CODE};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The releases that files may come from: the paper's, and a later one whose boosting is the same.
const SCIKIT_LEARN: [&str; 2] = ["1.1.3", "1.2.2"];

/// A table as golden files hold it.
#[derive(Deserialize)]
pub(crate) struct Table {
    x: Vec<Vec<Option<f64>>>,
    y: Vec<u32>,
    categorical: Vec<bool>,
    fold: Vec<usize>,
}

/// Prepared rows to learn from and to be asked about.
pub(crate) struct Split {
    pub(crate) train: Features,
    pub(crate) y_train: Labels,
    pub(crate) test: Features,
    pub(crate) y_test: Labels,
}

impl Table {
    pub(crate) fn read(name: &str) -> Self {
        json(&folder().join("data").join(format!("{name}.json")))
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.y.iter().max().map_or(0, |&c| c as usize + 1)
    }

    pub(crate) fn dataset(&self) -> Dataset {
        let cells = |j: usize| self.x.iter().map(move |row| row[j]);
        let column = |(j, &categorical): (usize, &bool)| {
            if !categorical {
                return Column::Numeric(cells(j).map(|v| v.unwrap_or(f64::NAN)).collect());
            }
            let codes: Vec<u32> = cells(j).map(|v| v.map_or(MISSING_CODE, |v| v as u32)).collect();
            let seen = codes.iter().filter(|&&c| c != MISSING_CODE).max();
            let n_levels = seen.map_or(0, |&c| c + 1);
            Column::categorical(codes, n_levels)
        };
        let columns = self.categorical.iter().enumerate().map(column).collect();
        Dataset::new(columns, Labels::from_codes(self.y.iter().copied(), self.n_classes()))
    }

    /// Rows that train and rows that test in a fold.
    pub(crate) fn rows(&self, fold: usize) -> (Vec<usize>, Vec<usize>) {
        (0..self.y.len()).partition(|&row| self.fold[row] != fold)
    }

    /// A fold, standardised by its training rows.
    pub(crate) fn standardised(&self, fold: usize) -> Split {
        let (dataset, ctx) = (self.dataset(), FitContext::unhurried());
        let (train, test) = self.rows(fold);
        let y_train = dataset.labels().select(&train);
        let (fitted, x) = Preparation::default()
            .fit(&RawFeatures::of_rows(dataset.frame(), &train), &y_train, &ctx)
            .unwrap();
        let x_test = fitted.transform(&RawFeatures::of_rows(dataset.frame(), &test), &ctx).unwrap();
        let y_test = dataset.labels().select(&test);
        Split { train: (*x).clone(), y_train, test: (*x_test).clone(), y_test }
    }
}

/// The cases of one component: the table's name and its cases.
pub(crate) fn cases<C: DeserializeOwned>(component: &str) -> Vec<(String, Vec<C>)> {
    #[derive(Deserialize)]
    struct File<C> {
        scikit_learn: String,
        cases: Vec<C>,
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join(component))
        .unwrap_or_else(|e| panic!("golden files of {component}: {e}"))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no golden file of {component}");
    let read = |path: PathBuf| {
        let File { scikit_learn, cases } = json(&path);
        assert!(SCIKIT_LEARN.contains(&scikit_learn.as_str()), "{}", path.display());
        (path.file_stem().unwrap().to_string_lossy().into_owned(), cases)
    };
    files.into_iter().map(read).collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn json<T: DeserializeOwned>(path: &PathBuf) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
