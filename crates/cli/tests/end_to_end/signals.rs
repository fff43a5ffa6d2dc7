//! Ctrl-C: whenever it comes, there is a model that loads or a message that says why not.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough that no test waits for it.
const BUDGET: &str = "600s";

fn fit(out: &Path, args: &[&str]) -> Child {
    let data =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/breast-cancer.csv.gz");
    Command::new(env!("CARGO_BIN_EXE_pitchpipe"))
        .arg("fit")
        .arg(data)
        .args(["--target", "diagnosis", "--time-budget", BUDGET, "--threads", "1", "--out"])
        .arg(out)
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
}

fn report_of(model: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_pitchpipe"))
        .arg("inspect")
        .arg(model)
        .arg("--json")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Interrupts a fit once the search has begun, or, without waiting for that, right after its start.
fn interrupt(out: &Path, name: &str, moment: Option<Duration>) -> (Option<i32>, String) {
    let mut child = fit(out, &["--json"]);
    let mut events = BufReader::new(child.stdout.take().unwrap());
    match moment {
        Some(moment) => {
            // Notes on the table may come first.
            let begun = (&mut events).lines().map(Result::unwrap).find(|e| e.contains("\"begun\""));
            assert!(begun.is_some(), "the search has begun");
            thread::sleep(moment);
        }
        None => thread::sleep(Duration::from_millis(5)),
    }
    signal(&child, name);
    // Whoever does not read holds up the writer.
    let reader = thread::spawn(move || std::io::copy(&mut events, &mut std::io::sink()));
    let output = child.wait_with_output().unwrap();
    reader.join().unwrap().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn an_interrupted_search_leaves_a_model_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let after = |millis| Some(Duration::from_millis(millis));
    let moments = [
        (None, "INT"),
        (after(0), "INT"),
        (after(50), "TERM"),
        (after(300), "INT"),
        (after(1500), "INT"),
    ];
    for (i, (moment, name)) in moments.into_iter().enumerate() {
        let out = folder.path().join(format!("{i}.pp"));
        let (code, said) = interrupt(&out, name, moment);
        match code {
            Some(3) => assert_eq!(report_of(&out)["report"]["stop_reason"], "cancelled"),
            Some(1) => {
                assert!(said.contains("error: interrupted before"), "{said}");
                assert!(!out.exists());
            }
            // Before the process has begun to listen, a signal does what it always does.
            None => assert!(moment.is_none() && !out.exists()),
            code => panic!("{moment:?}: exit code {code:?}, {said}"),
        }
    }
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("tmp")));
}

#[test]
fn a_second_signal_quits_at_once_and_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model.pp");
    // It begins as a model does, so that it may be replaced.
    let old = b"PITCHPIP: what was there";
    std::fs::write(&out, old).unwrap();
    // Nothing comes through the pipe, so that the first signal finds the reader waiting.
    let mut child = Command::new(env!("CARGO_BIN_EXE_pitchpipe"))
        .args(["fit", "-", "--target", "y", "--time-budget", BUDGET, "--out"])
        .arg(&out)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    signal(&child, "INT");
    let status = child.wait().unwrap();
    // The second may come when the first has already ended the process.
    assert!(matches!(status.code(), Some(1 | 130)), "{status}");
    assert_eq!(std::fs::read(&out).unwrap(), old);
}

#[test]
fn a_pipe_that_stalls_does_not_hold_up_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pitchpipe"))
        .args(["fit", "-", "--target", "y", "--time-budget", "300ms", "--out"])
        .arg(folder.path().join("model.pp"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it waits for the pipe");
        thread::sleep(Duration::from_millis(20));
    };
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("could not be read within the time budget"), "{stderr}");
}
