//! One process on one core, timed, measured, and killed with all its children when it is late.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use wait4::Wait4;

/// How a process ended, and what it used.
pub(in crate::bench) struct Ended {
    pub(in crate::bench) how: How,
    pub(in crate::bench) wall: Duration,
    pub(in crate::bench) cpu: Duration,
    /// Of the process, or of one of its children if that had more.
    pub(in crate::bench) peak_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum How {
    Succeeded,
    Failed,
    /// Killed after the limit.
    Late,
    /// Killed because the benchmark is to stop.
    Interrupted,
}

/// Where and how long processes may run.
#[derive(Clone, Copy)]
pub(in crate::bench) struct Place<'a> {
    /// The core to keep to; `None` where there is no `taskset`.
    pub(in crate::bench) core: Option<usize>,
    /// Set when the benchmark is to stop.
    pub(in crate::bench) stop: &'a AtomicBool,
}

/// How often the watchdog looks up.
const GLANCE: Duration = Duration::from_millis(100);

/// Environment variables that keep numerical libraries to one thread.
const ONE_THREAD: [&str; 6] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
];

impl Place<'_> {
    /// Runs a command to its end or to the limit; what it prints goes to two files.
    pub(in crate::bench) fn run(
        self,
        command: &Command,
        limit: Duration,
        out: &Path,
        err: &Path,
    ) -> Result<Ended, String> {
        let named = |e: io::Error| format!("{:?}: {e}", command.get_program());
        let file = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
        let mut command = self.pinned(command);
        command.stdin(Stdio::null()).stdout(file(out)?).stderr(file(err)?);
        let start = Instant::now();
        let mut child = command.spawn().map_err(named)?;
        let group = child.id();
        let (ended, watched) = channel::<()>();
        let (used, why_killed) = thread::scope(|scope| {
            let watchdog = scope.spawn(move || self.watch(&watched, group, start + limit));
            let used = child.wait4();
            drop(ended);
            (used, watchdog.join().expect("the watchdog does not panic"))
        });
        let wall = start.elapsed();
        let used = used.map_err(named)?;
        // Whatever it started and left behind would run on beside the next.
        kill(group);
        let own = if used.status.success() { How::Succeeded } else { How::Failed };
        Ok(Ended {
            how: why_killed.filter(|_| own == How::Failed).unwrap_or(own),
            wall,
            cpu: used.rusage.utime + used.rusage.stime,
            peak_bytes: used.rusage.maxrss,
        })
    }

    /// The command on its core, in a process group of its own, with one thread.
    fn pinned(self, command: &Command) -> Command {
        let mut pinned = match self.core {
            Some(core) => {
                let mut taskset = Command::new("taskset");
                taskset.arg("-c").arg(core.to_string()).arg(command.get_program());
                taskset
            }
            None => Command::new(command.get_program()),
        };
        pinned.args(command.get_args());
        ONE_THREAD.iter().for_each(|name| {
            pinned.env(name, "1");
        });
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => pinned.env(name, value),
                None => pinned.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            pinned.current_dir(folder);
        }
        std::os::unix::process::CommandExt::process_group(&mut pinned, 0);
        pinned
    }

    /// Waits for the end of the process; kills it when it is late or when the benchmark is to stop.
    fn watch(
        self,
        ended: &std::sync::mpsc::Receiver<()>,
        group: u32,
        deadline: Instant,
    ) -> Option<How> {
        loop {
            if ended.recv_timeout(GLANCE) != Err(RecvTimeoutError::Timeout) {
                return None;
            }
            let stopped = self.stop.load(Ordering::Relaxed);
            if stopped || Instant::now() > deadline {
                kill(group);
                return Some(if stopped { How::Interrupted } else { How::Late });
            }
        }
    }
}

/// Kills a process group, if there is still one.
fn kill(group: u32) {
    let _ = Command::new("kill")
        .args(["-s", "KILL", "--", &format!("-{group}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

/// Whether processes can be kept to a core here.
pub(in crate::bench) fn has_taskset() -> bool {
    let mut command = Command::new("taskset");
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: Duration, stop: bool) -> How {
        let stop = AtomicBool::new(stop);
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let place = Place { core: None, stop: &stop };
        let nowhere = Path::new("/dev/null");
        place.run(&command, limit, nowhere, nowhere).unwrap().how
    }

    #[test]
    fn a_process_ends_by_itself_or_is_ended() {
        let long = Duration::from_secs(60);
        assert_eq!(run("exit 0", long, false), How::Succeeded);
        assert_eq!(run("exit 3", long, false), How::Failed);
        assert_eq!(run("sleep 60 & sleep 60", Duration::ZERO, false), How::Late);
        assert_eq!(run("sleep 60", long, true), How::Interrupted);
    }
}
