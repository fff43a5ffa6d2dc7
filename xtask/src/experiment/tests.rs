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

/// A number on the page, and where it is said to be from.
fn check(number: &str, words: &[String], folder: &Path) -> Result<(), String> {
    let [file, column, keys @ ..] = words else { return Err(format!("{number}: {words:?}")) };
    let rows = read(&folder.join(format!("{file}.csv")))?;
    let mut cells = Vec::new();
    for key in keys {
        cells.push(key.split_once('=').ok_or_else(|| format!("{words:?}: no key=value: {key}"))?);
    }
    let is_meant = |row: &&BTreeMap<String, String>| {
        cells.iter().all(|(name, value)| row.get(*name).is_some_and(|have| have == value))
    };
    let meant: Vec<_> = rows.iter().filter(is_meant).collect();
    let [row] = meant.as_slice() else {
        return Err(format!("{number}: {words:?} names {} rows", meant.len()));
    };
    let in_table = row.get(column).ok_or_else(|| format!("{words:?}: no such column"))?;
    let in_table: f64 = in_table.parse().map_err(|e| format!("{words:?}: {in_table:?}: {e}"))?;
    let shown: f64 = number.parse().map_err(|e| format!("{words:?}: {number:?}: {e}"))?;
    let decimals = number.split('.').nth(1).map_or(0, str::len);
    let rounded: f64 = format!("{in_table:.decimals$}").parse().expect("a number was written");
    if (rounded - shown).abs() > 1e-9 {
        return Err(format!("{words:?}: the page has {number}, the table {in_table}"));
    }
    Ok(())
}

/// Everything about a page that is not as the tables have it.
fn faults(page: &str, folder: &Path) -> Vec<String> {
    let quotes = quotes(page).into_iter();
    quotes.filter_map(|(number, words)| check(&number, &words, folder).err()).collect()
}

/// The numbers with a decimal point in our column of the verdicts, and in the tables of systems, that are tied to no table.
fn untied(page: &str) -> Vec<String> {
    let ours = |line: &&str| line.starts_with("| ") && !line.starts_with("| the paper");
    let mut found = Vec::new();
    for line in page.lines().filter(ours) {
        // The paper's own words and figures come first; the verdict last.
        let cells: Vec<&str> = line.split(" | ").collect();
        for cell in cells.iter().skip(1).take(cells.len().saturating_sub(2).max(1)) {
            found.extend(untied_in(cell));
        }
    }
    found
}

/// Numbers that have no comment after them and are not what a row is found by.
fn untied_in(cell: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut keys: Vec<f64> = Vec::new();
    let mut rest = cell;
    while let Some(at) = rest.find("<!--") {
        plain += &rest[..at];
        // What is tied ends in a mark that is no part of a number.
        plain.push('\u{1}');
        let (inside, after) = rest[at..].split_once("-->").unwrap_or((rest, ""));
        keys.extend(inside.split(['^', '=']).filter_map(|word| word.trim().parse::<f64>().ok()));
        rest = after;
    }
    plain += rest;
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '\u{1}';
    let words = plain.split(|c: char| !is_number(c));
    let is_untied = |word: &&str| {
        let digits = word.trim_matches('.');
        let is_decimal = word.contains('.') && digits.chars().any(|c| c.is_ascii_digit());
        let value = word.trim_end_matches('.').parse();
        let is_key = digits.len() < 2 || value.is_ok_and(|v| keys.contains(&v));
        is_decimal && !word.contains('\u{1}') && !is_key
    };
    words.filter(is_untied).map(str::to_owned).collect()
}

fn page() -> String {
    std::fs::read_to_string(folder(false).join("README.md")).unwrap()
}

#[test]
fn numbers_on_the_page_are_those_of_the_tables() {
    let page = page();
    let n = quotes(&page).len();
    assert!(n >= 200, "only {n} numbers are tied to tables");
    let faults = faults(&page, &folder(false));
    assert!(faults.is_empty(), "{} of {n}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_number_that_was_changed_is_found_on_the_page_and_in_the_table() {
    let (page, own) = (page(), folder(false));
    let (number, words) = quotes(&page).into_iter().next().unwrap();
    let tag = format!("{number}<!--{}", words[0]);
    assert_eq!(page.matches(&tag).count().min(1), 1, "{tag}");
    // The last digit on the page, by one.
    let last = number.chars().last().unwrap().to_digit(10).unwrap();
    let other = format!("{}{}", &number[..number.len() - 1], (last + 1) % 10);
    let changed = page.replacen(&tag, &format!("{other}<!--{}", words[0]), 1);
    assert_eq!(faults(&changed, &own).len(), 1, "{number} became {other}");

    // And every number of a table: each that is quoted from it is off then.
    let copy = folder(true).join("changed");
    std::fs::create_dir_all(&copy).unwrap();
    let file = format!("{}.csv", words[0]);
    let text = std::fs::read_to_string(own.join(&file)).unwrap();
    let worse = |line: &str| -> String {
        let cells = line.split(',').map(|cell| match cell.parse::<f64>() {
            Ok(value) if cell.contains('.') => (value * 1.5 + 0.1).to_string(),
            _ => cell.to_owned(),
        });
        cells.collect::<Vec<_>>().join(",")
    };
    let lines = text.lines().map(|l| if l.starts_with('#') { l.to_owned() } else { worse(l) });
    std::fs::write(copy.join(&file), lines.collect::<Vec<_>>().join("\n")).unwrap();
    for (number, words) in quotes(&page).into_iter().filter(|(_, w)| w[0] == words[0]) {
        assert!(check(&number, &words, &copy).is_err(), "{number} {words:?}");
    }
}

#[test]
fn a_number_of_ours_is_tied_to_a_table() {
    assert_eq!(untied_in(".12<!--a^b^c=d--> and 1.5 at 90, [x](y.svg), .0123<!--e-->"), ["1.5"]);
    let untied = untied(&page());
    assert!(untied.is_empty(), "{}", untied.join(", "));
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
