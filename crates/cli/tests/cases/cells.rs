//! Cells as people write them, in the training table and in later ones.

use crate::{Case, PLAIN, check};

/// A table whose column `x` is written by `printf` from a number between 1 and 28; small numbers are of one class.
fn table(format: &str, rest: &str) -> &'static str {
    let line = format!(
        "{{ echo 'x;z;y'; for i in $(seq 1 140); do
            n=$(( i % 28 + 1 ))
            printf '{format};%d;%s\\n' $n $((i * 31 % 17)) $( (( n < 14 )) && echo low || echo high )
        done; }} > t.csv
        {rest}"
    );
    Box::leak(line.into_boxed_str())
}

#[test]
fn cells_are_read_as_what_they_are_and_that_is_said() {
    let describe = "pitchpipe describe t.csv --target y";
    let plain = Case { changes: &["t.csv"], ..PLAIN };
    check(&[
        Case {
            name: "money",
            line: table("$ 1,0%02d.50", describe),
            stdout: &["x       numeric", "column \"x\" is read as amounts of money in $ with a decimal point: \"$ 1,002.50\" is 1002.5; --categorical x keeps it as text"],
            ..plain
        },
        Case {
            name: "money with a decimal comma",
            line: table("1.0%02d,50 EUR", describe),
            stdout: &["amounts of money in € with a decimal comma: \"1.002,50 EUR\" is 1002.5"],
            ..plain
        },
        Case {
            name: "per cent",
            line: table("%d %%", describe),
            stdout: &["percentages with a decimal point: \"2 %\" is 2"],
            ..plain
        },
        Case {
            name: "thousands",
            line: table("%d,000.5", describe),
            stdout: &["numbers with a decimal point: \"2,000.5\" is 2000.5"],
            ..plain
        },
        Case {
            name: "durations",
            line: table("1h%02dm", describe),
            stdout: &["durations, in seconds: \"1h02m\" is 3720"],
            ..plain
        },
        Case {
            name: "durations of ISO 8601",
            line: table("PT%dM", describe),
            stdout: &["durations, in seconds: \"PT2M\" is 120"],
            ..plain
        },
        Case {
            name: "millions, which are no minutes",
            line: table("%dM", describe),
            stdout: &["x       categorical"],
            not: &["durations"],
            ..plain
        },
        Case {
            name: "a printed minus sign",
            line: table("−%d", describe),
            stdout: &["x       numeric", "\"−2\" is -2"],
            ..plain
        },
        Case {
            name: "a clock",
            line: table("01:23:%02d", describe),
            stdout: &["durations, in seconds: \"01:23:02\" is 4982"],
            ..plain
        },
        Case {
            name: "dates with points",
            line: table("%02d.12.2023", describe),
            stdout: &["x       date", "dates (day, month, year): \"02.12.2023\" is 2023-12-02"],
            ..plain
        },
        Case {
            name: "dates with slashes, the month first as some day is beyond twelve",
            line: table("12/%02d/2023", describe),
            stdout: &["dates (month, day, year): \"12/02/2023\" is 2023-12-02"],
            ..plain
        },
        Case {
            name: "the day first",
            line: table("%d/12/2023", describe),
            stdout: &["dates (day, month, year): \"2/12/2023\" is 2023-12-02"],
            ..plain
        },
        Case {
            name: "dates that could be either are a warning",
            line: "{ echo 'x;y'; for i in $(seq 60); do echo \"0$((i % 9 + 1))/0$((i % 7 + 1))/2023;$((i % 2))\"; done; } > t.csv
                pitchpipe fit t.csv --target y --repeatable --max-evaluations 3 --threads 1 --quiet --out new.pp",
            stderr: &["warning: t.csv: column \"x\" is read as dates (month, day, year): \"02/02/2023\" is 2023-02-02, a guess"],
            changes: &["t.csv", "new.pp"],
            ..PLAIN
        },
        Case {
            name: "dates in words",
            line: table("Dec %d, 2023", describe),
            stdout: &["\"Dec 2, 2023\" is 2023-12-02"],
            ..plain
        },
        Case {
            name: "truth in many spellings",
            line: "{ echo 'x;y'; for i in $(seq 60); do w=(yes No TRUE false Y n); echo \"${w[i % 6]};$((i % 7 % 2))\"; done; } > t.csv
                pitchpipe describe t.csv --target y",
            stdout: &["x       categorical", "2 levels: false (30), true (30)", "column \"x\" is read as true or false: \"No\" is false"],
            ..plain
        },
        Case {
            name: "free text",
            line: "{ echo 'x;y'; for i in $(seq 60); do echo \"what a $( ((i % 2)) && echo good || echo bad) thing number $i is;$((i % 2))\"; done; } > t.csv
                pitchpipe describe t.csv --target y",
            stdout: &["column \"x\" is free text: what is learnt from is its length, its number of words and ", "--exclude x leaves it out"],
            ..plain
        },
        Case {
            name: "text on request",
            line: table("%d %%", "pitchpipe describe t.csv --target y --categorical x"),
            stdout: &["x       categorical"],
            not: &["percentages"],
            ..plain
        },
        Case {
            name: "an odd cell among many is missing, and said",
            line: table("%d %%", "sed -i '5s/^[^;]*/soon/' t.csv; pitchpipe describe t.csv --target y"),
            stdout: &["column \"x\" is read as percentages, but 1 of its 140 cells are none, such as \"soon\" (row 4), and count as missing"],
            ..plain
        },
    ]);
}

