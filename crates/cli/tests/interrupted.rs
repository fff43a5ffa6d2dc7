//! The collector, stopped in every way there is: killed outright, with Ctrl-C, by a disk that takes no more.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pitchpipe_automl::offline::{Status, Store};

const KILLS: usize = 20;

/// Three tables, each with a signal and enough rows that a batch takes a while.
fn corpus() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, n, shift) in [("one", 240, 1.0), ("two", 300, 0.5), ("three", 360, 2.0)] {
        let mut text = String::from("a,b,colour,class\n");
        for i in 0..n {
            let class = ["x", "y", "z"][i * i % 3];
            let a = (i % 17) as f64 + if class == "x" { shift * 4.0 } else { 0.0 };
            let b = if i.is_multiple_of(29) { String::new() } else { ((i * 37) % 101).to_string() };
            text += &format!("{a},{b},{},{class}\n", ["red", "blue"][i % 2]);
        }
        fs::write(folder.path().join(format!("{name}.csv")), text).expect("written");
    }
    folder
}

fn collector(corpus: &Path, store: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pitchpipe"));
    command.args(["meta", "collect"]).arg(corpus).arg("--store").arg(store);
    command.args(["--threads", "2", "--no-slice"]);
    command.args(["--prefixes", "0.0.0.7,1.0.0.7,3.1.1.6,2.0.1.5,1.0.0.1,1.1.0.0"]);
    command.args(["--estimators", "knn,decision_tree,logistic_regression,random_forest"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finish(command: &mut Command) -> Output {
    command.output().expect("the collector runs")
}

/// Everything a store says, timings aside, and no damage.
fn contents(store: &Path) -> Vec<(String, u32, Status)> {
    let store = Store::open(store).expect("a store");
    let (mut all, mut damaged) = (Vec::new(), Vec::new());
    for dataset in store.datasets().expect("datasets") {
        for (id, entry) in store.entries(&dataset, &mut damaged).expect("entries") {
            all.push((dataset.clone(), id, entry.status));
        }
    }
    assert!(damaged.is_empty(), "{damaged:?}");
    all
}

fn wait_for_a_shard(store: &Path, child: &mut Child) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let shards = fs::read_dir(store.join("shards")).map_or(0, Iterator::count);
        if shards > 0 || child.try_wait().expect("its state is known").is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn killed_twenty_times_it_ends_with_the_store_of_a_single_run() {
    let (corpus, whole, killed) = (corpus(), folder(), folder());
    let begun = Instant::now();
    assert!(finish(&mut collector(corpus.path(), whole.path())).status.success());
    let once = begun.elapsed();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut n_killed = 0;
    for _ in 0..KILLS {
        // Random moments of the time that is left to run, so that kills fall everywhere.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let share = (state >> 11) as f64 / (1_u64 << 53) as f64;
        let mut child = collector(corpus.path(), killed.path()).spawn().expect("it starts");
        std::thread::sleep(once.mul_f64(0.3 * share));
        n_killed += usize::from(child.try_wait().expect("its state is known").is_none());
        child.kill().expect("it can be killed");
        child.wait().expect("it has ended");
    }
    assert!(n_killed > 0, "every run had ended before its kill");
    assert!(finish(&mut collector(corpus.path(), killed.path())).status.success());
    let (one, other) = (contents(whole.path()), contents(killed.path()));
    assert_eq!(one.len(), 3 * 6 * (16 + 14 + 32 + 30));
    assert_eq!(one, other);
    println!("{n_killed} of {KILLS} kills met a run at work");
}

#[test]
fn ctrl_c_ends_it_cleanly_and_it_goes_on_where_it_was() {
    let (corpus, whole, stopped) = (corpus(), folder(), folder());
    assert!(finish(&mut collector(corpus.path(), whole.path())).status.success());
    let mut child = collector(corpus.path(), stopped.path()).spawn().expect("it starts");
    wait_for_a_shard(stopped.path(), &mut child);
    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().expect("kill runs");
    let output = child.wait_with_output().expect("it has ended");
    // On a fast machine it may have been done already.
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(words.contains("stopped: ") && words.contains("help: give the same"), "{words}");
    }
    assert!(finish(&mut collector(corpus.path(), stopped.path())).status.success());
    assert_eq!(contents(whole.path()), contents(stopped.path()));
}

#[test]
fn a_disk_that_takes_no_more_stops_it_and_it_resumes() {
    let (corpus, whole, full) = (corpus(), folder(), folder());
    assert!(finish(&mut collector(corpus.path(), whole.path())).status.success());
    // Files of more than a kilobyte cannot be written, as on a full disk: the facts are there, no shard can be.
    fs::copy(whole.path().join("store.json"), full.path().join("store.json")).expect("the facts");
    let limited = collector(corpus.path(), full.path());
    let words = std::iter::once(limited.get_program()).chain(limited.get_args());
    let output = Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "limited"])
        .args(words)
        .output()
        .expect("bash runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("error: ") && message.contains(".parquet"), "{message}");
    assert_eq!(contents(full.path()), []);
    let strays = fs::read_dir(full.path().join("shards")).expect("a folder").flatten();
    let strays = strays.flat_map(|d| fs::read_dir(d.path()).expect("a folder"));
    assert_eq!(strays.count(), 0, "half files are left behind");
    assert!(finish(&mut collector(corpus.path(), full.path())).status.success());
    assert_eq!(contents(whole.path()), contents(full.path()));
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
