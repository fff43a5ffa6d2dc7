//! Model files that were damaged, cut short or forged: always an error, never a panic.

mod common;

use std::time::Duration;

use common::{Numbers, Section, file, section, sections, with_header};

use pitchpipe_automl::{AutoMl, Model, ModelFileError, Report};
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
    let automl = AutoMl::new().time_budget(hour).max_evaluations(n_evaluations).repeatable(true);
    automl.fit(&dataset()).expect("a model")
}

#[test]
fn damaged_files_are_refused() {
    let bytes = model(12).to_bytes().expect("bytes");
    let mut numbers = Numbers(1);
    for round in 0..5_000 {
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

/// What was accepted gives a class and probabilities for each row.
fn check_predictions(model: &Model, dataset: &Dataset) {
    let predictions = model.predict(dataset.frame()).expect("what is accepted predicts");
    assert_eq!(predictions.labels.len(), dataset.n_rows());
    for row in 0..dataset.n_rows() {
        let p = predictions.probabilities.row(row);
        assert!(p.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p)), "{p:?}");
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{p:?}");
    }
}

/// The same damage within the checksum: what still loads predicts without panic or endless loop.
#[test]
fn forged_files_are_refused_or_predict() {
    let sections = sections(&model(60).to_bytes().expect("bytes"));
    let dataset = dataset();
    let mut numbers = Numbers(2);
    for at in 0..sections.len() {
        let (mut n_loaded, mut n_refused) = (0, 0);
        for _ in 0..1_000 {
            let mut forged = sections.clone();
            let bytes = &mut forged[at].plain;
            for _ in 0..=numbers.below(3) {
                let at = numbers.below(bytes.len());
                bytes[at] = numbers.below(256) as u8;
            }
            match Model::from_bytes(&file(2, &forged)) {
                Ok(model) => {
                    n_loaded += 1;
                    check_predictions(&model, &dataset);
                }
                Err(_) => n_refused += 1,
            }
        }
        let name = &sections[at].name;
        assert!(n_refused > 100, "{name}: {n_refused} refused");
        assert!(n_loaded > 100 || name != "learners", "{name}: {n_loaded} loaded");
    }
}

/// The same for the one piece of format 1, by the file that stands for all of them.
#[test]
fn forged_files_of_format_1_are_refused_or_predict() {
    let bytes = include_bytes!("formats/1.pp");
    let mut plain = Vec::new();
    let mut decoder = zstd::stream::read::Decoder::new(&bytes[36..]).expect("zstd");
    std::io::Read::read_to_end(&mut decoder, &mut plain).expect("unpacked");
    let mut numbers = Numbers(3);
    let (mut n_loaded, mut n_refused) = (0, 0);
    for _ in 0..1_000 {
        let mut forged = plain.clone();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(forged.len());
            forged[at] = numbers.below(256) as u8;
        }
        let body = zstd::bulk::compress(&forged, 1).expect("compressed");
        match Model::from_bytes(&with_header(1, forged.len() as u64, &body)) {
            Ok(_) => n_loaded += 1,
            Err(_) => n_refused += 1,
        }
    }
    assert!(n_loaded > 100 && n_refused > 100, "{n_loaded} loaded, {n_refused} refused");
}

#[test]
fn a_bomb_is_not_unpacked() {
    let bomb = zstd::bulk::compress(&vec![0u8; 64 << 20], 19).expect("compressed");
    let err = Model::from_bytes(&with_header(1, 1_000, &bomb)).expect_err("a bomb");
    assert_eq!(err.to_string(), "is not a valid model: it unpacks to other than 1000 bytes");
    let mut body = Vec::new();
    section(&mut body, "model", 1, 1_000, &bomb);
    let err = Model::from_bytes(&with_header(2, 1_000, &body)).expect_err("a bomb");
    assert_eq!(err.to_string(), "is not a valid model: it unpacks to other than 1000 bytes");
    // A section that says that it is larger than the whole is not unpacked either.
    let mut body = Vec::new();
    section(&mut body, "model", 1, 64 << 20, &bomb);
    assert!(Model::from_bytes(&with_header(2, 1_000, &body)).is_err());
}

