//! Tables that nobody hopes for: never a panic, never a probability that is none.

use proptest::prelude::*;

use pitchpipe_table::UNSEEN_CODE;

use super::*;
use crate::RawFeatures;
use crate::encode::Encoder;
use crate::estimate::{
    AdaBoost, EstimatorSpec, GradientBoosting, LinearSvm, LogisticRegression, Mlp,
};
use crate::reduce::Reducer;
use crate::scale::Scaler;

fn estimator(position: usize) -> EstimatorSpec {
    SearchSpace::paper().estimators()[position].clone()
}

/// One estimator of each kind, and the grid's extremes.
fn one_of_each() -> Vec<EstimatorSpec> {
    [0, 4, 9, 18, 13, 32, 54, 77, 80, 82, 83, 98, 99, 100, 101, 130, 131, 142, 143, 161, 174, 178]
        .map(estimator)
        .to_vec()
}

fn pipelines(preparations: &[Preparation]) -> Vec<Pipeline> {
    let all = |&preparation| {
        one_of_each().into_iter().map(move |estimator| Pipeline { preparation, estimator })
    };
    preparations.iter().flat_map(all).collect()
}

fn all_preparations(imputers: &[Imputer]) -> Vec<Preparation> {
    let mut all = Vec::new();
    for &imputer in imputers {
        for encoder in Encoder::OF_NUMBERS {
            for scaler in Scaler::ALL {
                for reducer in Reducer::ALL {
                    all.push(Preparation { imputer, encoder, scaler, reducer });
                }
            }
        }
    }
    all
}

/// Evaluates and looks at every probability; gives how many finished and the failures' words.
fn survives(dataset: &Dataset, pipelines: &[Pipeline]) -> (usize, Vec<String>) {
    let outcomes = keeping_predictions(2).outcomes(dataset, pipelines).unwrap();
    let mut failures = Vec::new();
    for (pipeline, outcome) in pipelines.iter().zip(&outcomes) {
        check_probabilities(outcome, &pipeline.to_string());
        match outcome {
            Outcome::Finished(_) => {}
            // A panic is contained, and would pass for a refusal.
            Outcome::Failed(err @ FitError::Internal { .. }) => panic!("{pipeline}: {err}"),
            Outcome::Failed(err) => failures.push(err.to_string()),
            Outcome::OutOfTime { .. } => panic!("{pipeline} ran out of time that it had"),
        }
    }
    (pipelines.len() - failures.len(), failures)
}

/// What a table may make a component say.
fn are_of_the_table(failures: &[String]) -> bool {
    let said = ["leaves no feature", "met numbers too large to compute with"];
    let is_one = |f: &String| said.iter().any(|words| f.ends_with(words));
    failures.iter().all(|f| is_one(f) || f.starts_with("knn asks for "))
}

fn numeric(columns: Vec<Vec<f64>>, codes: Vec<u32>, n_classes: usize) -> Dataset {
    let columns = columns.into_iter().map(Column::numeric).collect();
    Dataset::new(columns, Labels::from_codes(codes, n_classes))
}

#[test]
fn one_class_is_predicted_by_those_that_do_not_raise() {
    let dataset = numeric(vec![(0..12).map(f64::from).collect()], vec![1; 12], 3);
    let pipelines = pipelines(&[Preparation::default()]);
    let outcomes = keeping_predictions(1).outcomes(&dataset, &pipelines).unwrap();
    for (pipeline, outcome) in pipelines.iter().zip(outcomes) {
        match outcome {
            Outcome::Finished(evaluation) => {
                assert!(!pipeline.estimator.kind().character().refuses_one_class);
                assert_eq!(evaluation.native.accuracy, 1.0);
            }
            Outcome::Failed(FitError::OneClass { .. }) => {
                assert!(pipeline.estimator.kind().character().refuses_one_class);
            }
            other => panic!("{pipeline}: {other:?}"),
        }
    }
}

#[test]
fn a_class_seen_only_in_test_rows_is_measured_and_never_predicted() {
    // The class of a single row is missing from the training rows of the fold that tests it.
    let mut codes: Vec<u32> = (0..40).map(|i| i % 2).collect();
    codes[7] = 3;
    let columns = vec![(0..40).map(|i| f64::from(i % 2) + f64::from(i) * 0.01).collect()];
    let dataset = numeric(columns, codes, 4);
    let (finished, failures) = survives(&dataset, &pipelines(&[Preparation::default()]));
    assert_eq!((finished, failures), (one_of_each().len(), vec![]));
}

#[test]
fn more_classes_than_rows_of_a_fold() {
    let n = 24;
    let columns =
        vec![(0..n).map(f64::from).collect(), (0..n).map(|i| f64::from(i * i % 7)).collect()];
    let dataset = numeric(columns, (0..n).map(|i| i % 12).collect(), 12);
    let preparations = all_preparations(&[Imputer::Mean]);
    let (finished, _) = survives(&dataset, &pipelines(&preparations));
    assert!(finished > 0);
}

