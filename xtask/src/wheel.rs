//! `cargo xtask wheel`: the Python package as a wheel and as a source distribution.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python;
use crate::tests::run;

/// A wheel may take no more bytes.
const MOST_BYTES: u64 = 20_000_000;

/// Builds both, and says how large they are.
pub(crate) fn make() -> Result<(), String> {
    build(&["--sdist"])?;
    for entry in list(&folder())? {
        let n_bytes = fs::metadata(&entry).map_err(|e| format!("{}: {e}", entry.display()))?.len();
        println!("{}: {:.1} MB", entry.display(), n_bytes as f64 / 1e6);
    }
    Ok(())
}

/// Where packages are put.
fn folder() -> PathBuf {
    python::root().join("target/wheels")
}

/// Builds the wheel and gives its path.
pub(crate) fn build(more: &[&str]) -> Result<PathBuf, String> {
    let folder = folder();
    let _ = fs::remove_dir_all(&folder);
    let maturin = python::environment("wheel")?.with_file_name("maturin");
    // With the workspace's own target folder, dependencies are not compiled a second time.
    run(Command::new(maturin)
        .args(["build", "--release", "--target-dir", "target", "--out"])
        .arg(&folder)
        .args(more)
        .current_dir(python::root()))?;
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|e| e == "whl");
    let wheel = list(&folder)?.into_iter().find(is_wheel).ok_or("maturin made no wheel")?;
    let n_bytes = fs::metadata(&wheel).map_err(|e| format!("{}: {e}", wheel.display()))?.len();
    match n_bytes {
        n if n > MOST_BYTES => Err(format!("{} takes {n} bytes", wheel.display())),
        _ => Ok(wheel),
    }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// Runs the package's own tests on the wheel, in an environment that has nothing else of ours.
pub(crate) fn test() -> Result<(), String> {
    let wheel = build(&[])?;
    for (environment, what) in [
        ("python-newest", &["crates/python/tests"][..]),
        ("python-oldest", &["crates/python/tests/test_conventions.py"][..]),
    ] {
        let python = python::environment(environment)?;
        run(Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--force-reinstall", "--no-deps"])
            .arg(&wheel))?;
        run(Command::new(python)
            .args(["-m", "pytest", "-q"])
            .args(what)
            .current_dir(python::root()))?;
    }
    Ok(())
}
