//! A corpus: the tables to meta-train on, from a folder or a manifest.

use std::fs;
use std::path::{Path, PathBuf};

use pitchpipe_table::{
    CancelCheck, Cells, Dataset, Limits, RawTable, ReadOptions, SchemaOptions, Source, read,
};

use super::error::{OfflineError, at};

/// The manifest that a folder may hold.
const MANIFEST: &str = "INDEX.tsv";

/// The name of the target where the caller gives none and the table has such a column.
const USUAL_TARGET: &str = "class";

const TABLE_ENDINGS: [&str; 8] =
    ["arff", "csv", "tsv", "parquet", "feather", "arrow", "ipc", "txt"];

/// One table of a corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorpusTable {
    /// Its name in the store: the file's, without endings.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The target column; where there is none, `class` or else the last column.
    pub target: Option<String>,
    /// Its number at OpenML, where a manifest says so.
    pub openml_id: Option<String>,
}

/// The tables of a corpus, by name. `path` is a folder (whose `INDEX.tsv`, if any, is its manifest), a
/// manifest (tab-separated, with a column `file` and perhaps `target`), or a single table.
pub fn tables(path: &Path, target: Option<&str>) -> Result<Vec<CorpusTable>, OfflineError> {
    let mut found = if path.is_dir() {
        let manifest = path.join(MANIFEST);
        if manifest.is_file() { listed(&manifest)? } else { in_folder(path)? }
    } else if is_manifest(path) {
        listed(path)?
    } else {
        // A missing file is reported when it is read, in the reader's own words.
        vec![CorpusTable { name: name_of(path), path: path.to_owned(), ..CorpusTable::default() }]
    };
    for table in &mut found {
        table.target = table.target.take().or_else(|| target.map(str::to_owned));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = found.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(OfflineError::SameName {
            name: pair[0].name.clone(),
            first: pair[0].path.clone(),
            second: pair[1].path.clone(),
        });
    }
    if found.is_empty() {
        return Err(OfflineError::EmptyCorpus { path: path.to_owned() });
    }
    Ok(found)
}

/// How many levels of a column pitchpipe 0.1 told apart.
const LEVELS_OF_0_1: usize = 256;

/// Reads one table as a dataset.
pub fn load(table: &CorpusTable) -> Result<Dataset, OfflineError> {
    load_from(&Source::Path(table.path.clone()), table.target.as_deref())
}

/// The same from wherever its bytes are.
pub fn load_from(source: &Source, target: Option<&str>) -> Result<Dataset, OfflineError> {
    load_within(source, target, Limits::default())
}

/// The same as pitchpipe 0.1 read it, for stores that it began: what is added to them is to be measured on the same rows and
/// features.
pub(super) fn load_as_0_1(table: &CorpusTable) -> Result<Dataset, OfflineError> {
    let limits = Limits { n_levels: LEVELS_OF_0_1, ..Limits::default() };
    load_within(&Source::Path(table.path.clone()), table.target.as_deref(), limits)
}

fn load_within(
    source: &Source,
    target: Option<&str>,
    limits: Limits,
) -> Result<Dataset, OfflineError> {
    let path = match source {
        Source::Path(path) => path.clone(),
        Source::Bytes { name, .. } => name.into(),
        Source::Stdin => "-".into(),
    };
    let unreadable = |message: String| OfflineError::Unreadable { path: path.clone(), message };
    let raw = read(source, &ReadOptions::default(), &CancelCheck::never())
        .map_err(|e| unreadable(e.to_string()))?;
    let target = target.map(str::to_owned).or_else(|| usual_target(&raw));
    let options = SchemaOptions { target, limits, ..SchemaOptions::default() };
    let (dataset, _) = Dataset::from_table(raw, &options).map_err(|e| unreadable(e.to_string()))?;
    Ok(dataset)
}

fn usual_target(table: &RawTable) -> Option<String> {
    let named = table.columns.iter().find(|c| c.name == USUAL_TARGET);
    named.or(table.columns.last()).map(|c| c.name.clone())
}

