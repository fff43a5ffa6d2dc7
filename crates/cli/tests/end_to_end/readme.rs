//! What the README shows is what happens: each command that is followed by its output prints just that.

use std::fs;
use std::path::Path;

/// How the README starts the command from a clone.
const START: &str = "cargo run --release --bin pitchpipe -- ";

/// The fenced blocks of a page, each with its language.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let (mut blocks, mut open): (Vec<(&str, String)>, bool) = (Vec::new(), false);
    for line in page.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(language), false) => blocks.push((language, String::new())),
            (Some(_), true) => (),
            (None, true) => {
                *blocks.last_mut().map(|(_, text)| text).unwrap() += &format!("{line}\n")
            }
            (None, false) => continue,
        }
        open = line.starts_with("```") != open;
    }
    blocks
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("examples/data")).unwrap();
    for entry in fs::read_dir(root.join("examples/data")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join("examples/data").join(entry.file_name()))
            .unwrap();
    }
    let blocks = blocks(&page);
    let mut n_shown = 0;
    for (at, (language, text)) in blocks.iter().enumerate().filter(|(_, (l, _))| *l == "sh") {
        let commands: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix(START)).collect();
        let shown = blocks.get(at + 1).filter(|(l, _)| *l == "text");
        for (i, command) in commands.iter().enumerate() {
            let is_last = i + 1 == commands.len();
            if shown.is_none() {
                continue;
            }
            let args: Vec<&str> = command.split_whitespace().collect();
            let printed = crate::common::succeed(folder.path(), &args);
            if let (true, Some((_, expected))) = (is_last, shown) {
                assert_eq!(&printed, expected, "{language}: {command}");
                n_shown += 1;
            }
        }
    }
    assert!(n_shown >= 2, "the README shows the output of {n_shown} commands");
}
