//! What holds for every estimator made of trees.

use std::time::{Duration, Instant};

use pitchpipe_table::Labels;

use super::sample::NodeRng;
use crate::estimate::{
    AdaBoost, Criterion, DecisionTree, ExtraTrees, GradientBoosting, MaxFeatures, MinSamplesSplit,
    RandomForest,
};
use crate::{Classifier, Estimator, Features, FitContext, FitError, Prediction, Stream};

/// Columns of many values, few values, two values and one value; classes that depend on them, with
/// noise, so that equal rows differ in class.
fn table(n_rows: usize, n_cols: usize, n_classes: usize, seed: u64) -> (Features, Labels) {
    let mut rng = NodeRng::new(Stream::new(seed));
    let mut values = Vec::with_capacity(n_rows * n_cols);
    for column in 0..n_cols {
        for _ in 0..n_rows {
            values.push(match column % 4 {
                0 => rng.unit() * 6.0 - 3.0,
                1 => rng.below(7) as f64,
                2 => rng.below(2) as f64,
                _ => 4.5,
            });
        }
    }
    let x = Features::from_columns(n_rows, n_cols, values);
    let class = |row: usize| {
        let score = x.column(0)[row] + if n_cols > 1 { x.column(1)[row] * 0.5 } else { 0.0 };
        (score.abs() * n_classes as f64 / 4.0 + rng.unit()) as u32 % n_classes as u32
    };
    let mut codes: Vec<u32> = (0..n_rows).map(class).collect();
    (0..n_classes).for_each(|k| codes[k] = k as u32);
    (x, Labels::from_codes(codes, n_classes))
}

const SPLITS: [MinSamplesSplit; 9] = [
    MinSamplesSplit::Fraction(1e-4),
    MinSamplesSplit::Fraction(0.01),
    MinSamplesSplit::Fraction(0.1),
    MinSamplesSplit::Count(1024),
    MinSamplesSplit::Count(128),
    MinSamplesSplit::Count(16),
    MinSamplesSplit::Count(2),
    MinSamplesSplit::Count(4),
    MinSamplesSplit::Count(64),
];

/// Every member of a family is, model and prediction, what its own fit gives.
fn assert_family_is_its_members<E>(members: &[E])
where
    E: Estimator + std::fmt::Debug,
    E::Fitted: PartialEq + std::fmt::Debug,
{
    for (n_rows, n_cols, n_classes) in [(120, 9, 2), (300, 5, 4), (60, 1, 3)] {
        let (x, y) = table(n_rows, n_cols, n_classes, 1);
        let (test, _) = table(80, n_cols, n_classes, 2);
        let ctx = FitContext::unhurried().with_stream(Stream::new(7));
        let family = E::evaluate_family(members, &x, &y, &test, true, &ctx);
        assert_eq!(family.len(), members.len());
        for (member, result) in members.iter().zip(family) {
            let result = result.unwrap();
            let alone = member.fit(&x, &y, &ctx).unwrap();
            assert!(result.model.as_ref() == Some(&alone), "{member:?}: another model");
            let prediction = alone.predict(&test, &ctx).unwrap();
            assert!(result.prediction == prediction, "{member:?}: another prediction");
            assert!(result.alone_secs >= 0.0 && result.marginal_secs >= 0.0);
        }
    }
}

#[test]
fn a_truncated_decision_tree_is_the_one_grown_with_that_setting() {
    let members = SPLITS.map(|min_samples_split| DecisionTree { min_samples_split });
    assert_family_is_its_members(&members);
}

#[test]
fn a_truncated_random_forest_is_the_one_grown_with_that_setting() {
    for criterion in [Criterion::Gini, Criterion::Entropy] {
        let members = SPLITS.map(|min_samples_split| RandomForest { min_samples_split, criterion });
        assert_family_is_its_members(&members);
    }
}

#[test]
fn truncated_extra_trees_are_those_grown_with_that_setting() {
    for criterion in [Criterion::Gini, Criterion::Entropy] {
        let members = SPLITS.map(|min_samples_split| ExtraTrees { min_samples_split, criterion });
        assert_family_is_its_members(&members);
    }
}

#[test]
fn a_hundred_stumps_begin_with_fifty() {
    for learning_rate in [1.0, 3.0] {
        let members = [100, 50, 1].map(|n_estimators| AdaBoost { n_estimators, learning_rate });
        assert_family_is_its_members(&members);
    }
}

#[test]
fn boosting_evaluates_as_it_fits() {
    let members = [MaxFeatures::All, MaxFeatures::Log2].map(|max_features| GradientBoosting {
        max_features,
        max_depth: 6,
        ..GradientBoosting::default()
    });
    assert_family_is_its_members(&members);
}

