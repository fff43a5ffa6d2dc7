//! A collection that is shared out: the same store as a local one, whatever is lost on the way.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pitchpipe_automl::offline::share::{
    Driver, Failed, Next, Sharing, Status, Task, read_status, worker,
};
use pitchpipe_automl::offline::{
    Collection, Entry, Event, OfflineError, Scope, Store, Summary, WorkItem, corpus,
};
use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_table::Source;

const KNN: usize = 16;

fn corpus_folder(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (at, name) in names.iter().enumerate() {
        let mut table = String::from("a,b,class\n");
        for i in 0..60 {
            let class = if i % 3 == 0 { "x" } else { "y" };
            let a = i % (7 + at) + if class == "x" { 2 } else { 0 };
            table += &format!("{a},{},{class}\n", f64::from(i as i32 * 37 % 11) / 3.0);
        }
        fs::write(folder.path().join(format!("{name}.csv")), table).expect("written");
    }
    folder
}

/// One type of estimators behind the slice alone.
fn collection() -> Collection {
    let kinds = vec![EstimatorKind::Knn, EstimatorKind::GaussianNb];
    let preparation = "impute(mean) > one_hot > standardise > all_features".parse();
    let scope = Scope {
        kinds,
        preparations: vec![preparation.expect("a preparation")],
        ..Scope::default()
    };
    Collection { scope, ..Collection::default() }
}

fn driver(corpus_path: &Path, store: &Path) -> Result<Driver, OfflineError> {
    let collection = collection();
    let store = Store::open_or_create(store, &collection.facts())?;
    // Tasks of single families, so that there is something to lose.
    let short = Duration::from_micros(1);
    let sharing = Sharing { shortest: short, longest: short, retries: 2 };
    Ok(Driver::new(collection, corpus::tables(corpus_path, None)?, store, sharing, |_| {}))
}

/// What becomes of a task: the number of the attempt, the pipelines (none while measuring).
type Fate<'a> = &'a mut dyn FnMut(&[u32]) -> Option<Failed>;

/// Does what the driver says, as many at a time as it likes, in the other order; `fate` may lose or fail tasks.
fn drive(driver: &mut Driver, fate: Fate<'_>) {
    let places: Vec<_> = driver.tables().cloned().collect();
    loop {
        let mut tasks = Vec::new();
        let is_done = loop {
            match driver.next(2) {
                Next::Run(task) => tasks.push(task),
                Next::Wait => break false,
                Next::Done => break true,
            }
        };
        if is_done && tasks.is_empty() {
            return;
        }
        for task in tasks.into_iter().rev() {
            let (id, table, item) = match task {
                Task::Measure { id, table } => (id, table, None),
                Task::Run { id, table, item, .. } => (id, table, Some(item)),
            };
            let pipelines: &[u32] = item.as_ref().map_or(&[], |item| &item.pipelines);
            if let Some(how) = fate(pipelines) {
                driver.failed(id, how).expect("taken note of");
                continue;
            }
            let place = &places[table];
            let dataset = worker::read(&Source::Path(place.path.clone()), None).expect("readable");
            match item {
                None => driver.measured(id, worker::measure(&dataset)).expect("planned"),
                Some(item) => {
                    let shard = shard_of(driver, &place.name, &dataset, &item);
                    driver.finished(id, shard.clone()).expect("taken in");
                    // What comes twice is taken in once.
                    driver.finished(id, shard).expect("ignored");
                }
            }
        }
    }
}

fn shard_of(
    driver: &Driver,
    name: &str,
    dataset: &pitchpipe_table::Dataset,
    item: &WorkItem,
) -> Vec<u8> {
    let facts = driver.store().facts();
    let space = worker::space(facts).expect("the same components");
    worker::work(facts, &space, name, dataset, item, Duration::from_secs(60)).expect("a shard")
}

/// Entries without their times, by dataset and pipeline; nothing is there twice.
fn entries_of(store: &Path) -> BTreeMap<(String, u32), Entry> {
    let store = Store::open(store).expect("a store");
    let mut found = BTreeMap::new();
    for dataset in store.datasets().expect("datasets") {
        for shard in store.shards(&dataset, &mut Vec::new()).expect("shards") {
            for mut entry in shard.entries {
                (entry.runtime_s, entry.marginal_s) = (0.0, 0.0);
                let before = found.insert((dataset.clone(), entry.pipeline), entry);
                assert!(before.is_none(), "an entry is there twice");
            }
        }
    }
    found
}

fn locally(corpus_path: &Path) -> BTreeMap<(String, u32), Entry> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let collection = collection();
    let tables = corpus::tables(corpus_path, None).expect("tables");
    let store = Store::open_or_create(folder.path(), &collection.facts()).expect("a store");
    collection.run(&tables, &store, |_| {}).expect("collected");
    entries_of(folder.path())
}

fn shared(corpus_path: &Path, store: &Path, fate: Fate<'_>) -> (Summary, Status) {
    let mut driver = driver(corpus_path, store).expect("a driver");
    drive(&mut driver, fate);
    driver.end().expect("the end")
}

