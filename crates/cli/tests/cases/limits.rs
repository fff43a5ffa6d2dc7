//! Limits are said with their figures, and can be raised.

use crate::{Case, PLAIN, check};

#[test]
fn a_limit_says_what_it_is_and_how_to_raise_it() {
    let refused = Case { code: 1, changes: &["t.csv"], ..PLAIN };
    check(&[
        Case {
            name: "columns, before memory is spent on them",
            line: "{ head -c 1600000 /dev/zero | tr '\\0' ','; echo; } > t.csv
                ulimit -v 300000; pitchpipe describe t.csv",
            stderr: &[
                "error: t.csv has 1600001 columns, and the limit is 100000",
                "help: pass --delimiter if the wrong one was detected, or --max-columns 1600001 if it is meant so",
            ],
            ..refused
        },
        Case {
            name: "columns of an ARFF file",
            line: "{ echo '@relation r'; for i in $(seq 5); do echo \"@attribute a$i numeric\"; done; echo '@data'; echo '1,2,3,4,5'; } > t.csv
                pitchpipe describe t.csv --max-columns 4",
            stderr: &["error: t.csv has 5 columns, and the limit is 4", "--max-columns 5"],
            ..refused
        },
        Case {
            name: "columns as many as are asked for",
            line: "pitchpipe describe data.csv --max-columns 4",
            stdout: &["4 columns"],
            ..PLAIN
        },
        Case {
            name: "the length of a row",
            line: "{ echo 'a,b'; echo '1,\"x'; yes y | head -2000; } > t.csv; pitchpipe describe t.csv --max-row 1kB",
            stderr: &["error: t.csv: row 1 (line 2) is longer than 1000 bytes", "--max-row 1MB"],
            ..refused
        },
        Case {
            name: "classes",
            line: "{ echo 'a,y'; for i in $(seq 300); do echo \"$((i * 7 % 11)),c$((i % 60))\"; done; } > t.csv
                pitchpipe describe t.csv --target y --max-classes 50",
            stderr: &["error: t.csv: the target \"y\" has 60 classes, and the limit is 50", "--max-classes 60"],
            ..refused
        },
        Case {
            name: "categories, of which the rarest count as one",
            line: "{ echo 'a,y'; for i in $(seq 300); do echo \"c$((i % 60)),$((i % 2))\"; done; } > t.csv
                pitchpipe describe t.csv --target y --max-levels 10",
            code: 0,
            stdout: &["column \"a\" has 60 different texts; the 51 rarest count as one, \"(other)\""],
            ..refused
        },
        Case {
            name: "no row can be longer than this",
            line: "pitchpipe describe data.csv --max-row 3GiB",
            code: 2,
            stderr: &["no row can be longer than 2GiB"],
            ..PLAIN
        },
    ]);
}
