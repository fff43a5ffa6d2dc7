//! What is wrong with how a command ended and with what it left behind.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::job::{Job, Output, Trouble};
use super::run::Ended;
use super::world::contents;

/// Exit codes that a command may have: done, failed, wrong command line, ended early, quit.
const CODES: [i32; 5] = [0, 1, 2, 3, 130];

/// SIGHUP, SIGINT and SIGTERM, by number.
const SENT: [i32; 3] = [1, 2, 15];

/// A round, for judging.
pub(super) struct Round<'a> {
    pub(super) program: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) before: &'a BTreeMap<PathBuf, Vec<u8>>,
    pub(super) job: &'a Job,
    pub(super) trouble: &'a Trouble,
    pub(super) ended: &'a Ended,
}

impl Round<'_> {
    /// Everything that is not as it should be.
    pub(super) fn findings(&self) -> Vec<String> {
        let mut found = self.ending();
        let after = contents(self.folder);
        found.extend(self.inputs(&after));
        found.extend(self.strays(&after));
        for output in self.job.output.iter().chain(&self.job.page) {
            found.extend(self.output(output, &after));
        }
        found
    }

    fn ending(&self) -> Vec<String> {
        let Some(status) = self.ended.status else { return vec!["it did not end".to_owned()] };
        let mut found = Vec::new();
        if self.ended.stderr.contains("panicked at") {
            found.push("a panic".to_owned());
        }
        match (status.code(), status.signal()) {
            (Some(code), _) if !CODES.contains(&code) => found.push(format!("exit code {code}")),
            (_, Some(signal)) if !(self.ended.n_signals > 0 && SENT.contains(&signal)) => {
                found.push(format!("ended by signal {signal}"));
            }
            (Some(1), _) if self.ended.was_heard && !self.ended.stderr.contains("error: ") => {
                found.push("it failed and did not say why".to_owned());
            }
            (Some(0), _)
                if self.ended.n_signals == 0 && self.has_output() && self.out_is_gone() =>
            {
                found.push("it said done and wrote nothing".to_owned());
            }
            _ => (),
        }
        found
    }

    /// The file that we ourselves took away or cut.
    fn touched(&self) -> Option<&Path> {
        match self.trouble {
            Trouble::InputGone(name, _) | Trouble::InputCut(name, _) => Some(Path::new(*name)),
            _ => None,
        }
    }

    fn has_output(&self) -> bool {
        self.job.output.is_some()
    }

    fn out_is_gone(&self) -> bool {
        self.job.output.as_ref().is_some_and(|out| {
            !self.folder.join(out.path()).exists() && self.touched() != Some(out.path())
        })
    }

    /// Nothing but the output may change.
    fn inputs(&self, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
        let touched = self.touched();
        let outputs = || self.job.output.iter().chain(&self.job.page);
        let is_output = |path: &Path| outputs().any(|out| path.starts_with(out.path()));
        let is_read = |path: &Path| {
            self.job.args[..self.job.args.len() - 1].iter().any(|arg| Path::new(arg) == path)
                && !self.follows_out(path)
        };
        let changed = self.before.iter().filter(|(path, bytes)| {
            let is_free = is_output(path) && !is_read(path);
            !is_free && touched != Some(path) && after.get(*path) != Some(bytes)
        });
        changed.map(|(path, _)| format!("{} was changed", path.display())).collect()
    }

    /// Whether a path is named as the output only.
    fn follows_out(&self, path: &Path) -> bool {
        let args = &self.job.args;
        let named = args.iter().filter(|arg| Path::new(arg.as_str()) == path).count();
        let as_out = args
            .windows(2)
            .any(|w| (w[0] == "--out" || w[0] == "--store") && Path::new(&w[1]) == path);
        named == 1 && as_out
    }

    fn strays(&self, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
        let is_stray = |path: &&PathBuf| {
            path.to_string_lossy().ends_with(".tmp") && !self.before.contains_key(*path)
        };
        after.keys().filter(is_stray).map(|path| format!("{} was left", path.display())).collect()
    }

    /// An output is what it was before, or whole.
    fn output(&self, output: &Output, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
        let path = output.path();
        let under = |files: &BTreeMap<PathBuf, Vec<u8>>| -> Vec<(PathBuf, Vec<u8>)> {
            let below = files.iter().filter(|(name, _)| name.starts_with(path));
            below.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
        };
        let (old, new) = (under(self.before), under(after));
        if old == new || new.is_empty() || self.touched() == Some(path) {
            return Vec::new();
        }
        let name = path.to_string_lossy().into_owned();
        let readable = match output {
            Output::Model(_) => self.can(&["inspect", &name]),
            Output::Predictions(_) => self.can(&["describe", &name]),
            Output::Surrogate(_) => self.can(&["meta", "info", &name]),
            Output::Script(_) => {
                let text = new
                    .iter()
                    .any(|(_, b)| b.ends_with(b"if __name__ == \"__main__\":\n    main()\n"));
                if text { Ok(()) } else { Err("its end is missing".to_owned()) }
            }
            Output::Page(_) if new.iter().all(|(_, b)| b.ends_with(b"</html>\n")) => Ok(()),
            Output::Page(_) => Err("its end is missing".to_owned()),
            // A store whose first fact could not be written is none yet; damaged inputs stay damaged.
            Output::Store(_) if !after.contains_key(&path.join("store.json")) => Ok(()),
            Output::Store(_) if !old.is_empty() => Ok(()),
            Output::Store(_) => self.can(&["meta", "info", &name]),
        };
        readable.err().map(|why| format!("{name} cannot be read: {why}")).into_iter().collect()
    }

    /// Whether a command succeeds on what was left, without trouble.
    fn can(&self, args: &[&str]) -> Result<(), String> {
        let output = Command::new(self.program)
            .args(args)
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        match output.status.success() && !printed.contains("damaged, left out") {
            true => Ok(()),
            false => Err(said.lines().next().unwrap_or("damaged").to_owned()),
        }
    }
}