#[test]
fn a_shared_collection_has_the_entries_of_a_local_one() {
    let (corpus, store) = (corpus_folder(&["a", "b", "c"]), tempfile::tempdir().expect("a folder"));
    let (summary, status) = shared(corpus.path(), store.path(), &mut |_| None);
    let local = locally(corpus.path());
    assert_eq!(entries_of(store.path()), local);
    assert_eq!(summary.n_added, local.len());
    assert_eq!((status.n_done, status.n_planned), (local.len(), local.len()));
    assert_eq!((status.n_tables_done, status.is_over), (3, true));
    assert_eq!(read_status(store.path()).expect("readable"), Some(status));
}

#[test]
fn tasks_that_are_lost_run_again() {
    let (corpus, store) = (corpus_folder(&["a", "b"]), tempfile::tempdir().expect("a folder"));
    let mut n = 0;
    let mut every_third = |_: &[u32]| {
        n += 1;
        (n % 3 == 0).then(|| Failed::Lost("the node went away".to_owned()))
    };
    let (_, status) = shared(corpus.path(), store.path(), &mut every_third);
    assert_eq!(entries_of(store.path()), locally(corpus.path()));
    assert!(status.n_retries > 0 && status.given_up.is_empty(), "{status:?}");
}

#[test]
fn a_pipeline_that_kills_its_worker_takes_no_other_with_it() {
    let (corpus, store) = (corpus_folder(&["a"]), tempfile::tempdir().expect("a folder"));
    let all = locally(corpus.path());
    let killer = all.keys().map(|(_, pipeline)| *pipeline).nth(3).expect("a pipeline");
    let mut kills =
        |pipelines: &[u32]| pipelines.contains(&killer).then(|| Failed::There("killed".to_owned()));
    let (_, status) = shared(corpus.path(), store.path(), &mut kills);
    let [given_up] = status.given_up.as_slice() else { panic!("{:?}", status.given_up) };
    assert_eq!(
        (given_up.pipelines.as_slice(), given_up.reason.as_str()),
        (&[killer][..], "killed")
    );
    let mut left = entries_of(store.path());
    assert_eq!(left.len(), all.len() - 1);
    left.extend(all.iter().filter(|((_, p), _)| *p == killer).map(|(k, e)| (k.clone(), e.clone())));
    assert_eq!(left, all);
}

#[test]
fn another_driver_goes_on_where_one_was_lost() {
    let (corpus, store) = (corpus_folder(&["a", "b"]), tempfile::tempdir().expect("a folder"));
    let mut first = driver(corpus.path(), store.path()).expect("a driver");
    assert!(
        matches!(driver(corpus.path(), store.path()), Err(OfflineError::StoreInUse { .. })),
        "two drivers"
    );
    let mut n = 0;
    let mut stops = |_: &[u32]| {
        n += 1;
        (n > 5).then(|| Failed::There("stopped".to_owned()))
    };
    drive(&mut first, &mut stops);
    drop(first);
    let before = entries_of(store.path()).len();
    assert!(before > 0 && before < 2 * (KNN + 1), "{before}");
    let (summary, _) = shared(corpus.path(), store.path(), &mut |_| None);
    let local = locally(corpus.path());
    assert_eq!(entries_of(store.path()), local);
    assert_eq!(summary.n_added, local.len() - before);
}

#[test]
fn tables_of_one_content_and_tables_that_cannot_be_read_are_named() {
    let (corpus, store) = (corpus_folder(&["a"]), tempfile::tempdir().expect("a folder"));
    fs::copy(corpus.path().join("a.csv"), corpus.path().join("b.csv")).expect("copied");
    fs::write(corpus.path().join("broken.csv"), "a,class\n1,x\n\"2,y\n").expect("written");
    let collection = collection();
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = Arc::clone(&told);
    let open = Store::open_or_create(store.path(), &collection.facts()).expect("a store");
    let tables = corpus::tables(corpus.path(), None).expect("tables");
    let tell = move |event: Event| teller.lock().expect("told").push(event);
    let mut driver = Driver::new(collection, tables, open, Sharing::default(), tell);
    let places: Vec<_> = driver.tables().cloned().collect();
    while let Next::Run(task) = driver.next(1) {
        let (Task::Measure { id, table } | Task::Run { id, table, .. }) = &task;
        match (worker::read(&Source::Path(places[*table].path.clone()), None), &task) {
            (Err(error), _) => driver.failed(*id, Failed::There(error.to_string())),
            (Ok(dataset), Task::Measure { .. }) => driver.measured(*id, worker::measure(&dataset)),
            (Ok(dataset), Task::Run { item, .. }) => {
                let shard = shard_of(&driver, &places[*table].name, &dataset, item);
                driver.finished(*id, shard)
            }
        }
        .expect("taken note of");
    }
    let (summary, status) = driver.end().expect("the end");
    assert_eq!(status.duplicates, [("b".to_owned(), "a".to_owned())]);
    assert_eq!(summary.skipped.len(), 1);
    assert!(summary.skipped[0].1.contains("broken.csv"), "{:?}", summary.skipped);
    let told = told.lock().expect("told");
    assert!(told.iter().any(|event| matches!(event, Event::Duplicate { .. })));
}
