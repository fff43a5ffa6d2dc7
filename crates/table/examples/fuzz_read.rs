//! Feeds damaged tables to the readers: `fuzz_read TARGET SECONDS SEED CORPUS [KEEP]`.
//!
//! A mutation fuzzer that needs nothing but stable Rust. In place of coverage it keeps the inputs that
//! lead to a new outcome: another kind of error, or another sequence of column types
//! and notes. With KEEP, small ones are written to CORPUS, whose files `tests/fuzz_corpus.rs`
//! replays. For the binary formats the input at work is kept in `fuzz_read.TARGET.current`, in shared
//! memory or in `target/fuzz`, so that one that kills the process is not lost.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use pitchpipe_table::{
    CancelCheck, Cells, Format, RawTable, ReadOptions, Source, TableError, read,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[path = "../tests/common/invariants.rs"]
mod invariants;
#[path = "../tests/common/seeds.rs"]
mod seeds;

/// Inputs grow no further than this.
const MAX_BYTES: usize = 8192;
/// Only inputs this small are kept with the project.
const MAX_KEPT_BYTES: usize = 400;
/// And no more than this many a run.
const MAX_KEPT: usize = 60;
/// No input of this size should take longer.
const SLOW: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, seconds, seed, corpus, keep @ ..] = arguments.as_slice() else {
        eprintln!("usage: fuzz_read csv|arff|gzip|parquet|arrow SECONDS SEED CORPUS [KEEP]");
        return ExitCode::FAILURE;
    };
    let seconds: u64 = seconds.parse().expect("SECONDS is a number");
    let seed: u64 = seed.parse().expect("SEED is a number");
    // What a caught panic says is said below, once.
    std::panic::set_hook(Box::new(|_| {}));
    let mut fuzzer = Fuzzer::new(target, seed, Path::new(corpus));
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut crashes = 0;
    let mut n_runs = 0u64;
    while Instant::now() < deadline {
        let input = fuzzer.mutate();
        n_runs += 1;
        if let Err(crash) = fuzzer.run(&input) {
            crashes += 1;
            let path = fuzzer.folder.join(format!("{target}.crash{crashes}"));
            std::fs::write(&path, &input).expect("target/fuzz can be written");
            println!("{target}: {crash}: {}", path.display());
            if crashes >= 10 {
                break;
            }
        }
    }
    if !keep.is_empty() {
        fuzzer.keep(Path::new(corpus));
    }
    println!(
        "{target}: {n_runs} inputs in {seconds} s (seed {seed}), {} outcomes, {crashes} crashes",
        fuzzer.outcomes.len()
    );
    if crashes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Fuzzer {
    target: String,
    random: Xoshiro256PlusPlus,
    pool: Vec<Vec<u8>>,
    /// How many of the pool came from the seeds and the corpus.
    n_seeds: usize,
    outcomes: HashSet<String>,
    folder: PathBuf,
}

impl Fuzzer {
    fn new(target: &str, seed: u64, corpus: &Path) -> Self {
        let folder = PathBuf::from("target/fuzz");
        std::fs::create_dir_all(&folder).expect("target/fuzz can be made");
        let mut pool = seeds::seeds(target);
        assert!(!pool.is_empty(), "the targets are csv, arff, gzip, parquet and arrow");
        let kept = std::fs::read_dir(corpus.join(target)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = kept.map(|entry| entry.path()).collect();
        paths.sort();
        pool.extend(paths.iter().filter_map(|path| std::fs::read(path).ok()));
        let mut fuzzer = Self {
            target: target.to_owned(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            n_seeds: pool.len(),
            pool: pool.clone(),
            outcomes: HashSet::new(),
            folder,
        };
        for input in pool {
            let outcome = outcome(&input, &fuzzer.options());
            fuzzer.outcomes.insert(outcome);
        }
        fuzzer
    }

    fn options(&self) -> ReadOptions {
        // Otherwise most mutations of the first bytes would only ever reach the CSV reader.
        let format = match self.target.as_str() {
            "csv" => Some(Format::Csv),
            "arff" => Some(Format::Arff),
            "parquet" => Some(Format::Parquet),
            "arrow" => Some(Format::Arrow),
            _ => None,
        };
        ReadOptions { format, ..ReadOptions::default() }
    }

    /// Reads the input; an error if that panics, breaks a promise or takes long.
    fn run(&mut self, input: &[u8]) -> Result<(), String> {
        if matches!(self.target.as_str(), "parquet" | "arrow") {
            let shared = Path::new("/dev/shm");
            let folder = if shared.is_dir() { shared } else { &self.folder };
            let current = folder.join(format!("fuzz_read.{}.current", self.target));
            std::fs::write(current, input).expect("target/fuzz can be written");
        }
        let start = Instant::now();
        let options = self.options();
        let result = catch_unwind(AssertUnwindSafe(|| outcome(input, &options)));
        let outcome = result.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
                .unwrap_or_else(|| "a panic".to_owned())
        })?;
        if start.elapsed() > SLOW {
            return Err(format!("took {:?}", start.elapsed()));
        }
        if self.outcomes.insert(outcome) {
            self.pool.push(input.to_vec());
        }
        Ok(())
    }

