//! A table as it was read: named columns of cells, before any of them is taken for a feature.

use crate::{Buffer, MissingCells, Note};

/// What a reader returns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawTable {
    /// How many rows there are, header aside.
    pub n_rows: usize,
    /// The columns in the file's order; names are unique.
    pub columns: Vec<RawColumn>,
    /// What the reader had to decide (delimiter, encoding, header, …).
    pub notes: Vec<Note>,
    /// Whether the first row of a text table held names, told or detected; `None` where the format says so.
    /// For [`ReadOptions::header`](crate::ReadOptions), so that later tables are read alike.
    pub has_header: Option<bool>,
    /// What separates the cells of a text table, told or detected. For [`Schema::read`](crate::Schema::read), which tries
    /// it first on later tables.
    pub delimiter: Option<u8>,
    /// What the missing cells of [`ReadOptions::target`](crate::ReadOptions) say (nothing, `NA`, …), each with its
    /// number of rows.
    pub missing_labels: Vec<(String, usize)>,
    /// What the user said about cells that stand for missing values.
    pub missing: MissingCells,
    /// Columns that a text table has no name for, under the names that the reader gave them.
    pub unnamed: Vec<String>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct RawColumn {
    /// Its name in the file, or `column_1`, … where the file has none.
    pub name: String,
    /// Its cells.
    pub cells: Cells,
}

/// The cells of a column, each in the form that costs least.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Numbers; a missing cell is NaN. `integers` says that every number present is whole *and was
    /// written or typed as an integer*.
    Numbers {
        /// One number per row.
        values: Buffer<f64>,
        /// Whether all of them are integers.
        integers: bool,
    },
    /// Text as codes into a dictionary in order of first appearance; missing is `MISSING_CODE`.
    Text {
        /// One code per row.
        codes: Buffer<u32>,
        /// The distinct texts.
        dictionary: Vec<String>,
    },
    /// Values of a declared set (an ARFF nominal, an Arrow dictionary, booleans as `false`, `true`), in
    /// the declared order, whether or not each occurs; missing is `MISSING_CODE`.
    Nominal {
        /// One code per row.
        codes: Buffer<u32>,
        /// The declared levels.
        levels: Vec<String>,
    },
    /// Instants as seconds since 1970-01-01T00:00:00Z (dates at midnight); a missing cell is NaN.
    Instants {
        /// One instant per row.
        seconds: Buffer<f64>,
    },
}

impl Cells {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers { values, .. } | Self::Instants { seconds: values } => values.len(),
            Self::Text { codes, .. } | Self::Nominal { codes, .. } => codes.len(),
        }
    }

    /// The cells of the given rows, in the order given.
    pub(crate) fn select(self, rows: &[usize]) -> Self {
        let numbers = |v: Buffer<f64>| rows.iter().map(|&row| v[row]).collect();
        let selected = |v: Buffer<u32>| rows.iter().map(|&row| v[row]).collect();
        match self {
            Self::Numbers { values, integers } => {
                Self::Numbers { values: numbers(values), integers }
            }
            Self::Text { codes, dictionary } => Self::Text { codes: selected(codes), dictionary },
            Self::Nominal { codes, levels } => Self::Nominal { codes: selected(codes), levels },
            Self::Instants { seconds } => Self::Instants { seconds: numbers(seconds) },
        }
    }
}