#[test]
fn later_tables_are_read_by_the_same_rules() {
    const FIT: &str = "pitchpipe fit t.csv --target y --repeatable --max-evaluations 8 --threads 1 --quiet --out new.pp 2>/dev/null\n";
    let after = |format: &str, rest: &str| {
        table(format, Box::leak(format!("{FIT}{rest}").into_boxed_str()))
    };
    let plain = Case { changes: &["t.csv", "new.pp"], ..PLAIN };
    check(&[
        Case {
            name: "money, in a table where nothing tells the decimals from the thousands",
            line: after(
                "1.0%02d,50 EUR",
                "printf 'x;z\\n1.002;3\\n1.027;3\\n' | pitchpipe predict new.pp -",
            ),
            stdout: &["prediction\nlow\nhigh\n"],
            ..plain
        },
        Case {
            name: "dates",
            line: after(
                "%02d.12.2023",
                "printf 'x,z\\n2023-12-03,3\\n27.12.2023,3\\n' | pitchpipe predict new.pp -",
            ),
            stdout: &["prediction\nlow\nhigh\n"],
            ..plain
        },
        Case {
            name: "a cell of another kind is missing, and said",
            line: after(
                "%d %%",
                "printf 'x,z\\n3%%,3\\n27%%,3\\nlots,3\\n' | pitchpipe predict new.pp -",
            ),
            stdout: &["prediction\nlow\nhigh\n"],
            stderr: &[
                "column \"x\" is read as percentages, but 1 of its 3 cells are none, such as \"lots\" (row 3), and count as missing",
            ],
            ..plain
        },
        Case {
            name: "a column of another kind is refused",
            line: after("%d %%", "printf 'x,z\\n0.03,3\\n0.27,3\\n' | pitchpipe predict new.pp -"),
            code: 1,
            stderr: &["\"x\" held percentages, but here it holds \"0.03\" (row 1)"],
            ..plain
        },
        Case {
            name: "inspect says how a column is read",
            line: after("1h%02dm", "pitchpipe inspect new.pp"),
            stdout: &["numeric: durations, in seconds"],
            ..plain
        },
    ]);
}

#[test]
fn a_label_that_says_nothing_is_missing_and_counted() {
    check(&[Case {
        name: "by its words, with the way to make it a class",
        line: "sed '2,4s/[a-z]*$/None/;5s/[a-z]*$/NA/' data.csv > t.csv; pitchpipe fit t.csv $FIT --quiet --out new.pp",
        stderr: &[
            "warning: t.csv: left out 4 of 120 rows without a value in \"kind\" (rows 1, 2, 3, 4): 3 \"None\", 1 \"NA\"; if \"None\" is a class, pass --no-usual-missing",
        ],
        changes: &["t.csv", "new.pp"],
        ..PLAIN
    }]);
}
