use pitchpipe_table::Labels;

use super::*;
use crate::estimate::EstimatorSpec;
use crate::{Classifier, Prediction};

/// Numbers that look random and are the same everywhere.
fn noise(i: usize, salt: u64) -> f64 {
    Stream::new(salt).child(i as u64).key() as f64 / u64::MAX as f64
}

/// A table of numbers, gaps and two categories with classes that depend on all of them.
fn table(n: usize, n_classes: u32, salt: u64) -> (Features, Labels) {
    let cell = |i: usize, j: u64| noise(i, salt + j);
    let mut columns = Vec::new();
    for j in 0..3 {
        let gap = |i: usize| cell(i, 50 + j) < 0.1;
        columns.extend((0..n).map(|i| if gap(i) { f64::NAN } else { cell(i, j) }));
    }
    let level = |i: usize| (cell(i, 3) * 3.0).floor();
    let many = |i: usize| (cell(i, 4) * 40.0).floor();
    columns.extend((0..n).map(level));
    columns.extend((0..n).map(|i| if cell(i, 53) < 0.1 { f64::NAN } else { many(i) }));
    let x = Features::from_columns(n, 5, columns)
        .with_categories(vec![false, false, false, true, true]);
    let score = |i: usize| {
        let number = |j: usize| if x.column(j)[i].is_nan() { 0.9 } else { x.column(j)[i] };
        let odd = if many(i) as u32 * 7 % 5 < 2 { 0.7 } else { 0.0 };
        number(0) + number(1) * level(i) / 2.0 + odd + 0.4 * cell(i, 5)
    };
    let class = |i: usize| ((score(i) / 2.6 * f64::from(n_classes)) as u32).min(n_classes - 1);
    let codes: Vec<u32> = (0..n).map(class).collect();
    (x, Labels::from_codes(codes, n_classes as usize))
}

fn fit(settings: &HistogramBoosting, x: &Features, y: &Labels) -> FittedHistogramBoosting {
    settings.check().unwrap();
    settings.fit(x, y, &FitContext::unhurried()).unwrap()
}

fn error(model: &FittedHistogramBoosting, x: &Features, y: &Labels) -> f64 {
    let labels = model.predict(x, &FitContext::unhurried()).unwrap().labels;
    let wrong = labels.codes().iter().zip(y.codes()).filter(|(a, b)| a != b).count();
    wrong as f64 / y.len() as f64
}

fn few_rounds() -> HistogramBoosting {
    HistogramBoosting { max_iter: 20, learning_rate: 0.3, ..Default::default() }
}

#[test]
fn new_rows_with_gaps_and_categories_are_mostly_right() {
    for (n_classes, most) in [(2, 0.12), (4, 0.25)] {
        let ((x, y), (new, truth)) = (table(3000, n_classes, 0), table(1000, n_classes, 900));
        let model = fit(&few_rounds(), &x, &y);
        assert!(model.is_sound(5) && !model.is_sound(4));
        let found = error(&model, &new, &truth);
        assert!(found < most, "{n_classes} classes: {found}");
    }
}

#[test]
fn each_member_of_a_family_is_its_own_fit() {
    for (n_classes, row_share, column_share) in [(2, 1.0, 1.0), (3, 0.7, 0.6)] {
        let ((x, y), (test, _)) = (table(600, n_classes, 0), table(200, n_classes, 7));
        let member = |max_iter| HistogramBoosting {
            max_iter,
            row_share,
            column_share,
            min_samples_leaf: 5,
            ..few_rounds()
        };
        let members = [12, 3, 30].map(member);
        assert!(members[0].is_family_of(&members[1]));
        let ctx = FitContext::unhurried().with_stream(Stream::new(3));
        let results = HistogramBoosting::evaluate_family(&members, &x, &y, &test, true, &ctx);
        for (member, result) in members.iter().zip(results) {
            let Member { prediction, model, .. } = result.unwrap();
            let alone = member.fit(&x, &y, &ctx).unwrap();
            assert_eq!(model.as_ref(), Some(&alone));
            assert_eq!(prediction, alone.predict(&test, &ctx).unwrap());
        }
    }
    assert!(!few_rounds().is_family_of(&HistogramBoosting { learning_rate: 0.2, ..few_rounds() }));
}

