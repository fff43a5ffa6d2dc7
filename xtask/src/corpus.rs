//! Tables of the corpus beside the repository, where it is there.

use std::path::{Path, PathBuf};

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
    let path = folder.join("INDEX.tsv");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.lines()
        .skip(1)
        .map(|line| entry(&folder, line).ok_or(format!("{line}: not an entry")))
        .collect()
}

fn entry(folder: &Path, line: &str) -> Option<Entry> {
    let cells: Vec<&str> = line.split('\t').collect();
    let published = *cells.get(10)? == "1";
    Some(Entry {
        name: cells[0].trim_end_matches(".arff.gz").to_owned(),
        path: folder.join(cells[0]),
        n_rows: cells[1].parse().ok()?,
        n_features: cells[2].parse().ok()?,
        n_nominal: cells[4].parse().ok()?,
        missing_cells: cells[6].parse().ok()?,
        minority_share: cells[7].parse().ok()?,
        source: cells[8].to_owned(),
        published_id: if published { Some(cells[9].parse().ok()?) } else { None },
    })
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