#[test]
fn columns_that_become_constant_in_a_fold() {
    let mut rare = vec![0.0; 30];
    rare[4] = 1.0;
    let columns = vec![rare, (0..30).map(|i| f64::from(i % 2)).collect(), vec![f64::NAN; 30]];
    let dataset = numeric(columns, (0..30).map(|i| i % 2).collect(), 2);
    let (_, failures) = survives(&dataset, &pipelines(&all_preparations(&[Imputer::Constant])));
    assert!(failures.iter().all(|f| f.ends_with("leaves no feature")), "{failures:?}");
}

#[test]
fn far_more_columns_than_rows() {
    let mut rng = Stream::new(1).rng();
    let columns: Vec<Vec<f64>> = (0..10_000)
        .map(|_| (0..60).map(|_| (rng.next_u64() >> 40) as f64 / 1e6).collect())
        .collect();
    let dataset = numeric(columns, (0..60).map(|i| i % 3).collect(), 3);
    let cheap = [18, 82, 83, 84, 99, 100, 143, 174].map(estimator);
    let preparation = Preparation::default();
    let mut wide: Vec<Pipeline> =
        cheap.map(|estimator| Pipeline { preparation, estimator }).to_vec();
    for reducer in Reducer::ALL {
        let preparation = Preparation { reducer, ..preparation };
        wide.push(Pipeline { preparation, estimator: estimator(82) });
    }
    let (finished, failures) = survives(&dataset, &wide);
    assert_eq!((finished, failures), (wide.len(), vec![]));
}

#[test]
fn huge_tiny_and_collinear_columns() {
    let n = 30;
    let base: Vec<f64> = (0..n).map(|i| f64::from((i * 37) % 11) - 5.0).collect();
    let times = |factor: f64| base.iter().map(|v| v * factor).collect::<Vec<f64>>();
    let codes: Vec<u32> = (0..n).map(|i| i % 2).collect();
    for (at, columns) in [
        vec![times(1e300), times(1.0)],
        vec![times(1e-310), times(5e-324)],
        vec![times(1.0), times(2.0), times(-3.0), times(1.0)],
        vec![times(1e154), times(1e-154), times(3e38)],
        vec![times(3e307), times(-3e307)],
    ]
    .into_iter()
    .enumerate()
    {
        let dataset = numeric(columns, codes.clone(), 2);
        let pipelines = pipelines(&all_preparations(&[Imputer::Mean]));
        let (finished, failures) = survives(&dataset, &pipelines);
        assert!(are_of_the_table(&failures), "{failures:?}");
        let n_least = if at == 2 { pipelines.len() } else { 1 };
        assert!(finished >= n_least, "table {at}: {finished} finished: {failures:?}");
    }
}

#[test]
fn empty_columns_and_categories_that_training_rows_lack() {
    let n = 36u32;
    let columns = vec![
        Column::numeric(vec![f64::NAN; n as usize]),
        Column::categorical(vec![MISSING_CODE; n as usize], 2),
        // Every row has a category of its own: all test rows are unseen.
        Column::Categorical { codes: (0..n).collect(), n_levels: n },
        Column::Numeric((0..n).map(|i| f64::from(i % 5)).collect()),
    ];
    let labels = Labels::from_codes((0..n).map(|i| i % 3), 3);
    let dataset = Dataset::new(columns, labels);
    let (finished, _) = survives(&dataset, &pipelines(&all_preparations(&Imputer::FILLING)));
    assert!(finished > 0);
}

#[test]
fn nothing_but_missing_cells() {
    let dataset = numeric(vec![vec![f64::NAN; 9]; 4], (0..9).map(|i| i % 2).collect(), 2);
    let preparation = Preparation { imputer: Imputer::Median, ..Preparation::default() };
    let (finished, failures) = survives(&dataset, &pipelines(&[preparation]));
    assert_eq!(finished, 0);
    assert!(failures.iter().all(|f| f == "imputer leaves no feature"), "{failures:?}");
}

#[test]
fn too_few_rows_or_folds_and_no_columns_are_errors() {
    let dataset = numeric(vec![vec![1.0]], vec![0], 2);
    let err = Validation::default().outcomes(&dataset, &[]).unwrap_err();
    assert_eq!(err.to_string(), "cross-validation asks for 2 rows but was given 1");
    let options = Validation { n_folds: 1, ..Validation::default() };
    let err = options.outcomes(&numeric_table(20, 2, 1), &[]).unwrap_err();
    assert_eq!(err.to_string(), "cross-validation asks for at least two folds, not 1");
    let empty = numeric(vec![], vec![0, 1, 0, 1, 0, 1], 2);
    let (finished, _) = survives(&empty, &pipelines(&all_preparations(&Imputer::FILLING)));
    assert_eq!(finished, 0);
}

