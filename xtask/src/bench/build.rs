//! `cargo xtask bench build`: the program compiled from nothing, as after a fresh clone: how long, and how large it gets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Args;
use wait4::Wait4;

use crate::python::root;
use crate::tests;

/// What to build.
#[derive(Args)]
pub(crate) struct Options {
    /// Cargo's profiles: `release` for everybody's use, `dist` for what is shipped
    #[arg(long, value_delimiter = ',', default_value = "release,dist")]
    profiles: Vec<String>,

    /// Folders with the project's sources, to compare; this one where none is named
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
}

/// Builds every profile of every source from nothing, in turn.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let here = [root().to_owned()];
    let sources = if options.source.is_empty() { &here[..] } else { &options.source[..] };
    for profile in &options.profiles {
        for source in sources {
            println!("{}, {profile}: {}", source.display(), build(source, profile)?);
        }
    }
    Ok(())
}

/// One build, in words. What cargo downloads is not counted.
fn build(source: &Path, profile: &str) -> Result<String, String> {
    tests::run(Command::new("cargo").current_dir(source).args(["fetch", "--locked", "--quiet"]))?;
    let folder = root().join("target/cold");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut cargo = Command::new("cargo");
    cargo.current_dir(source).args(["build", "--locked", "--bin", "pitchpipe"]);
    cargo.args(["--profile", profile, "--target-dir"]).arg(&folder);
    let started = Instant::now();
    let mut child = cargo.spawn().map_err(|e| format!("cargo: {e}"))?;
    let used = child.wait4().map_err(|e| format!("cargo: {e}"))?;
    let wall = started.elapsed();
    if !used.status.success() {
        return Err(format!("cargo build --profile {profile} failed in {}", source.display()));
    }
    let cpu = used.rusage.utime + used.rusage.stime;
    let program = folder.join(profile).join("pitchpipe");
    let stripped = folder.join("stripped");
    tests::run(Command::new("strip").arg("-o").arg(&stripped).arg(&program))?;
    let megabytes = |path: &Path| -> Result<f64, String> {
        let about = fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(about.len() as f64 / 1e6)
    };
    Ok(format!(
        "{:.0} s, {:.0} s of CPU time on {} processors; {:.1} MB, stripped {:.1} MB",
        wall.as_secs_f64(),
        cpu.as_secs_f64(),
        rayon::current_num_threads(),
        megabytes(&program)?,
        megabytes(&stripped)?
    ))
}
