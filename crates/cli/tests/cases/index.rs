//! Columns that number the rows, and what makes a score too good or too bad to be true.

use crate::{Case, PLAIN, check};

/// Noise, sorted by class, with a column before it that the header calls `NAME`.
fn sorted(name: &str, number: &str, rest: &str) -> &'static str {
    let line = format!(
        "{{ echo '{name},a,b,y'; for i in $(seq 0 119); do
            echo \"$(( {number} )),$((i * 7919 % 101)),$((i * 104729 % 89)),$(( i < 60 ))\"
        done; }} > noise.csv
        {rest}"
    );
    Box::leak(line.into_boxed_str())
}

#[test]
fn an_index_is_left_out_and_can_be_taken_in() {
    let describe = "pitchpipe describe noise.csv --target y";
    let plain = Case { changes: &["noise.csv"], ..PLAIN };
    check(&[
        Case {
            name: "an unnamed first column",
            line: sorted("", "i * 37 % 120", describe),
            stdout: &[
                "left out: 1 column",
                "column_1  an index: a number for each row, without a name",
            ],
            ..plain
        },
        Case {
            name: "as pandas reads and writes it again",
            line: sorted("Unnamed: 0", "i + 500", describe),
            stdout: &["Unnamed: 0  an index: a number for each row, without a name"],
            ..plain
        },
        Case {
            name: "as pandas calls it in Parquet",
            line: sorted("__index_level_0__", "i * 3", describe),
            stdout: &["__index_level_0__  an index that pandas wrote"],
            ..plain
        },
        Case {
            name: "as pandas calls it when it becomes a column, the rows shuffled",
            line: sorted("index", "i * 37 % 120", describe),
            stdout: &["index  an index that pandas wrote"],
            ..plain
        },
        Case {
            name: "but an index that rows share is a quantity",
            line: sorted("index", "i * 37 % 60", describe),
            stdout: &["index   numeric"],
            not: &["left out"],
            ..plain
        },
        Case {
            name: "the number of the row under any name",
            line: sorted("case", "i + 1", describe),
            stdout: &["case  it is the number of the row"],
            ..plain
        },
        Case {
            name: "a number in an order that gives the target away, in rows of any order",
            line: sorted("case", "i + 1000", "{ head -1 noise.csv; tail -n +2 noise.csv | sort -t, -k2; } > n.csv
                pitchpipe describe n.csv --target y"),
            stdout: &["case  a number for each row, in an order that gives the target away"],
            changes: &["noise.csv", "n.csv"],
            ..PLAIN
        },
        Case {
            name: "taken in on request",
            line: sorted("case", "i + 1", "pitchpipe describe noise.csv --target y --include case"),
            stdout: &["case    numeric"],
            not: &["left out"],
            ..plain
        },
        Case {
            name: "fit says so, and how to take it in",
            line: sorted("case", "i + 1", "pitchpipe fit noise.csv --target y --repeatable --max-evaluations 4 --threads 1 --out new.pp
                pitchpipe inspect new.pp --json | grep -o '\"left_out\":[^]]*]'"),
            stdout: &["{\"name\":\"case\",\"reason\":\"it is the number of the row\"}"],
            stderr: &["note: noise.csv: column \"case\" is left out: it is the number of the row; --include case takes it in"],
            changes: &["noise.csv", "new.pp"],
            ..PLAIN
        },
        Case {
            name: "also of the rows that are left when some are held out",
            line: sorted("case", "i + 1", "pitchpipe fit noise.csv --target y --holdout 0.3 --repeatable --max-evaluations 4 --threads 1 --out new.pp"),
            stderr: &["column \"case\" is left out: it is the number of the row"],
            changes: &["noise.csv", "new.pp"],
            ..PLAIN
        },
        Case {
            name: "what is taken in and left out at once is refused",
            line: sorted("case", "i + 1", "pitchpipe describe noise.csv --target y --include case --exclude case"),
            code: 1,
            stderr: &["error: noise.csv: column \"case\" is given as --exclude and as --include"],
            ..plain
        },
    ]);
}

#[test]
fn what_gives_the_answer_away_is_warned_of() {
    let plain = Case { changes: &["t.csv"], ..PLAIN };
    check(&[
        Case {
            name: "a column that alone says the class",
            line: "awk -F, 'NR==1{print $0\",code\"} NR>1{print $0\",\"($4==\"small\"?\"p\":\"q\")}' data.csv > t.csv
                pitchpipe describe t.csv --target kind",
            stdout: &["column \"code\" alone says the class of 120 of 120 rows; if it is not known when you predict, pass --exclude code"],
            ..plain
        },
        Case {
            name: "one class under several names",
            line: "sed '2,30s/small$/Small/;40,60s/small$/small /' data.csv > t.csv
                pitchpipe fit t.csv $FIT --quiet --out new.pp",
            stderr: &["warning: t.csv: in the target \"kind\" \"Small\", \"small\", \"small \" are different classes; if they are one, write them alike"],
            changes: &["t.csv", "new.pp"],
            ..PLAIN
        },
        Case {
            name: "equal rows of different classes",
            line: "{ cat data.csv; echo '7,red,1,small'; echo '7,red,1,large'; } > t.csv
                pitchpipe describe t.csv --target kind",
            stdout: &["2 of 122 rows are equal to a row of another class in every column that is learnt from, so no model can be right about all of them"],
            ..plain
        },
    ]);
}
