//! Every file of the corpus next to the project, where it is there: counts equal its index.

use std::fs;
use std::path::{Path, PathBuf};

use pitchpipe_table::{CancelCheck, Dataset, ReadOptions, SchemaOptions, Source, read};

fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is not there", folder.display());
    None
}

/// The columns rows, features, numeric, nominal, classes and missing_cells of an index.
fn index(folder: &Path) -> Vec<(String, [usize; 6])> {
    let text = fs::read_to_string(folder.join("INDEX.tsv")).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("file\trows\tfeatures\tnumeric\tnominal\tclasses\tmissing_cells\t"));
    let parse = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        (cells[0].to_owned(), std::array::from_fn(|i| cells[i + 1].parse().unwrap()))
    };
    lines.map(parse).collect()
}

fn counts(path: &Path) -> [usize; 6] {
    let source = Source::Path(path.to_owned());
    let table = read(&source, &ReadOptions::default(), &CancelCheck::never()).unwrap();
    let options = SchemaOptions { target: Some("class".into()), ..SchemaOptions::default() };
    let (dataset, report) = Dataset::from_table(table, &options).unwrap();
    assert_eq!(dataset.n_rows(), report.n_rows, "no class is missing");
    [
        report.n_rows,
        report.n_features(),
        report.n_numeric(),
        report.n_categorical(),
        report.classes.len(),
        report.n_missing_cells(),
    ]
}

fn check(folder: &str, n_files: usize) {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join(folder);
    let index = index(&folder);
    assert_eq!(index.len(), n_files);
    for (file, expected) in index {
        assert_eq!(counts(&folder.join(&file)), expected, "{file}");
    }
}

#[test]
fn counts_of_the_training_corpus_equal_its_index() {
    check("train", 241);
}

#[test]
fn counts_of_the_test_corpus_equal_its_index() {
    check("test", 30);
}
