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
