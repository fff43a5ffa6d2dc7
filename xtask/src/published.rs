//! The authors' wheel, fetched by package name.

use std::path::PathBuf;
use std::process::Command;

use crate::python;
use crate::tests::run;

/// Where the wheel lies; downloaded when it is not there yet.
pub(crate) fn wheel() -> Result<PathBuf, String> {
    let folder = python::root().join("target/published");
    let path = folder.join("oboe-0.2.0-py3-none-any.whl");
    if !path.exists() {
        run(Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check"])
            .args(["oboe==0.2.0", "--no-deps", "--dest"])
            .arg(&folder))?;
    }
    Ok(path)
}
