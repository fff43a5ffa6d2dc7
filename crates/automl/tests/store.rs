//! The store and the collector: whole shards, resumed work, damage, two collectors.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pitchpipe_automl::offline::{
    Collection, Entry, Event, OfflineError, Scope, Scores, Status, Store, corpus,
};
use pitchpipe_learn::estimate::EstimatorKind;

/// How many entries `collection()` plans for the two tables of `corpus_folder()`.
const PLANNED: usize = 2 * 4 * 17;

/// A small corpus: two tables with a signal, one of them with a missing cell and a category.
fn corpus_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut numbers = String::from("a,b,class\n");
    let mut mixed = String::from("a,colour,class\n");
    for i in 0..60 {
        let class = if i % 3 == 0 { "x" } else { "y" };
        let a = f64::from(i % 7) + if class == "x" { 2.5 } else { 0.0 };
        numbers += &format!("{a},{},{class}\n", f64::from(i * 37 % 11) / 3.0);
        let a = if i == 5 { String::new() } else { a.to_string() };
        mixed += &format!("{a},{},{class}\n", ["red", "blue"][i as usize % 2]);
    }
    fs::write(folder.path().join("numbers.csv"), numbers).expect("written");
    fs::write(folder.path().join("mixed.csv"), mixed).expect("written");
    folder
}

fn new_folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Cheap estimators behind four preparations.
fn collection() -> Collection {
    let kinds = vec![EstimatorKind::GaussianNb, EstimatorKind::Knn];
    let texts = [
        "impute(constant) > one_hot > standardise > all_features",
        "impute(mean) > one_hot > standardise > all_features",
        "impute(most_frequent) > codes > unscaled > variance_threshold",
        "impute(median) > one_hot > unscaled > select_k_best(75%)",
    ];
    let preparations = texts.map(|text| text.parse().expect("a preparation")).to_vec();
    let scope = Scope { kinds, preparations, ..Scope::default() };
    Collection { scope, ..Collection::default() }
}

fn collect(
    collection: &Collection,
    corpus_path: &Path,
    store: &Path,
    tell: impl FnMut(Event) + Send,
) -> Result<usize, OfflineError> {
    let tables = corpus::tables(corpus_path, None)?;
    let store = Store::open_or_create(store, &collection.facts())?;
    Ok(collection.run(&tables, &store, tell)?.n_added)
}

/// Everything a store says, timings aside.
fn contents(store: &Path) -> Vec<(String, u32, Status)> {
    let store = Store::open(store).expect("a store");
    let mut all = Vec::new();
    for dataset in store.datasets().expect("datasets") {
        let mut damaged = Vec::new();
        for (id, entry) in store.entries(&dataset, &mut damaged).expect("entries") {
            all.push((dataset.clone(), id, entry.status));
        }
        assert!(damaged.is_empty());
    }
    all
}

fn first_shard(store: &Path) -> PathBuf {
    let folder = store.join("shards/numbers");
    let entries = fs::read_dir(folder).expect("shards");
    entries.map(|e| e.expect("an entry").path()).min().expect("a shard")
}

#[test]
fn what_is_collected_is_not_collected_again() {
    let (corpus, store) = (corpus_folder(), new_folder());
    let run = || collect(&collection(), corpus.path(), store.path(), |_| ()).expect("collected");
    assert_eq!((run(), run()), (PLANNED, 0));
    assert_eq!(contents(store.path()).len(), PLANNED);
}

#[test]
fn a_collection_that_was_stopped_ends_like_one_that_was_not() {
    let (corpus, whole, pieces) = (corpus_folder(), new_folder(), new_folder());
    collect(&collection(), corpus.path(), whole.path(), |_| ()).expect("collected");
    for _ in 0..20 {
        // Stopped after the first batch that reaches the disk.
        let collection = Collection { cancel: Arc::new(AtomicBool::new(false)), ..collection() };
        let tell = |event: Event| {
            if matches!(event, Event::Stored { .. }) {
                collection.cancel.store(true, Ordering::Relaxed);
            }
        };
        collect(&collection, corpus.path(), pieces.path(), tell).expect("collected");
    }
    assert_eq!(contents(pieces.path()), contents(whole.path()));
}

