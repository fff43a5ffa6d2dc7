//! What is said of a model is what it is worth, through the command.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::world::{FIT, World};
use crate::{Case, PLAIN, check};

/// The last line that a command prints, as JSON.
fn json(folder: &Path, line: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_pitchpipe"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// A number between 0 and 1.
fn drawn(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 40) as f64 / (1u64 << 24) as f64
}

/// Rows of four groups, one in ten of the rarer class, which the columns only hint at.
fn imbalanced(groups: &[usize]) -> String {
    let (mut text, mut state) = ("x,z,shop,kind\n".to_owned(), 7);
    for row in 0..240 {
        let kind = if row % 10 == 3 { "rare" } else { "common" };
        let x = drawn(&mut state) + if kind == "rare" { 0.4 } else { 0.0 };
        let (z, shop) = (drawn(&mut state), row / 10 % 4);
        if groups.contains(&shop) {
            text += &format!("{x:.4},{z:.4},s{shop},{kind}\n");
        }
    }
    text
}

#[test]
fn on_an_imbalanced_table_fit_reports_what_evaluate_says_of_the_same_rows() {
    let folder = World::copy();
    let folder = folder.path();
    fs::write(folder.join("all.csv"), imbalanced(&[0, 1, 2, 3])).unwrap();
    for shop in 0..4 {
        fs::write(folder.join(format!("s{shop}.csv")), imbalanced(&[shop])).unwrap();
    }
    for metric in ["balanced-error", "accuracy"] {
        // One of the four shops is held out, and the model stays the one that was scored.
        let saved = json(
            folder,
            &format!(
                "fit all.csv --group shop --holdout 0.25 --no-refit --metric {metric} {FIT} --force --json --out i.pp"
            ),
        );
        let report = &saved["report"];
        assert_eq!(report["measured"], "held-out");
        assert_eq!(report["n_rows_scored"], 60);
        let names: Vec<&Value> =
            report["baselines"].as_array().unwrap().iter().map(|b| &b["name"]).collect();
        assert_eq!(names, ["majority class", "random forest"]);
        let evaluated = |shop: usize| {
            json(folder, &format!("evaluate i.pp s{shop}.csv --json"))["scores"].clone()
        };
        let is_same = |scores: &Value| {
            let of = |name: &str| (scores[name].as_f64(), report["scores"][name].as_f64());
            ["accuracy", "balanced_accuracy", "balanced_error", "macro_f1", "roc_auc", "log_loss"]
                .into_iter()
                .map(of)
                .all(|(a, b)| matches!((a, b), (Some(a), Some(b)) if (a - b).abs() < 1e-9))
        };
        let all: Vec<Value> = (0..4).map(evaluated).collect();
        assert_eq!(all.iter().filter(|s| is_same(s)).count(), 1, "{}: {all:?}", report["scores"]);
    }
}

#[test]
fn noise_is_no_better_than_chance() {
    let folder = World::copy();
    let folder = folder.path();
    let n_tables = 4;
    let mut mean = 0.0;
    for seed in 0..n_tables {
        let (mut text, mut state) = ("a,b,c,d,e,kind\n".to_owned(), 1000 + seed);
        for row in 0..80 {
            let cells: Vec<String> = (0..5).map(|_| format!("{:.5}", drawn(&mut state))).collect();
            text += &format!("{},{}\n", cells.join(","), ["u", "v"][row % 2]);
        }
        fs::write(folder.join("noise.csv"), text).unwrap();
        let line = "fit noise.csv --target kind --repeatable --max-evaluations 40 --time-budget 300s --threads 1 \
                    --force --json --out noise.pp";
        let saved = json(folder, line);
        mean += saved["report"]["scores"]["balanced_accuracy"].as_f64().unwrap() / n_tables as f64;
    }
    // A standard deviation of about .06 for each.
    assert!((mean - 0.5).abs() < 0.1, "{mean}");
}

