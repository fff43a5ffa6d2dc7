//! A small world for a command to live in: tables, a model, a surrogate and a store, some of them damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::dice::Dice;

/// The column to predict, in every table.
pub(super) const TARGET: &str = "kind";

/// Tables, by name.
pub(super) const TABLES: [&str; 5] = ["a.csv", "b.tsv", "c.csv.gz", "d.parquet", "e.arff"];

pub(super) const MODEL: &str = "m.pp";
pub(super) const SURROGATE: &str = "s.surrogate";
pub(super) const STORE: &str = "store";

/// Makes the world that every round gets a copy of.
pub(super) fn make(folder: &Path, program: &Path) -> Result<(), String> {
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))
    };
    write("a.csv", &table(160, ','))?;
    write("b.tsv", &table(90, '\t'))?;
    write("c.csv", &table(400, ','))?;
    write("e.arff", &arff(120))?;
    let run = |args: &[&str]| -> Result<(), String> {
        let output = Command::new(program)
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("{args:?}: {said}")) }
    };
    let fast = ["--time-budget", "60s", "--max-evaluations", "4", "--threads", "1"];
    run(&[&["fit", "a.csv", "--target", TARGET, "--out", MODEL], &fast[..]].concat())?;
    // The program itself writes the Parquet table: predictions beside the target would do, but any table is one.
    run(&["predict", MODEL, "a.csv", "--proba", "--out", "d.parquet"])?;
    fs::create_dir(folder.join("tables")).map_err(|e| e.to_string())?;
    for (name, n) in [("one", 80), ("two", 110), ("three", 140)] {
        write(&format!("tables/{name}.csv"), &table(n, ','))?;
    }
    let few = ["--fraction", "0.002", "--threads", "1", "--target", TARGET];
    run(&[&["meta", "collect", "tables", "--store", STORE], &few[..]].concat())?;
    let gzip = Command::new("gzip").arg(folder.join("c.csv")).status();
    if !gzip.is_ok_and(|status| status.success()) {
        return Err("gzip is not there".to_owned());
    }
    // A surrogate that is small and quick to read.
    run(&["meta", "train", "--store", STORE, "--method", "matrix", "--out", SURROGATE])
}

/// Numbers, categories, dates, missing cells, and a signal.
fn table(n: usize, delimiter: char) -> String {
    let mut text = format!("size{delimiter}colour{delimiter}day{delimiter}{TARGET}\n");
    for i in 0..n {
        let class = ["low", "high", "middle"][i * i % 3];
        let shift = if class == "low" { 9.5 } else { 0.25 };
        let size =
            if i % 13 == 7 { String::new() } else { ((i * 37 % 101) as f64 + shift).to_string() };
        let colour = ["red", "blue", "green", "NA"][i % 4];
        let day = format!("2021-{:02}-{:02}", i % 12 + 1, i % 28 + 1);
        text += &format!("{size}{delimiter}{colour}{delimiter}{day}{delimiter}{class}\n");
    }
    text
}

fn arff(n: usize) -> String {
    let mut text =
        "@relation r\n@attribute size numeric\n@attribute colour {red,blue}\n".to_owned();
    text += &format!("@attribute day string\n@attribute {TARGET} {{x,y}}\n@data\n");
    for i in 0..n {
        let class = ["x", "y"][i * 7 % 3 % 2];
        text += &format!("{},{},d{},{class}\n", i * 31 % 17, ["red", "blue"][i % 2], i % 5);
    }
    text
}

/// Every file below a folder with its bytes.
pub(super) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                let name = path.strip_prefix(folder).expect("it is below the folder").to_owned();
                all.insert(name, bytes);
            }
        }
    }
    all
}

/// Writes files into a folder.
pub(super) fn lay_out(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<(), String> {
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Damages some files: what a careless copy, an editor or a bad disk does to them.
pub(super) fn damage(files: &mut BTreeMap<PathBuf, Vec<u8>>, dice: &mut Dice) -> Vec<String> {
    let names: Vec<PathBuf> = files.keys().cloned().collect();
    let mut done = Vec::new();
    for _ in 0..dice.between(0, 2) {
        let name = names[dice.below(names.len())].clone();
        let bytes = files.get_mut(&name).expect("it is one of the names");
        done.push(format!("{}: {}", name.display(), damage_one(bytes, dice)));
    }
    done
}

fn damage_one(bytes: &mut Vec<u8>, dice: &mut Dice) -> &'static str {
    let n = bytes.len();
    if n == 0 {
        return "left empty";
    }
    let at = dice.below(n);
    match dice.below(10) {
        0 => {
            bytes.truncate(at);
            "cut short"
        }
        1 => {
            bytes.clear();
            "emptied"
        }
        2 => {
            bytes[at] ^= 1 << dice.below(8);
            "one bit"
        }
        3 => {
            for _ in 0..dice.between(1, 40) {
                let place = dice.below(n);
                bytes[place] = dice.below(256) as u8;
            }
            "some bytes"
        }
        4 => {
            let end = (at + dice.between(1, 4000)).min(n);
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
            "a part twice"
        }
        5 => {
            let end = (at + dice.between(1, 400)).min(n);
            bytes.drain(at..end);
            "a part gone"
        }
        6 => {
            let word: &[u8] = dice.pick(&[
                &b"\0\0\0"[..],
                b"\"",
                b",,,,",
                b"\n\n\n",
                b"1e999",
                b"-inf",
                b"\xff\xfe",
                b"\x1b[31m",
                b"\r",
                b"99999999999999999999",
            ]);
            bytes.splice(at..at, word.iter().copied());
            "an odd word"
        }
        7 => {
            bytes.splice(at..at, std::iter::repeat_n(b'x', 200_000));
            "a very long cell"
        }
        8 => {
            let mut lines: Vec<Vec<u8>> =
                bytes.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
            let (i, j) = (dice.below(lines.len()), dice.below(lines.len()));
            lines.swap(i, j);
            *bytes = lines.join(&b'\n');
            "two lines swapped"
        }
        _ => {
            bytes.extend(b"one more line\n");
            "a line more"
        }
    }
}