#[test]
fn a_damaged_shard_is_set_aside_and_collected_anew() {
    let (corpus, store) = (corpus_folder(), new_folder());
    collect(&collection(), corpus.path(), store.path(), |_| ()).expect("collected");
    let before = contents(store.path());
    let shard = first_shard(store.path());
    let mut bytes = fs::read(&shard).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&shard, bytes).expect("written");
    let mut damaged = 0;
    let tell = |event: Event| {
        if let Event::Damaged { shards } = event {
            damaged += shards.len();
        }
    };
    assert!(collect(&collection(), corpus.path(), store.path(), tell).expect("collected") > 0);
    assert_eq!(damaged, 1);
    assert_eq!(contents(store.path()), before);
    assert_eq!(fs::read_dir(store.path().join("quarantine")).expect("a folder").count(), 1);
}

#[test]
fn a_second_collector_is_refused() {
    let store = new_folder();
    let facts = collection().facts();
    let _first = Store::open_or_create(store.path(), &facts).expect("a store");
    let second = Store::open_or_create(store.path(), &facts).expect_err("refused");
    assert!(matches!(second, OfflineError::StoreInUse { .. }), "{second}");
}

#[test]
fn a_store_with_other_folds_is_refused() {
    let store = new_folder();
    drop(Store::open_or_create(store.path(), &collection().facts()).expect("a store"));
    let other = Collection { n_folds: 5, ..collection() };
    let error = Store::open_or_create(store.path(), &other.facts()).expect_err("refused");
    assert!(error.to_string().contains("this store has folds 3, but 5 was asked for"), "{error}");
}

#[test]
fn a_table_that_changed_is_refused() {
    let (corpus, store) = (corpus_folder(), new_folder());
    collect(&collection(), corpus.path(), store.path(), |_| ()).expect("collected");
    let path = corpus.path().join("numbers.csv");
    let text = fs::read_to_string(&path).expect("read").replace("2.5,0,x", "9,9,y");
    fs::write(&path, text).expect("written");
    let error = collect(&collection(), corpus.path(), store.path(), |_| ()).expect_err("refused");
    assert!(matches!(error, OfflineError::DatasetChanged { .. }), "{error}");
}

#[test]
fn a_table_that_cannot_be_read_is_passed_over_and_named() {
    let (corpus, store) = (corpus_folder(), new_folder());
    fs::write(corpus.path().join("broken.csv"), "a,class\n1,\"x\n").expect("written");
    let mut skipped = Vec::new();
    let tell = |event: Event| {
        if let Event::Skipped { dataset, reason } = event {
            skipped.push((dataset, reason));
        }
    };
    let added = collect(&collection(), corpus.path(), store.path(), tell).expect("collected");
    assert_eq!(added, PLANNED);
    assert_eq!(skipped.len(), 1);
    assert!(skipped[0].0 == "broken" && skipped[0].1.contains("broken.csv"), "{skipped:?}");
}

#[test]
fn entries_survive_the_way_through_a_shard() {
    let scores = Scores {
        error: 0.25,
        fold_errors: vec![0.2, 0.25, 0.3],
        balanced_decision_error: 0.24,
        accuracy: 0.8,
        log_loss: 0.5,
        auc: 0.9,
        macro_f1: 0.7,
    };
    let status =
        [Status::Finished(scores), Status::OutOfTime, Status::Failed("no features".into())];
    let entries: Vec<Entry> = status
        .into_iter()
        .zip([0, 21_669, 23_423])
        .map(|(status, pipeline)| Entry { pipeline, status, runtime_s: 1.5, marginal_s: 0.5 })
        .collect();
    let folder = new_folder();
    let store = Store::open_or_create(folder.path(), &collection().facts()).expect("a store");
    store.append("iris", store.facts().clone(), entries.clone()).expect("appended");
    let read = store.entries("iris", &mut Vec::new()).expect("entries");
    assert_eq!(read.into_values().collect::<Vec<_>>(), entries);
}
