//! From a table to a model, and from a model to predictions.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use crate::common::{example, fail, run, succeed};
use serde_json::Value;

/// A folder with `penguins.csv` and a model of it, made once.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            fs::copy(example("penguins.csv"), folder.path().join("penguins.csv")).unwrap();
            fit(folder.path(), "penguins.csv", "species", &["--out", "penguins.pp"]);
            folder
        })
        .path()
}

fn fit(folder: &Path, table: &str, target: &str, args: &[&str]) -> String {
    let fixed = ["--time-budget", "300s", "--repeatable", "--max-evaluations", "8"];
    let all = [&["fit", table, "--target", target], &fixed[..], args].concat();
    succeed(folder, &all)
}

fn rows(text: &str) -> Vec<&str> {
    text.lines().skip(1).collect()
}

#[test]
fn predictions_keep_the_order_of_rows_and_find_columns_by_name() {
    let folder = folder();
    let straight = succeed(folder, &["predict", "penguins.pp", "penguins.csv", "--proba"]);
    assert_eq!(
        straight.lines().next().unwrap(),
        "prediction,probability_Adelie,probability_Chinstrap,probability_Gentoo"
    );
    assert_eq!(rows(&straight).len(), 344);

    // Columns and rows the other way round, without the target, with one more column.
    let table = fs::read_to_string(folder.join("penguins.csv")).unwrap();
    let turn = |line: &str| line.rsplit(',').take(7).collect::<Vec<_>>().join(",");
    let (head, body) = table.split_once('\n').unwrap();
    let body: Vec<String> = body.lines().rev().map(|line| format!("{},7", turn(line))).collect();
    let turned = format!("{},extra\n{}\n", turn(head), body.join("\n"));
    fs::write(folder.join("turned.csv"), turned).unwrap();
    let output = run(folder, &["predict", "penguins.pp", "turned.csv", "--proba"]);
    let answer = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<&str> = rows(&straight).into_iter().rev().collect();
    assert_eq!(rows(&answer), expected);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "note: turned.csv: column \"extra\" was not there in training and is ignored\n"
    );
}

#[test]
fn every_output_format_holds_the_same_table() {
    let folder = folder();
    let printed = succeed(folder, &["predict", "penguins.pp", "penguins.csv"]);
    for name in ["out.csv", "out.tsv", "out.parquet", "out.arrow"] {
        let said = succeed(folder, &["predict", "penguins.pp", "penguins.csv", "--out", name]);
        assert_eq!(said, format!("{name}: 344 rows predicted\n"));
        let described = succeed(folder, &["describe", name, "--json"]);
        let described: Value = serde_json::from_str(&described).unwrap();
        assert_eq!(
            (&described["rows"], &described["features"]),
            (&344.into(), &1.into()),
            "{name}"
        );
    }
    assert_eq!(fs::read_to_string(folder.join("out.csv")).unwrap(), printed);
}

#[test]
fn kept_columns_are_copied_as_they_are_written() {
    let folder = folder();
    let table = fs::read_to_string(folder.join("penguins.csv")).unwrap();
    let with_id = |(i, line): (usize, &str)| match i {
        0 => format!("id,{line}\n"),
        _ => format!("{i:05},{line}\n"),
    };
    let table: String = table.lines().enumerate().map(with_id).collect();
    fs::write(folder.join("id.csv"), table).unwrap();
    let args = ["predict", "penguins.pp", "id.csv", "--keep", "id", "--keep", "year"];
    let text = succeed(folder, &args);
    assert!(text.starts_with("id,year,prediction\n00001,2007,Adelie\n"), "{text}");
    assert_eq!(text.lines().count(), 345);
    let plain = succeed(folder, &["predict", "penguins.pp", "penguins.csv"]);
    let last = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit(',').next().unwrap().to_owned()).collect()
    };
    assert_eq!(last(&text), last(&plain), "what is kept changes no prediction");
    let all = succeed(folder, &["predict", "penguins.pp", "id.csv", "--keep", "all"]);
    assert!(all.starts_with("id,species,island,"), "{all}");
    assert_eq!(last(&all), last(&plain));
    assert_eq!(
        fail(folder, &["predict", "penguins.pp", "penguins.csv", "--keep", "id"]).lines().next(),
        Some("error: penguins.csv has no column \"id\" to keep")
    );
}

