//! What was decided about a table is said where the work is done.

use crate::{Case, PLAIN, check};

/// A table with a column that says nothing, a class of two rows, and rows without a class.
const ODD: &str = "{ cat data.csv; echo '5,red,1,'; echo '6,blue,2,'; echo '7,red,3,rare'; } | sed '1s/$/,shop/;2,$s/$/,here/' > odd.csv
";

#[test]
fn fit_says_what_it_left_out_in_every_way_of_saying() {
    let line = |rest: &str| -> &'static str { Box::leak(format!("{ODD}{rest}").into_boxed_str()) };
    let written = Case { changes: &["new.pp", "odd.csv"], ..PLAIN };
    check(&[
        Case {
            name: "as text",
            line: line("pitchpipe fit odd.csv $FIT --out new.pp"),
            stderr: &[
                "odd.csv: ",
                "column \"shop\" is left out: the same value, \"here\", in every row",
            ],
            ..written
        },
        Case {
            name: "warnings even if quiet",
            line: line("pitchpipe fit odd.csv $FIT --quiet --out new.pp"),
            stderr: &["warning: odd.csv: ", "\"rare\" (1)"],
            not: &["pipelines, "],
            ..written
        },
        Case {
            name: "as events",
            line: line("pitchpipe fit odd.csv $FIT --json --out new.pp"),
            stdout: &[
                "{\"event\":\"note\",\"file\":\"odd.csv\",\"text\":\"column \\\"shop\\\" is left out",
                "{\"event\":\"warning\",\"file\":\"odd.csv\"",
            ],
            ..written
        },
    ]);
}

#[test]
fn the_reader_says_what_it_guessed_where_the_work_is_done() {
    let written = Case { changes: &["new.pp", "t.csv"], ..PLAIN };
    check(&[
        Case {
            name: "the encoding",
            line: "sed 's/red/caf\\xe9/' data.csv > t.csv; pitchpipe fit t.csv $FIT --out new.pp",
            stderr: &["note: t.csv: the text is not UTF-8 (first seen on line ", "read as Latin-1"],
            ..written
        },
        Case {
            name: "what separates cells",
            line: "tr , ';' < data.csv > t.csv; pitchpipe fit t.csv $FIT --out new.pp",
            stderr: &["note: t.csv: cells are separated by semicolons"],
            ..written
        },
        Case {
            name: "lines that are blank, of which those at the end are nothing",
            line: "{ head -9 data.csv; echo; tail -n +10 data.csv; echo; echo; } > t.csv
                pitchpipe fit t.csv $FIT --out new.pp",
            stderr: &[
                "warning: t.csv: line 10 is blank and counts as a row of missing cells",
                "left out 1 of 121 rows without a value in \"kind\"",
            ],
            ..written
        },
    ]);
}

const UNSEEN: &str =
    "warning: t.csv: column \"colour\" holds categories never met in training: \"mauve\"";
const MORE: &str = "note: t.csv: column \"shop\" was not there in training and is ignored";
const LOST: &str = "warning: t.csv: 1 of 30 rows have no class, or one that the model does not know, and are left out";

#[test]
fn later_tables_are_spoken_of_as_the_first_was() {
    // A colour that was never met, a column more, and a row without a class.
    let odd = |line: &str| -> &'static str {
        let make = "sed '2s/red\\|blue\\|green/mauve/;3s/[a-z]*$//;1s/$/,shop/;2,$s/$/,here/' new.csv > t.csv";
        Box::leak(format!("{make}\n{line}").into_boxed_str())
    };
    let written = Case { changes: &["t.csv"], ..PLAIN };
    check(&[
        Case {
            name: "by predict",
            line: odd("pitchpipe predict m.pp t.csv --out p.csv"),
            stdout: &["p.csv: 30 rows predicted"],
            stderr: &[UNSEEN, MORE],
            changes: &["t.csv", "p.csv"],
            ..PLAIN
        },
        Case {
            name: "by predict, if quiet no more than warnings",
            line: odd("pitchpipe predict m.pp t.csv --quiet --out p.csv"),
            stderr: &[UNSEEN],
            not: &["is ignored", "rows predicted"],
            changes: &["t.csv", "p.csv"],
            ..PLAIN
        },
        Case {
            name: "by evaluate, where something is lost with a warning",
            line: odd("pitchpipe evaluate m.pp t.csv"),
            stderr: &[UNSEEN, MORE, LOST],
            ..written
        },
        Case {
            name: "by evaluate, if quiet no more than warnings",
            line: odd("pitchpipe evaluate m.pp t.csv --quiet"),
            stdout: &["balanced accuracy"],
            stderr: &[UNSEEN, LOST],
            not: &["is ignored"],
            ..written
        },
        Case {
            name: "by evaluate, to programs",
            line: odd("pitchpipe evaluate m.pp t.csv --json"),
            stdout: &[
                "{\"severity\":\"warning\",\"text\":\"column \\\"colour\\\" holds categories never met",
                "{\"severity\":\"note\",\"text\":\"column \\\"shop\\\" was not there",
                "{\"severity\":\"warning\",\"text\":\"1 of 30 rows have no class",
            ],
            not: &["note: ", "warning: "],
            ..written
        },
    ]);
}

#[test]
fn what_cannot_be_read_or_told_apart_is_said() {
    let written = Case { changes: &["new.pp"], ..PLAIN };
    check(&[
        Case {
            name: "a column of lists is left out with a warning",
            line: "pitchpipe fit nested.parquet $FIT --out new.pp",
            stderr: &["warning: nested.parquet: column \"tags\" is left out: it is of type List("],
            ..written
        },
        Case {
            name: "and without one, where it is excluded",
            line: "pitchpipe fit nested.parquet --exclude tags $FIT --out new.pp && pitchpipe evaluate new.pp nested.parquet",
            stderr: &["note: nested.parquet: column \"tags\" is left out: excluded on request"],
            not: &["which is not read"],
            ..written
        },
        Case {
            name: "and is good for nothing else",
            line: "pitchpipe fit nested.parquet --group tags $FIT --out new.pp",
            code: 1,
            stderr: &[
                "error: nested.parquet: column \"tags\", given as --group, is of type List(",
                "help: turn it into plain columns, or leave the option out",
            ],
            ..PLAIN
        },
        Case {
            name: "labels that are one number",
            line: "sed 's/small$/1/;s/large$/2/;7s/[0-9]$/&.0/' data.csv > t.csv; pitchpipe fit t.csv $FIT --quiet --out new.pp",
            stderr: &[
                "warning: t.csv: in the target \"kind\" \"",
                "are one number and so one class",
            ],
            changes: &["new.pp", "t.csv"],
            ..PLAIN
        },
    ]);
}

#[test]
fn what_separates_cells_is_remembered() {
    check(&[Case {
        name: "what was said of the training table need not be said again",
        line: "tr , '~' < data.csv > t.csv; tr , '~' < new.csv > u.csv
            pitchpipe fit t.csv --delimiter '~' $FIT --quiet --out new.pp
            pitchpipe predict new.pp u.csv | wc -l; pitchpipe predict new.pp new.csv | wc -l",
        stdout: &["31\n31\n"],
        changes: &["t.csv", "u.csv", "new.pp"],
        ..PLAIN
    }]);
}
