//! Reading: from a path, standard input or bytes to a [`RawTable`], whatever the format.
//!
//! The format is known by its first bytes rather than by the file's name, so a misnamed file is read
//! all the same; compression is undone first. Each reader asks the [`CancelCheck`] every few thousand
//! rows.

mod arff;
mod bytes;
mod cancel;
mod columnar;
mod csv;
mod date;
mod encoding;
mod format;
mod missing;
mod names;
mod number;
mod short;
mod text;

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use cancel::CancelCheck;
pub use columnar::{from_batches, from_batches_until};
pub(crate) use date::{days_from_civil, parse as parse_instant, parse_offset};
pub use format::Format;
pub use missing::{DEFAULT_MISSING, MissingCells};

use crate::{Limits, Note, RawTable, TableError};

/// Where a table comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory.
    Bytes {
        /// What to call them in messages; its extension counts like a file's.
        name: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

impl Source {
    /// The source that a command line's FILE stands for: `-` is standard input.
    pub fn from_argument(argument: &Path) -> Self {
        if argument == Path::new("-") { Self::Stdin } else { Self::Path(argument.to_owned()) }
    }

    /// The same, to be read more than once: standard input is read to its end and kept.
    pub fn kept(&self) -> Result<Cow<'_, Self>, TableError> {
        if *self != Self::Stdin {
            return Ok(Cow::Borrowed(self));
        }
        let (name, mut bytes) = (self.name(), Vec::new());
        match std::io::stdin().lock().read_to_end(&mut bytes) {
            Ok(_) => Ok(Cow::Owned(Self::Bytes { name, bytes })),
            Err(source) => Err(TableError::Io { file: name, source }),
        }
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }
}

/// What the user said about a table; whatever is left out is detected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format, instead of the one that the bytes suggest.
    pub format: Option<Format>,
    /// The cells that stand for a missing value, besides the empty cell. `None` is
    /// [`DEFAULT_MISSING`] for CSV, `?` for ARFF and nothing for the typed formats, which have their own
    /// nulls.
    pub missing: Option<Vec<String>>,
    /// Cells that stand for a missing value as well.
    pub also_missing: Vec<String>,
    /// The delimiter of a CSV file.
    pub delimiter: Option<u8>,
    /// Whether the first row of a CSV file holds the names.
    pub header: Option<bool>,
    /// Columns to be read as text, whatever their cells look like.
    pub categorical: Vec<String>,
    /// Columns of a text table, where it has them, whose cells are kept as they are written: a schema's rules read them.
    pub as_written: Vec<String>,
    /// The column to predict, if the table has it: numbers in it are read as text, so that labels stay as they are
    /// written, and its missing cells are counted by what they say.
    pub target: Option<String>,
    /// Whether a table without rows is one, with no rows, rather than an error.
    pub allow_no_rows: bool,
    /// How many columns there may be, how long rows, and how much all may take.
    pub limits: Limits,
}

/// Reads a table.
///
/// ```
/// use pitchpipe_table::{CancelCheck, ReadOptions, Source, read};
///
/// let bytes = b"age,city\n31,Oslo\n,Lima\n".to_vec();
/// let source = Source::Bytes { name: "people.csv".into(), bytes };
/// let table = read(&source, &ReadOptions::default(), &CancelCheck::never())?;
/// assert_eq!((table.n_rows, table.columns[1].name.as_str()), (2, "city"));
/// # Ok::<(), pitchpipe_table::TableError>(())
/// ```
pub fn read(
    source: &Source,
    options: &ReadOptions,
    cancel: &CancelCheck,
) -> Result<RawTable, TableError> {
    let file = source.name();
    let stored = bytes::load(source, &file, options.limits.bytes, cancel)?;
    let (bytes, compression) = bytes::decompress(stored, &file, cancel)?;
    let format = match options.format {
        Some(format) => format,
        None => format::detect(&bytes, &file)?,
    };
    let mut notes = Vec::new();
    notes.extend(compression.map(|c| Note::Decompressed { with: c.to_string() }));
    let mut table = match format {
        Format::Csv => {
            format::check_is_table(&bytes, &file)?;
            let text = encoding::decode(bytes, &file, &mut notes)?;
            let mut table = csv::read(&text, &file, options, cancel, &mut notes)?;
            missing::blank_numbers(&mut table, options);
            table
        }
        Format::Arff => {
            let text = encoding::decode(bytes, &file, &mut notes)?;
            arff::read(&text, &file, options, cancel, &mut notes)?
        }
        Format::Parquet | Format::Arrow => {
            columnar::read(format, bytes, &file, options, cancel, &mut notes)?
        }
    };
    table.notes = notes;
    table.missing = MissingCells::of(options);
    Ok(table)
}
