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
            name: "the user chooses how probabilities become labels",
            line: "pitchpipe predict m.pp new.csv --decision most-probable | wc -l",
            stdout: &["31\n"],
            ..PLAIN
        },
    ]);
}
