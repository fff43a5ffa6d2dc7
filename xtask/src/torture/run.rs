//! One command in its surroundings: started, troubled, and waited for.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::job::{Job, Trouble};

/// Beyond its budget a command gets this much: machines that do other work are slow.
const GRACE: Duration = Duration::from_secs(45);

/// How a command ended.
pub(super) struct Ended {
    /// None where it had to be killed.
    pub(super) status: Option<ExitStatus>,
    pub(super) stderr: String,
    /// Whether anybody could read what it said.
    pub(super) was_heard: bool,
    pub(super) n_signals: usize,
    /// The command line as a shell takes it.
    pub(super) line: String,
}

pub(super) fn run(
    program: &Path,
    folder: &Path,
    job: &Job,
    trouble: &Trouble,
) -> Result<Ended, String> {
    let limit = match trouble {
        Trouble::AddressSpace(kilobytes) => format!("ulimit -v {kilobytes}; "),
        Trouble::FileSize(kilobytes) => format!("ulimit -f {kilobytes}; "),
        Trouble::Descriptors(most) => format!("ulimit -n {most}; "),
        _ => String::new(),
    };
    let mut command = Command::new("bash");
    let piped = match trouble {
        Trouble::Piped(most) => job.through_a_pipe().map(|(args, name)| (args, name, *most)),
        _ => None,
    };
    let args = piped.as_ref().map_or(&job.args, |(args, ..)| args);
    command.args(["-c", &format!("{limit}exec \"$@\""), "bash"]).arg(program).args(args);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if piped.is_some() {
        command.stdin(Stdio::piped());
    }
    if *trouble == Trouble::BareEnvironment {
        command.env_clear();
    }
    let full = || OpenOptions::new().write(true).open("/dev/full").map_err(|e| e.to_string());
    match trouble {
        Trouble::StdoutFull => drop(command.stdout(full()?)),
        Trouble::StderrFull => drop(command.stderr(full()?)),
        _ => (),
    }
    let line = format!("{limit}pitchpipe {}", args.join(" "));
    let mut child = command.spawn().map_err(|e| format!("bash: {e}"))?;
    if let (Some(mut pipe), Some((_, name, most))) = (child.stdin.take(), piped) {
        let mut bytes = fs::read(folder.join(name)).unwrap_or_default();
        bytes.truncate(most);
        // Whoever does not read to the end is let be.
        thread::spawn(move || pipe.write_all(&bytes));
    }
    let (out_bytes, err_bytes) = match trouble {
        Trouble::StdoutClosed(n) => (Some(*n), None),
        Trouble::StderrClosed(n) => (None, Some(*n)),
        Trouble::BothGone => (Some(0), Some(0)),
        _ => (None, None),
    };
    let stdout = child.stdout.take().map(|pipe| thread::spawn(move || read(pipe, out_bytes)));
    let stderr = child.stderr.take().map(|pipe| thread::spawn(move || read(pipe, err_bytes)));
    let n_signals = disturb(&mut child, folder, trouble)?;
    let status = wait(&mut child, Duration::from_secs_f64(job.budget_secs) + GRACE)?;
    drop(stdout.map(thread::JoinHandle::join));
    let was_heard = stderr.is_some() && err_bytes.is_none();
    let stderr = stderr.and_then(|reader| reader.join().ok()).unwrap_or_default();
    Ok(Ended { status, stderr, was_heard, n_signals, line })
}

/// Reads a pipe to its end, or so many bytes of it before letting go.
fn read(mut pipe: impl Read, most: Option<usize>) -> String {
    let mut bytes = Vec::new();
    let _ = match most {
        None => pipe.read_to_end(&mut bytes),
        Some(most) => pipe.take(most as u64).read_to_end(&mut bytes),
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Does to a running command what is to be done to it; how many signals met it alive.
fn disturb(child: &mut Child, folder: &Path, trouble: &Trouble) -> Result<usize, String> {
    let mut n_signals = 0;
    match trouble {
        Trouble::Signals(all) => {
            for (name, millis) in all {
                thread::sleep(Duration::from_millis(*millis));
                if child.try_wait().map_err(|e| e.to_string())?.is_some() {
                    break;
                }
                let id = child.id().to_string();
                let sent =
                    Command::new("kill").args(["-s", name, &id]).stderr(Stdio::null()).status();
                n_signals += usize::from(sent.is_ok_and(|status| status.success()));
            }
        }
        Trouble::Paused(after, millis) => {
            for (signal, wait) in [("STOP", after), ("CONT", millis)] {
                thread::sleep(Duration::from_millis(*wait));
                let id = child.id().to_string();
                let _ =
                    Command::new("kill").args(["-s", signal, &id]).stderr(Stdio::null()).status();
            }
        }
        Trouble::InputGone(name, millis) => {
            thread::sleep(Duration::from_millis(*millis));
            let _ = fs::rename(folder.join(name), folder.join(format!("gone-{name}")));
        }
        Trouble::InputCut(name, millis) => {
            thread::sleep(Duration::from_millis(*millis));
            let length = fs::metadata(folder.join(name)).map_or(0, |facts| facts.len());
            let cut = OpenOptions::new().write(true).open(folder.join(name));
            let _ = cut.and_then(|file: File| file.set_len(length / 2));
        }
        _ => (),
    }
    Ok(n_signals)
}

/// Waits for the end, or kills what does not end.
fn wait(child: &mut Child, most: Duration) -> Result<Option<ExitStatus>, String> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(Some(status));
        }
        if begun.elapsed() > most {
            child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}
