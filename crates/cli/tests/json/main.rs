//! What programs read is as docs/schema says, and says the same everywhere.

mod checker;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use checker::check;
use serde_json::{Value, json};

fn run(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pitchpipe"))
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fit(folder: &Path, args: &[&str]) -> Vec<Value> {
    let example =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/penguins.csv");
    fs::copy(example, folder.join("penguins.csv")).unwrap();
    let fixed = ["fit", "penguins.csv", "--target", "species", "--json", "--out", "m.pp"];
    let few = ["--max-evaluations", "8", "--time-budget", "300s", "--threads", "1"];
    let text = run(folder, &[&fixed[..], &few, args].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_command_keeps_to_its_schema_and_they_agree() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let events = fit(folder, &[]);
    for event in &events {
        assert_eq!(check(event, "event.json"), [""; 0], "{event}");
    }
    let inspected: Value = serde_json::from_str(&run(
        folder,
        &["inspect", "m.pp", "--json", "--speed", "--table", "penguins.csv"],
    ))
    .unwrap();
    assert_eq!(check(&inspected, "inspection.json"), [""; 0]);
    assert_eq!(events.last().unwrap()["report"], inspected["report"]);
    let evaluated = run(folder, &["evaluate", "m.pp", "penguins.csv", "--json"]);
    let evaluated: Value = serde_json::from_str(&evaluated).unwrap();
    assert_eq!(check(&evaluated, "evaluation.json"), [""; 0]);
    let compared = run(
        folder,
        &["compare", "m.pp", "m.pp", "--table", "penguins.csv", "--json", "--out", "c.html"],
    );
    let compared: Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(check(&compared, "comparison.json"), [""; 0]);
    assert_eq!(compared["models"][1]["difference"]["difference"], 0.0);
    assert_eq!(compared["models"][1]["evaluation"]["scores"], evaluated["scores"]);
    let baselines = inspected["report"]["baselines"].as_array().unwrap();
    assert!(baselines.iter().all(|b| b["difference_standard_errors"].is_object()), "{baselines:?}");
    let names =
        |scores: &Value| -> Vec<String> { scores.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(names(&evaluated["scores"]), names(&inspected["report"]["scores"]));
}

#[test]
fn what_is_not_as_the_schema_says_is_found() {
    let scores = json!({
        "balanced_error": 0.1, "balanced_accuracy": 0.9, "accuracy": 0.9, "macro_f1": 0.9,
        "roc_auc": null, "log_loss": 0.3, "brier_score": 0.1,
    });
    assert_eq!(check(&scores, "scores.json"), [""; 0]);
    let with = |name: &str, value: Value| {
        let mut changed = scores.clone();
        changed[name] = value;
        check(&changed, "scores.json").len()
    };
    assert_eq!(with("accuracy", json!("high")), 1);
    assert_eq!(with("accuracy", json!(1.5)), 1);
    assert_eq!(with("mood", json!(0.5)), 1);
    let event = json!({"event": "level", "elapsed_secs": 0.1, "n_rows": 5});
    assert_eq!(check(&event, "event.json").len(), 1, "it lacks a field");
}
