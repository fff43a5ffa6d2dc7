//! The store and the collector: whole shards, resumed work, damage, two collectors.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pitchpipe_automl::offline::{
    CONTENT, Collection, Entry, EntryScores, Event, OfflineError, Scope, Status, Store, WorkItem,
    corpus,
};
use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::search_space::{Block, ComponentTexts, Manifest, SearchSpace};
use pitchpipe_table::{CancelCheck, Dataset, Limits, ReadOptions, SchemaOptions, Source, read};

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
fn a_store_that_told_fewer_levels_apart_goes_on() {
    let (corpus, store) = (tempfile::tempdir().expect("a folder"), new_folder());
    let rows = (0..900).map(|i| format!("level{},{},{}\n", i % 300, i % 7, ["x", "y"][i % 2]));
    let text: String = std::iter::once("shop,a,class\n".to_owned()).chain(rows).collect();
    fs::write(corpus.path().join("shops.csv"), text).expect("written");
    let table = &corpus::tables(corpus.path(), None).expect("tables")[0];
    // As pitchpipe 0.1 read the table: 256 levels of a column.
    let source = Source::Path(table.path.clone());
    let raw = read(&source, &ReadOptions::default(), &CancelCheck::never()).expect("read");
    let limits = Limits { n_levels: 256, ..Limits::default() };
    let options =
        SchemaOptions { target: Some("class".into()), limits, ..SchemaOptions::default() };
    let (earlier, _) = Dataset::from_table(raw, &options).expect("a dataset");
    let content = format!("{:016x}", earlier.content_hash());
    assert_ne!(earlier.content_hash(), corpus::load(table).expect("read").content_hash());
    {
        let store = Store::open_or_create(store.path(), &collection().facts()).expect("a store");
        let facts = [(CONTENT.to_owned(), content.clone())].into_iter().collect();
        store.append("shops", facts, Vec::new()).expect("a shard");
    }
    let added = collect(&collection(), corpus.path(), store.path(), |_| ()).expect("collected");
    assert_eq!(added, PLANNED / 2);
    let store = Store::open(store.path()).expect("a store");
    let done = store.done("shops", &content, &mut Vec::new()).expect("the same table");
    assert_eq!(done.len(), added);
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
    let scores = EntryScores {
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

/// A copy of the store that pitchpipe 0.1 collected from `corpus_folder()` with `collection()`.
fn store_of_0_1() -> tempfile::TempDir {
    let copy = new_folder();
    let mut left = vec![PathBuf::new()];
    let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/0.1");
    while let Some(inner) = left.pop() {
        fs::create_dir_all(copy.path().join(&inner)).expect("a folder");
        for entry in fs::read_dir(written.join(&inner)).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = inner.join(entry.file_name());
            if entry.file_type().expect("a type").is_dir() {
                left.push(name);
            } else {
                fs::copy(entry.path(), copy.path().join(name)).expect("copied");
            }
        }
    }
    copy
}

#[test]
fn a_store_of_the_first_release_is_read_and_continued() {
    let (corpus, new, old) = (corpus_folder(), new_folder(), store_of_0_1());
    collect(&collection(), corpus.path(), new.path(), |_| ()).expect("collected");
    assert_eq!(contents(old.path()), contents(new.path()));
    assert_eq!(collect(&collection(), corpus.path(), old.path(), |_| ()).expect("collected"), 0);
    let mut wider = collection();
    wider.scope.kinds.push(EstimatorKind::Perceptron);
    assert_eq!(collect(&wider, corpus.path(), old.path(), |_| ()).expect("collected"), 2 * 4);
    assert_eq!(contents(old.path()).len(), PLANNED + 2 * 4);
}

#[test]
fn the_store_in_the_repository_is_read() {
    let meta = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/meta");
    let store = Store::open(&meta).expect("a store");
    assert_eq!(store.space().key(), SearchSpace::paper().key());
    assert!(store.datasets().expect("datasets").len() > 200);
}

const NEW: &str = "impute(mean) > one_hot > standardise > all_features > knn(n_neighbors=2, p=2)";

/// The paper's space and a block that it does not have.
fn wider_space() -> Arc<SearchSpace> {
    let new = Block::list("two_neighbours", vec![NEW.parse().expect("a pipeline")]);
    let blocks = SearchSpace::paper().blocks().iter().cloned().chain([new]).collect();
    Arc::new(SearchSpace::new(blocks).expect("a space"))
}

#[test]
fn a_store_goes_on_where_there_are_more_blocks() {
    let (corpus, store) = (corpus_folder(), store_of_0_1());
    let wider = Collection { space: wider_space(), ..collection() };
    assert_eq!(collect(&wider, corpus.path(), store.path(), |_| ()).expect("collected"), 2);
    let all = contents(store.path());
    let new: Vec<u32> = all.iter().map(|entry| entry.1).filter(|&id| id >= 23_424).collect();
    assert_eq!((all.len(), new), (PLANNED + 2, vec![23_424; 2]));
    // And a program without the block still reads it, and adds to the rest.
    let read = Store::open(store.path()).expect("a store");
    assert_eq!(read.space().pipeline(23_424.into()).to_string(), NEW);
    assert_eq!(collect(&collection(), corpus.path(), store.path(), |_| ()).expect("collected"), 0);
    assert_eq!(contents(store.path()), all);
}

#[test]
fn a_store_with_a_component_changed_is_refused_by_name() {
    let folder = new_folder();
    drop(Store::open_or_create(folder.path(), &collection().facts()).expect("a store"));
    let path = folder.path().join("store.json");
    let change = |change: fn(&mut [Vec<String>; 5])| {
        let mut facts = collection().facts();
        let text = &facts["search_space_blocks"];
        let mut manifest: Manifest = serde_json::from_str(text).expect("a manifest");
        let ComponentTexts::Product(steps) = &mut manifest.blocks[0].components else {
            panic!("the paper's block is a product");
        };
        change(steps);
        facts.insert("search_space".into(), manifest.key());
        let text = serde_json::to_string(&manifest).expect("written");
        facts.insert("search_space_blocks".into(), text);
        fs::write(&path, serde_json::to_vec(&facts).expect("written")).expect("written");
        let read = Store::open(folder.path()).expect_err("refused").to_string();
        let written = Store::open_or_create(folder.path(), &collection().facts());
        assert_eq!(written.expect_err("refused").to_string(), read);
        read
    };
    let error = change(|steps| steps[3].swap(0, 6));
    let named = "block paper of the search space has variance_threshold as reducer 0, \
                 but this pitchpipe has pca(25%) there";
    assert!(error.ends_with(named), "{error}");
    let error = change(|steps| steps[4][182] = "linear_svm(c=9)".into());
    assert!(error.contains("has linear_svm(c=9) as estimator 182"), "{error}");
}

#[test]
fn a_work_item_with_a_pipeline_that_is_not_there_runs_nothing() {
    let corpus = corpus_folder();
    let tables = corpus::tables(corpus.path(), None).expect("tables");
    let dataset = corpus::load(&tables[0]).expect("a dataset");
    let time_cap = std::time::Duration::from_secs(60);
    let item = WorkItem { pipelines: vec![90_000, 82], n_folds: 3, time_cap };
    let mut kept = 0;
    let keep = |entries: Vec<Entry>| {
        kept += entries.len();
        Ok(())
    };
    let error = item.run(&SearchSpace::paper(), &dataset, 1, None, &Arc::default(), keep);
    let error = error.expect_err("refused").to_string();
    assert!(error.contains("none is number 90000"), "{error}");
    assert_eq!(kept, 0);
}