#[test]
fn rows_that_hang_together_are_kept_together() {
    let written = Case { changes: &["new.pp", "t.csv"], ..PLAIN };
    check(&[
        Case {
            name: "in groups",
            line: "awk -F, 'NR == 1 { print \"who,\" $0; next } { print \"p\" int(NR / 6) \",\" $0 }' data.csv > t.csv
                pitchpipe fit t.csv --group who $FIT --out new.pp",
            stderr: &["note: t.csv: column \"who\" is left out: rows are grouped by it"],
            stdout: &["models trained on 120 rows"],
            ..written
        },
        Case {
            name: "of which one is not enough",
            line: "sed '1s/^/who,/;2,$s/^/p,/' data.csv > t.csv; pitchpipe fit t.csv --group who $FIT --out new.pp",
            code: 1,
            stderr: &["error: t.csv: column \"who\", given as --group, has one value only"],
            changes: &["t.csv"],
            ..PLAIN
        },
        Case {
            name: "in order of time, the latest learnt from at the end",
            line: "awk -F, 'NR == 1 { print \"day,\" $0; next } { printf \"2024-%02d-%02d,%s\\n\", NR / 28 + 1, NR % 28 + 1, $0 }' data.csv > t.csv
                pitchpipe fit t.csv --time-order day $FIT --out new.pp",
            stderr: &["note: t.csv: column \"day\" is left out: rows are ordered by it"],
            stdout: &["note: fitted again on all 120 rows"],
            ..written
        },
        Case {
            name: "in order of time, and not fitted again on request",
            line: "awk -F, 'NR == 1 { print \"day,\" $0; next } { printf \"2024-%02d-%02d,%s\\n\", NR / 28 + 1, NR % 28 + 1, $0 }' data.csv > t.csv
                pitchpipe fit t.csv --time-order day --no-refit $FIT --out new.pp",
            stdout: &["note: not fitted again on all rows: the latest are not learnt from"],
            ..written
        },
        Case {
            name: "a share that is none of the rows",
            line: "pitchpipe fit data.csv --holdout 0.001 $FIT --out new.pp",
            code: 1,
            stderr: &["error: data.csv: the share given as --holdout is none of 120 rows", "help: give a larger share"],
            ..PLAIN
        },
        Case {
            name: "a share that leaves too few",
            line: "pitchpipe fit data.csv --holdout 0.99 $FIT --out new.pp",
            code: 1,
            stderr: &["error: data.csv: --holdout leaves 2 of 120 rows to learn from, and at least 4 are needed", "help: give a smaller share"],
            ..PLAIN
        },
        Case {
            name: "four rows that are all predicted rightly are not certain",
            line: "{ head -1 data.csv; grep small data.csv | head -2; grep large data.csv | tail -2; } | sed 's/^\\([0-9.]*\\),.*,small/1,red,1,small/;s/^\\([0-9.]*\\),.*,large/99,red,1,large/' > t.csv
                pitchpipe fit t.csv $FIT --quiet --out new.pp; pitchpipe inspect new.pp",
            stdout: &["accuracy           1.0000 ± 0.1521"],
            not: &["± 0.0000"],
            ..written
        },
        Case {
            name: "an evaluation says how sure it is, and what is plain",
            line: "pitchpipe evaluate m.pp new.csv; pitchpipe evaluate m.pp new.csv --json",
            stdout: &["majority class", " ± 0.", "\"standard_errors\":{\"balanced_error\":", "\"baselines\":[{\"name\":\"majority class\""],
            ..PLAIN
        },
        Case {
            name: "rows held out are said, and then learnt from",
            line: "pitchpipe fit data.csv --holdout 0.2 $FIT --out new.pp",
            stdout: &[
                "scores on 24 rows held out",
                "note: fitted again on all 120 rows; the scores are of the model before",
                "random forest",
            ],
            changes: &["new.pp"],
            ..PLAIN
        },
    ]);
}

#[test]
fn a_search_on_a_sample_says_so_and_uses_the_time_that_is_left() {
    let line = |rest: &str| -> &'static str {
        let text = format!(
            "awk 'BEGIN {{ print \"size,colour,kind\"; for (i = 0; i < 60000; i++) {{ small = i * 7 % 5 < 2
                print i * 37 % 50 + (small ? 0.5 : 30.5) \",\" (i % 3 ? \"blue\" : \"red\") \",\" (small ? \"small\" : \"large\") }} }}' > big.csv
            pitchpipe fit big.csv --target kind --repeatable --max-evaluations 3 --time-budget 10s --threads 1 {rest} --out new.pp
            pitchpipe inspect new.pp"
        );
        Box::leak(text.into_boxed_str())
    };
    let written = Case { changes: &["big.csv", "new.pp"], ..PLAIN };
    check(&[
        Case {
            name: "unless told not to",
            line: line("--no-refit"),
            stdout: &[
                "models trained on 7500 of 60000 rows",
                "trained on 7500 of 60000 rows, a sample,",
            ],
            not: &["fitted again"],
            ..written
        },
        Case {
            name: "on more rows",
            line: line(""),
            stdout: &[
                "note: fitted again on all 60000 rows; the scores are of the model before, which was fitted on 7500",
                "models trained on 60000 rows",
                "trained on 60000 rows with",
            ],
            ..written
        },
    ]);
}