    /// A pool entry with some damage.
    fn mutate(&mut self) -> Vec<u8> {
        let random = &mut self.random;
        let mut input = self.pool[random.random_range(0..self.pool.len())].clone();
        for _ in 0..1 << random.random_range(0..5u32) {
            let at = random.random_range(0..=input.len());
            let end = (at + random.random_range(0..20)).min(input.len());
            match random.random_range(0..9u32) {
                0 if at < input.len() => input[at] ^= 1 << random.random_range(0..8u32),
                1 if at < input.len() => input[at] = random.random(),
                2 => drop(input.drain(at..end)),
                3 => {
                    let piece = input[at..end].to_vec();
                    input.splice(at..at, piece);
                }
                4 => input.truncate(at),
                5 => {
                    let words = seeds::words(&self.target);
                    let word = words[random.random_range(0..words.len())];
                    input.splice(at..at, word.iter().copied());
                }
                6 => {
                    let other = &self.pool[random.random_range(0..self.pool.len())];
                    let from = random.random_range(0..=other.len());
                    let to = (from + random.random_range(0..200)).min(other.len());
                    input.splice(at..end, other[from..to].iter().copied());
                }
                7 if at + 4 <= input.len() => {
                    let values = [0, 1, u32::MAX, i32::MAX as u32, 1 << 31, random.random()];
                    let value = values[random.random_range(0..values.len())];
                    input[at..at + 4].copy_from_slice(&value.to_le_bytes());
                }
                _ => input.splice(at..at, [b'\n', b',', b'"', b'1'].map(|b| b)).for_each(drop),
            }
        }
        input.truncate(MAX_BYTES);
        input
    }

    /// A columnar file has a long footer even when it holds little.
    fn max_kept_bytes(&self) -> usize {
        if matches!(self.target.as_str(), "parquet" | "arrow") { 3000 } else { MAX_KEPT_BYTES }
    }

    /// Writes the small inputs that led to new outcomes.
    fn keep(&self, corpus: &Path) {
        let folder = corpus.join(&self.target);
        std::fs::create_dir_all(&folder).expect("the corpus can be written");
        let new = self.pool[self.n_seeds..].iter();
        for input in new.filter(|input| input.len() <= self.max_kept_bytes()).take(MAX_KEPT) {
            let hash = xxhash_rust::xxh3::xxh3_64(input);
            std::fs::write(folder.join(format!("{hash:016x}")), input)
                .expect("the corpus can be written");
        }
    }
}

/// What became of an input, details aside.
fn outcome(input: &[u8], options: &ReadOptions) -> String {
    let source = Source::Bytes { name: "f".to_owned(), bytes: input.to_vec() };
    match read(&source, options, &CancelCheck::never()) {
        Ok(table) => {
            invariants::check(&table);
            shape(&table)
        }
        Err(error) => message(&error),
    }
}

fn shape(table: &RawTable) -> String {
    let kind = |cells: &Cells| match cells {
        Cells::Numbers { integers: true, .. } => 'i',
        Cells::Numbers { .. } => 'n',
        Cells::Text { .. } => 't',
        Cells::Nominal { .. } => 'l',
        Cells::Instants { .. } => 'd',
    };
    let kinds: String = table.columns.iter().take(3).map(|c| kind(&c.cells)).collect();
    let notes =
        table.notes.iter().map(|note| note.to_string().chars().take(20).collect::<String>());
    kinds + &letters(&notes.filter(|note| !note.contains('"')).collect::<String>())
}

/// The variant and, where it says what was expected, that.
fn message(error: &TableError) -> String {
    // Also asks for the words, which must not panic either.
    let _ = (error.to_string(), error.help());
    let variant = format!("{error:?}").split([' ', '{']).next().unwrap_or_default().to_owned();
    let detail = match error {
        TableError::ArffSyntax { expected, .. } | TableError::BadCell { expected, .. } => *expected,
        TableError::Corrupt { reason, .. } => reason.get(..24).unwrap_or(reason),
        _ => "",
    };
    variant + &letters(detail)
}

/// Without numbers and signs, which differ from input to input.
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphabetic).collect()
}
