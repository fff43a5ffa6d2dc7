//! Feature columns in the form that training and prediction want.

use serde::{Deserialize, Serialize};

use crate::Buffer;

/// The code that stands for a missing cell of a categorical column.
pub const MISSING_CODE: u32 = u32::MAX;

/// The code that stands for a category never met in training. Only [`Schema::apply`](crate::Schema::apply) makes
/// it, at prediction time: one-hot encoding turns it into all zeros; integer codes have no number for it, and
/// treat it as missing.
pub const UNSEEN_CODE: u32 = u32::MAX - 1;

/// One feature's cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Column {
    /// Numbers; a missing cell is NaN (and only a missing cell is).
    Numeric(Buffer<f64>),
    /// Codes into a dictionary of `n_levels` levels; a missing cell is [`MISSING_CODE`], and in tables met
    /// after training a category that is not in the dictionary is [`UNSEEN_CODE`].
    Categorical {
        /// One code per row.
        codes: Buffer<u32>,
        /// The size of the dictionary: codes are below it.
        n_levels: u32,
    },
}

impl Column {
    /// A column of numbers.
    pub fn numeric(values: impl Into<Buffer<f64>>) -> Self {
        Self::Numeric(values.into())
    }

    /// A column of categories.
    pub fn categorical(codes: impl Into<Buffer<u32>>, n_levels: u32) -> Self {
        Self::Categorical { codes: codes.into(), n_levels }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numeric(values) => values.len(),
            Self::Categorical { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the cell of each row is missing.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Numeric(values) => values[row].is_nan(),
            Self::Categorical { codes, .. } => codes[row] == MISSING_CODE,
        }
    }

    /// The cells of the given rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numeric(values) => Self::Numeric(rows.iter().map(|&r| values[r]).collect()),
            Self::Categorical { codes, n_levels } => Self::Categorical {
                codes: rows.iter().map(|&r| codes[r]).collect(),
                n_levels: *n_levels,
            },
        }
    }
}

/// Cells one after the other. A category never met counts as missing: whoever learns from these cells has no name for it.
fn joined(a: &Column, b: &Column) -> Column {
    let known = |&code: &u32| if code == UNSEEN_CODE { MISSING_CODE } else { code };
    match (a, b) {
        (Column::Numeric(a), Column::Numeric(b)) => Column::numeric([&a[..], &b[..]].concat()),
        (
            Column::Categorical { codes: a, n_levels },
            Column::Categorical { codes: b, n_levels: of_b },
        ) if n_levels == of_b => {
            Column::categorical(a.iter().chain(b).map(known).collect::<Vec<u32>>(), *n_levels)
        }
        _ => panic!("columns of one kind and one dictionary"),
    }
}

/// Feature columns of equal length: what is predicted, and with a [`Target`](crate::Target) what is learnt from.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    columns: Vec<Column>,
    n_rows: usize,
}

impl Frame {
    /// A frame of so many rows.
    ///
    /// # Panics
    /// If a column has another number of rows.
    pub fn new(columns: Vec<Column>, n_rows: usize) -> Self {
        let fits = |column: &Column| column.len() == n_rows;
        assert!(columns.iter().all(fits), "a column has another number of rows");
        Self { columns, n_rows }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// These rows, and after them those of a frame of the same columns; a category never met becomes a missing cell.
    ///
    /// # Panics
    /// If columns differ in number or kind.
    pub fn concat(&self, other: &Self) -> Self {
        assert_eq!(self.columns.len(), other.columns.len(), "the same columns");
        let columns = self.columns.iter().zip(&other.columns).map(|(a, b)| joined(a, b)).collect();
        Self { columns, n_rows: self.n_rows + other.n_rows }
    }

    /// The given rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter().map(|column| column.select(rows)).collect();
        Self { columns, n_rows: rows.len() }
    }
}
