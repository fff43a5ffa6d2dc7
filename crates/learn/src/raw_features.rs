//! The rows of a frame as numbers, some of them missing: what the first step of a pipeline is given.

use pitchpipe_table::{Column, Dataset, Frame, MISSING_CODE, UNSEEN_CODE};

/// Some rows of a frame, read where they are; a missing cell is NaN; a categorical cell is its code,
/// or infinite for a category never met in training.
///
/// An infinite number counts as missing: no component has an answer for it.
#[derive(Clone, Copy, Debug)]
pub struct RawFeatures<'a> {
    columns: &'a [Column],
    rows: &'a [usize],
}

impl<'a> RawFeatures<'a> {
    /// The given rows of a frame, in the order given.
    pub fn of_rows(frame: &'a Frame, rows: &'a [usize]) -> Self {
        Self { columns: frame.columns(), rows }
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// How many columns there are.
    pub fn n_cols(&self) -> usize {
        self.columns.len()
    }

    /// Appends one column's cells, each as `cell` has it.
    pub(crate) fn extend(&self, j: usize, to: &mut Vec<f64>, cell: impl Fn(f64) -> f64) {
        match &self.columns[j] {
            Column::Numeric(cells) => {
                to.extend(self.rows.iter().map(|&row| cell(number_or_missing(cells[row]))));
            }
            Column::Categorical { codes, .. } => {
                to.extend(self.rows.iter().map(|&row| cell(code_or_missing(codes[row]))));
            }
        }
    }

    /// Which columns hold codes of categories.
    pub fn categorical(&self) -> Vec<bool> {
        self.columns.iter().map(|c| matches!(c, Column::Categorical { .. })).collect()
    }
}

/// Which columns of a dataset have a missing cell.
pub(crate) fn columns_with_missing(dataset: &Dataset) -> Vec<bool> {
    let has_missing = |column: &Column| match column {
        Column::Numeric(cells) => cells.iter().any(|v| !v.is_finite()),
        Column::Categorical { codes, .. } => codes.iter().any(|&c| c >= UNSEEN_CODE),
    };
    dataset.columns().iter().map(has_missing).collect()
}

fn number_or_missing(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

fn code_or_missing(code: u32) -> f64 {
    match code {
        MISSING_CODE => f64::NAN,
        UNSEEN_CODE => f64::INFINITY,
        code => f64::from(code),
    }
}
