//! Tables of the test corpus, a part of the rows held out.

use std::path::{Path, PathBuf};

use pitchpipe_learn::Stream;
use pitchpipe_table::{CancelCheck, ReadOptions, Source, holdout, read};

use super::super::automl::export::{target, write_parquet};
use crate::corpus::Index;

/// The share of rows that the search does not see.
const HELD_OUT: f64 = 0.3;

/// The names in the corpus's index, or those of them that were asked for.
pub(in crate::bench) fn names(corpus: &Path, wanted: &[String]) -> Result<Vec<String>, String> {
    let path = corpus.join("INDEX.tsv");
    let index = Index::read(&path)?;
    let all: Vec<String> =
        index.rows().map(|row| Ok(row?.name()?.to_owned())).collect::<Result<_, String>>()?;
    if let Some(unknown) = wanted.iter().find(|w| !all.contains(w)) {
        return Err(format!("{}: no dataset {unknown:?}", path.display()));
    }
    Ok(all.into_iter().filter(|n| wanted.is_empty() || wanted.contains(n)).collect())
}

/// A table to search with and the rows held out, as files.
pub(in crate::bench) struct Split {
    pub(in crate::bench) train: PathBuf,
    pub(in crate::bench) test: PathBuf,
}

/// Writes the two tables of a split.
pub(in crate::bench) fn write(
    corpus: &Path,
    name: &str,
    seed: u64,
    folder: &Path,
) -> Result<Split, String> {
    let source = Source::Path(corpus.join(format!("{name}.arff.gz")));
    let table = read(&source, &ReadOptions::default(), &CancelCheck::never())
        .map_err(|e| format!("{name}: {e}"))?;
    let (labels, _) = target(&table).ok_or(format!("{name}: no classes"))?;
    let fold = holdout(&labels, HELD_OUT, Stream::new(seed).named(name).key());
    let split = Split { train: folder.join("train.parquet"), test: folder.join("test.parquet") };
    write_parquet(&split.train, &table, &fold.train, true)?;
    write_parquet(&split.test, &table, &fold.test, true)?;
    Ok(split)
}
