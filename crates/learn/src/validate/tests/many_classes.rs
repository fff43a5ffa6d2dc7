//! Fifty and two hundred classes.

use super::*;
use crate::estimate::{DecisionTree, EstimatorSpec};

/// Classes in a grid of two columns, each a small cloud.
fn clouds(n: usize, n_classes: u32) -> Dataset {
    let mut rng = Stream::new(u64::from(n_classes)).rng();
    let mut noise = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    let codes: Vec<u32> = (0..n as u32).map(|i| i % n_classes).collect();
    let mut axis = |of: fn(u32) -> u32| -> Column {
        Column::numeric(codes.iter().map(|&c| f64::from(of(c)) + 0.5 * noise()).collect::<Vec<_>>())
    };
    let columns = vec![axis(|c| c % 10), axis(|c| c / 10)];
    Dataset::new(columns, Labels::from_codes(codes, n_classes as usize))
}

#[test]
fn every_kind_tells_fifty_and_two_hundred_classes_apart() {
    for (n, n_classes) in [(400, 50), (800, 200)] {
        let dataset = clouds(n, n_classes);
        let mut kinds: Vec<EstimatorKind> = Vec::new();
        let mut is_new = |spec: &EstimatorSpec| {
            let kind = spec.kind();
            // Boosting grows a tree for each class and round: seconds for one setting.
            let is_slow = kind == EstimatorKind::GradientBoosting && n_classes > 50;
            !is_slow && !kinds.contains(&kind) && {
                kinds.push(kind);
                true
            }
        };
        let space = SearchSpace::paper();
        let specs: Vec<EstimatorSpec> =
            space.estimators().iter().filter(|spec| is_new(spec)).cloned().collect();
        let preparation = Preparation::default();
        let pipelines: Vec<Pipeline> =
            specs.into_iter().map(|estimator| Pipeline { preparation, estimator }).collect();
        let outcomes = keeping_predictions(2).outcomes(&dataset, &pipelines).unwrap();
        for (pipeline, outcome) in pipelines.iter().zip(&outcomes) {
            check_probabilities(outcome, &pipeline.to_string());
            let Outcome::Finished(evaluation) = outcome else { panic!("{pipeline}: {outcome:?}") };
            let is_linear = ["perceptron", "linear_svm", "adaboost", "logistic_regression", "mlp"];
            let least = if is_linear.contains(&pipeline.estimator.name()) { 0.0 } else { 0.5 };
            assert!(evaluation.native.accuracy >= least, "{pipeline}: {:?}", evaluation.native);
            assert!(evaluation.roc_auc.is_some_and(|area| area > 0.5), "{pipeline}");
        }
    }
}

#[test]
fn a_family_that_takes_too_much_memory_is_run_in_parts() {
    let dataset = clouds(900, 50);
    let preparation = Preparation::default();
    let is_tree =
        |e: &&EstimatorSpec| matches!(e, EstimatorSpec::DecisionTree(DecisionTree { .. }));
    let trees =
        SearchSpace::paper().estimators().iter().filter(is_tree).cloned().collect::<Vec<_>>();
    let pipelines: Vec<Pipeline> =
        trees.into_iter().map(|estimator| Pipeline { preparation, estimator }).collect();
    // Each of fifteen parts may take twice the probabilities of one tree: 300 rows of 50 classes.
    let memory_limit = Some(15 * 2 * 300 * 50 * 8);
    let short = Validation { memory_limit, ..keeping_predictions(1) };
    let plenty = keeping_predictions(1).outcomes(&dataset, &pipelines).unwrap();
    for (a, b) in short.outcomes(&dataset, &pipelines).unwrap().iter().zip(&plenty) {
        assert!(matches!(a, Outcome::Finished(_)), "{a:?}");
        assert_eq!(numbers(a), numbers(b));
    }
}
