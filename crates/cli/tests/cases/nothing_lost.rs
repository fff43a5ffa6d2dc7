//! Work that is done is kept, and nothing that is there is lost.

use crate::{Case, PLAIN, check};

#[test]
fn nobody_who_listens_is_no_reason_to_lose_a_model() {
    let quiet = Case { changes: &["new.pp"], not: &["panicked"], ..PLAIN };
    check(&[
        Case {
            name: "a reader of the log that has seen enough",
            line: "pitchpipe fit data.csv $FIT --out new.pp |& head -1; exit ${PIPESTATUS[0]}",
            ..quiet
        },
        Case {
            name: "a log disk that is full",
            line: "pitchpipe fit data.csv $FIT --out new.pp 2>/dev/full",
            stdout: &["saved: new.pp"],
            ..quiet
        },
        Case {
            name: "standard output on a full disk",
            line: "pitchpipe fit data.csv $FIT --out new.pp >/dev/full",
            ..quiet
        },
        Case {
            name: "both closed",
            line: "pitchpipe fit data.csv $FIT --out new.pp >&- 2>&-",
            ..quiet
        },
        Case {
            name: "events that nobody reads to the end",
            line: "pitchpipe fit data.csv $FIT --json --out new.pp | head -2; exit ${PIPESTATUS[0]}",
            stdout: &["\"event\":"],
            ..quiet
        },
        Case {
            name: "predictions that are in their file",
            line: "pitchpipe predict m.pp new.csv --out p.csv >/dev/full",
            changes: &["p.csv"],
            ..PLAIN
        },
        Case {
            name: "but predictions that were to be printed are lost, and that is said",
            line: "pitchpipe predict m.pp new.csv >/dev/full",
            code: 1,
            stderr: &["error: standard output: No space left on device"],
            ..PLAIN
        },
    ]);
}

/// A search that a signal meets at work: it tells so in events. The tests themselves may run under nohup, whose hangups that are
/// ignored a shell cannot take back.
const SIGNALLED: &str = "mkfifo events
env --default-signal=$1 pitchpipe fit data.csv --target kind --time-budget 300s --threads 1 --json --out new.pp >events &
id=$!
exec 3<events
for _ in 1 2 3 4 5 6; do read -r line <&3; done
kill -s $1 $id
cat <&3 >/dev/null
rm events
wait $id";

#[test]
fn a_signal_keeps_the_best_so_far() {
    for (signal, code) in [("HUP", 3), ("TERM", 3), ("INT", 3)] {
        let line: &'static str =
            Box::leak(format!("set -- {signal}\n{SIGNALLED}").into_boxed_str());
        check(&[Case { name: "a signal", line, code, changes: &["new.pp"], ..PLAIN }]);
    }
}

#[test]
fn under_nohup_a_hangup_changes_nothing() {
    check(&[Case {
        name: "nohup",
        line: "trap '' HUP
            pitchpipe fit data.csv --target kind --time-budget 3s --threads 1 --out new.pp &
            id=$!; sleep 1; kill -s HUP $id; wait $id",
        stdout: &["saved: new.pp\n"],
        changes: &["new.pp"],
        ..PLAIN
    }]);
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let refused = Case {
        code: 1,
        stderr: &["and would be replaced", "help: name another file with --out"],
        ..PLAIN
    };
    check(&[
        Case {
            name: "predictions over their table",
            line: "pitchpipe predict m.pp new.csv --out new.csv",
            stderr: &["error: new.csv is also read by this command, as new.csv, and would be replaced"],
            ..refused
        },
        Case {
            name: "under another name of it",
            line: "ln new.csv hard.csv; ln -s new.csv soft.csv
                pitchpipe predict m.pp new.csv --out hard.csv; one=$?
                pitchpipe predict m.pp soft.csv --out new.csv && exit 7; rm hard.csv soft.csv; exit $one",
            stderr: &["error: hard.csv is also read", "error: new.csv is also read"],
            ..refused
        },
        Case {
            name: "on standard input",
            line: "pitchpipe predict m.pp - --out new.csv < new.csv",
            stderr: &["error: new.csv is what standard input reads, and would be replaced"],
            ..refused
        },
        Case { name: "a model over its table", line: "pitchpipe fit data.txt $FIT --out data.txt", ..refused },
        Case {
            name: "even with --force",
            line: "pitchpipe fit data.txt $FIT --out data.txt --force",
            ..refused
        },
        Case {
            name: "a model over its surrogate",
            line: "pitchpipe fit data.csv $FIT --surrogate s.surrogate --out s.surrogate",
            ..refused
        },
        Case { name: "a script over its model", line: "pitchpipe export m.pp --out m.pp", ..refused },
        Case {
            name: "a surrogate over the one it extends",
            line: "pitchpipe meta extend s.surrogate --store store --out s.surrogate",
            ..refused
        },
        Case {
            name: "a compact store over the store",
            line: "pitchpipe meta compact --store store --out store",
            stderr: &["error: store is also read by this command, as store"],
            ..refused
        },
        Case {
            name: "a compact store over another one",
            line: "cp -r store other; pitchpipe meta compact --store store --out other; code=$?; rm -r other; exit $code",
            stderr: &["error: other: a store with runs of its own lies there, which would be lost"],
            ..refused
        },
    ]);
}

