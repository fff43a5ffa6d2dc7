//! One row a case: files, a command line, how it must end, what it must say, and what it may change on disk.
//!
//! Each case runs in a copy of one small world: `data.csv` and `new.csv` (tables of two classes), `data.txt` (the same
//! under another name), `nested.parquet` (a column of lists among others), `notes.txt` (no table), `m.pp` (a model of `data.csv`), `store` and `s.surrogate`. The command
//! line is a shell's, so that pipes, limits and redirections can be part of it; `$FIT` is a search that is short and
//! the same every time.
#![cfg(unix)]

mod cells;
mod honest;
mod index;
mod limits;
mod nothing_lost;
mod numbers;
mod said;
mod small;
mod world;

use std::process::Command;

use world::{World, contents};

/// A case and what is expected of it.
struct Case {
    /// A sentence that names it.
    name: &'static str,
    /// What a shell is given; `pitchpipe` is on its path.
    line: &'static str,
    code: i32,
    /// Words on standard error and on standard output, all of which must be there.
    stderr: &'static [&'static str],
    stdout: &'static [&'static str],
    /// Words that must not be there, on either.
    not: &'static [&'static str],
    /// The files that may be new or different afterwards; all others must be as they were.
    changes: &'static [&'static str],
}

/// What most cases expect: nothing said that is looked at, nothing changed.
const PLAIN: Case =
    Case { name: "", line: "", code: 0, stderr: &[], stdout: &[], not: &[], changes: &[] };

/// Runs cases and names all that went wrong at once.
fn check(cases: &[Case]) {
    let failures: Vec<String> = cases.iter().filter_map(|case| case.failure()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

impl Case {
    fn failure(&self) -> Option<String> {
        let folder = World::copy();
        let before = contents(folder.path());
        let output = Command::new("bash")
            .args(["-c", self.line])
            .current_dir(folder.path())
            .env("PATH", world::path())
            .env("FIT", world::FIT)
            // Where memory has run out, the standard library's backtrace asks for more of it, and waits for itself for ever.
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap();
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        );
        let mut wrong = Vec::new();
        if output.status.code() != Some(self.code) {
            wrong.push(format!("it ended with {}, not with code {}", output.status, self.code));
        }
        for (what, text, words) in
            [("standard error", &stderr, self.stderr), ("standard output", &stdout, self.stdout)]
        {
            let missing = words.iter().filter(|word| !text.contains(**word));
            wrong.extend(missing.map(|word| format!("{what} does not say {word:?}")));
        }
        let unwanted = self.not.iter().filter(|w| stdout.contains(**w) || stderr.contains(**w));
        wrong.extend(unwanted.map(|word| format!("it says {word:?}")));
        let after = contents(folder.path());
        let is_free = |name: &str| {
            self.changes.iter().any(|free| name == *free || name.starts_with(&format!("{free}/")))
        };
        let names = before.keys().chain(after.keys()).filter(|name| !is_free(name));
        let changed = names.filter(|name| before.get(*name) != after.get(*name));
        wrong.extend(changed.map(|name| format!("{name} was changed")));
        let missing = self.changes.iter().filter(|name| !folder.path().join(name).exists());
        wrong.extend(missing.map(|name| format!("{name} was not written")));
        (!wrong.is_empty()).then(|| {
            let wrong = wrong.join("; ");
            format!("{}\n$ {}\n{wrong}\nstdout: {stdout}\nstderr: {stderr}", self.name, self.line)
        })
    }
}
