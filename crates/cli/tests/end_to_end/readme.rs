//! What the README shows is what happens: each command that is followed by its output prints just that.
//!
//! With `UPDATE_README=1` in the environment the page is written anew, to the letter. The test itself looks at the
//! outline, since the last digits of an error, and with them the choice between pipelines that are about
//! as good, depend on the vector width of the processor.

use std::fs;
use std::path::Path;

use crate::common::succeed;

/// How the README starts the command from a clone.
const START: &str = "cargo run --release --bin pitchpipe -- ";

/// A fenced block of a page.
struct Block<'a> {
    language: &'a str,
    text: &'a str,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    // Outside and inside of fences take turns.
    let inside = page.split("```").skip(1).step_by(2);
    inside
        .filter_map(|block| block.split_once('\n'))
        .map(|(language, text)| Block { language, text })
        .collect()
}

/// The lines without their numbers; pipelines that follow each other are one line.
fn outline(text: &str) -> Vec<String> {
    let line = |line: &str| {
        if line.contains(" > ") {
            return "pipeline".to_owned();
        }
        let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        line.split_whitespace().filter(|word| !is_number(word)).collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.dedup();
    lines
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = root.join("README.md");
    let page = fs::read_to_string(&readme).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("examples/data");
    fs::create_dir_all(&data).unwrap();
    for entry in fs::read_dir(root.join("examples/data")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), data.join(entry.file_name())).unwrap();
    }
    let (mut updated, mut n_shown) = (page.clone(), 0);
    for pair in blocks(&page).windows(2) {
        let [command, shown] = pair else { unreachable!("windows of two") };
        if (command.language, shown.language) != ("sh", "text") {
            continue;
        }
        let mut printed = String::new();
        for line in command.text.lines().filter_map(|line| line.strip_prefix(START)) {
            printed = succeed(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
        }
        if std::env::var_os("UPDATE_README").is_some() {
            updated = updated.replacen(shown.text, &printed, 1);
        } else {
            assert_eq!(outline(shown.text), outline(&printed), "after {}", command.text);
        }
        n_shown += 1;
    }
    assert!(n_shown >= 2, "the README shows the output of {n_shown} commands");
    if updated != page {
        fs::write(&readme, updated).unwrap();
    }
}