#[test]
fn settings_without_a_meaning_are_refused_and_spare_their_family() {
    let of = |n_estimators, learning_rate| Pipeline {
        preparation: Preparation::default(),
        estimator: AdaBoost { n_estimators, learning_rate }.into(),
    };
    let pipelines = [of(50, 1.0), of(0, 1.0), of(100, 1.0), of(50, -1.0), of(50, f64::NAN)];
    let (finished, failures) = survives(&numeric_table(60, 3, 1), &pipelines);
    assert_eq!(finished, 2);
    let refused = [
        "adaboost was given n_estimators=0, but it must be above zero",
        "adaboost was given learning_rate=-1, but it must be above zero",
        "adaboost was given learning_rate=NaN, but it must be above zero",
    ];
    assert_eq!(failures, refused);
    let bad: [EstimatorSpec; 4] = [
        GradientBoosting { learning_rate: 0.0, ..GradientBoosting::default() }.into(),
        LinearSvm { c: -1.0 }.into(),
        LogisticRegression { c: f64::INFINITY, ..LogisticRegression::default() }.into(),
        Mlp { alpha: -0.1, ..Mlp::default() }.into(),
    ];
    let bad = bad.map(|estimator| Pipeline { preparation: Preparation::default(), estimator });
    assert_eq!(survives(&numeric_table(60, 3, 1), &bad).0, 0);
}

#[test]
fn two_hundred_thousand_rows_finish_or_run_out_of_time() {
    let n = 200_000;
    let column = |step: f64| (0..n).map(|i| (f64::from(i) * step).sin()).collect::<Vec<_>>();
    let columns = vec![column(0.7), column(1.3), column(2.9)];
    let codes = (0..n as usize).map(|i| u32::from(columns[0][i] + columns[1][i] > 0.1)).collect();
    let dataset = numeric(columns, codes, 2);
    let limit = Some(std::time::Duration::from_millis(400));
    let pipelines = pipelines(&[Preparation::default()]);
    let validation = Validation { pipeline_limit: limit, ..keeping_predictions(2) };
    let outcomes = validation.outcomes(&dataset, &pipelines).unwrap();
    for (pipeline, outcome) in pipelines.iter().zip(&outcomes) {
        check_probabilities(outcome, &pipeline.to_string());
        assert!(!matches!(outcome, Outcome::Failed(_)), "{pipeline}: {outcome:?}");
    }
}

#[test]
fn a_category_never_met_is_all_zeros_or_missing() {
    let ctx = FitContext::unhurried();
    let table = |codes: Vec<u32>| {
        let labels = Labels::from_codes(vec![0; codes.len()], 2);
        Dataset::new(vec![Column::categorical(codes, 3)], labels)
    };
    let seen = table(vec![2, 2]);
    let raw = |table| RawFeatures::of_rows(table, &[0, 1]);
    let y = Labels::from_codes([0, 1], 2);
    let new = table(vec![UNSEEN_CODE, MISSING_CODE]);
    let prepared = |encoder| {
        let imputer = Imputer::MostFrequent;
        let (scaler, reducer) = (Scaler::None, Reducer::None);
        let preparation = Preparation { imputer, encoder, scaler, reducer };
        let (fitted, _) = preparation.fit(&raw(seen.frame()), &y, &ctx).unwrap();
        fitted.transform(&raw(new.frame()), &ctx).unwrap().rows().to_vec()
    };
    assert_eq!(prepared(Encoder::OneHot), [0.0, 1.0]);
    assert_eq!(prepared(Encoder::None), [2.0, 2.0]);
}

#[test]
fn new_rows_unlike_any_seen_are_predicted() {
    let dataset = mixed_table(60, 3, 9);
    let n = 4;
    let strange = Dataset::new(
        vec![
            Column::numeric(vec![1e308, -1e308, f64::NAN, f64::INFINITY]),
            Column::numeric(vec![f64::NAN; n]),
            Column::categorical(vec![3, UNSEEN_CODE, MISSING_CODE, 0], 4),
            Column::numeric(vec![-1e308; n]),
            Column::numeric(vec![5e-324; n]),
            Column::numeric(vec![0.0, 1.5, -2.0, f64::NAN]),
        ],
        Labels::from_codes(vec![0; n], 3),
    );
    let ctx = FitContext::unhurried();
    for pipeline in pipelines(&all_preparations(&[Imputer::Median])) {
        let Ok(model) = pipeline.fit(&dataset, &ctx) else { continue };
        let prediction = model.predict(strange.frame(), &ctx).unwrap();
        for i in 0..n {
            let row = prediction.probabilities.row(i);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{pipeline}: {row:?}");
        }
        let other = numeric_table(4, 2, 1);
        assert!(matches!(model.predict(other.frame(), &ctx), Err(FitError::OtherColumns { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_small_table_is_survived(
        columns in prop::collection::vec(prop::collection::vec(prop_oneof![
            Just(f64::NAN), -2.0..2.0f64, any::<f64>(), Just(0.0), Just(1e300)], 18), 1..5),
        codes in prop::collection::vec(0u32..3, 18),
        position in 0usize..128,
    ) {
        let dataset = numeric(columns, codes, 3);
        let pipelines = pipelines(&[SearchSpace::paper().preparations()[position]]);
        let (finished, failures) = survives(&dataset, &pipelines);
        prop_assert!(are_of_the_table(&failures), "{:?}", failures);
        prop_assert_eq!(finished + failures.len(), pipelines.len());
    }
}
