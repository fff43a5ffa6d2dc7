//! Estimators that draw at random: their mean balanced error over ten seeds.

use pitchpipe_learn::{FitContext, Stream};
use pitchpipe_table::balanced_error_rate;
use serde::Deserialize;
use serde_json::Value;

use crate::fit::fit_and_predict;
use crate::table::{Split, Table, cases};

/// How far two means of ten may lie apart; `cargo xtask parity` holds larger tables to the same.
const TOLERANCE: f64 = 0.01;

#[derive(Deserialize)]
struct Case {
    spec: Value,
    errors: Vec<f64>,
}

fn compare(kind: &str) {
    let (mut met, mut far) = (0, Vec::new());
    for (name, cases) in cases::<Case>("stochastic") {
        let table = Table::read(&name);
        let splits: Vec<Split> = (0..3).map(|fold| table.standardised(fold)).collect();
        for case in cases.iter().filter(|case| case.spec.get(kind).is_some()) {
            met += 1;
            let error = |seed: u64| {
                let ctx = FitContext::unhurried().with_stream(Stream::new(seed));
                let fold = |split: &Split| {
                    let ours = fit_and_predict(&case.spec, split, &ctx)
                        .unwrap_or_else(|e| panic!("{name}, {}: {e}", case.spec));
                    balanced_error_rate(&split.y_test, &ours.labels)
                };
                splits.iter().map(fold).sum::<f64>() / 3.0
            };
            let n = case.errors.len();
            let ours = (0..n as u64).map(error).sum::<f64>() / n as f64;
            let theirs = case.errors.iter().sum::<f64>() / n as f64;
            if (ours - theirs).abs() > TOLERANCE {
                far.push(format!("{name}, {}: {ours:.4}, scikit-learn {theirs:.4}", case.spec));
            }
        }
    }
    assert!(met > 0, "no case of {kind}");
    assert!(far.is_empty(), "{} of {met} differ:\n{}", far.len(), far.join("\n"));
}

macro_rules! kinds {
    ($($test:ident $kind:literal,)*) => {
        $(#[test]
        fn $test() {
            compare($kind);
        })*
    };
}

kinds! {
    adaboosts_err_like_scikit_learns "AdaBoost",
    extra_trees_err_like_scikit_learns "ExtraTrees",
    gradient_boostings_err_like_scikit_learns "GradientBoosting",
    logistic_regressions_by_saga_err_like_scikit_learns "LogisticRegression",
    multilayer_perceptrons_err_like_scikit_learns "Mlp",
    perceptrons_err_like_scikit_learns "Perceptron",
    random_forests_err_like_scikit_learns "RandomForest",
    linear_svms_at_their_limit_err_like_scikit_learns "LinearSvm",
}
