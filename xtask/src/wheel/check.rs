//! The package where a stranger would install it: fresh environments, on every Python at hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::python;
use crate::tests::run;

/// The oldest Python that the wheel is for, and one that is not out yet.
const VERSIONS: std::ops::Range<u32> = 10..30;

/// numpy is all that it needs; the pages use pandas.
const WITH_NUMPY_ALONE: &str = "
import numpy as np, pitchpipe, sys
X = np.arange(80.0).reshape(40, 2) % 7
clf = pitchpipe.PitchpipeClassifier(repeatable=True, max_evaluations=5, n_jobs=1).fit(X, X[:, 0] > 3)
assert clf.score(X, X[:, 0] > 3) == 1.0
assert not {'pandas', 'sklearn', 'scipy'} & set(sys.modules)
print('Python', sys.version.split()[0], 'with numpy', np.__version__, 'alone: ok')
";

/// An interpreter and the number of its minor version.
pub(super) struct Interpreter {
    path: PathBuf,
    minor: u32,
}

/// All Pythons from 3.10 on: on the path, or of pyenv.
pub(super) fn pythons() -> Vec<Interpreter> {
    VERSIONS.filter_map(|minor| Some(Interpreter { path: find(minor)?, minor })).collect()
}

fn find(minor: u32) -> Option<PathBuf> {
    let name = format!("python3.{minor}");
    let answers = |path: &Path| {
        let mut ask = Command::new(path);
        let asked = ask.args(["-c", "import venv"]).stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    let on_path = PathBuf::from(&name);
    if answers(&on_path) {
        return Some(on_path);
    }
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv"));
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home)?;
    let versions = fs::read_dir(pyenv.join("versions")).ok()?;
    versions.filter_map(|v| Some(v.ok()?.path().join("bin").join(&name))).find(|p| answers(p))
}

/// README's Python block, verbatim, after `pip install WHEEL` on every Python.
pub(super) fn wheel_on_every_python(wheel: &Path) -> Result<(), String> {
    let all = pythons();
    if all.is_empty() {
        return Err("there is no Python from 3.10 on".into());
    }
    all.iter().try_for_each(|interpreter| wheel_works(interpreter, wheel))
}

/// The same at both ends: what CI has time for.
pub(super) fn wheel_on_oldest_and_newest(wheel: &Path) -> Result<(), String> {
    let all = pythons();
    let (Some(oldest), Some(newest)) = (all.first(), all.last()) else {
        return Err("there is no Python from 3.10 on".into());
    };
    wheel_works(oldest, wheel)?;
    if newest.minor == oldest.minor { Ok(()) } else { wheel_works(newest, wheel) }
}

fn wheel_works(interpreter: &Interpreter, wheel: &Path) -> Result<(), String> {
    let fresh = environment(interpreter)?;
    install(&fresh, &[wheel.as_os_str()])?;
    works(&fresh)
}

/// `pip install .` in a clone of what is committed.
pub(super) fn clone(interpreter: &Interpreter) -> Result<(), String> {
    let folder = python::root().join("target/clone");
    let _ = fs::remove_dir_all(&folder);
    run(Command::new("git")
        .args(["clone", "--quiet", "--depth", "1"])
        .arg(format!("file://{}", python::root().display()))
        .arg(&folder))?;
    let fresh = environment(interpreter)?;
    let installed = install(&fresh, &[folder.as_os_str()]);
    // What was compiled from it counts as ours: only without these files does cargo look at ours again.
    let _ = fs::remove_dir_all(&folder);
    installed?;
    works(&fresh)
}

/// `pip install` of the source distribution.
pub(super) fn source_distribution(interpreter: &Interpreter, sdist: &Path) -> Result<(), String> {
    let fresh = environment(interpreter)?;
    install(&fresh, &[sdist.as_os_str()])?;
    works(&fresh)
}

/// An environment that has nothing in it; gives its interpreter.
fn environment(interpreter: &Interpreter) -> Result<PathBuf, String> {
    let folder = python::root().join(format!("target/venvs/check-3.{}", interpreter.minor));
    run(Command::new(&interpreter.path).args(["-m", "venv", "--clear"]).arg(&folder))?;
    Ok(folder.join("bin/python"))
}

fn install(python: &Path, what: &[&std::ffi::OsStr]) -> Result<(), String> {
    // What is compiled from a source is compiled beside the rest, where third-party crates are at hand.
    run(Command::new(python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(what)
        .env("CARGO_TARGET_DIR", python::root().join("target")))
}

/// The package with numpy alone, its command, and README's Python block with pandas.
fn works(python: &Path) -> Result<(), String> {
    run(Command::new(python).args(["-c", WITH_NUMPY_ALONE]).current_dir(python::root()))?;
    run(Command::new(python.with_file_name("pitchpipe")).arg("--version"))?;
    install(python, &["pandas".as_ref()])?;
    run(Command::new(python).args(["-c", &readme_block()?]).current_dir(python::root()))
}

/// What README shows under "In Python".
fn readme_block() -> Result<String, String> {
    let path = python::root().join("README.md");
    let page = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let block = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    block.map(str::to_owned).ok_or_else(|| "README.md shows no Python".to_owned())
}
