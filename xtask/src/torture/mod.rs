//! `cargo xtask torture`: random commands on damaged files in hostile surroundings.
//!
//! Every round copies a small world, damages some of it, runs one command under one trouble (a closed pipe, a signal,
//! a limit of the shell, a full disk, an input that goes away) and looks at what is left. A finding is a panic, an
//! abort or a signal that nobody sent, a command that does not end, an output that is neither what it was nor whole,
//! an input that has changed, a temporary file left behind.

mod dice;
mod job;
mod run;
mod verdict;
mod world;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use crate::python::root;
use crate::tests;
use dice::Dice;
use job::{Job, Trouble};
use verdict::Round;

/// How long, and from where.
#[derive(Args)]
pub(crate) struct Options {
    /// How long.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Where the random numbers begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this round, as a finding names it.
    #[arg(long)]
    round: Option<u64>,
    /// Rounds at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The program; by default the one of this workspace, built first.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Where to work and to keep what a finding needs.
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Counts by trouble and by how commands ended.
#[derive(Default)]
struct Counts {
    rounds: BTreeMap<(&'static str, String), usize>,
    findings: Vec<String>,
}

/// Runs rounds until the time is over; fails if there is a finding.
pub(crate) fn torture(options: &Options) -> Result<(), String> {
    let program = match &options.program {
        Some(program) => {
            fs::canonicalize(program).map_err(|e| format!("{}: {e}", program.display()))?
        }
        None => {
            tests::run(Command::new("cargo").args(["build", "--release", "--workspace"]))?;
            root().join("target/release/pitchpipe")
        }
    };
    let folder = options.folder.clone().unwrap_or_else(|| root().join("target/torture"));
    let _ = fs::remove_dir_all(&folder);
    let nursery = folder.join("nursery");
    fs::create_dir_all(&nursery).map_err(|e| format!("{}: {e}", nursery.display()))?;
    world::make(&nursery, &program)?;
    let files = world::contents(&nursery);
    let torture = Torture { options, program, folder, files, may_mount: false };
    let torture = Torture { may_mount: torture.can_mount(), ..torture };
    torture.run()
}

struct Torture<'a> {
    options: &'a Options,
    program: PathBuf,
    folder: PathBuf,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Whether small file systems can be made.
    may_mount: bool,
}

impl Torture<'_> {
    fn run(&self) -> Result<(), String> {
        let end = Instant::now() + Duration::from_secs_f64(60.0 * self.options.minutes);
        let (next, counts) = (AtomicU64::new(0), Mutex::new(Counts::default()));
        let work = |worker: usize| -> Result<(), String> {
            let place = self.folder.join(format!("worker-{worker}"));
            match self.options.round {
                Some(round) if worker == 0 => self.round(round, &place, &counts)?,
                Some(_) => (),
                None => {
                    while Instant::now() < end {
                        self.round(next.fetch_add(1, Ordering::Relaxed), &place, &counts)?;
                    }
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..self.options.jobs.max(1)).map(|i| scope.spawn(move || work(i))).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().expect("a worker does not panic"))
        })?;
        let counts = counts.into_inner().expect("nobody panicked");
        self.report(&counts)
    }

    fn round(&self, number: u64, place: &Path, counts: &Mutex<Counts>) -> Result<(), String> {
        let mut dice = Dice::of_round(self.options.seed, number);
        let mut files = self.files.clone();
        let damage = world::damage(&mut files, &mut dice);
        let job = Job::choose(&mut dice);
        let trouble = Trouble::choose(&mut dice, self.may_mount);
        let _ = fs::remove_dir_all(place);
        fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
        world::lay_out(place, &files)?;
        let _disk = self.surround(place, &files, &trouble)?;
        let ended = run::run(&self.program, place, &job, &trouble)?;
        if trouble == Trouble::ReadOnly {
            set_writable(place, true)?;
        }
        let round = Round {
            program: &self.program,
            folder: place,
            before: &files,
            job: &job,
            trouble: &trouble,
            ended: &ended,
        };
        let findings = round.findings();
        let how = ended.status.map_or("killed".to_owned(), |status| status.to_string());
        let mut counts = counts.lock().expect("nobody panics while holding it");
        *counts.rounds.entry((trouble.category(), how)).or_default() += 1;
        for finding in findings {
            let text = format!(
                "round {number}: {finding}\n  {}\n  trouble: {trouble:?}\n  damage: {damage:?}\n  said: {}\n  again: cargo xtask torture --seed {} --round {number}",
                ended.line,
                ended.stderr.lines().last().unwrap_or_default(),
                self.options.seed,
            );
            eprintln!("{text}");
            counts.findings.push(text);
        }
        Ok(())
    }

    /// Makes the surroundings that are there before the command is.
    fn surround(
        &self,
        place: &Path,
        files: &BTreeMap<PathBuf, Vec<u8>>,
        trouble: &Trouble,
    ) -> Result<Option<Disk>, String> {
        match trouble {
            Trouble::FullDisk(left) => {
                let disk = Disk::mount(place, 4096)?;
                world::lay_out(place, files)?;
                disk.fill(left * 1024)?;
                Ok(Some(disk))
            }
            Trouble::ReadOnly => set_writable(place, false).map(|()| None),
            _ => Ok(None),
        }
    }

    fn can_mount(&self) -> bool {
        let place = self.folder.join("mount");
        fs::create_dir_all(&place).is_ok() && Disk::mount(&place, 64).is_ok()
    }

    fn report(&self, counts: &Counts) -> Result<(), String> {
        let n: usize = counts.rounds.values().sum();
        println!("{n} rounds");
        for ((category, how), n) in &counts.rounds {
            println!("  {category:<20} {how:<32} {n:>6}");
        }
        if counts.findings.is_empty() {
            println!("nothing found");
            return Ok(());
        }
        let file = self.folder.join("findings.txt");
        fs::write(&file, counts.findings.join("\n\n") + "\n").map_err(|e| e.to_string())?;
        Err(format!("{} findings, in {}", counts.findings.len(), file.display()))
    }
}

/// A small file system in memory, gone when dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(place: &Path, kilobytes: usize) -> Result<Self, String> {
        let size = format!("size={kilobytes}k");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(place)
            .stderr(Stdio::null())
            .status();
        match status {
            Ok(status) if status.success() => Ok(Self(place.to_owned())),
            _ => Err("file systems cannot be made here".to_owned()),
        }
    }

    /// Leaves no more than so many bytes.
    fn fill(&self, left: usize) -> Result<(), String> {
        let ballast = self.0.join("ballast");
        let mut bytes = vec![0; 4 << 20];
        while bytes.len() > 4096 && fs::write(&ballast, &bytes).is_err() {
            bytes.truncate(bytes.len() - 4096);
        }
        bytes.truncate(bytes.len().saturating_sub(left));
        fs::write(&ballast, &bytes).map_err(|e| format!("{}: {e}", ballast.display()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn set_writable(folder: &Path, is_writable: bool) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if is_writable { 0o755 } else { 0o555 };
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).map_err(|e| e.to_string())
}
