//! Model files that were damaged, cut short or forged: always an error, never a panic.

use std::time::Duration;

use pitchpipe_automl::{AutoMl, Model, ModelFileError};
use pitchpipe_table::{Column, Dataset, Labels};

fn dataset() -> Dataset {
    let numbers =
        |k: u32| (0..90u32).map(|i| f64::from((i * 37 * k) % 23) + f64::from(i % 2)).collect();
    let codes = Column::Categorical { codes: (0..90).map(|i| i * 5 % 4).collect(), n_levels: 4 };
    let columns = vec![Column::Numeric(numbers(1)), Column::Numeric(numbers(3)), codes];
    Dataset::new(columns, Labels::from_codes((0..90).map(|i| i % 2), 2))
}

fn model(n_evaluations: usize) -> Model {
    let hour = Duration::from_secs(3600);
    let automl = AutoMl::new().time_budget(hour).max_evaluations(n_evaluations);
    automl.fit(&dataset()).expect("a model")
}

/// A stream of numbers that does not depend on the machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

#[test]
fn damaged_files_are_refused() {
    let bytes = model(12).to_bytes().expect("bytes");
    let mut numbers = Numbers(1);
    for round in 0..100_000 {
        let mut damaged = bytes.clone();
        match round % 3 {
            0 => damaged.truncate(numbers.below(bytes.len())),
            1 => {
                for _ in 0..=numbers.below(4) {
                    let at = numbers.below(damaged.len());
                    damaged[at] ^= 1 << numbers.below(8);
                }
            }
            _ => {
                let (at, n) = (numbers.below(damaged.len()), numbers.below(64));
                let end = (at + n).min(damaged.len());
                damaged[at..end].iter_mut().for_each(|b| *b = numbers.below(256) as u8);
            }
        }
        if damaged != bytes {
            assert!(Model::from_bytes(&damaged).is_err(), "round {round}");
        }
    }
}

/// The same damage within the checksum: what still loads predicts without panic or endless loop.
#[test]
fn forged_files_are_refused_or_predict() {
    let model = model(60);
    let plain = postcard::to_stdvec(&model).expect("bytes");
    let dataset = dataset();
    let mut numbers = Numbers(2);
    let (mut n_loaded, mut n_refused) = (0, 0);
    for _ in 0..1_500 {
        let mut forged = plain.clone();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(forged.len());
            forged[at] = numbers.below(256) as u8;
        }
        match Model::from_bytes(&packed(&forged)) {
            Ok(model) => {
                n_loaded += 1;
                let _ = model.predict(dataset.frame());
            }
            Err(_) => n_refused += 1,
        }
    }
    assert!(n_loaded > 100 && n_refused > 100, "{n_loaded} loaded, {n_refused} refused");
}

/// A file around these bytes, header and checksum in order.
fn packed(plain: &[u8]) -> Vec<u8> {
    let packed = zstd::bulk::compress(plain, 1).expect("compressed");
    let mut bytes = b"PITCHPIP".to_vec();
    bytes.extend_from_slice(&1u32.to_le_bytes());
    bytes.extend_from_slice(&(plain.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(packed.len() as u64).to_le_bytes());
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(&bytes[8..28]);
    hash.update(&packed);
    bytes.extend_from_slice(&hash.digest().to_le_bytes());
    bytes.extend_from_slice(&packed);
    bytes
}

#[test]
fn a_bomb_is_not_unpacked() {
    let bomb = zstd::bulk::compress(&vec![0u8; 64 << 20], 19).expect("compressed");
    let mut bytes = packed(&[]);
    bytes.truncate(12);
    bytes.extend_from_slice(&1_000u64.to_le_bytes());
    bytes.extend_from_slice(&(bomb.len() as u64).to_le_bytes());
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(&bytes[8..28]);
    hash.update(&bomb);
    bytes.extend_from_slice(&hash.digest().to_le_bytes());
    bytes.extend_from_slice(&bomb);
    let err = Model::from_bytes(&bytes).expect_err("a bomb");
    assert_eq!(err.to_string(), "is not a valid model: it unpacks to other than 1000 bytes");
}

#[test]
fn other_files_are_told_apart() {
    assert!(matches!(Model::from_bytes(b"size,kind\n1,a\n"), Err(ModelFileError::NotAModel)));
    let mut later = model(12).to_bytes().expect("bytes");
    later[8] = 3;
    let err = Model::from_bytes(&later).expect_err("a later format");
    assert_eq!(err.to_string(), "has model format 3; this pitchpipe reads format 1");
    let mut short = model(12).to_bytes().expect("bytes");
    short.pop();
    assert!(matches!(Model::from_bytes(&short), Err(ModelFileError::Truncated { .. })));
}
