//! Model files of every format that was ever written keep loading, and say what they said then.
//!
//! `PITCHPIPE_WRITE_FORMAT=1 cargo nextest run --release --workspace -E 'test(format)'` writes the file of the
//! present format; one that was released is never written again.

use std::path::PathBuf;
use std::time::Duration;

use pitchpipe_automl::{AutoMl, FORMAT, Model};
use pitchpipe_table::{Column, Dataset, Labels, MISSING_CODE};

fn dataset() -> Dataset {
    let number = |i: u32| f64::from(i * 7919 % 101) / 10.0 + f64::from(i % 3) * 4.0;
    let mut numbers: Vec<f64> = (0..120).map(number).collect();
    numbers[5] = f64::NAN;
    let mut codes: Vec<u32> = (0..120).map(|i| (i % 3 + i * 31 % 7 / 5) % 4).collect();
    codes[9] = MISSING_CODE;
    let more = (0..120).map(|i| f64::from(i * 613 % 37) - f64::from(i % 3)).collect();
    let columns =
        vec![Column::numeric(numbers), Column::categorical(codes, 4), Column::Numeric(more)];
    Dataset::new(columns, Labels::from_codes((0..120).map(|i| i % 3), 3))
}

fn place(format: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formats/{format}.pp"))
}

/// Labels as a text of digits.
fn labels(model: &Model) -> String {
    let predictions = model.predict(dataset().frame()).expect("predictions");
    predictions.labels.codes().iter().map(u32::to_string).collect()
}

#[test]
fn models_of_all_formats_load() {
    if std::env::var_os("PITCHPIPE_WRITE_FORMAT").is_some() {
        let automl = AutoMl::new()
            .time_budget(Duration::from_secs(3600))
            .max_evaluations(40)
            .repeatable(true);
        let model = automl.model_size_limit(60_000).fit(&dataset()).expect("a model");
        model.write(&place(FORMAT)).expect("written");
        std::fs::write(place(FORMAT).with_extension("labels"), labels(&model)).expect("written");
    }
    for format in 1..=FORMAT {
        let model = Model::read(&place(format)).expect("a model of an earlier format");
        let expected =
            std::fs::read_to_string(place(format).with_extension("labels")).expect("its labels");
        assert_eq!(labels(&model), expected.trim(), "format {format}");
    }
}
