//! What is run in a round, and the surroundings it meets.

use std::path::PathBuf;

use super::dice::Dice;
use super::world::{MODEL, OTHER_MODEL, STORE, SURROGATE, TABLES, TARGET};

/// A command line, and what it may write.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) args: Vec<String>,
    pub(super) output: Option<Output>,
    /// A page that it writes beside that.
    pub(super) page: Option<Output>,
    /// Seconds that it was given, where it was.
    pub(super) budget_secs: f64,
}

/// What a command writes.
#[derive(Clone, Debug)]
pub(super) enum Output {
    Model(PathBuf),
    Predictions(PathBuf),
    Surrogate(PathBuf),
    Script(PathBuf),
    Store(PathBuf),
    Page(PathBuf),
}

impl Output {
    pub(super) fn path(&self) -> &PathBuf {
        match self {
            Self::Model(path)
            | Self::Predictions(path)
            | Self::Surrogate(path)
            | Self::Script(path)
            | Self::Store(path)
            | Self::Page(path) => path,
        }
    }
}

/// What befalls a command.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trouble {
    None,
    /// Whoever reads standard output goes away after so many bytes.
    StdoutClosed(usize),
    StderrClosed(usize),
    StdoutFull,
    StderrFull,
    BothGone,
    /// Signals, each after so many milliseconds.
    Signals(Vec<(&'static str, u64)>),
    /// Kilobytes of address space.
    AddressSpace(usize),
    /// Kilobytes that a file may have.
    FileSize(usize),
    /// A file system with so many kilobytes.
    FullDisk(usize),
    /// An input goes, or is cut, after so many milliseconds.
    InputGone(&'static str, u64),
    InputCut(&'static str, u64),
    /// The folder cannot be written to.
    ReadOnly,
    /// Files that may be open at a time.
    Descriptors(usize),
    /// Stopped and told to go on, each after so many milliseconds.
    Paused(u64, u64),
    /// The table comes through a pipe, of which only so many bytes are written.
    Piped(usize),
    /// No variable is set, not even a path or a home.
    BareEnvironment,
}

impl Trouble {
    pub(super) fn category(&self) -> &'static str {
        match self {
            Self::None => "no trouble",
            Self::StdoutClosed(_) => "stdout closed",
            Self::StderrClosed(_) => "stderr closed",
            Self::StdoutFull => "stdout full",
            Self::StderrFull => "stderr full",
            Self::BothGone => "both closed",
            Self::Signals(_) => "signals",
            Self::AddressSpace(_) => "ulimit -v",
            Self::FileSize(_) => "ulimit -f",
            Self::FullDisk(_) => "full disk",
            Self::InputGone(..) => "input removed",
            Self::InputCut(..) => "input cut",
            Self::ReadOnly => "read-only folder",
            Self::Descriptors(_) => "ulimit -n",
            Self::Paused(..) => "stopped for a while",
            Self::Piped(_) => "table in a pipe",
            Self::BareEnvironment => "bare environment",
        }
    }

    /// `may_mount`: whether this process may make file systems and so has no use for permissions.
    pub(super) fn choose(dice: &mut Dice, may_mount: bool) -> Self {
        let signal =
            |dice: &mut Dice| (dice.pick(&["INT", "TERM", "HUP"]), dice.between(0, 1500) as u64);
        let input = |dice: &mut Dice| {
            (dice.pick(&["a.csv", "d.parquet", MODEL, SURROGATE]), dice.between(0, 300) as u64)
        };
        match dice.below(20) {
            0 | 1 => Self::None,
            2 => Self::StdoutClosed(dice.between(0, 300)),
            3 => Self::StderrClosed(dice.between(0, 60)),
            4 => Self::StdoutFull,
            5 => Self::StderrFull,
            6 => Self::BothGone,
            7..=9 => {
                let mut all = vec![signal(dice)];
                if dice.percent(30) {
                    all.push(signal(dice));
                }
                Self::Signals(all)
            }
            10 | 11 => Self::AddressSpace(dice.between(60, 900) * 1024),
            12 => Self::FileSize(dice.between(0, 64)),
            13 if may_mount => Self::FullDisk(dice.between(4, 200)),
            13 => Self::FileSize(dice.between(0, 4)),
            14 => {
                let (name, after) = input(dice);
                if dice.percent(50) {
                    Self::InputGone(name, after)
                } else {
                    Self::InputCut(name, after)
                }
            }
            15 if may_mount => Self::BareEnvironment,
            15 => Self::ReadOnly,
            16 => Self::Descriptors(dice.between(8, 40)),
            17 => Self::Paused(dice.between(0, 800) as u64, dice.between(50, 1500) as u64),
            18 => Self::Piped(dice.pick(&[0, 1, 40, 1500, 3000, 1 << 20])),
            _ => Self::BareEnvironment,
        }
    }
}

impl Job {
    /// The same with its table read from standard input, and that table's name; `None` where it reads none.
    pub(super) fn through_a_pipe(&self) -> Option<(Vec<String>, String)> {
        let at = self.args.iter().position(|arg| TABLES.contains(&arg.as_str()))?;
        let is_value = self.args[at - 1].starts_with("--") && self.args[at - 1] != "--table";
        // A table that is written to as well would be another one.
        let n_named = self.args.iter().filter(|arg| **arg == self.args[at]).count();
        if is_value || n_named > 1 {
            return None;
        }
        let mut args = self.args.clone();
        let name = std::mem::replace(&mut args[at], "-".to_owned());
        Some((args, name))
    }

    pub(super) fn choose(dice: &mut Dice) -> Self {
        let table = dice.pick(&TABLES).to_owned();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let job = |args: Vec<String>, output: Option<Output>, budget_secs: f64| Self {
            args,
            output,
            page: None,
            budget_secs,
        };
        match dice.below(18) {
            0..=5 => {
                let millis = dice.between(50, 1500);
                let out = dice.pick(&["new.pp", "new.pp", MODEL, "a.csv", "b.tsv", "notes.txt"]);
                let mut args = words(&format!(
                    "fit {table} --target {TARGET} --time-budget {millis}ms --out {out}"
                ));
                args.extend(words(dice.pick(&["", "--quiet", "--json", "--json"])));
                args.extend(words(dice.pick(&["", "--threads 1", "--threads 2", "--threads 4"])));
                args.extend(words(dice.pick(&[
                    "",
                    "",
                    "--max-evaluations 3",
                    "--validation a.csv",
                    "--memory 60MB",
                ])));
                args.extend(words(dice.pick(&[
                    "",
                    "",
                    "--surrogate s.surrogate --method oboe",
                    "--method random",
                ])));
                args.extend(words(dice.pick(&[
                    "",
                    "",
                    "--metric log-loss",
                    "--categorical size",
                    "--missing blue",
                    "--include size",
                    "--max-levels 2",
                    "--max-columns 9",
                ])));
                args.extend(words(dice.pick(&[
                    "",
                    "",
                    "--holdout 0.3",
                    "--holdout 0.3 --no-refit",
                    "--group colour",
                    "--group colour --holdout 0.4",
                    "--time-order day",
                    "--time-order day --holdout 0.2",
                ])));
                args.extend(words(dice.pick(&["", "", "", "--live 0", "--no-history"])));
                let page = dice.percent(20);
                args.extend(words(if page { "--report r.html" } else { "" }));
                args.extend(words(dice.pick(&["", "", "", "--force"])));
                Self {
                    page: page.then(|| Output::Page("r.html".into())),
                    ..job(args, Some(Output::Model(out.into())), millis as f64 / 1e3)
                }
            }
            6..=8 => {
                let out = dice.pick(&["p.csv", "p.tsv", "p.parquet", "p.arrow", "a.csv", "-"]);
                let mut args = words(&format!("predict {MODEL} {table} --out {out}"));
                args.extend(words(dice.pick(&["", "--proba", "--missing red", "--quiet"])));
                args.extend(words(dice.pick(&["", "--keep all", "--keep colour --keep day"])));
                args.extend(words(dice.pick(&[
                    "",
                    "--decision balanced",
                    "--decision most-probable",
                ])));
                let output = (out != "-").then(|| Output::Predictions(out.into()));
                job(args, output, 0.0)
            }
            9 => {
                let line = dice.pick(&[
                    "evaluate m.pp",
                    "evaluate m.pp --json --decision most-probable",
                    "evaluate n.pp --quiet",
                    "compare m.pp n.pp --json --table",
                    "inspect m.pp --table",
                    "describe --json",
                    "describe --max-row 2kB",
                    "describe --target kind",
                ]);
                let mut args = words(line);
                args.push(table);
                job(args, None, 0.0)
            }
            10 => {
                let out = dice.pick(&["m.py", MODEL, "a.csv"]);
                job(
                    words(&format!("export {MODEL} --out {out}")),
                    Some(Output::Script(out.into())),
                    0.0,
                )
            }
            11 => {
                let out = dice.pick(&["t.surrogate", SURROGATE, "a.csv", "store/store.json"]);
                let method = dice.pick(&["matrix", "matrix", "bayes"]);
                let line = format!("meta train --store {STORE} --method {method} --out {out}");
                job(words(&line), Some(Output::Surrogate(out.into())), 30.0)
            }
            12 | 13 => {
                let store = dice.pick(&[STORE, "other"]);
                let share = dice.pick(&["0.002", "0.004"]);
                let line = format!(
                    "meta collect tables --store {store} --no-slice --fraction {share} --threads 2 --target {TARGET}"
                );
                let mut args = words(&line);
                args.extend(words(dice.pick(&["", "--json"])));
                job(args, Some(Output::Store(store.into())), 30.0)
            }
            14 => {
                let out = dice.pick(&["small", STORE, "tables"]);
                let line = format!("meta compact --store {STORE} --out {out}");
                job(words(&line), Some(Output::Store(out.into())), 10.0)
            }
            15 => {
                let out = dice.pick(&["r.html", "r.html", "a.csv", MODEL]);
                let mut args = words(&format!("report {MODEL} --out {out}"));
                if dice.percent(60) {
                    args.extend(["--table".to_owned(), table]);
                }
                args.extend(words(dice.pick(&["", "", "--force"])));
                job(args, Some(Output::Page(out.into())), 10.0)
            }
            16 => {
                let out = dice.pick(&["c.html", "c.html", "b.tsv", OTHER_MODEL]);
                let line = format!("compare {MODEL} {OTHER_MODEL} --out {out} --table {table}");
                let mut args = words(&line);
                args.extend(words(dice.pick(&["", "--json", "--force"])));
                job(args, Some(Output::Page(out.into())), 10.0)
            }
            _ => job(
                words(dice.pick(&[
                    "inspect n.pp --json",
                    "meta info store",
                    "meta info s.surrogate --json",
                    "inspect m.pp",
                    "completions bash",
                ])),
                None,
                0.0,
            ),
        }
    }
}
