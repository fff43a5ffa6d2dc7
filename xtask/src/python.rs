//! Python environments for the tests, golden files and benchmarks that stand next to Python peers.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tests::run;

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The interpreter of the environment `name`, made from `requirements/NAME.txt` when that file is new
/// or has changed.
pub(crate) fn environment(name: &str) -> Result<PathBuf, String> {
    let wanted = root().join("requirements").join(format!("{name}.txt"));
    let requirements =
        std::fs::read_to_string(&wanted).map_err(|e| format!("{}: {e}", wanted.display()))?;
    let folder = root().join("target/venvs").join(name);
    let (python, installed) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if std::fs::read_to_string(&installed).is_ok_and(|have| have == requirements) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(&wanted))?;
    std::fs::write(&installed, requirements)
        .map_err(|e| format!("{}: {e}", installed.display()))?;
    Ok(python)
}