/// A list takes a byte of a file and two dozen in memory.
#[test]
fn a_file_of_empty_lists_is_refused() {
    let mut sections = sections(&model(12).to_bytes().expect("bytes"));
    let learners = sections.iter_mut().find(|s| s.name == "learners").expect("learners");
    // No priors, no weights, and eight million base learners without models.
    learners.plain = vec![0, 0, 0x80, 0x80, 0x80, 0x04];
    learners.plain.resize(8 << 20, 0);
    let err = Model::from_bytes(&file(2, &sections)).expect_err("nothing but empty lists");
    assert!(err.to_string().starts_with("is not a valid model: section \"learners\""), "{err}");
}

#[test]
fn sections_of_later_programs_are_skipped() {
    let model = model(12);
    let mut sections = sections(&model.to_bytes().expect("bytes"));
    let later = Section { name: "forecast".into(), version: 7, plain: b"whatever".to_vec() };
    sections.insert(1, later);
    let read = Model::from_bytes(&file(2, &sections)).expect("a model");
    let dataset = dataset();
    let predictions = |model: &Model| model.predict(dataset.frame()).expect("predictions");
    assert_eq!(predictions(&read), predictions(&model));
    assert_eq!(read.report(), model.report());
    // Fields that are added to what is JSON are skipped as well.
    let report = sections.iter_mut().find(|s| s.name == "report").expect("a report");
    report.plain.splice(1..1, *b"\"mood\":\"good\",");
    assert!(Model::from_bytes(&file(2, &sections)).is_ok());
}

#[test]
fn what_a_file_lacks_or_has_in_another_version_is_named() {
    let sections = sections(&model(12).to_bytes().expect("bytes"));
    for at in 0..sections.len() {
        let name = &sections[at].name;
        let mut fewer = sections.clone();
        fewer.remove(at);
        if name == "history" {
            continue;
        }
        let err = Model::from_bytes(&file(2, &fewer)).expect_err("too few").to_string();
        assert_eq!(err, format!("is not a valid model: it has no section {name:?}"));
        let mut later = sections.clone();
        later[at].version = 2;
        let err = Model::from_bytes(&file(2, &later)).expect_err("a later one").to_string();
        let expected =
            format!("has version 2 of the section {name:?}; this pitchpipe reads version 1");
        assert_eq!(err, expected);
    }
}

#[test]
fn a_model_does_without_a_history_or_with_one_of_a_later_version() {
    let model = model(12);
    let history = model.history().expect("a search keeps it");
    let Report { n_evaluated, n_failed, n_out_of_time, .. } = *model.report();
    assert_eq!(history.trials.len(), n_evaluated + n_failed + n_out_of_time);
    let bytes = model.to_bytes().expect("bytes");
    assert_eq!(Model::from_bytes(&bytes).expect("a model").history(), Some(history));
    let all = sections(&bytes);
    let at = all.iter().position(|s| s.name == "history").expect("a history");
    let mut fewer = all.clone();
    fewer.remove(at);
    let mut later = all.clone();
    later[at].version = 2;
    later[at].plain = b"something else".to_vec();
    for sections in [fewer, later] {
        let read = Model::from_bytes(&file(2, &sections)).expect("a model");
        assert_eq!((read.history(), read.report()), (None, model.report()));
    }
}

#[test]
fn other_files_are_told_apart() {
    assert!(matches!(Model::from_bytes(b"size,kind\n1,a\n"), Err(ModelFileError::NotAModel)));
    let mut later = model(12).to_bytes().expect("bytes");
    later[8] = 3;
    let err = Model::from_bytes(&later).expect_err("a later format");
    assert_eq!(err.to_string(), "has model format 3; this pitchpipe reads formats 1 and 2");
    let mut short = model(12).to_bytes().expect("bytes");
    short.pop();
    assert!(matches!(Model::from_bytes(&short), Err(ModelFileError::Truncated { .. })));
}
