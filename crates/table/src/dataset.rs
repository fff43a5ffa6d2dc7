//! A dataset: typed columns in the form that training wants, with labels.

use serde::{Deserialize, Serialize};

use crate::Labels;

/// The code that stands for a missing cell of a categorical column.
pub const MISSING_CODE: u32 = u32::MAX;

/// One feature's cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Column {
    /// Numbers; a missing cell is NaN (and only a missing cell is).
    Numeric(Vec<f64>),
    /// Codes into a dictionary of `n_levels` levels; a missing cell is [`MISSING_CODE`].
    Categorical {
        /// One code per row.
        codes: Vec<u32>,
        /// The size of the dictionary: codes are below it.
        n_levels: u32,
    },
}

/// Feature columns of equal length, with the class of each row where it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    columns: Vec<Column>,
    labels: Labels,
}

impl Dataset {
    /// A dataset from its parts.
    ///
    /// # Panics
    /// If a column is not as long as the labels.
    pub fn new(columns: Vec<Column>, labels: Labels) -> Self {
        let fits = |c: &Column| match c {
            Column::Numeric(v) => v.len() == labels.len(),
            Column::Categorical { codes, .. } => codes.len() == labels.len(),
        };
        assert!(columns.iter().all(fits), "a column differs in length from the labels");
        Self { columns, labels }
    }

    /// The feature columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The class of each row.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }
}
