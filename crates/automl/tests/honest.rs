//! What is said about a model holds on rows that it has not seen.

use std::time::Duration;

use pitchpipe_automl::{AutoMl, Measured, Model, Scores};
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
    let names: Vec<&str> = report.baselines.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["majority class", "random forest"]);
    assert!(report.baselines[1].scores.accuracy > 0.6, "{:?}", report.baselines[1]);
}

#[test]
fn who_wants_the_model_that_was_scored_gets_that() {
    let all = rows(2, 200, 0.8);
    let fold = all.dependence().holdout(all.labels(), 0.2, 0);
    let (training, held_out) = (all.select(&fold.train), all.select(&fold.test));
    let model = search(30, 0).held_out(held_out.clone()).refit(false).fit(&training).unwrap();
    let said = model.predict(held_out.frame()).unwrap();
    let scores = Scores::of(held_out.labels(), &said.labels, said.probabilities.values());
    assert_eq!(model.report().scores, scores);
    assert_eq!(model.report().n_rows_used, 160);
}

#[test]
fn a_search_on_a_sample_that_ends_early_is_fitted_again_on_more_rows() {
    let table = rows(5, 40_000, 0.8);
    let search =
        || search(3, 0).time_budget(Duration::from_secs(10)).max_evaluations(3).repeatable(true);
    let sampled = search().refit(false).fit(&table).expect("a model");
    let n_before = sampled.report().n_rows_used;
    assert!(n_before < 20_000, "{n_before}");
    let [one, other] = [1, 2].map(|n| search().threads(n).fit(&table).expect("a model"));
    let report = one.report();
    assert_eq!((report.n_rows_used, &report.scores), (40_000, &sampled.report().scores));
    let note = format!(
        "fitted again on all 40000 rows; the scores are of the model before, which was fitted on {n_before}"
    );
    assert!(report.notes.contains(&note), "{:?}", report.notes);
    // The same on any number of threads.
    let labels = |model: &Model| model.predict(table.frame()).unwrap().probabilities;
    assert_eq!(labels(&one), labels(&other));
}

#[test]
fn a_model_that_had_to_shrink_is_scored_as_it_is() {
    let table = rows(6, 150, 0.4);
    let search = || search(30, 0).keep_history(false);
    let whole = search().fit(&table).expect("a model");
    let n_bytes = whole.to_bytes().unwrap().len() as f64;
    let shrunk = [0.9, 0.7, 0.5, 0.3].map(|share| {
        let model = search().model_size_limit((share * n_bytes) as u64).fit(&table).ok()?;
        (model.base_learners().len() < whole.base_learners().len()).then_some(model)
    });
    assert!(shrunk.iter().any(Option::is_some), "{} base learners", whole.base_learners().len());
    for model in shrunk.into_iter().flatten() {
        let report = model.report();
        let is_said = |n: &String| n.ends_with("base learners fit the limit of the model's size");
        assert!(report.notes.iter().any(is_said), "{:?}", report.notes);
        assert_eq!(report.measured, Measured::CrossFitted);
        assert_eq!(report.scores, model.out_of_fold().expect("it was just made").scores());
        let weights = report.leaderboard.iter().filter(|c| c.weight > 0.0).count();
        assert_eq!(weights, model.base_learners().len());
    }
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
