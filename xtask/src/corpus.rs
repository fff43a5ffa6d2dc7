//! Tables of the corpus beside the repository, where it is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pitchpipe_table::{CancelCheck, Dataset, ReadOptions, SchemaOptions, Source, read};

use crate::python::root;

/// A line of an index.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) n_rows: usize,
    pub(crate) n_features: usize,
    pub(crate) n_nominal: usize,
    pub(crate) missing_cells: usize,
    /// The rarest class's share of the rows.
    pub(crate) minority_share: f64,
    /// Where it comes from: tables of one source are about the same thing.
    pub(crate) source: String,
    /// The id under which the published tensor has it, if it has.
    pub(crate) published_id: Option<u32>,
}

/// The tables of `train` or `test`, in the index's order.
pub(crate) fn index(part: &str) -> Result<Vec<Entry>, String> {
    let folder = root().join("../shared/corpus").join(part);
    let index = Index::read(&folder.join("INDEX.tsv"))?;
    index.rows().map(|row| entry(&folder, row?)).collect()
}

fn entry(folder: &Path, row: Row<'_>) -> Result<Entry, String> {
    let is_published = row.text("in_published_tensor")? == "1";
    Ok(Entry {
        name: row.name()?.to_owned(),
        path: folder.join(row.text("file")?),
        n_rows: row.number("rows")?,
        n_features: row.number("features")?,
        n_nominal: row.number("nominal")?,
        missing_cells: row.number("missing_cells")?,
        minority_share: row.number("minority_fraction")?,
        source: row.text("source")?.to_owned(),
        published_id: if is_published { Some(row.number("openml_id")?) } else { None },
    })
}

/// A list of tables: cells between tabs under a line of names.
pub(crate) struct Index {
    path: PathBuf,
    text: String,
}

/// One of its lines.
pub(crate) struct Row<'a> {
    index: &'a Index,
    cells: Vec<&'a str>,
}

impl Index {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { path: path.to_owned(), text })
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<Row<'_>, String>> {
        let n_names = self.names().count();
        self.text.lines().enumerate().skip(1).map(move |(at, line)| {
            let cells: Vec<&str> = line.split('\t').collect();
            match cells.len() {
                n if n == n_names => Ok(Row { index: self, cells }),
                n => Err(format!("{}:{}: {n} cells, not {n_names}", self.path.display(), at + 1)),
            }
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.text.lines().next().unwrap_or_default().split('\t')
    }
}

impl<'a> Row<'a> {
    /// What stands under a name.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, String> {
        let at = self.index.names().position(|found| found == name);
        let at = at.ok_or_else(|| format!("{}: no column {name}", self.index.path.display()))?;
        Ok(self.cells[at])
    }

    /// The table's name: its file's without the endings.
    pub(crate) fn name(&self) -> Result<&'a str, String> {
        Ok(self.text("file")?.split('.').next().unwrap_or_default())
    }

    fn number<T: FromStr>(&self, name: &str) -> Result<T, String> {
        let text = self.text(name)?;
        let wrong = |_| format!("{}: {name} {text:?} is no number", self.index.path.display());
        text.parse().map_err(wrong)
    }
}

impl Entry {
    pub(crate) fn read(&self) -> Result<Dataset, String> {
        let source = Source::Path(self.path.clone());
        let table = read(&source, &ReadOptions::default(), &CancelCheck::never())
            .map_err(|e| format!("{}: {e}", self.name))?;
        let options = SchemaOptions { target: Some("class".into()), ..SchemaOptions::default() };
        let (dataset, _) =
            Dataset::from_table(table, &options).map_err(|e| format!("{}: {e}", self.name))?;
        Ok(dataset)
    }
}