fn in_folder(folder: &Path) -> Result<Vec<CorpusTable>, OfflineError> {
    let mut tables = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_file() && has_table_ending(&path) {
            tables.push(CorpusTable { name: name_of(&path), path, ..CorpusTable::default() });
        }
    }
    Ok(tables)
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "tsv")
        && fs::read_to_string(path).is_ok_and(|text| {
            text.lines().next().is_some_and(|header| header.split('\t').any(|name| name == "file"))
        })
}

/// The tables that a manifest lists; paths are relative to the manifest.
pub(super) fn listed(manifest: &Path) -> Result<Vec<CorpusTable>, OfflineError> {
    let source = Source::Path(manifest.to_owned());
    let options = ReadOptions { delimiter: Some(b'\t'), header: Some(true), ..Default::default() };
    let unreadable =
        |message: String| OfflineError::Unreadable { path: manifest.to_owned(), message };
    let table =
        read(&source, &options, &CancelCheck::never()).map_err(|e| unreadable(e.to_string()))?;
    let texts = |name: &str| table.columns.iter().find(|c| c.name == name).map(|c| texts(&c.cells));
    let files = texts("file").ok_or_else(|| unreadable("it has no column \"file\"".into()))?;
    let targets = texts("target").unwrap_or_else(|| vec![None; files.len()]);
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let ids = texts("openml_id").unwrap_or_else(|| vec![None; files.len()]);
    let rows = files.into_iter().zip(targets.into_iter().zip(ids)).enumerate();
    rows.map(|(row, (file, (target, openml_id)))| {
        let file = file.ok_or_else(|| unreadable(format!("row {} names no file", row + 1)))?;
        let path = if is_url(&file) { PathBuf::from(file) } else { folder.join(file) };
        Ok(CorpusTable { name: name_of(&path), path, target, openml_id })
    })
    .collect()
}

/// Whether a manifest names a place elsewhere, which workers read from themselves.
pub fn is_url(file: &str) -> bool {
    file.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

fn texts(cells: &Cells) -> Vec<Option<String>> {
    match cells {
        Cells::Text { codes, dictionary: names } | Cells::Nominal { codes, levels: names } => {
            codes.iter().map(|&code| names.get(code as usize).cloned()).collect()
        }
        Cells::Numbers { values, .. } => {
            values.iter().map(|v| (!v.is_nan()).then(|| v.to_string())).collect()
        }
        Cells::Instants { seconds } => vec![None; seconds.len()],
    }
}

fn has_table_ending(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    TABLE_ENDINGS.iter().any(|ending| name.ends_with(&format!(".{ending}")))
}

/// The file's name up to its first dot, with what a folder's name cannot hold replaced.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("table");
    stem.chars().map(|c| if c.is_alphanumeric() || "-_+".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_its_tables_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["b.csv", "a.arff.gz", "notes.md", "c.parquet"] {
            fs::write(folder.path().join(name), "x").expect("written");
        }
        let names: Vec<String> =
            tables(folder.path(), None).expect("tables").into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn a_manifest_names_files_and_targets() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let manifest = folder.path().join(MANIFEST);
        fs::write(&manifest, "file\ttarget\none.csv\tkind\ntwo.csv\t\n").expect("written");
        let found = tables(folder.path(), Some("y")).expect("tables");
        assert_eq!(found[0].target.as_deref(), Some("kind"));
        assert_eq!(found[1].target.as_deref(), Some("y"));
    }

    #[test]
    fn a_manifest_may_name_places_elsewhere() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let manifest = folder.path().join(MANIFEST);
        fs::write(&manifest, "file\ns3://bucket/one.csv\ntwo.csv\n").expect("written");
        let found = tables(folder.path(), None).expect("tables");
        assert_eq!(
            (found[0].name.as_str(), found[0].path.as_os_str()),
            ("one", "s3://bucket/one.csv".as_ref())
        );
        assert_eq!(found[1].path, folder.path().join("two.csv"));
    }

    #[test]
    fn two_tables_of_one_name_are_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["a.csv", "a.arff"] {
            fs::write(folder.path().join(name), "x").expect("written");
        }
        let message = tables(folder.path(), None).expect_err("refused").to_string();
        assert!(message.contains("two tables are called a"), "{message}");
    }
}
