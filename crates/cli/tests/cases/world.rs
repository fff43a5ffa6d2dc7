//! The world that every case gets a copy of, made once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A search that is short and the same every time.
pub(super) const FIT: &str =
    "--target kind --repeatable --max-evaluations 4 --time-budget 300s --threads 1";

/// The files of the world.
pub(super) struct World;

impl World {
    /// A fresh copy.
    pub(super) fn copy() -> tempfile::TempDir {
        static FILES: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
        let files = FILES.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            make(folder.path());
            contents(folder.path())
        });
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        folder
    }
}

/// Where a shell finds programs, ours first.
pub(super) fn path() -> String {
    let ours = Path::new(env!("CARGO_BIN_EXE_pitchpipe")).parent().unwrap();
    format!("{}:{}", ours.display(), std::env::var("PATH").unwrap_or_default())
}

fn make(folder: &Path) {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("data.csv", &table(120));
    write("data.txt", &table(120));
    write("new.csv", &table(30));
    write("notes.txt", "buy milk\n");
    fs::write(folder.join("nested.parquet"), include_bytes!("nested.parquet")).unwrap();
    fs::create_dir(folder.join("tables")).unwrap();
    for (i, name) in ["one", "two", "three", "four", "five", "six"].into_iter().enumerate() {
        write(&format!("tables/{name}.csv"), &table(60 + 10 * i));
    }
    let run = |line: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_pitchpipe"))
            .args(line.split_whitespace())
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(&format!("fit data.csv {FIT} --out m.pp"));
    run("meta collect tables --store store --fraction 0.004 --threads 1");
    run("meta train --store store --method matrix --out s.surrogate");
}

/// Two classes, a number that tells them apart, a category, some missing cells.
fn table(n: usize) -> String {
    let mut text = "size,colour,weight,kind\n".to_owned();
    for i in 0..n {
        let kind = if i * 7 % 5 < 2 { "small" } else { "large" };
        let size = (i * 37 % 50) as f64 + if kind == "large" { 30.5 } else { 0.5 };
        let weight = if i % 11 == 3 { String::new() } else { (i * 13 % 29).to_string() };
        text += &format!("{size},{},{weight},{kind}\n", ["red", "blue", "green"][i % 3]);
    }
    text
}

/// Every file below a folder with its bytes, by its name from there.
pub(super) fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                all.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    all
}
