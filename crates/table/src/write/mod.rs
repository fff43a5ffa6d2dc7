//! Writing: columns of results to CSV, Parquet or Arrow, and bytes to a file that is whole or not there.

mod atomic;
mod columnar;
mod csv;
mod standby;

use std::path::Path;

use thiserror::Error;

use crate::{Cells, MISSING_CODE, written_instant};

pub use atomic::{abandon_writes, check_writable, write_atomically};
pub use standby::{stand_by, stand_down, take_over};

/// A column to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: OutputCells,
}

/// The cells of a column to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputCells {
    /// Numbers; a missing cell is NaN.
    Numbers(Vec<f64>),
    /// Codes into a list of texts; a missing cell is [`MISSING_CODE`].
    Text {
        /// One code per row.
        codes: Vec<u32>,
        /// The texts.
        texts: Vec<String>,
    },
    /// Numbers as they are written: text in delimited formats, and numbers in the others where none of them would be
    /// read back as something else.
    Written {
        /// One code per row.
        codes: Vec<u32>,
        /// The texts.
        texts: Vec<String>,
    },
}

impl OutputCells {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Text { codes, .. } | Self::Written { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the cell of a row is missing.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Numbers(values) => values[row].is_nan(),
            Self::Text { codes, .. } | Self::Written { codes, .. } => codes[row] == MISSING_CODE,
        }
    }
}

/// Cells as they were read; instants are written out.
impl From<Cells> for OutputCells {
    fn from(cells: Cells) -> Self {
        match cells {
            Cells::Numbers { values, .. } => Self::Numbers(values.to_vec()),
            Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
                Self::Text { codes: codes.to_vec(), texts }
            }
            Cells::Instants { seconds } => {
                let present = seconds.iter().filter(|s| !s.is_nan());
                let texts = present.map(|&s| written_instant(s)).collect();
                let mut next = 0..;
                let code = |s: &f64| if s.is_nan() { None } else { next.next() };
                let codes = seconds.iter().map(code).map(|c| c.unwrap_or(MISSING_CODE)).collect();
                Self::Text { codes, texts }
            }
        }
    }
}

/// How columns are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, also called Feather.
    Arrow,
}

/// Why something could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file's name does not tell the format.
    #[error("{file}: its name does not end in .csv, .tsv, .parquet or .arrow")]
    UnknownExtension {
        /// The path as given.
        file: String,
    },
    /// The path is a directory.
    #[error("{file} is a directory")]
    IsDirectory {
        /// The path as given.
        file: String,
    },
    /// A file is there that may not be written to.
    #[error("{file} is read-only")]
    ReadOnly {
        /// The path as given.
        file: String,
    },
    /// The folder of the file is not there.
    #[error("{file}: there is no folder {folder}")]
    NoFolder {
        /// The path as given.
        file: String,
        /// The folder.
        folder: String,
    },
    /// Writing failed for another reason.
    #[error("{file}: could not be written: {source}")]
    Io {
        /// The path as given.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The columns could not be put into the format.
    #[error("the table could not be encoded: {0}")]
    Encoding(String),
}

impl WriteError {
    /// The next thing to try, where there is one.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownExtension { .. } => {
                Some("name it with one of these extensions, which choose the format".to_owned())
            }
            Self::IsDirectory { .. } => Some("name a file in it".to_owned()),
            Self::ReadOnly { file } => Some(format!("name another file, or chmod u+w {file}")),
            Self::NoFolder { folder, .. } => Some(format!("make it first: mkdir -p {folder}")),
            Self::Io { .. } => Some("check the permissions and the space left".to_owned()),
            Self::Encoding(_) => None,
        }
    }
}

impl OutputFormat {
    /// The format that a file's name stands for.
    pub fn of_path(path: &Path) -> Result<Self, WriteError> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("tsv" | "tab") => Ok(Self::Tsv),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            Some("arrow" | "feather" | "ipc") => Ok(Self::Arrow),
            _ => Err(WriteError::UnknownExtension { file: path.display().to_string() }),
        }
    }

    /// The bytes of a table.
    ///
    /// ```
    /// use pitchpipe_table::{OutputCells, OutputColumn, OutputFormat};
    ///
    /// let texts = vec!["a".to_owned(), "b, or not".to_owned()];
    /// let cells = OutputCells::Text { codes: vec![0, 1], texts };
    /// let columns = [OutputColumn { name: "prediction".into(), cells }];
    /// let bytes = OutputFormat::Csv.encode(&columns)?;
    /// assert_eq!(bytes, b"prediction\na\n\"b, or not\"\n");
    /// # Ok::<(), pitchpipe_table::WriteError>(())
    /// ```
    ///
    /// # Panics
    /// If the columns differ in length, or a code has no text.
    pub fn encode(self, columns: &[OutputColumn]) -> Result<Vec<u8>, WriteError> {
        let n_rows = columns.first().map_or(0, |column| column.cells.len());
        assert!(columns.iter().all(|c| c.cells.len() == n_rows), "columns differ in length");
        match self {
            Self::Csv => Ok(csv::encode(columns, n_rows, b',')),
            Self::Tsv => Ok(csv::encode(columns, n_rows, b'\t')),
            Self::Parquet => columnar::parquet(columns),
            Self::Arrow => columnar::arrow_ipc(columns),
        }
    }
}

#[cfg(test)]
mod tests;
