//! The rows of a dataset as numbers, some of them missing: what the first step of a pipeline is given.

use pitchpipe_table::{Column, Dataset, MISSING_CODE};

use crate::{FitContext, FitError};

/// `n_rows` by `n_cols` numbers, column-major; a missing cell is NaN; a categorical cell is its code.
///
/// An infinite cell counts as missing: no component has an answer for it.
#[derive(Clone, Debug)]
pub struct RawFeatures {
    n_rows: usize,
    values: Vec<f64>,
    categorical: Vec<bool>,
}

impl RawFeatures {
    /// The given rows of a dataset, in the order given.
    pub fn of_rows(dataset: &Dataset, rows: &[usize], ctx: &FitContext) -> Result<Self, FitError> {
        let columns = dataset.columns();
        ctx.check_memory("reading the rows", (rows.len() * columns.len() * 8) as u64)?;
        let mut values = Vec::with_capacity(rows.len() * columns.len());
        for column in columns {
            ctx.check_deadline()?;
            match column {
                Column::Numeric(cells) => {
                    values.extend(rows.iter().map(|&row| number_or_missing(cells[row])));
                }
                Column::Categorical { codes, .. } => {
                    values.extend(rows.iter().map(|&row| code_or_missing(codes[row])));
                }
            }
        }
        let categorical = columns.iter().map(|c| matches!(c, Column::Categorical { .. })).collect();
        Ok(Self { n_rows: rows.len(), values, categorical })
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// How many columns there are.
    pub fn n_cols(&self) -> usize {
        self.categorical.len()
    }

    /// One column.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.n_rows..(j + 1) * self.n_rows]
    }

    /// Which columns hold codes of categories.
    pub fn categorical(&self) -> &[bool] {
        &self.categorical
    }

    /// Which columns have a missing cell.
    pub fn columns_with_missing(&self) -> Vec<bool> {
        (0..self.n_cols()).map(|j| self.column(j).iter().any(|v| v.is_nan())).collect()
    }
}

fn number_or_missing(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

fn code_or_missing(code: u32) -> f64 {
    if code == MISSING_CODE { f64::NAN } else { f64::from(code) }
}