#[test]
fn the_user_chooses_how_probabilities_become_labels() {
    let folder = folder();
    let proba = ["predict", "penguins.pp", "penguins.csv", "--proba"];
    let text = succeed(folder, &[&proba[..], &["--decision", "most-probable"]].concat());
    let classes = ["Adelie", "Chinstrap", "Gentoo"];
    for line in rows(&text) {
        let cells: Vec<&str> = line.split(',').collect();
        let p: Vec<f64> = cells[1..].iter().map(|cell| cell.parse().unwrap()).collect();
        let said = classes.iter().position(|class| *class == cells[0]).unwrap();
        assert!(p.iter().all(|other| p[said] >= *other), "{line}");
    }
    let own = succeed(folder, &proba);
    assert_eq!(succeed(folder, &[&proba[..], &["--decision", "balanced"]].concat()), own);
}

#[test]
fn categories_never_met_are_noted_and_missing_columns_all_named() {
    let folder = folder();
    let row = "Atlantis,39.1,18.7,181,3750,male,2007";
    let head = "island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year";
    fs::write(folder.join("unseen.csv"), format!("{head}\n{row}\n")).unwrap();
    let output = run(folder, &["predict", "penguins.pp", "unseen.csv"]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("categories never met in training: \"Atlantis\" (1 of 1 rows)"),
        "{said}"
    );

    fs::write(folder.join("few.csv"), "island,year,sex\nDream,2007,male\n").unwrap();
    assert_eq!(
        fail(folder, &["predict", "penguins.pp", "few.csv"]),
        "error: few.csv: columns that the model was trained on are missing: \"bill_length_mm\", \
         \"bill_depth_mm\", \"flipper_length_mm\", \"body_mass_g\"\n\
         help: add them (empty cells count as missing), under the names of the training table\n"
    );
}

#[test]
fn an_evaluation_counts_the_rows_that_have_a_class() {
    let folder = folder();
    let text = succeed(folder, &["evaluate", "penguins.pp", "penguins.csv", "--json"]);
    let object: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&object["n_rows"], &object["n_rows_left_out"]), (&344.into(), &0.into()));
    let classes: Vec<&Value> =
        object["classes"].as_array().unwrap().iter().map(|c| &c["class"]).collect();
    assert_eq!(classes, ["Adelie", "Chinstrap", "Gentoo"]);
    let matrix: Vec<Vec<u64>> = serde_json::from_value(object["confusion"].clone()).unwrap();
    assert_eq!(matrix.iter().flatten().sum::<u64>(), 344);
    assert!(object["scores"]["accuracy"].as_f64().unwrap() > 0.95);
    assert!(object["scores"]["balanced_error"].as_f64().unwrap() < 0.05);

    let table = fs::read_to_string(folder.join("penguins.csv")).unwrap();
    let renamed = table.replacen("Adelie", "Emperor", 1);
    fs::write(folder.join("emperor.csv"), renamed).unwrap();
    let output = run(folder, &["evaluate", "penguins.pp", "emperor.csv"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("1 of 344 rows have no class, or one that the model does not know"),
        "{said}"
    );
    assert!(String::from_utf8(output.stdout).unwrap().contains("emperor.csv: 343 rows"));

    let without: String =
        table.lines().map(|l| l.split_once(',').unwrap().1.to_owned() + "\n").collect();
    fs::write(folder.join("unlabelled.csv"), without).unwrap();
    assert_eq!(
        fail(folder, &["evaluate", "penguins.pp", "unlabelled.csv"]),
        "error: unlabelled.csv has no column \"species\", which the model predicts\n\
         help: add the true classes, or use pitchpipe predict\n"
    );
}

