//! A short run of `cargo xtask torture`, so that neither it nor what it looks for breaks unseen.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

#[test]
fn twenty_seconds_of_torture_find_nothing() {
    let xtask = Path::new(env!("CARGO_BIN_EXE_xtask"));
    let program = xtask.with_file_name("pitchpipe");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("torture");
    let output = Command::new(xtask)
        .args(["torture", "--minutes", "0.33", "--seed", "7", "--program"])
        .arg(program)
        .arg("--folder")
        .arg(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("nothing found"), "{said}");
}