#[test]
fn what_a_family_costs_is_shared_out_among_its_members() {
    let (x, y) = table(200, 8, 3, 1);
    let members = SPLITS.map(|s| RandomForest { min_samples_split: s, ..Default::default() });
    let family =
        RandomForest::evaluate_family(&members, &x, &y, &x, false, &FitContext::unhurried());
    let family: Vec<_> = family.into_iter().map(Result::unwrap).collect();
    let alone: f64 = family.iter().map(|member| member.alone_secs).sum();
    let shared: f64 = family.iter().map(|member| member.marginal_secs).sum();
    // Each bears as large a share of what it cost as it would have taken alone; how long that was is for benchmarks.
    for member in &family {
        let (own, part) = (member.alone_secs / alone, member.marginal_secs / shared);
        assert!((own - part).abs() < 1e-9, "{own} {part}");
    }
}

/// Fits with everything, on one table.
fn predict_with_all(x: &Features, y: &Labels) -> Vec<(&'static str, Result<Prediction, FitError>)> {
    fn one<E: Estimator>(
        estimator: E,
        x: &Features,
        y: &Labels,
    ) -> (&'static str, Result<Prediction, FitError>) {
        let ctx = FitContext::unhurried();
        (E::NAME, estimator.fit(x, y, &ctx).and_then(|model| model.predict(x, &ctx)))
    }
    let entropy = Criterion::Entropy;
    let quick = GradientBoosting { max_features: MaxFeatures::Log2, ..Default::default() };
    vec![
        one(DecisionTree::default(), x, y),
        one(RandomForest::default(), x, y),
        one(RandomForest { criterion: entropy, ..Default::default() }, x, y),
        one(ExtraTrees::default(), x, y),
        one(ExtraTrees { criterion: entropy, ..Default::default() }, x, y),
        one(GradientBoosting::default(), x, y),
        one(quick, x, y),
        one(AdaBoost::default(), x, y),
        one(AdaBoost { n_estimators: 100, learning_rate: 3.0 }, x, y),
    ]
}

fn assert_all_predict(x: &Features, y: &Labels) -> Vec<Prediction> {
    let check = |(name, prediction): (&str, Result<Prediction, FitError>)| {
        let prediction = prediction.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(prediction.labels.len(), x.n_rows());
        for row in 0..x.n_rows() {
            let row = prediction.probabilities.row(row);
            assert!(row.iter().all(|p| (0.0..=1.0 + 1e-12).contains(p)), "{name}: {row:?}");
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{name}: {row:?}");
        }
        prediction
    };
    predict_with_all(x, y).into_iter().map(check).collect()
}

#[test]
fn one_column_or_many_two_classes_or_fifty() {
    for (n_rows, n_cols, n_classes) in [(2, 1, 2), (3, 2, 3), (40, 1, 2), (150, 12, 50)] {
        let (x, y) = table(n_rows, n_cols, n_classes, 3);
        assert_all_predict(&x, &y);
    }
}

#[test]
fn constant_columns_leave_the_shares_of_the_classes() {
    let x = Features::from_columns(4, 2, vec![1.0; 8]);
    let y = Labels::from_codes([0, 1, 1, 1], 2);
    let mut predictions = assert_all_predict(&x, &y);
    predictions.pop(); // AdaBoost with a rate of 3 overshoots from one stump to the next.
    assert!(predictions.iter().all(|p| p.labels.codes() == [1; 4]));
    let ctx = FitContext::unhurried();
    let tree = DecisionTree::default().fit(&x, &y, &ctx).unwrap();
    assert_eq!(tree.predict(&x, &ctx).unwrap().probabilities.row(0), [0.25, 0.75]);
}

#[test]
fn equal_rows_of_different_classes_share_a_leaf() {
    let x = Features::from_columns(6, 1, vec![1.0, 1.0, 1.0, 5.0, 5.0, 5.0]);
    let y = Labels::from_codes([0, 0, 1, 1, 1, 1], 2);
    assert_all_predict(&x, &y);
    let ctx = FitContext::unhurried();
    let tree = DecisionTree::default().fit(&x, &y, &ctx).unwrap();
    let prediction = tree.predict(&x, &ctx).unwrap();
    assert_eq!(prediction.probabilities.row(2), [2.0 / 3.0, 1.0 / 3.0]);
    assert_eq!(prediction.probabilities.row(3), [0.0, 1.0]);
}

#[test]
fn values_within_a_ten_millionth_are_equal() {
    let y = Labels::from_codes([0, 0, 1, 1], 2);
    let labels = |upper: f64| {
        let x = Features::from_columns(4, 1, vec![0.0, 0.0, upper, upper]);
        let ctx = FitContext::unhurried();
        let tree = DecisionTree::default().fit(&x, &y, &ctx).unwrap();
        tree.predict(&x, &ctx).unwrap().labels
    };
    assert_eq!(labels(1e-7).codes(), [0; 4]);
    assert_eq!(labels(2e-7).codes(), [0, 0, 1, 1]);
}

