//! The numbers that docs/results/README.md quotes are those of the tables beside it.

use std::collections::BTreeMap;
use std::path::Path;

use super::folder;

/// A table's rows by column.
fn read(path: &Path) -> Result<Vec<BTreeMap<String, String>>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut lines = text.lines().filter(|l| !l.starts_with('#'));
    let columns: Vec<&str> = lines.next().ok_or("an empty table")?.split(',').collect();
    Ok(lines
        .map(|line| {
            let cells = line.split(',').map(str::to_owned);
            columns.iter().map(|c| (*c).to_owned()).zip(cells).collect()
        })
        .collect())
}

/// Numbers that are from a table have a comment after them: its name, the column, and what is in the row:
/// `.0081<!--missing-at-random^relative_error^share_missing=0.5^method=KFMC-->`.
fn quotes(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (at, _) in page.match_indices("<!--") {
        let before = &page[..at];
        let start = before
            .rfind(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
            .map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        let inside = page[at + 4..].split("-->").next().unwrap_or_default();
        let words = inside.split('^').map(|w| w.trim().to_owned()).collect();
        found.push((before[start..].to_owned(), words));
    }
    found
}

#[test]
fn numbers_on_the_page_are_those_of_the_tables() {
    let folder = folder(false);
    let page = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let quotes = quotes(&page);
    assert!(quotes.len() >= 20, "only {} numbers are tied to tables", quotes.len());
    for (number, words) in quotes {
        let [file, column, keys @ ..] = words.as_slice() else { panic!("{number}: {words:?}") };
        let rows = read(&folder.join(format!("{file}.csv"))).unwrap();
        let is_meant = |row: &&BTreeMap<String, String>| {
            keys.iter().all(|key| {
                let (name, value) = key.split_once('=').expect("key=value");
                row.get(name).is_some_and(|have| have == value)
            })
        };
        let meant: Vec<_> = rows.iter().filter(is_meant).collect();
        assert_eq!(meant.len(), 1, "{number}: {words:?} names {} rows", meant.len());
        let in_table: f64 = meant[0][column].parse().unwrap();
        let decimals = number.split('.').nth(1).map_or(0, str::len);
        let shown: f64 = number.parse().unwrap_or_else(|_| panic!("{number}: {words:?}"));
        let rounded = format!("{in_table:.decimals$}");
        let rounded: f64 = rounded.parse().unwrap();
        assert!((rounded - shown).abs() < 1e-9, "{words:?}: page {number}, table {in_table}");
    }
}

#[test]
fn every_table_and_figure_says_where_it_came_from() {
    let folder = folder(false);
    let page = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut n_tables = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "csv") {
            continue;
        }
        n_tables += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        for what in ["# command: cargo xtask experiment", "# data: ", "# commit: ", "# date: "] {
            assert!(text.contains(what), "{}: no {what}", path.display());
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(path.with_extension("svg").exists(), "{name} has no figure");
        assert!(page.contains(&format!("{name}.svg")), "{name} is not on the page");
    }
    assert!(n_tables > 8);
}
