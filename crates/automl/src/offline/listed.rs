//! Which datasets of stores are the tables that a manifest lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;

use super::corpus::{self, CorpusTable};
use super::{OfflineError, Store};

/// A table that a manifest lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name: the file's, without endings.
    pub name: String,
    /// The datasets of the stores that are this table; none where it matched nothing.
    pub datasets: Vec<String>,
}

/// Matches the tables of a manifest with the datasets of stores: by content where the table can be read and the store knows
/// what its dataset was, and also by name and, where the manifest has a column `openml_id`, by the name under which datasets of
/// OpenML were published. A dataset that differs in content but goes by a table's name is taken for it, to be left out rather
/// than learnt from.
pub fn listed_in(manifest: &Path, stores: &[Store]) -> Result<Vec<Listed>, OfflineError> {
    let tables = corpus::listed(manifest)?;
    let (mut names, mut by_content) = (BTreeSet::new(), BTreeMap::<String, Vec<String>>::new());
    for store in stores {
        for name in store.datasets()? {
            if let Some(content) = store.about(&name)?.and_then(|about| about.content) {
                by_content.entry(content).or_default().push(name.clone());
            }
            names.insert(name);
        }
    }
    let matched = |table: CorpusTable| {
        // What cannot be read, or has no usual target, is known by its name alone.
        let content = match by_content.is_empty() {
            true => None,
            false => corpus::load(&table).ok().map(|d| format!("{:016x}", d.content_hash())),
        };
        let same = content.and_then(|content| by_content.get(&content)).into_iter().flatten();
        let published = table.openml_id.map(|id| format!("openml-{id}"));
        let named = std::iter::once(table.name.clone()).chain(published);
        let named = named.filter(|name| names.contains(name));
        let datasets: BTreeSet<String> = same.cloned().chain(named).collect();
        Listed { name: table.name, datasets: datasets.into_iter().collect() }
    };
    Ok(tables.into_par_iter().map(matched).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{About, Collection, Entry, Facts, Status, Store};
    use super::*;
    use crate::surrogate::TableSize;

    #[test]
    fn tables_are_found_by_content_by_name_and_by_id() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path();
        let cells = |k: usize| {
            let row =
                |i: usize| format!("{},{}\n", (i * k) % 7, if i % 2 == 0 { "a" } else { "b" });
            "x,class\n".to_owned() + &(0..20).map(row).collect::<String>()
        };
        for (file, k) in [("one.csv", 3), ("two.csv", 4), ("three.csv", 5)] {
            fs::write(path.join(file), cells(k)).expect("written");
        }
        let manifest = path.join("INDEX.tsv");
        let lines = "file\topenml_id\none.csv\t\ntwo.csv\t\nthree.csv\t31\nfour five.csv\t\n";
        fs::write(&manifest, lines).expect("written");
        let store = path.join("store");
        let store = Store::open_or_create(&store, &Collection::default().facts()).expect("a store");
        let table =
            CorpusTable { name: "one".into(), path: path.join("one.csv"), ..Default::default() };
        let dataset = corpus::load(&table).expect("a dataset");
        let content = Some(format!("{:016x}", dataset.content_hash()));
        let size = TableSize::of(&dataset);
        let about = |content: &Option<String>| About { content: content.clone(), size };
        store.describe("another-name", &about(&content)).expect("described");
        for name in ["two", "openml-31"] {
            store.describe(name, &about(&None)).expect("described");
        }
        for name in ["another-name", "two", "openml-31"] {
            let status = Status::OutOfTime;
            let entry = Entry { pipeline: 0, status, runtime_s: 1.0, marginal_s: 1.0 };
            store.append(name, Facts::new(), vec![entry]).expect("appended");
        }
        let found = listed_in(&manifest, &[store]).expect("a manifest");
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|l| (l.name.as_str(), l.datasets.iter().map(String::as_str).collect()))
            .collect();
        let expected = [
            ("one", vec!["another-name"]),
            ("two", vec!["two"]),
            ("three", vec!["openml-31"]),
            ("four_five", vec![]),
        ];
        assert_eq!(found, expected);
    }
}
