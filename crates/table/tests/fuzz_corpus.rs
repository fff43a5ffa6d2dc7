//! Replays the inputs that fuzzing found interesting: each is a table or an error, never a panic.

mod common;
#[path = "common/invariants.rs"]
mod invariants;
#[path = "common/seeds.rs"]
mod seeds;

use std::path::Path;

use common::read_as;
use pitchpipe_table::{Format, ReadOptions};

const TARGETS: [(&str, Option<Format>); 5] = [
    ("csv", Some(Format::Csv)),
    ("arff", Some(Format::Arff)),
    ("gzip", None),
    ("parquet", Some(Format::Parquet)),
    ("arrow", Some(Format::Arrow)),
];

#[test]
fn kept_inputs_are_tables_or_errors() {
    for (target, format) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz_corpus").join(target);
        let options = ReadOptions { format, ..ReadOptions::default() };
        let mut n_inputs = 0;
        for entry in folder.read_dir().unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            for options in [&options, &ReadOptions::default()] {
                match read_as("f", &bytes, options) {
                    Ok(table) => invariants::check(&table),
                    Err(error) => assert!(!error.to_string().ends_with('.'), "{error}"),
                }
            }
            n_inputs += 1;
        }
        assert!(n_inputs > 0, "{target} has a corpus");
    }
}

#[test]
fn the_seeds_of_every_target_are_good_tables() {
    for (target, format) in TARGETS {
        let options = ReadOptions { format, ..ReadOptions::default() };
        let good =
            seeds::seeds(target).iter().filter(|s| read_as("f", s, &options).is_ok()).count();
        assert!(good >= 2, "{target} begins with good tables");
        assert!(!seeds::words(target).is_empty());
    }
}
