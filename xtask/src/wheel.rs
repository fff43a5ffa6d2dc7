//! `cargo xtask wheel`: the Python package as a wheel and as a source distribution.

mod check;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::tests::run;
use crate::{cluster, python};

/// A wheel may take no more bytes.
const MOST_BYTES: u64 = 20_000_000;

/// Cargo's profiles: the one that all else is compiled with, and that of what is shipped.
const EVERYDAY: &str = "--release";
const SHIPPED: &str = "--profile=dist";

/// How the package is built.
#[derive(Args)]
pub(crate) struct Options {
    /// For this machine's own C library instead of an old one: nothing is compiled twice.
    #[arg(long)]
    native: bool,
    /// Then install all of it in fresh environments: the wheel on every Python at hand, the source distribution and a clone
    /// on the newest.
    #[arg(long)]
    check: bool,
}

/// Builds both, and says how large they are.
pub(crate) fn make(options: &Options) -> Result<(), String> {
    let wheel = if options.native { build()? } else { build_for_old_systems()? };
    run(maturin()?.args(["sdist", "--out"]).arg(folder()))?;
    for entry in list(&folder())? {
        let n_bytes = fs::metadata(&entry).map_err(|e| format!("{}: {e}", entry.display()))?.len();
        println!("{}: {:.1} MB", entry.display(), n_bytes as f64 / 1e6);
    }
    if options.check {
        check::wheel_on_every_python(&wheel)?;
        let newest = check::pythons().pop().ok_or("there is no Python from 3.10 on")?;
        check::clone(&newest)?;
        let is_sdist = |path: &PathBuf| path.extension().is_some_and(|e| e == "gz");
        let sdist = list(&folder())?.into_iter().find(is_sdist).ok_or("maturin made no sdist")?;
        check::source_distribution(&newest, &sdist)?;
    }
    Ok(())
}

/// Where packages are put.
fn folder() -> PathBuf {
    python::root().join("target/wheels")
}

/// With zig as the linker, against glibc 2.17 (2012), the oldest that Rust's own library takes; a target of its own, so that
/// everything is compiled for it, and so can be with the profile of what is shipped.
fn build_for_old_systems() -> Result<PathBuf, String> {
    build_with(SHIPPED, &["--zig", "--compatibility", "manylinux_2_17"])
}

/// Builds the wheel with what is compiled already, and gives its path.
pub(crate) fn build() -> Result<PathBuf, String> {
    build_with(EVERYDAY, &[])
}

fn build_with(profile: &str, more: &[&str]) -> Result<PathBuf, String> {
    let folder = folder();
    let _ = fs::remove_dir_all(&folder);
    // With the workspace's own target folder, dependencies are not compiled a second time.
    run(maturin()?
        .args(["build", profile, "--locked", "--target-dir", "target", "--out"])
        .arg(&folder)
        .args(more))?;
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|e| e == "whl");
    let wheel = list(&folder)?.into_iter().find(is_wheel).ok_or("maturin made no wheel")?;
    let n_bytes = fs::metadata(&wheel).map_err(|e| format!("{}: {e}", wheel.display()))?.len();
    match n_bytes {
        n if n > MOST_BYTES => Err(format!("{} takes {n} bytes", wheel.display())),
        _ => Ok(wheel),
    }
}

/// The builder, which finds zig as a module of its environment's Python.
fn maturin() -> Result<Command, String> {
    let program = python::environment("wheel")?.with_file_name("maturin");
    let bin = program.parent().expect("a program lies in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(bin).chain(std::env::split_paths(&path));
    let mut maturin = Command::new(program);
    maturin
        .env("PATH", std::env::join_paths(paths).map_err(|e| e.to_string())?)
        .current_dir(python::root());
    Ok(maturin)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// Puts a package into an environment, whatever lies there of it.
pub(crate) fn install(python: &Path, package: &Path) -> Result<(), String> {
    run(Command::new(python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--force-reinstall", "--no-deps"])
        .arg(package))
}

/// Runs the package's own tests on the wheel, in environments that have nothing else of ours; then those on a cluster.
pub(crate) fn test(in_ci: bool) -> Result<(), String> {
    let wheel = build()?;
    for environment in ["python-newest", "python-oldest"] {
        let python = python::environment(environment)?;
        install(&python, &wheel)?;
        run(Command::new(python)
            .args(["-m", "pytest", "-q", "crates/python/tests"])
            .current_dir(python::root()))?;
    }
    check::wheel_on_oldest_and_newest(&wheel)?;
    cluster::test(&wheel, in_ci)
}
