//! Model files of every format that was ever written keep loading, and say what they said then.
//!
//! So do surrogates. Theirs are the default surrogates of the last release or commit that wrote a format, byte for byte up to the
//! end of their heads; the numbers of their matrices, five megabytes, are all 1 here (in steps of rows: one step).
//!
//! `PITCHPIPE_WRITE_FORMAT=1 cargo nextest run --release --workspace -E 'test(format)'` writes the file of the
//! present format; one that was released is never written again.

use std::path::PathBuf;
use std::time::Duration;

use pitchpipe_automl::surrogate::{ErrorKind, Surrogate, TableSize};
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

#[test]
fn surrogates_of_earlier_formats_load_and_are_written_anew() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    let boosting = Some("histogram_boosting");
    for (format, n_pipelines, added) in
        [(1, 23_424, None), (2, 23_475, boosting), (3, 23_475, boosting)]
    {
        let file = folder.join(format!("{format}.surrogate"));
        let surrogate = Surrogate::read(&file).expect("a surrogate of an earlier format");
        assert_eq!(surrogate.space().n_pipelines(), n_pipelines, "format {format}");
        assert_eq!(surrogate.facts().datasets.len(), 765, "format {format}");
        assert_eq!(surrogate.best_on_average().index(), 18_997, "format {format}");
        assert_eq!(surrogate.added_blocks().first().map(|block| &*block.name), added);
        for kind in [ErrorKind::Native, ErrorKind::Decided] {
            let prior = surrogate.prior(kind).expect("a prior");
            assert_eq!(prior.n_pipelines(), n_pipelines, "format {format}");
            assert!(prior.mean().iter().all(|&mean| mean == 1.0), "format {format}");
        }
        let secs = surrogate.runtimes().predict_secs(&TableSize::of(&dataset()));
        assert!(secs.len() == n_pipelines && secs.iter().all(|s| s.is_finite()));

        let again = surrogate.to_bytes().expect("packed");
        let again = Surrogate::from_bytes(&again).expect("what was just written");
        assert_eq!(again.facts(), surrogate.facts(), "format {format}");
        let has_tucker = again.paper_parts().tensor.is_some();
        assert_eq!((has_tucker, again.tensor_oboe().is_none()), (format > 2, format > 2));
        assert_eq!(again.added_blocks(), surrogate.added_blocks(), "format {format}");
    }
}