#[test]
fn a_file_of_somebody_elses_making_is_replaced_by_force_only() {
    let refused = Case {
        code: 1,
        stderr: &[
            "error: notes.txt is there already, and is no ",
            "help: name another file, or pass --force",
        ],
        ..PLAIN
    };
    check(&[
        Case { name: "by a model", line: "pitchpipe fit data.csv $FIT --out notes.txt", ..refused },
        Case { name: "by a script", line: "pitchpipe export m.pp --out notes.txt", ..refused },
        Case {
            name: "by a surrogate",
            line: "pitchpipe meta train --store store --method matrix --out notes.txt",
            ..refused
        },
        Case {
            name: "a surrogate that would be called like a table",
            line: "pitchpipe meta train --store store --method matrix --out data.csv",
            code: 1,
            stderr: &["error: data.csv: a surrogate file is no .csv file"],
            ..PLAIN
        },
        Case {
            name: "by a model, with force",
            line: "pitchpipe fit data.csv $FIT --out notes.txt --force",
            changes: &["notes.txt"],
            ..PLAIN
        },
        Case {
            name: "a model by a model, a script by a script, predictions by predictions, an empty file by anything",
            line: "set -e; : > e; pitchpipe fit data.csv $FIT --out m.pp; pitchpipe fit data.csv $FIT --out e
                pitchpipe export m.pp --out m.py; pitchpipe export m.pp --out m.py
                pitchpipe predict m.pp new.csv --out p.csv; pitchpipe predict m.pp new.csv --out p.csv",
            changes: &["m.pp", "e", "m.py", "p.csv"],
            ..PLAIN
        },
        Case {
            name: "a read-only file is left alone",
            line: "chmod 444 m.pp; pitchpipe fit data.csv $FIT --out m.pp",
            code: 1,
            stderr: &["error: m.pp is read-only", "help: name another file, or chmod u+w m.pp"],
            ..PLAIN
        },
        Case {
            name: "and a replaced file keeps its permissions",
            line: "chmod 640 m.pp; pitchpipe fit data.csv $FIT --quiet --out m.pp; stat -c %a m.pp",
            stdout: &["640\n"],
            changes: &["m.pp"],
            ..PLAIN
        },
    ]);
}

#[test]
fn too_little_memory_is_said_with_the_figure() {
    check(&[
        Case {
            name: "a ceiling below what the process has",
            line: "pitchpipe fit data.csv $FIT --memory 1MB --out new.pp",
            code: 1,
            stderr: &[
                "error: data.csv: 1MB of memory are allowed, but with the table in memory a search takes at least ",
                "help: give it more, such as --memory ",
            ],
            ..PLAIN
        },
        Case {
            name: "a limit of the shell",
            line: "ulimit -v 200000; pitchpipe fit data.csv $FIT --out new.pp",
            code: 1,
            stderr: &[
                "error: data.csv: the limit on the address space is 205MB (ulimit -v)",
                "help: raise it",
            ],
            ..PLAIN
        },
        Case {
            name: "memory that cannot be had while a table is read",
            line: "seq 600000 | sed 's/.*/&,a&,b&,x/' > long.csv
                (ulimit -v 60000; pitchpipe describe long.csv); code=$?; rm long.csv; exit $code",
            code: 1,
            stderr: &["error: out of memory", "help: "],
            ..PLAIN
        },
        Case {
            name: "memory that cannot be had in a search leaves the best model so far",
            // What the standard library does then is to abort.
            line: "ulimit -v 16000000
                pitchpipe fit data.csv --target kind --time-budget 600s --threads 1 --quiet --out new.pp &
                for i in $(seq 1200); do ls .new.pp.*.tmp > /dev/null 2>&1 && break; sleep 0.05; done
                sleep 0.2; kill -ABRT $!; wait $!; code=$?
                pitchpipe inspect new.pp | sed -n 3p; exit $code",
            code: 3,
            stderr: &["error: out of memory: the limit is ", "saved: the best model so far"],
            stdout: &["memory ran out, and this is the best there was a while before"],
            changes: &["new.pp"],
            ..PLAIN
        },
        Case {
            name: "and nothing beside it where all went well",
            line: "ulimit -v 16000000; pitchpipe fit data.csv $FIT --quiet --out new.pp",
            changes: &["new.pp"],
            ..PLAIN
        },
        Case {
            name: "a file longer than the shell allows",
            line: "ulimit -f 1; pitchpipe fit data.csv $FIT --quiet --out new.pp",
            code: 1,
            stderr: &["error: new.pp: could not be written: File too large", "help: "],
            ..PLAIN
        },
    ]);
}
