//! Numbers under their own names, and predictions that can be joined to their rows.

use crate::{Case, PLAIN, check};

#[test]
fn scores_are_called_scores() {
    check(&[
        Case {
            name: "for programs",
            line: "pitchpipe inspect m.pp --json | grep -o '\"scores\":{[^}]*}' | tail -1",
            stdout: &["\"accuracy\":0.9", "\"balanced_error\":0.0"],
            ..PLAIN
        },
        Case {
            name: "beside the most common class and a plain forest",
            line: "pitchpipe inspect m.pp",
            stdout: &["majority class", "random forest"],
            ..PLAIN
        },
        Case {
            name: "the rows that a model was trained on",
            line: "pitchpipe inspect m.pp",
            stdout: &["trained on 120 rows"],
            ..PLAIN
        },
    ]);
}

#[test]
fn predictions_join_their_rows() {
    check(&[
        Case {
            name: "a column is copied beside them",
            line: "pitchpipe predict m.pp new.csv --keep colour | head -2",
            stdout: &["colour,prediction\nred,"],
            ..PLAIN
        },
        Case {
            name: "a number stays one where the format has types, and a code stays text",
            line: "awk -F, 'NR == 1 { print \"id,zip,\" $0; next } { printf \"%d,%05d,%s\\n\", NR * 7, NR * 31, $0 }' new.csv > t.csv
                pitchpipe predict m.pp t.csv --keep all --out p.parquet; pitchpipe describe p.parquet --include id --include zip",
            stdout: &["\nid          numeric", "\nzip         categorical", "\nsize        numeric", "\ncolour      categorical"],
            changes: &["t.csv", "p.parquet"],
            ..PLAIN
        },
        Case {
            name: "a column that is not there is named, with those that are",
            line: "pitchpipe predict m.pp new.csv --keep shop",
            code: 1,
            stderr: &[
                "error: new.csv has no column \"shop\" to keep",
                "help: its columns are size, colour",
            ],
            ..PLAIN
        },
        Case {
            name: "a table without rows has no predictions, in any format",
            line: "head -1 new.csv > t.csv; head -1 new.csv | tr , '\t' > t.tsv
                pitchpipe predict m.pp t.csv --proba --out e.parquet && pitchpipe predict m.pp t.tsv --out e.arrow \
                    && pitchpipe predict m.pp t.csv --keep all",
            stdout: &["e.parquet: 0 rows predicted\n", "e.arrow: 0 rows predicted\n", "size,colour,weight,kind,prediction\n"],
            changes: &["t.csv", "t.tsv", "e.parquet", "e.arrow"],
            ..PLAIN
        },
        Case {
            name: "and nothing to measure on",
            line: "head -1 new.csv > t.csv; pitchpipe evaluate m.pp t.csv",
            code: 1,
            stderr: &["error: t.csv: "],
            changes: &["t.csv"],
            ..PLAIN
        },
        Case {
            name: "one row out for each row in, blank lines and rows without a class too",
            line: "{ head -3 new.csv; echo; echo; sed -n 4,5p new.csv; echo ',,,'; } > t.csv; pitchpipe predict m.pp t.csv | wc -l",
            stdout: &["8\n"],
            changes: &["t.csv"],
            ..PLAIN
        },
        Case {
            name: "the user chooses how probabilities become labels",
            line: "pitchpipe predict m.pp new.csv --decision most-probable | wc -l",
            stdout: &["31\n"],
            ..PLAIN
        },
    ]);
}

#[test]
fn labels_stay_as_they_are_written() {
    // Two labels in the place of `small` and `large`, and how many predictions are of each.
    let line = |small: &str, large: &str| -> &'static str {
        let text = format!(
            "sed 's/small$/{small}/;s/large$/{large}/' data.csv > t.csv
            pitchpipe fit t.csv $FIT --quiet --out new.pp && pitchpipe predict new.pp t.csv | sort | uniq -c"
        );
        Box::leak(text.into_boxed_str())
    };
    let written = Case { changes: &["new.pp", "t.csv"], ..PLAIN };
    check(&[
        Case {
            name: "with zeros in front",
            line: line("02139", "10001"),
            stdout: &[" 02139\n", " 10001\n"],
            ..written
        },
        Case {
            name: "with a fraction of nothing",
            line: line("1.0", "2.0"),
            stdout: &[" 1.0\n", " 2.0\n"],
            ..written
        },
        Case {
            name: "beyond what a float tells apart",
            line: line("9007199254740992", "9007199254740993"),
            stdout: &[" 9007199254740992\n", " 9007199254740993\n"],
            ..written
        },
        Case {
            name: "in words for truth",
            line: line("TRUE", "FALSE"),
            stdout: &[" TRUE\n", " FALSE\n"],
            ..written
        },
    ]);
}

#[test]
fn figures_that_could_be_mistaken_are_explained() {
    check(&[
        Case {
            name: "that the balanced error is not one minus the balanced accuracy",
            line: "sed '2~3s/[a-z]*$/middling/' data.csv > t.csv; pitchpipe fit t.csv $FIT --out new.pp",
            stdout: &["(beyond two classes the balanced error is not one minus the balanced accuracy"],
            changes: &["new.pp", "t.csv"],
            ..PLAIN
        },
        Case {
            name: "by which rule a class is decided on, and that it can be chosen",
            line: "pitchpipe inspect m.pp",
            stdout: &[
                "so that rare classes count as much as common ones: the rule for balanced error",
                "(pitchpipe predict --decision chooses another",
            ],
            ..PLAIN
        },
        Case {
            name: "that a table had no header is remembered",
            line: "tail -n +2 data.csv > t.csv
                pitchpipe fit t.csv --no-header ${FIT/kind/column_4} --quiet --out new.pp; head -3 t.csv > u.csv
                pitchpipe predict new.pp u.csv | wc -l",
            code: 0,
            stdout: &["4\n"],
            changes: &["new.pp", "t.csv", "u.csv"],
            ..PLAIN
        },
    ]);
}
