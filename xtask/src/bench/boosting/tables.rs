//! Tables that ours and the peers are fitted on, made from numbers that are the same everywhere.

use std::fs;
use std::path::{Path, PathBuf};

use pitchpipe_learn::{Features, Stream};
use pitchpipe_table::Labels;
use rayon::prelude::*;
use serde_json::json;

use super::Settings;

/// What a table is like.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) n_train: usize,
    pub(super) n_cols: usize,
    /// How many of the columns hold categories, of 10 to 1,000 levels.
    pub(super) n_categories: usize,
    pub(super) n_classes: usize,
}

/// Rows kept for the error.
const N_TEST: usize = 20_000;

/// A table: the first rows are trained on, the others are new.
pub(super) struct Made {
    pub(super) train: (Features, Labels),
    pub(super) test: (Features, Labels),
    pub(super) folder: PathBuf,
}

fn unit(key: u64) -> f64 {
    key as f64 / u64::MAX as f64
}

impl Shape {
    fn is_category(&self, j: usize) -> bool {
        j < self.n_categories
    }

    fn n_levels(&self, j: usize) -> f64 {
        [10.0, 40.0, 200.0, 1000.0][j % 4]
    }

    /// Numbers are normal (or nearly so), every fifth of few values; levels are not equally frequent.
    fn cell(&self, row: usize, j: usize) -> f64 {
        let stream = Stream::new(j as u64).child(row as u64);
        let draw = |k: u64| unit(stream.child(k).key());
        if self.is_category(j) {
            return (draw(0).powi(2) * self.n_levels(j)).floor();
        }
        let normal = (0..4).map(draw).sum::<f64>() - 2.0;
        if j % 5 == 4 { (normal * 4.0).round() / 4.0 } else { normal }
    }

    /// The score of a row for a class: some columns alone, some two by two, some levels.
    fn score(&self, cells: &[f64], class: usize) -> f64 {
        let salt = |a: usize, b: f64| {
            unit(Stream::new(900 + class as u64).child(a as u64).child(b as u64).key()) - 0.5
        };
        let value = |j: usize| {
            if self.is_category(j) { 2.0 * salt(j, cells[j]) } else { cells[j] }
        };
        (0..12.min(self.n_cols))
            .map(|k| {
                let (a, b) = ((k * 7 + class) % self.n_cols, (k * 3 + 1) % self.n_cols);
                let weight = 2.0 * salt(1000 + k, 0.0);
                weight * (value(a) + 1.5 * value(a) * value(b))
            })
            .sum()
    }

    fn class(&self, cells: &[f64], row: usize) -> u32 {
        let noise = |k: u64| 1.2 * (unit(Stream::new(7).child(row as u64).child(k).key()) - 0.5);
        if self.n_classes == 2 {
            return u32::from(self.score(cells, 0) + noise(0) > 0.0);
        }
        let score = |class: usize| self.score(cells, class) + noise(class as u64);
        (0..self.n_classes).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or(0) as u32
    }

    /// Makes the table and writes it for the peers.
    pub(super) fn make(&self, settings: Settings, root: &Path) -> Result<Made, String> {
        let n = self.n_train + N_TEST;
        let mut columns = vec![0.0; n * self.n_cols];
        columns.par_chunks_mut(n).enumerate().for_each(|(j, column)| {
            column.iter_mut().enumerate().for_each(|(row, cell)| *cell = self.cell(row, j));
        });
        let codes: Vec<u32> = (0..n)
            .into_par_iter()
            .map(|row| {
                let cells: Vec<f64> = (0..self.n_cols).map(|j| columns[j * n + row]).collect();
                self.class(&cells, row)
            })
            .collect();
        let folder = root.join(self.name);
        self.write(&folder, settings, &columns, &codes)?;
        let part = |from: usize, to: usize| {
            let mut cells = Vec::with_capacity((to - from) * self.n_cols);
            columns.chunks(n).for_each(|column| cells.extend_from_slice(&column[from..to]));
            let flags = (0..self.n_cols).map(|j| self.is_category(j)).collect();
            let x = Features::from_columns(to - from, self.n_cols, cells).with_categories(flags);
            (x, Labels::from_codes(codes[from..to].iter().copied(), self.n_classes))
        };
        Ok(Made { train: part(0, self.n_train), test: part(self.n_train, n), folder })
    }

    fn write(
        &self,
        folder: &Path,
        settings: Settings,
        columns: &[f64],
        codes: &[u32],
    ) -> Result<(), String> {
        let told = |e: std::io::Error| format!("{}: {e}", folder.display());
        fs::create_dir_all(folder).map_err(told)?;
        let categories: Vec<bool> = (0..self.n_cols).map(|j| self.is_category(j)).collect();
        let about = json!({
            "n_train": self.n_train, "n_test": N_TEST, "n_cols": self.n_cols, "n_classes": self.n_classes,
            "categories": categories, "rounds": settings.rounds, "leaves": settings.leaves,
            "learning_rate": settings.learning_rate, "min_rows": settings.min_rows, "l2": settings.l2,
        });
        fs::write(folder.join("about.json"), about.to_string()).map_err(told)?;
        let cells: Vec<u8> = columns.iter().flat_map(|v| v.to_le_bytes()).collect();
        fs::write(folder.join("x.f64"), cells).map_err(told)?;
        let codes: Vec<u8> = codes.iter().flat_map(|v| v.to_le_bytes()).collect();
        fs::write(folder.join("y.u32"), codes).map_err(told)
    }
}
