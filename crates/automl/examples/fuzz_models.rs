//! Forged and damaged model files: each is refused soon and with little memory, or predicts.
//!
//! `fuzz_models FILES SEED`, run by `cargo xtask fuzz models`. Peak memory is the process's own, above what it had before the
//! first file, so that it is an upper bound for each file.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};
use std::{fs, io};

use common::{Numbers, Section, file, sections};
use pitchpipe_automl::{AutoMl, Model};
use pitchpipe_table::{Column, Dataset, Labels};

/// What refusing one may take.
const MOST_TIME: Duration = Duration::from_millis(100);
const MOST_BYTES: u64 = 200_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise: u64| match arguments.next() {
        Some(text) => text.parse().expect("a number"),
        None => otherwise,
    };
    let (n_files, seed) = (number(100_000), number(1));
    let dataset = dataset();
    let good = good_files(&dataset);
    // The peak of the searches is forgotten; where that cannot be, it counts.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = status("VmRSS:");
    let mut tally = Tally::default();
    let mut numbers = Numbers(seed);
    for _ in 0..n_files {
        let (bytes, kind) = bad_file(&good, &mut numbers);
        tally.try_file(&bytes, kind, &dataset);
    }
    let peak = status("VmHWM:").saturating_sub(before);
    let Tally { n_refused, n_accepted, n_failed, n_slow, slowest } = tally;
    println!(
        "{n_files} files: {n_refused} refused, {n_accepted} accepted that predict, {n_failed} accepted that fail"
    );
    println!(
        "slowest {:.1} ms ({n_slow} above {} ms), peak memory {} MB above the start",
        slowest.as_secs_f64() * 1e3,
        MOST_TIME.as_millis(),
        peak / 1_000_000
    );
    if n_failed > 0 || n_slow > 0 || peak > MOST_BYTES {
        std::process::exit(1);
    }
}

#[derive(Default)]
struct Tally {
    n_refused: usize,
    n_accepted: usize,
    n_failed: usize,
    n_slow: usize,
    slowest: Duration,
}

impl Tally {
    fn try_file(&mut self, bytes: &[u8], kind: &str, dataset: &Dataset) {
        let start = Instant::now();
        let model = Model::from_bytes(bytes);
        let took = start.elapsed();
        self.slowest = self.slowest.max(took);
        if took > MOST_TIME {
            self.n_slow += 1;
            println!("{kind}, {} bytes: {took:?}", bytes.len());
        }
        match model {
            Err(_) => self.n_refused += 1,
            Ok(model) => match model.predict(dataset.frame()) {
                Ok(_) => self.n_accepted += 1,
                Err(error) => {
                    self.n_failed += 1;
                    println!("{kind}: accepted, and then {error}");
                }
            },
        }
    }
}

/// Ninety rows of two classes, two numbers and a category.
fn dataset() -> Dataset {
    let numbers =
        |k: u32| (0..90u32).map(|i| f64::from((i * 37 * k) % 23) + f64::from(i % 2)).collect();
    let codes = Column::Categorical { codes: (0..90).map(|i| i * 5 % 4).collect(), n_levels: 4 };
    let columns = vec![Column::Numeric(numbers(1)), Column::Numeric(numbers(3)), codes];
    Dataset::new(columns, Labels::from_codes((0..90).map(|i| i % 2), 2))
}

/// Models of several searches, which differ in what they are made of.
fn good_files(dataset: &Dataset) -> Vec<Vec<u8>> {
    let search = |n, seed| {
        let hour = Duration::from_secs(3600);
        let automl = AutoMl::new().time_budget(hour).max_evaluations(n).repeatable(true);
        automl.seed(seed).fit(dataset).expect("a model").to_bytes().expect("bytes")
    };
    [(12, 0), (40, 1), (60, 0), (100, 2)].map(|(n, seed)| search(n, seed)).to_vec()
}

/// A file that is not as it was written, and what was done to it.
fn bad_file(good: &[Vec<u8>], numbers: &mut Numbers) -> (Vec<u8>, &'static str) {
    let mut bytes = good[numbers.below(good.len())].clone();
    match numbers.below(10) {
        0 => {
            bytes.truncate(numbers.below(bytes.len()));
            (bytes, "cut short")
        }
        1 | 2 => {
            for _ in 0..=numbers.below(4) {
                let at = numbers.below(bytes.len());
                bytes[at] ^= 1 << numbers.below(8);
            }
            (bytes, "bits turned")
        }
        kind => {
            let mut all = sections(&bytes);
            let at = numbers.below(all.len());
            let said = forge(&mut all[at], kind, numbers);
            (file(2, &all), said)
        }
    }
}

/// Changes a section; header and checksum will be in order.
fn forge(section: &mut Section, kind: usize, numbers: &mut Numbers) -> &'static str {
    let plain = &mut section.plain;
    match kind {
        3 | 4 => {
            let (at, n) = (numbers.below(plain.len()), 1 + numbers.below(9));
            let end = (at + n).min(plain.len());
            plain[at..end].fill(0xff);
            "a large number"
        }
        5 => {
            let (at, n) = (numbers.below(plain.len()), numbers.below(4 << 20));
            plain.splice(at..at, std::iter::repeat_n(0, n));
            "zeros put in"
        }
        6 => {
            // A length that says millions, and as many empty lists.
            let at = numbers.below(plain.len());
            plain.truncate(at);
            plain.extend_from_slice(&[0x80, 0x80, 0x80, 0x02]);
            plain.resize(plain.len() + (4 << 20), 0);
            "empty lists"
        }
        7 => {
            let (at, n) = (numbers.below(plain.len()), numbers.below(64));
            let end = (at + n).min(plain.len());
            let again = plain[at..end].to_vec();
            plain.splice(at..at, again);
            "a piece twice"
        }
        _ => {
            for _ in 0..=numbers.below(3) {
                let at = numbers.below(plain.len());
                plain[at] = numbers.below(256) as u8;
            }
            "bytes changed"
        }
    }
}

/// What this process says of its memory, in bytes.
fn status(name: &str) -> u64 {
    let text =
        fs::read_to_string("/proc/self/status").or_else(|error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Ok(String::new()),
            _ => Err(error),
        });
    let text = text.expect("what the process says of itself");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().map_or(0, |kib| kib * 1024)
}
