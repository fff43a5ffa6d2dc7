//! A search from a dataset to a model file and back.

use std::time::Duration;

use pitchpipe_automl::{AutoMl, Model};
use pitchpipe_table::{Column, Dataset, Labels};

/// Three classes that two of four columns tell apart, but for noise.
fn dataset(n_rows: usize) -> Dataset {
    let number = |i: usize, j: usize| {
        let z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(2 * j as u64 + 3);
        ((z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / f64::from(1 << 24)
    };
    let class = |i: usize| (i * 7 % 3) as f64;
    let column = |j: usize| {
        let signal = if j < 2 { 0.7 } else { 0.0 };
        Column::Numeric((0..n_rows).map(|i| signal * class(i) + number(i, j)).collect())
    };
    let labels = Labels::from_codes((0..n_rows).map(|i| class(i) as u32), 3);
    Dataset::new((0..4).map(column).collect(), labels)
}

fn search() -> AutoMl {
    AutoMl::new().time_budget(Duration::from_secs(600)).max_evaluations(8)
}

#[test]
fn a_model_predicts_and_survives_its_file() {
    let dataset = dataset(240);
    let model = search().fit(&dataset).expect("a model");
    let predictions = model.predict(&dataset).expect("predictions");
    let right = predictions.labels.codes().iter().zip(dataset.labels().codes());
    let n_right = right.filter(|(a, b)| a == b).count();
    assert!(n_right > 160, "{n_right} of 240");
    let read = Model::from_bytes(&model.to_bytes().expect("bytes")).expect("a model");
    assert_eq!(read.predict(&dataset).expect("predictions"), predictions);
    assert_eq!(read.report(), model.report());
}