#[test]
fn the_column_that_decides_matters_most() {
    let folder = folder();
    let text = succeed(folder, &["inspect", "penguins.pp", "--table", "penguins.csv", "--json"]);
    let object: Value = serde_json::from_str(&text).unwrap();
    let importance = object["importance"].as_array().unwrap();
    assert_eq!(importance.len(), 7);
    let of = |name: &str| {
        let found = importance.iter().find(|i| i["column"] == name).unwrap();
        found["error_increase"].as_f64().unwrap()
    };
    assert!(of("bill_length_mm") > 0.02 && of("bill_length_mm") > of("year"));
    let weights: f64 = object["report"]["base_learners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|learner| learner["weight"].as_f64().unwrap())
        .sum();
    assert!((weights - 1.0).abs() < 1e-9);
    assert_eq!(object["schema"]["target"]["name"], "species");
    assert_eq!(object["report"]["n_evaluated"], 8);
}

#[test]
fn damaged_and_foreign_files_are_no_models() {
    let folder = folder();
    let bytes = fs::read(folder.join("penguins.pp")).unwrap();
    fs::write(folder.join("half.pp"), &bytes[..bytes.len() / 2]).unwrap();
    let said = fail(folder, &["predict", "half.pp", "penguins.csv"]);
    assert!(said.starts_with("error: half.pp is cut short: "), "{said}");
    assert!(said.ends_with("help: copy the file again, or fit the model anew\n"), "{said}");

    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(folder.join("flipped.pp"), flipped).unwrap();
    let said = fail(folder, &["inspect", "flipped.pp"]);
    assert!(
        said.starts_with("error: flipped.pp is damaged: its checksum does not match\n"),
        "{said}"
    );

    let mut future = bytes;
    future[8..12].copy_from_slice(&999_u32.to_le_bytes());
    fs::write(folder.join("future.pp"), future).unwrap();
    let said = fail(folder, &["evaluate", "future.pp", "penguins.csv"]);
    assert!(said.starts_with("error: future.pp has model format 999; this pitchpipe reads format"));
    assert!(said.ends_with("help: upgrade pitchpipe\n"), "{said}");
}

#[test]
fn a_sign_for_missing_cells_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let row = |i: usize| {
        let size = if i.is_multiple_of(5) { "-99".to_owned() } else { (i % 20).to_string() };
        format!("{size},{},{}\n", i * 7 % 11, if i % 20 < 10 { "low" } else { "high" })
    };
    let table: String = (0..100).map(row).collect();
    fs::write(folder.path().join("t.csv"), format!("size,other,kind\n{table}")).unwrap();
    fit(folder.path(), "t.csv", "kind", &["--missing", "-99", "--out", "m.pp"]);
    fs::write(folder.path().join("sign.csv"), "size,other\n-99,3\n").unwrap();
    fs::write(folder.path().join("empty.csv"), "size,other\n,3\n").unwrap();
    let of = |name: &str| succeed(folder.path(), &["predict", "m.pp", name, "--proba"]);
    assert_eq!(of("sign.csv"), of("empty.csv"));
}

#[test]
fn the_same_evaluations_give_the_same_model_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(example("wine.csv"), folder.path().join("wine.csv")).unwrap();
    let mut answers = Vec::new();
    for threads in ["1", "3"] {
        let said = succeed(
            folder.path(),
            &[
                "fit",
                "wine.csv",
                "--target",
                "cultivar",
                "--time-budget",
                "300s",
                "--out",
                "m.pp",
                "--repeatable",
                "--max-evaluations",
                "12",
                "--seed",
                "3",
                "--threads",
                threads,
            ],
        );
        answers.push((said, succeed(folder.path(), &["predict", "m.pp", "wine.csv", "--proba"])));
    }
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn events_are_one_json_object_a_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(example("wine.csv"), folder.path().join("wine.csv")).unwrap();
    let text = fit(folder.path(), "wine.csv", "cultivar", &["--out", "m.pp", "--json"]);
    let events: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let is_note = |event: &&Value| event["event"] == "note" || event["event"] == "warning";
    assert_eq!(events.iter().find(|e| !is_note(e)).unwrap()["event"], "begun");
    assert_eq!(events.iter().filter(|e| e["event"] == "finished").count(), 8);
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["interrupted"]), (&"saved".into(), &false.into()));
    assert_eq!(last["bytes"], fs::metadata(folder.path().join("m.pp")).unwrap().len());
    assert_eq!(last["report"]["metric"], "balanced_error");
    let quiet = fit(folder.path(), "wine.csv", "cultivar", &["--out", "m.pp", "--quiet"]);
    assert_eq!(quiet, "");
}

#[test]
fn a_validation_table_is_chosen_by() {
    let folder = tempfile::tempdir().unwrap();
    let table = fs::read_to_string(example("penguins.csv")).unwrap();
    let (head, body) = table.split_once('\n').unwrap();
    let every_third = |keep: bool| {
        let rows = body.lines().enumerate().filter(|(i, _)| (i % 3 == 0) == keep);
        head.to_owned() + "\n" + &rows.map(|(_, row)| format!("{row}\n")).collect::<String>()
    };
    fs::write(folder.path().join("a.csv"), every_third(false)).unwrap();
    fs::write(folder.path().join("b.csv"), every_third(true)).unwrap();
    let said = fit(folder.path(), "a.csv", "species", &["--validation", "b.csv", "--out", "m.pp"]);
    assert!(said.contains("scores on b.csv"), "{said}");
    let said = succeed(folder.path(), &["evaluate", "m.pp", "b.csv", "--json"]);
    let object: Value = serde_json::from_str(&said).unwrap();
    assert!(object["scores"]["accuracy"].as_f64().unwrap() > 0.9);
}

#[test]
fn shells_and_manuals_know_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = succeed(folder.path(), &["completions", shell]);
        assert!(script.contains("max-evaluations"), "{shell}");
    }
    let said = succeed(folder.path(), &["man", "--out", "pages"]);
    assert!(said.ends_with(" manual pages in pages\n"), "{said}");
    let page = fs::read_to_string(folder.path().join("pages/pitchpipe-fit.1")).unwrap();
    assert!(page.contains("time\\-budget"));
}
