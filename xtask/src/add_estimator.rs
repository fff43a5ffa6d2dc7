//! `cargo xtask add-estimator`: the example of CONTRIBUTING.md, applied, built and tested.
//!
//! `examples/nearest-centroid.patch` adds an estimator, a block of the search space and all that goes with them. It may
//! touch no more files than CONTRIBUTING.md says. It is applied where it is to be read, in this folder, and taken back:
//! only what depends on it is compiled.

use std::process::Command;

use crate::python::root;
use crate::tests::run;

const PATCH: &str = "examples/nearest-centroid.patch";

/// What an estimator brings with it: its own files, its tests and golden files, and what its users are told.
const OWN: [&str; 4] = [
    "crates/learn/src/estimate/nearest_centroid.rs",
    "bench/sklearn/estimators/nearest_centroid.py",
    "crates/learn/tests/golden/",
    "CHANGELOG.md",
];

/// How many other files a new estimator may touch: the list of estimators and that of blocks.
const MOST_OTHERS: usize = 2;

/// The tests that are about the new estimator, or about all of them.
const TESTS: [&str; 4] = ["centroid", "search_space::", "export::", "one_hot_columns"];

/// Applies, builds and tests the example, and takes it back, whatever came of it.
pub(crate) fn add() -> Result<(), String> {
    check(&patch()?)?;
    // What does not apply changes nothing, so that it is taken back only where it was applied.
    run(git().args(["apply", PATCH]))?;
    let result = build();
    run(git().args(["apply", "--reverse", PATCH]))?;
    result
}

fn git() -> Command {
    let mut git = Command::new("git");
    git.current_dir(root());
    git
}

fn build() -> Result<(), String> {
    let cargo = || {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root());
        cargo
    };
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo()
        .args(["test", "--release", "--workspace", "--lib", "--test", "golden", "--"])
        .args(TESTS))
}

fn patch() -> Result<String, String> {
    let path = root().join(PATCH);
    std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Whether a patch touches as few files as a new estimator should.
fn check(patch: &str) -> Result<(), String> {
    let files = patch.lines().filter_map(|line| line.strip_prefix("+++ b/"));
    let others: Vec<&str> =
        files.filter(|file| !OWN.iter().any(|own| file.starts_with(own))).collect();
    if others.len() <= MOST_OTHERS {
        return Ok(());
    }
    let (n, files) = (others.len(), others.join(", "));
    Err(format!("{PATCH} touches {n} files beside its own, not {MOST_OTHERS}: {files}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_still_applies() {
        let mut git = Command::new("git");
        let status = git.args(["apply", "--check", PATCH]).current_dir(root()).status();
        assert!(status.expect("git is there").success(), "see CONTRIBUTING.md on mending it");
    }

    #[test]
    fn a_new_estimator_touches_two_files_beside_its_own() {
        let patch = patch().expect("the patch");
        check(&patch).expect("few files");
        let file = |name: &str| format!("+++ b/{name}\n");
        let more = patch + &file("crates/cli/src/main.rs");
        let error = check(&more).expect_err("one too many");
        assert!(error.contains("touches 3 files") && error.contains("main.rs"), "{error}");
    }
}
