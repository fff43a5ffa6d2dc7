//! What is said about a model holds on rows that it has not seen.

use std::time::Duration;

use pitchpipe_automl::{AutoMl, Measured};
use pitchpipe_learn::Stream;
use pitchpipe_table::{Column, Dataset, Dependence, Labels};

/// A number in 0..1 that depends on its arguments alone.
fn number(seed: u64, i: usize, j: usize) -> f64 {
    let key = Stream::new(seed).child(i as u64).child(j as u64).key();
    (key >> 11) as f64 / (1u64 << 53) as f64
}

/// Two classes; the first column tells them apart as far as `signal` goes.
fn rows(seed: u64, n_rows: usize, signal: f64) -> Dataset {
    let class = |i: usize| (i % 2) as f64;
    let column = |j: usize| {
        let signal = if j == 0 { signal } else { 0.0 };
        let cell = |i: usize| signal * class(i) + number(seed, i, j);
        Column::numeric((0..n_rows).map(cell).collect::<Vec<f64>>())
    };
    let labels = Labels::from_codes((0..n_rows).map(|i| class(i) as u32), 2);
    Dataset::new((0..6).map(column).collect(), labels)
}

/// No clock decides: so many pipelines, and all the time they need.
fn search(n: usize, seed: u64) -> AutoMl {
    AutoMl::new()
        .time_budget(Duration::from_secs(3600))
        .max_evaluations(n)
        .repeatable(true)
        .seed(seed)
}

#[test]
fn on_noise_a_model_is_said_to_be_no_better_than_chance() {
    let (n_seeds, mut reported, mut best) = (40, 0.0, 0.0);
    for seed in 0..n_seeds {
        let model = search(60, seed).fit(&rows(seed, 60, 0.0)).expect("a model");
        let report = model.report();
        assert_eq!((report.measured, report.n_rows_scored), (Measured::CrossFitted, 60));
        reported += report.scores.balanced_accuracy / n_seeds as f64;
        best += (1.0 - report.leaderboard[0].error) / n_seeds as f64;
    }
    // A standard deviation of about .08 for each, .013 for their mean.
    assert!((reported - 0.5).abs() < 0.06, "{reported}");
    assert!(best > reported + 0.03, "the best of many looks better than it is: {best} {reported}");
}

#[test]
fn a_score_has_a_standard_error_and_stands_beside_what_is_plain() {
    let model = search(40, 1).fit(&rows(1, 120, 0.8)).expect("a model");
    let report = model.report();
    let spread = report.standard_errors.as_ref().expect("standard errors").accuracy;
    assert!(spread > 0.0 && spread < 0.1, "{spread}");
    assert_eq!(report.baselines[0].name, "majority class");
    assert!((report.baselines[0].scores.accuracy - 0.5).abs() < 1e-9);
    assert!(report.scores.accuracy > 0.7, "{}", report.scores.accuracy);
}

#[test]
fn rows_held_out_are_scored_and_then_learnt_from() {
    let all = rows(2, 200, 0.8);
    let fold = all.dependence().holdout(all.labels(), 0.2, 0);
    let (training, held_out) = (all.select(&fold.train), all.select(&fold.test));
    let model = search(30, 0).held_out(held_out).fit(&training).expect("a model");
    let report = model.report();
    assert_eq!((report.measured, report.n_rows_scored), (Measured::HeldOut, 40));
    assert_eq!((report.n_rows, report.n_rows_used), (200, 200));
    let note = "fitted again on all 200 rows; the scores are of the model before";
    assert!(report.notes.iter().any(|n| n == note), "{:?}", report.notes);
}

#[test]
fn in_order_of_time_only_the_later_rows_are_scored_and_all_are_learnt_from() {
    let ordered = rows(3, 160, 0.8).with_dependence(Dependence::Order((0..160).collect()));
    let model = search(30, 0).fit(&ordered).expect("a model");
    let report = model.report();
    // The earlier half only trains, and the first of five parts of the rest only chooses.
    assert!(report.n_rows_scored > 30 && report.n_rows_scored <= 80, "{}", report.n_rows_scored);
    assert!(model.base_learners().iter().all(|learner| learner.n_models() == 1));
    assert!(report.notes.iter().any(|n| n == "fitted again on all 160 rows"), "{:?}", report.notes);
}

#[test]
fn copies_of_a_row_flatter_only_where_nobody_says_that_they_belong_together() {
    // Thirty rows of noise, each four times.
    let once = rows(4, 30, 0.0);
    let copies: Vec<usize> = (0..120).map(|i| i % 30).collect();
    let groups = copies.iter().map(|&row| row as u32).collect();
    let copied = once.select(&copies);
    let accuracy = |dataset: &Dataset| {
        let model = search(40, 0).fit(dataset).expect("a model");
        model.report().scores.balanced_accuracy
    };
    assert!(accuracy(&copied) > 0.9);
    let apart = accuracy(&copied.with_dependence(Dependence::Groups(groups)));
    assert!(apart < 0.75, "{apart}");
}
