//! Small things, each of which once puzzled someone.

use crate::{Case, PLAIN, check};

#[test]
fn times_and_names_that_cannot_be_meant_are_refused() {
    check(&[
        Case {
            name: "a time below zero",
            line: "pitchpipe fit data.csv --target kind --time-budget -1s --out new.pp",
            code: 2,
            stderr: &[
                "invalid value '-1s' for '--time-budget <TIME>': a time is more than nothing",
            ],
            ..PLAIN
        },
        Case {
            name: "so little time that nothing can finish",
            line: "pitchpipe fit data.csv --target kind --time-budget 0.01s --out new.pp",
            code: 1,
            stderr: &["within the time budget of 10ms", "help: "],
            ..PLAIN
        },
        Case {
            name: "a model to standard output",
            line: "pitchpipe fit data.csv $FIT --out -",
            code: 1,
            stderr: &[
                "error: --out -: a model is not written to standard output",
                "help: name a file",
            ],
            ..PLAIN
        },
    ]);
}

#[test]
fn a_search_says_what_it_did() {
    check(&[
        Case {
            name: "no more folds than rows",
            line: "printf 'a,b,y\\n1,2,u\\n2,3,v\\n3,5,u\\n5,8,v\\n' > four.csv
                pitchpipe fit four.csv --target y --max-evaluations 2 --threads 1 --out new.pp",
            stdout: &["4 folds"],
            changes: &["new.pp", "four.csv"],
            ..PLAIN
        },
        Case {
            name: "the measure of its figures",
            line: "pitchpipe fit data.csv $FIT --metric log-loss --out new.pp",
            stderr: &["pipelines, log loss ", " of the best"],
            changes: &["new.pp"],
            ..PLAIN
        },
        Case {
            name: "escape codes in names are shown, not executed",
            line: "printf 'a\\033[31m,y\\n1,u\\n2,v\\n3,u\\n4,v\\n5,u\\n' > odd.csv
                pitchpipe describe odd.csv --target y; pitchpipe describe odd.csv --target z; rm odd.csv",
            stdout: &["a\\u{1b}[31m"],
            stderr: &["the columns are a\\u{1b}[31m, y"],
            not: &["\u{1b}"],
            ..PLAIN
        },
    ]);
}

#[test]
fn what_is_no_table_is_called_by_its_name() {
    let refused = Case { code: 1, changes: &["t.csv"], ..PLAIN };
    check(&[
        Case {
            name: "JSON",
            line: "echo '[{\"a\": 1, \"b\": 2}]' > t.csv; pitchpipe describe t.csv",
            stderr: &["error: t.csv is JSON, which is not read", "help: save the table as CSV or Parquet"],
            ..refused
        },
        Case {
            name: "HTML",
            line: "echo '<!DOCTYPE html><html><body>Not found</body></html>' > t.csv; pitchpipe describe t.csv",
            stderr: &["error: t.csv is an HTML page, which is not read"],
            ..refused
        },
        Case {
            name: "JSON without keys",
            line: "echo '[[1, 2], [3, 4]]' > t.csv; pitchpipe describe t.csv",
            stderr: &["error: t.csv is JSON, which is not read"],
            ..refused
        },
        Case {
            name: "a table of HTML, as pandas writes it",
            line: "printf '<table border=\"1\">\n  <tr><td>1</td></tr>\n</table>\n' > t.csv; pitchpipe describe t.csv",
            stderr: &["error: t.csv is an HTML page, which is not read"],
            ..refused
        },
        Case {
            name: "a name and nothing else",
            line: "echo a > t.csv; pitchpipe describe t.csv",
            stderr: &["error: t.csv has 1 column but no rows"],
            ..refused
        },
        Case {
            name: "a compressed table that goes on after its end",
            line: "{ gzip -c data.csv; echo more; } > t.csv; pitchpipe describe t.csv",
            stderr: &["error: t.csv is damaged: its gzip data cannot be decoded (other data follows its end)"],
            ..refused
        },
        Case {
            name: "a compressed table that is cut short",
            line: "gzip -c data.csv | head -c 200 > t.csv; pitchpipe describe t.csv",
            stderr: &["error: t.csv ends before its gzip data does"],
            ..refused
        },
        Case {
            name: "a model that is too long",
            line: "{ cat m.pp; echo more; } > t.csv; pitchpipe inspect t.csv",
            stderr: &["error: t.csv is too long: ", " bytes where its header says ", "help: copy the file again"],
            not: &["cut short"],
            ..refused
        },
        Case {
            name: "a table of nothing but the target",
            line: "printf 'y\\na\\nb\\na\\n' > t.csv; pitchpipe fit t.csv --target y --out new.pp",
            stderr: &["error: t.csv: no column is left to learn from: the table has no column but the target", "help: add columns to learn from"],
            ..refused
        },
        Case {
            name: "many classes of few rows are counted as classes",
            line: "{ echo 'a,y'; for i in $(seq 80); do echo \"$((i * 7 % 11)),c$((i % 15))\"; done; for i in $(seq 15); do echo \"$i,r$i\"; done; } > t.csv
                pitchpipe describe t.csv --target y",
            code: 0,
            stdout: &["\"r13\" (1) and 10 more classes"],
            not: &["more columns"],
            ..refused
        },
    ]);
}

#[test]
fn predict_proposes_flags_that_it_has() {
    check(&[Case {
        name: "a word among numbers",
        line: "sed '3s/^[0-9.]*/thirty/' new.csv > odd.csv; pitchpipe predict m.pp odd.csv; code=$?; rm odd.csv; exit $code",
        code: 1,
        stderr: &["holds \"thirty\" in row 2", "--missing thirty"],
        not: &["--categorical"],
        ..PLAIN
    }]);
}

#[test]
fn meta_training_on_few_tables() {
    check(&[
        Case {
            name: "which target was taken is said",
            line: "pitchpipe meta collect tables --store other --no-slice --fraction 0.001 --threads 1",
            stdout: &["target of all tables: kind\n"],
            changes: &["other"],
            ..PLAIN
        },
        Case {
            name: "six small tables give a surrogate, with or without the kernel",
            line: "pitchpipe meta train --store store --out all.surrogate
                pitchpipe fit data.csv $FIT --surrogate all.surrogate --out new.pp",
            stdout: &["trained on 6 datasets of your own", "saved: new.pp"],
            changes: &["all.surrogate", "new.pp"],
            ..PLAIN
        },
    ]);
}
