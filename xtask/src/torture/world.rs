//! A small world for a command to live in: tables, a model, a surrogate and a store, some of them damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::dice::Dice;

/// The column to predict, in every table.
pub(super) const TARGET: &str = "kind";

/// Tables, by name.
pub(super) const TABLES: [&str; 6] = ["a.csv", "b.tsv", "c.csv.gz", "d.parquet", "e.arff", "f.csv"];

pub(super) const MODEL: &str = "m.pp";
pub(super) const OTHER_MODEL: &str = "n.pp";
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
    write("f.csv", &written(150))?;
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
    let other = ["--seed", "1", "--metric", "accuracy", "--holdout", "0.25", "--out", OTHER_MODEL];
    run(&[&["fit", "a.csv", "--target", TARGET], &other[..], &fast[..]].concat())?;
    // The program itself writes the Parquet table: all columns, and some of numbers beside them.
    run(&["predict", MODEL, "a.csv", "--keep", "all", "--proba", "--out", "d.parquet"])?;
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

/// Cells as people write them: an index, money, per cent, durations, dates, yes and no, sentences.
fn written(n: usize) -> String {
    let mut text = format!(",price,share,took,when,is_new,words,size,colour,day,{TARGET}\n");
    for i in 0..n {
        let class = ["low", "high", "middle"][i * i % 3];
        text += &format!(
            "{i},\"$ {},{:03}.50\",{}.5%,{}h{:02}m,{:02}.{:02}.2023,{},it is thing number {i} of {class},{},{},2021-01-{:02},{class}\n",
            i % 7 + 1,
            i * 37 % 1000,
            i * 13 % 100,
            i % 24,
            i * 7 % 60,
            i % 28 + 1,
            i % 12 + 1,
            ["yes", "No", "TRUE", "0"][i % 4],
            i * 37 % 101,
            ["red", "blue"][i % 2],
            i % 28 + 1,
        );
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

/// What people do to a table without meaning harm, cell by cell or line by line: none of it may end in anything but an
/// answer or a message.
fn rewrite(bytes: &mut Vec<u8>, dice: &mut Dice) -> &'static str {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() < 2 {
        return "left alone";
    }
    let separator = if lines[0].contains('\t') { '\t' } else { ',' };
    let what = match dice.below(7) {
        0 => {
            for (i, line) in lines.iter_mut().enumerate() {
                let number = if i == 0 { String::new() } else { (i - 1).to_string() };
                *line = format!("{number}{separator}{line}");
            }
            "an index before the first column"
        }
        1 => {
            lines.truncate(1);
            "the header alone"
        }
        2 => {
            let column = dice.below(lines[0].split(separator).count());
            let odd = dice.pick(&[
                "$1,234.50",
                "1.234,50 EUR",
                "12%",
                "31/12/2023",
                "Jan 5, 2024",
                "1h30m",
                "01:23:45",
                "YES",
                "(5.00)",
                "99:99:99",
                "31/31/2023",
                "-€",
                "%",
                "1,2,3",
                "0x1F",
            ]);
            let every = dice.between(1, 5);
            for line in lines.iter_mut().skip(1).step_by(every) {
                let mut cells: Vec<&str> = line.split(separator).collect();
                if let Some(cell) = cells.get_mut(column) {
                    *cell = odd;
                }
                let quoted = |cell: &&str| match cell.contains(',') {
                    true => format!("\"{cell}\""),
                    false => (*cell).to_owned(),
                };
                *line = cells.iter().map(quoted).collect::<Vec<_>>().join(&separator.to_string());
            }
            "a column in another writing"
        }
        3 => {
            let wide: String = std::iter::repeat_n(separator, dice.pick(&[500, 120_000])).collect();
            lines.iter_mut().take(dice.between(1, 3)).for_each(|line| line.push_str(&wide));
            "very many columns"
        }
        4 => {
            let name = dice.pick(&["__index_level_0__", "Unnamed: 0", "", "id", TARGET]);
            let mut cells: Vec<String> = lines[0].split(separator).map(str::to_owned).collect();
            let at = dice.below(cells.len());
            cells[at] = name.to_owned();
            lines[0] = cells.join(&separator.to_string());
            "another name of a column"
        }
        5 => {
            lines[1..].sort_by(|a, b| a.rsplit(separator).next().cmp(&b.rsplit(separator).next()));
            "sorted by class"
        }
        _ => {
            for line in lines.iter_mut().skip(1).step_by(3) {
                *line = line.to_uppercase();
            }
            "some lines in capitals"
        }
    };
    *bytes = lines.join("\n").into_bytes();
    bytes.push(b'\n');
    what
}

/// Damages some files: what a careless copy, an editor or a bad disk does to them.
pub(super) fn damage(files: &mut BTreeMap<PathBuf, Vec<u8>>, dice: &mut Dice) -> Vec<String> {
    let names: Vec<PathBuf> = files.keys().cloned().collect();
    let mut done = Vec::new();
    for _ in 0..dice.between(0, 2) {
        let name = names[dice.below(names.len())].clone();
        let bytes = files.get_mut(&name).expect("it is one of the names");
        let is_text = name.extension().is_some_and(|end| end == "csv" || end == "tsv");
        if is_text && dice.percent(50) {
            done.push(format!("{}: {}", name.display(), rewrite(bytes, dice)));
            continue;
        }
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