#[test]
fn a_deadline_leaves_the_members_whose_rounds_were_done() {
    let ((x, y), (test, _)) = (table(500, 2, 0), table(50, 2, 7));
    let member = |max_iter| HistogramBoosting { max_iter, ..few_rounds() };
    let members = [member(2), member(50_000_000)];
    let deadline = std::time::Instant::now() + std::time::Duration::from_millis(400);
    let ctx = FitContext::unhurried().with_deadline(Some(deadline));
    let results = HistogramBoosting::evaluate_family(&members, &x, &y, &test, false, &ctx);
    assert!(results[0].is_ok());
    assert_eq!(results[1].as_ref().err(), Some(&FitError::OutOfTime));
}

#[test]
fn any_number_of_threads_gives_one_model() {
    let (x, y) = table(60_000, 3, 0);
    // All rows of a tree, and some of them.
    for row_share in [1.0, 0.8] {
        let settings = HistogramBoosting { max_iter: 3, row_share, ..few_rounds() };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // A copy, as the bins are kept.
            pool.install(|| fit(&settings, &x.clone(), &y))
        };
        assert_eq!(on(1), on(3));
        assert_eq!(on(1), on(16));
    }
}

#[test]
fn gaps_go_the_way_that_was_learnt() {
    // The class is whether the number is missing.
    let n = 400;
    let cells: Vec<f64> = (0..n).map(|i| if i % 4 == 0 { f64::NAN } else { noise(i, 1) }).collect();
    let y = Labels::from_codes((0..n as u32).map(|i| u32::from(i % 4 == 0)), 2);
    let x = Features::from_columns(n, 1, cells).with_categories(vec![false]);
    let model = fit(&few_rounds(), &x, &y);
    assert_eq!(error(&model, &x, &y), 0.0);
}

#[test]
fn a_gap_never_met_goes_with_the_larger_child() {
    // 30 rows below and 70 above: the larger side is the second class.
    let cells: Vec<f64> = (0..100).map(f64::from).collect();
    let y = Labels::from_codes((0..100).map(|i| u32::from(i >= 30)), 2);
    let x = Features::from_columns(100, 1, cells);
    let model = fit(&few_rounds(), &x, &y);
    let gap = Features::from_columns(1, 1, vec![f64::NAN]).with_categories(vec![false]);
    let answer = model.predict(&gap, &FitContext::unhurried()).unwrap();
    assert_eq!(answer.labels.codes(), [1]);
}

#[test]
fn categories_are_parted_by_what_they_mean_and_not_by_their_code() {
    // Of 60 levels every third is of the second class: no single threshold on codes says that.
    let n = 6000;
    let level = |i: usize| (noise(i, 2) * 60.0).floor();
    let y = Labels::from_codes((0..n).map(|i| u32::from(level(i) as u32 % 3 == 0)), 2);
    let x = Features::from_columns(n, 1, (0..n).map(level).collect());
    let one_round = HistogramBoosting { max_iter: 1, max_leaf_nodes: 2, ..few_rounds() };
    let as_numbers = fit(&one_round, &x, &y);
    let as_categories = fit(&one_round, &x.with_categories(vec![true]), &y);
    let p = |model: &FittedHistogramBoosting, level: f64| {
        let x = Features::from_columns(1, 1, vec![level]).with_categories(vec![true]);
        model.predict(&x, &FitContext::unhurried()).unwrap().probabilities.row(0)[1]
    };
    assert_ne!(as_numbers, as_categories);
    let (least, most) = (0..60).fold((1.0, 0.0), |(least, most): (f64, f64), k| {
        let p = p(&as_categories, f64::from(k));
        if k % 3 == 0 { (least.min(p), most) } else { (least, most.max(p)) }
    });
    assert!(least > most, "{least} {most}");
    // A level never met goes with the larger child, here the first class.
    assert!(p(&as_categories, 77.0) <= most);
}

#[test]
fn leaves_keep_to_their_number_and_to_their_rows() {
    let (x, y) = table(1000, 2, 0);
    let settings =
        HistogramBoosting { max_leaf_nodes: 6, min_samples_leaf: 100, max_iter: 1, ..few_rounds() };
    let model = fit(&settings, &x, &y);
    let answers = model.predict(&x, &FitContext::unhurried()).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for row in 0..1000 {
        *counts.entry(answers.probabilities.row(row)[1].to_bits()).or_insert(0) += 1;
    }
    assert!((2..=6).contains(&counts.len()), "{counts:?}");
    assert!(counts.values().all(|&n| n >= 100), "{counts:?}");
}

