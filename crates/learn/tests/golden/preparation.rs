//! Imputers, encoders, the scaler and the reducers.

use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::{FitContext, Preparation, RawFeatures};
use serde::Deserialize;

use crate::table::{Table, cases};

/// Rounding of other sums, relative to the largest number of a column; the files hold ten digits.
const TOLERANCE: f64 = 1e-6;

#[derive(Deserialize)]
struct Case {
    setting: Preparation,
    n_cols: usize,
    x: Vec<f64>,
}

#[test]
fn prepared_rows_are_scikit_learns() {
    for (name, cases) in cases::<Case>("preparation") {
        let table = Table::read(&name);
        let (dataset, ctx) = (table.dataset(), FitContext::unhurried());
        let (train, test) = table.rows(0);
        for case in cases {
            let y = dataset.labels().select(&train);
            let (fitted, _) =
                case.setting.fit(&RawFeatures::of_rows(dataset.frame(), &train), &y, &ctx).unwrap();
            let n_rows = case.x.len() / case.n_cols;
            let ours = fitted
                .transform(&RawFeatures::of_rows(dataset.frame(), &test[..n_rows]), &ctx)
                .unwrap();
            assert_eq!(ours.n_cols(), case.n_cols, "{name}: {:?}", case.setting);
            for j in 0..case.n_cols {
                let theirs: Vec<f64> = (0..n_rows).map(|i| case.x[i * case.n_cols + j]).collect();
                let flips = matches!(case.setting.reducer, Reducer::Pca(_));
                compare(
                    ours.column(j),
                    &theirs,
                    flips,
                    &format!("{name}: {:?}, column {j}", case.setting),
                );
            }
        }
    }
}

/// Component-wise agreement; a principal component may point either way.
fn compare(ours: &[f64], theirs: &[f64], may_flip: bool, place: &str) {
    let size = theirs.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
    let away = |sign: f64| {
        ours.iter().zip(theirs).fold(0.0, |m: f64, (a, b)| m.max((a - sign * b).abs())) / size
    };
    let off = if may_flip { away(1.0).min(away(-1.0)) } else { away(1.0) };
    assert!(off <= TOLERANCE, "{place}: off by {off:e}");
}