#[test]
fn denormal_and_large_numbers_are_told_apart_as_far_as_single_precision_can() {
    let x = Features::from_columns(4, 2, vec![1e-310, -1e-310, 1e-40, 0.0, -3e38, 3e38, 1e38, 0.0]);
    let y = Labels::from_codes([0, 1, 1, 0], 2);
    assert_all_predict(&x, &y);
}

#[test]
fn numbers_beyond_single_precision_are_refused_in_training_and_not_when_asked() {
    let y = Labels::from_codes([0, 1, 0], 2);
    let huge = Features::from_columns(3, 1, vec![1e300, 0.0, -1e300]);
    for (component, prediction) in predict_with_all(&huge, &y) {
        assert_eq!(prediction.unwrap_err(), FitError::NotFinite { component });
    }
    let x = Features::from_columns(3, 1, vec![-1.0, 1.0, -2.0]);
    let ctx = FitContext::unhurried();
    let tree = DecisionTree::default().fit(&x, &y, &ctx).unwrap();
    assert_eq!(tree.predict(&huge, &ctx).unwrap().labels.codes(), [1, 0, 0]);
}

#[test]
fn no_columns_are_refused() {
    let (x, y) = (Features::from_columns(2, 0, Vec::new()), Labels::from_codes([0, 1], 2));
    for (component, prediction) in predict_with_all(&x, &y) {
        assert_eq!(prediction.unwrap_err(), FitError::NoFeatures { component });
    }
}

#[test]
fn a_deadline_ends_a_fit_from_within() {
    let (x, y) = table(3000, 60, 3, 4);
    let deadline = Instant::now() + Duration::from_millis(3);
    let ctx = FitContext::unhurried().with_deadline(Some(deadline));
    let family = RandomForest::evaluate_family(&[RandomForest::default()], &x, &y, &x, false, &ctx);
    assert!(matches!(family[0], Err(FitError::OutOfTime)));
    let refused = GradientBoosting::default().fit(&x, &y, &ctx);
    assert_eq!(refused.unwrap_err(), FitError::OutOfTime);
}

#[test]
fn too_little_memory_is_refused_beforehand() {
    let (x, y) = table(100, 4, 2, 4);
    let ctx = FitContext::unhurried().with_memory_limit(Some(1000));
    let refused = DecisionTree::default().fit(&x, &y, &ctx);
    assert!(matches!(refused, Err(FitError::OutOfMemory { .. })));
}

#[test]
fn a_forest_that_outgrows_the_memory_is_given_up() {
    let (x, y) = table(400, 4, 2, 4);
    let family = |limit| {
        let ctx = FitContext::unhurried().with_memory_limit(Some(limit));
        RandomForest::evaluate_family(&[RandomForest::default()], &x, &y, &x, true, &ctx).remove(0)
    };
    let bytes = match family(30_000) {
        Err(FitError::OutOfMemory { needed, .. }) => needed,
        other => panic!("a hundred trees in 30 kB: {:?}", other.map(|m| m.alone_secs)),
    };
    assert!(bytes < 60_000, "{bytes}: it should have stopped at the first tree too many");
    assert!(family(10_000_000).is_ok());
}

#[test]
fn settings_that_come_to_the_same_forest_share_it() {
    let (x, y) = table(100, 4, 2, 4);
    let splits = [MinSamplesSplit::Count(2), MinSamplesSplit::Fraction(0.0001)];
    let members = splits.map(|s| RandomForest { min_samples_split: s, ..Default::default() });
    let ctx = FitContext::unhurried();
    let family = RandomForest::evaluate_family(&members, &x, &y, &x, true, &ctx);
    let models: Vec<_> = family.into_iter().filter_map(|m| m.unwrap().model).collect();
    assert!(models[0].shares_trees_with(&models[1]));
}

#[test]
fn forests_learn_what_depends_on_the_columns() {
    let (x, y) = table(600, 9, 2, 5);
    let (test, truth) = table(400, 9, 2, 6);
    let ctx = FitContext::unhurried();
    let right = |prediction: Prediction| {
        let pairs = prediction.labels.codes().iter().zip(truth.codes());
        pairs.filter(|(a, b)| a == b).count() as f64 / 400.0
    };
    let forest = RandomForest::default().fit(&x, &y, &ctx).unwrap();
    let boosted = GradientBoosting::default().fit(&x, &y, &ctx).unwrap();
    let majority = truth.counts().into_iter().max().unwrap() as f64 / 400.0;
    for share in
        [right(forest.predict(&test, &ctx).unwrap()), right(boosted.predict(&test, &ctx).unwrap())]
    {
        assert!(share > majority + 0.05, "{share} against {majority}");
    }
}