#[test]
fn a_table_that_tells_nothing_gives_the_shares() {
    let x = Features::from_columns(50, 2, vec![1.0; 100]);
    let y = Labels::from_codes((0..50).map(|i| u32::from(i < 10)), 2);
    let model = fit(&few_rounds(), &x, &y);
    let Prediction { probabilities, .. } = model.predict(&x, &FitContext::unhurried()).unwrap();
    assert!((probabilities.row(3)[1] - 0.2).abs() < 1e-6);
}

#[test]
fn settings_without_a_meaning_are_refused() {
    let refused = |settings: HistogramBoosting| settings.check().unwrap_err().to_string();
    let plain = HistogramBoosting::default();
    assert_eq!(
        refused(HistogramBoosting { max_leaf_nodes: 1, ..plain.clone() }),
        "histogram_boosting was given max_leaf_nodes=1, but it must be between 2 and 4096"
    );
    for settings in [
        HistogramBoosting { min_leaf_weight: f64::NAN, ..plain.clone() },
        HistogramBoosting { learning_rate: f64::NAN, ..plain.clone() },
        HistogramBoosting { min_samples_leaf: 0, ..plain.clone() },
        HistogramBoosting { l2_regularization: -1.0, ..plain.clone() },
        HistogramBoosting { column_share: 0.0, ..plain.clone() },
        HistogramBoosting { row_share: 1.5, ..plain.clone() },
        HistogramBoosting { max_iter: 0, ..plain },
    ] {
        assert!(settings.check().is_err(), "{settings:?}");
    }
}

#[test]
fn memory_beyond_the_ceiling_is_not_asked_for() {
    let (x, y) = table(2000, 2, 0);
    let ctx = FitContext::unhurried().with_memory_limit(Some(50_000));
    let err = HistogramBoosting::default().fit(&x, &y, &ctx).unwrap_err();
    assert!(matches!(err, FitError::OutOfMemory { .. }), "{err}");
}

#[test]
fn a_model_that_was_damaged_is_not_sound() {
    let (x, y) = table(500, 2, 0);
    let model = fit(&few_rounds(), &x, &y);
    let mut value = serde_json::to_value(&model).unwrap();
    let back: FittedHistogramBoosting = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(back, model);
    for (path, wrong) in [
        ("/trees/0/nodes/0/left", serde_json::json!(0)),
        ("/trees/0/nodes/0/right", serde_json::json!(-99)),
        ("/trees/0/nodes/0/column", serde_json::json!(5)),
        ("/trees/0/values", serde_json::json!([])),
        ("/start", serde_json::json!([0.0, 1.0])),
    ] {
        let right = std::mem::replace(value.pointer_mut(path).unwrap(), wrong);
        let damaged: FittedHistogramBoosting = serde_json::from_value(value.clone()).unwrap();
        assert!(!damaged.is_sound(5), "{path}");
        *value.pointer_mut(path).unwrap() = right;
    }
}

#[test]
fn a_tree_that_grows_by_depth_fills_its_levels() {
    // The first number parts all rows, and one half of them goes on and on.
    let (x, y) = table(2000, 2, 0);
    let settings = |growth| HistogramBoosting {
        growth,
        max_leaf_nodes: 4,
        max_iter: 1,
        min_samples_leaf: 5,
        ..few_rounds()
    };
    let by_depth = fit(&settings(Growth::ByDepth), &x, &y);
    let json = serde_json::to_value(&by_depth).unwrap();
    let nodes = json["trees"][0]["nodes"].as_array().unwrap();
    // Both children of the root are nodes, and theirs are leaves.
    assert_eq!(nodes.len(), 3);
    assert!(nodes[0]["left"].as_i64() > Some(0) && nodes[0]["right"].as_i64() > Some(0));
    let text = crate::estimate::EstimatorSpec::from(settings(Growth::ByDepth)).to_string();
    assert!(text.ends_with("max_iter=1, growth=depth)"), "{text}");
    assert_eq!(text.parse(), Ok(crate::estimate::EstimatorSpec::from(settings(Growth::ByDepth))));
}

#[test]
fn a_rare_class_that_counts_as_much_is_found_and_keeps_its_share() {
    // One row in 50, more often where the number is large.
    let n = 8000;
    let cells: Vec<f64> = (0..n).map(|i| noise(i, 1)).collect();
    let is_rare = |i: usize| noise(i, 2) < 0.04 * cells[i];
    let y = Labels::from_codes((0..n).map(|i| u32::from(is_rare(i))), 2);
    let x = Features::from_columns(n, 1, cells.clone());
    let settings = HistogramBoosting {
        class_weight: ClassWeight::Balanced,
        max_leaf_nodes: 4,
        min_samples_leaf: 200,
        ..few_rounds()
    };
    let model = fit(&settings, &x, &y);
    let p = model.predict(&x, &FitContext::unhurried()).unwrap().probabilities;
    let mean = (0..n).map(|i| p.row(i)[1]).sum::<f64>() / n as f64;
    let share = y.counts()[1] as f64 / n as f64;
    assert!((mean / share - 1.0).abs() < 0.3, "{mean} {share}");
    assert_ne!(
        model,
        fit(&HistogramBoosting { class_weight: ClassWeight::None, ..settings }, &x, &y)
    );
}

#[test]
fn rounds_that_gain_nothing_on_rows_held_out_are_dropped() {
    // Half of the labels are noise.
    let n = 1500;
    let cells: Vec<f64> =
        (0..n).flat_map(|i| [noise(i, 1)]).chain((0..n).map(|i| noise(i, 2))).collect();
    let class = |i: usize| if noise(i, 3) < 0.5 { noise(i, 4) < 0.5 } else { cells[i] < 0.5 };
    let y = Labels::from_codes((0..n).map(|i| u32::from(class(i))), 2);
    let x = Features::from_columns(n, 2, cells.clone());
    let settings = HistogramBoosting { patience: 5, max_iter: 400, ..few_rounds() };
    let n_trees = |model: &FittedHistogramBoosting| {
        serde_json::to_value(model).unwrap()["trees"].as_array().unwrap().len()
    };
    let stopped = n_trees(&fit(&settings, &x, &y));
    assert!((1..60).contains(&stopped), "{stopped}");
    // Never more than asked for, and a family of its own.
    let few = HistogramBoosting { max_iter: 2, ..settings.clone() };
    assert!(n_trees(&fit(&few, &x, &y)) <= 2);
    assert!(!settings.is_family_of(&few) && settings.is_family_of(&settings));
}

#[test]
fn patience_needs_rows_that_are_held_out() {
    let (x, y) = (Features::from_columns(4, 1, vec![1.0, 2.0, 3.0, 4.0]), [0, 0, 1, 1]);
    let y = Labels::from_codes(y, 2);
    let settings = HistogramBoosting { patience: 2, min_samples_leaf: 1, ..few_rounds() };
    // Under some seeds none of four rows is held out, so that nothing can be told of any round.
    let is_idle = |seed: &u64| {
        Stopping::new(2, 4, Stream::new(*seed).named(HistogramBoosting::NAME)).is_none()
    };
    let seed = (0..100).find(is_idle).unwrap();
    let ctx = FitContext::unhurried().with_stream(Stream::new(seed));
    let without = HistogramBoosting { patience: 0, ..settings.clone() };
    assert_eq!(settings.fit(&x, &y, &ctx).unwrap(), without.fit(&x, &y, &ctx).unwrap());
}

#[test]
fn leaves_weigh_as_much_as_they_must() {
    let (x, y) = table(2000, 2, 0);
    let n_nodes = |min_leaf_weight| {
        let settings = HistogramBoosting { min_leaf_weight, max_iter: 1, ..few_rounds() };
        let model = serde_json::to_value(fit(&settings, &x, &y)).unwrap();
        model["trees"][0]["nodes"].as_array().unwrap().len()
    };
    // Half of all rows, each with a quarter at most, weigh less than 300.
    assert_eq!(n_nodes(300.0), 0);
    assert!(n_nodes(20.0) > 0 && n_nodes(20.0) < n_nodes(1e-3));
    let text = |settings: &HistogramBoosting| EstimatorSpec::from(settings.clone()).to_string();
    assert!(!text(&few_rounds()).contains("min_leaf_weight"));
    let heavy = HistogramBoosting { min_leaf_weight: 20.0, ..few_rounds() };
    assert!(text(&heavy).ends_with("min_leaf_weight=20)"), "{}", text(&heavy));
}
