//! A search from a dataset to a model file and back.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pitchpipe_automl::{
    AutoMl, AutoMlError, CategoryFill, Combination, Event, Happened, LastRoundKind, Method, Model,
    OutOfFold, PaperOptions, StopReason,
};
use pitchpipe_learn::Probabilities;
use pitchpipe_table::{Column, Dataset, Labels, MISSING_CODE, Metric, brier_score};

/// A number in 0..1 that depends on its arguments alone.
fn number(i: usize, j: usize) -> f64 {
    let z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(2 * j as u64 + 3);
    ((z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / f64::from(1 << 24)
}

/// Three classes that two of four columns tell apart, but for noise.
fn dataset(n_rows: usize) -> Dataset {
    let class = |i: usize| (i * 7 % 3) as f64;
    let column = |j: usize| {
        let signal = if j < 2 { 0.7 } else { 0.0 };
        Column::Numeric((0..n_rows).map(|i| signal * class(i) + number(i, j)).collect())
    };
    let labels = Labels::from_codes((0..n_rows).map(|i| class(i) as u32), 3);
    Dataset::new((0..4).map(column).collect(), labels)
}

/// No clock decides: so many pipelines, and all the time they need.
fn search(n: usize) -> AutoMl {
    AutoMl::new().time_budget(Duration::from_secs(3600)).max_evaluations(n).repeatable(true)
}

fn share_right(model: &Model, dataset: &Dataset) -> f64 {
    let predictions = model.predict(dataset.frame()).expect("predictions");
    let pairs = predictions.labels.codes().iter().zip(dataset.labels().codes());
    pairs.filter(|(a, b)| a == b).count() as f64 / dataset.n_rows() as f64
}

#[test]
fn a_model_predicts_and_survives_its_file() {
    let dataset = dataset(240);
    let model = search(30).fit(&dataset).expect("a model");
    assert!(share_right(&model, &dataset) > 0.7);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.pp");
    model.write(&path).expect("written");
    let read = Model::read(&path).expect("a model");
    let predictions = model.predict(dataset.frame()).expect("predictions");
    assert_eq!(read.predict(dataset.frame()).expect("predictions"), predictions);
    assert_eq!(read.report(), model.report());
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn a_row_alone_is_predicted_as_among_hundreds() {
    let dataset = dataset(600);
    let model = search(40).fit(&dataset).expect("a model");
    let together = model.predict(dataset.frame()).expect("predictions");
    for row in (0..600).step_by(37) {
        let alone = model.predict(&dataset.frame().select(&[row])).expect("a prediction");
        let of_row = &together.probabilities.values()[3 * row..3 * row + 3];
        // Products of matrices may be summed in another order.
        let gaps = alone.probabilities.values().iter().zip(of_row).map(|(a, b)| (a - b).abs());
        assert!(gaps.fold(0.0, f64::max) < 1e-9, "{row}");
    }
}

#[test]
fn what_is_slow_and_of_no_use_is_left_out_where_that_is_asked_for() {
    let dataset = dataset(400);
    let search = AutoMl::new().time_budget(Duration::from_secs(600)).max_evaluations(25);
    let model = search.clone().fast_predict(true).fit(&dataset).expect("a model");
    let notes = &model.report().notes;
    assert!(notes.iter().any(|note| note.starts_with("fast prediction: ")), "{notes:?}");
    let weights: f64 = model.base_learners().iter().map(|learner| learner.weight()).sum();
    assert!((weights - 1.0).abs() < 1e-9 && share_right(&model, &dataset) > 0.7);
    let speed = model.speed().expect("it predicts");
    assert_eq!(speed.learner_secs.len(), model.base_learners().len());
    assert!(speed.learner_secs.iter().all(|secs| *secs > 0.0) && speed.single_row_secs > 0.0);
    let vote = search.clone().ensemble(Combination::Vote).fast_predict(true).fit(&dataset);
    let notes = vote.expect("a model").report().notes.clone();
    assert!(notes.iter().any(|note| note.starts_with("a vote of a few")), "{notes:?}");
    let refused = search.repeatable(true).fast_predict(true).fit(&dataset).expect_err("refused");
    assert!(refused.to_string().starts_with("fast_predict is on, but must be off"), "{refused}");
}

/// Classes on a line, each wider than half the way to its neighbour.
fn many_classes(n_rows: usize, n_classes: u32) -> Dataset {
    let class = |i: usize| i as u32 % n_classes;
    let column = |j: usize| {
        let column = (0..n_rows).map(|i| f64::from(class(i)) + 0.6 * (number(i, j) - 0.5));
        Column::Numeric(column.collect())
    };
    let labels = Labels::from_codes((0..n_rows).map(class), n_classes as usize);
    Dataset::new((0..3).map(column).collect(), labels)
}

#[test]
fn fifty_and_two_hundred_classes_give_a_model() {
    for (n_rows, n_classes) in [(400, 50), (1_000, 200)] {
        let dataset = many_classes(n_rows, n_classes);
        let model = search(10).threads(2).fit(&dataset).expect("a model");
        assert!(share_right(&model, &dataset) > 0.9, "{n_classes}");
        let read = Model::from_bytes(&model.to_bytes().expect("bytes")).expect("a model");
        assert_eq!(read.predict(dataset.frame()).unwrap(), model.predict(dataset.frame()).unwrap());
        let evaluation = read.evaluate(&dataset).expect("an evaluation");
        assert_eq!(evaluation.classes.len(), n_classes as usize);
    }
}

#[test]
fn more_classes_than_a_search_takes_are_refused() {
    let dataset = many_classes(40_002, 20_001);
    let err = search(3).fit(&dataset).expect_err("too many");
    assert_eq!(err.to_string(), "there are 20001 classes, and a search takes at most 10000");
}

#[test]
fn every_method_gives_a_model_of_as_many_pipelines_as_asked() {
    let dataset = dataset(120);
    for method in Method::ALL {
        let model = search(12).method(method).fit(&dataset).expect("a model");
        let report = model.report();
        assert_eq!(report.stop_reason, StopReason::MaxEvaluations, "{method}");
        let n = report.n_evaluated + report.n_failed + report.n_out_of_time;
        assert_eq!(n, 12, "{method}");
        assert!(share_right(&model, &dataset) > 0.6, "{method}");
        if method.is_of_paper() {
            assert!(model.base_learners().len() <= 5, "{method}");
        }
    }
}

/// The same with a column of categories of which some are missing.
fn with_gaps(n_rows: usize) -> Dataset {
    let numbers = dataset(n_rows);
    let code = |i: usize| match i % 5 {
        0 => MISSING_CODE,
        _ => (i * 7 % 3) as u32 + u32::from(number(i, 9) > 0.8),
    };
    let mut columns = numbers.columns().to_vec();
    let codes: Vec<u32> = (0..n_rows).map(code).collect();
    columns.push(Column::categorical(codes, 4));
    Dataset::new(columns, numbers.labels().clone())
}

#[test]
fn oboe_fills_categories_by_their_mode_unless_told_otherwise() {
    let dataset = with_gaps(240);
    let imputers = |method: Method, fill: Option<CategoryFill>| {
        let options = PaperOptions { category_fill: fill, ..PaperOptions::default() };
        let search = search(12).method(method).paper_options(options);
        let model = search.fit(&dataset).expect("a model");
        assert!(share_right(&model, &dataset) > 0.6);
        let texts = model.report().leaderboard.iter().map(|c| c.pipeline.to_string());
        texts.filter(|text| text.starts_with("impute(mean_or_mode)")).count()
    };
    assert!(imputers(Method::Oboe, None) > 0);
    assert!(imputers(Method::RandomOboe, None) > 0);
    assert_eq!(imputers(Method::Oboe, Some(CategoryFill::Codes)), 0);
    assert_eq!(imputers(Method::TensorOboe, None), 0);
}

#[test]
fn the_paper_s_methods_keep_to_its_letter_where_they_are_told() {
    let dataset = with_gaps(300);
    let letter = PaperOptions {
        first_target: Some(Duration::from_millis(50)),
        last_round: Some(LastRoundKind::None),
        best_predicted: Some(4),
        validation_share: Some(0.2),
        ..PaperOptions::default()
    };
    for method in [Method::Oboe, Method::TensorOboe, Method::KernelOboe] {
        let search = search(25).folds(5).method(method).paper_options(letter);
        let model = search.fit(&dataset).expect("a model");
        assert_eq!((model.report().n_rows, model.report().n_folds), (240, 5), "{method}");
        // No more voters than best-predicted ones.
        let n_voters = model.report().leaderboard.iter().filter(|c| c.weight > 0.0).count();
        assert!((1..=4).contains(&n_voters), "{method}: {n_voters} voters");
        assert!(share_right(&model, &dataset) > 0.6, "{method}");
    }
    let refused = search(5).paper_options(letter).fit(&dataset);
    assert!(matches!(refused, Err(AutoMlError::Setting { .. })));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let dataset = dataset(150);
    for method in Method::ALL {
        let fit =
            |threads| search(25).method(method).threads(threads).fit(&dataset).expect("a model");
        let [one, two, four] = [1, 2, 4].map(fit);
        let probabilities =
            |m: &Model| m.predict(dataset.frame()).expect("predictions").probabilities;
        assert_eq!(probabilities(&one), probabilities(&two), "{method}");
        assert_eq!(probabilities(&one), probabilities(&four), "{method}");
        let board = |model: &Model| -> Vec<_> {
            let of = |c: &pitchpipe_automl::Candidate| (c.pipeline.to_string(), c.error, c.weight);
            model.report().leaderboard.iter().map(of).collect()
        };
        assert_eq!(board(&one), board(&two), "{method}");
        assert_eq!(board(&one), board(&four), "{method}");
    }
}

#[test]
fn a_run_that_is_to_be_repeatable_asks_for_a_number_of_evaluations() {
    let err = AutoMl::new().repeatable(true).fit(&dataset(60)).expect_err("no number was given");
    let said = "max_evaluations is not given, but must be at least 1 for a repeatable run";
    assert_eq!(err.to_string(), said);
}

#[test]
fn the_seed_decides_the_folds() {
    let dataset = dataset(150);
    let errors = |seed| {
        let model = search(10).seed(seed).fit(&dataset).expect("a model");
        model.report().leaderboard.iter().map(|c| c.error).collect::<Vec<_>>()
    };
    assert_eq!(errors(1), errors(1));
    assert_ne!(errors(1), errors(2));
}

#[test]
fn every_metric_can_be_asked_for() {
    let dataset = dataset(150);
    for metric in Metric::ALL {
        let model = search(12).metric(metric).fit(&dataset).expect("a model");
        let report = model.report();
        assert_eq!(model.decision(), metric.decision());
        let best = report.leaderboard[0].scores.error(metric);
        assert_eq!(best, report.leaderboard[0].error);
        let is_first = report.leaderboard.iter().all(|c| c.error >= best);
        assert!(is_first && report.scores.error(metric) <= best + 0.1, "{metric}");
    }
}

/// Rows of three classes, one of them rare, so that decision rules differ.
fn uneven(n_rows: usize) -> Dataset {
    let class = |i: usize| if i % 10 == 0 { 2 } else { u32::from(i % 10 > 6) };
    let column = |j: usize| {
        Column::Numeric((0..n_rows).map(|i| f64::from(class(i)) + 3.0 * number(i, j)).collect())
    };
    let labels = Labels::from_codes((0..n_rows).map(class), 3);
    Dataset::new(vec![column(0), column(1), column(2)], labels)
}

#[test]
fn what_is_reported_is_what_evaluating_the_same_predictions_says() {
    let dataset = uneven(200);
    for combination in [Combination::Average, Combination::Vote] {
        for metric in Metric::ALL {
            let automl = search(12).metric(metric).ensemble(combination);
            let model = automl.fit(&dataset).expect("a model");
            let report = model.report();
            let OutOfFold { truth, labels, probabilities } = model.out_of_fold().expect("kept");
            assert_eq!(truth, dataset.labels());
            // One set of labels, by the rule that the model predicts with.
            let as_predicted = Probabilities::from_rows(3, probabilities.clone());
            assert_eq!(&model.decide(model.decision(), &as_predicted), labels, "{metric}");
            for by in Metric::ALL {
                let score = by.score(truth, labels, probabilities);
                assert_eq!(report.scores.get(by), score, "{by} of a model for {metric}");
            }
            assert_eq!(report.scores.brier_score, Some(brier_score(truth, probabilities)));
            for candidate in &report.leaderboard {
                assert_eq!(candidate.error, candidate.scores.error(metric), "{metric}");
            }
        }
    }
}

#[test]
fn drafts_are_whole_models_that_say_what_they_are() {
    let dataset = dataset(150);
    let drafts = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&drafts);
    let keep = move |model: &Model| kept.lock().unwrap().push(model.to_bytes().expect("bytes"));
    let model = search(40).keep_drafts(keep).fit(&dataset).expect("a model");
    let drafts = drafts.lock().unwrap();
    let first = Model::from_bytes(drafts.first().expect("a draft")).expect("a model");
    assert_eq!(first.report().stop_reason, StopReason::OutOfMemory);
    assert!(first.report().n_evaluated < model.report().n_evaluated);
    assert!(share_right(&first, &dataset) > 0.5 && first.report().n_rows_scored == 150);
    assert_eq!(model.report().stop_reason, StopReason::MaxEvaluations);
}

#[test]
fn rows_to_choose_by_may_be_given() {
    let (train, validation) = (dataset(150), dataset(90));
    let model = search(12).validation(validation).fit(&train).expect("a model");
    assert!(share_right(&model, &train) > 0.7);
    let other =
        Dataset::new(vec![Column::numeric(vec![0.0; 4])], Labels::from_codes([0, 1, 2, 0], 3));
    let err = search(12).validation(other).fit(&train).expect_err("other columns");
    assert!(matches!(err, AutoMlError::OtherValidation { wanted: 4, got: 1 }), "{err}");
}

#[test]
fn a_small_file_holds_a_small_model() {
    let dataset = dataset(300);
    let large = search(60).fit(&dataset).expect("a model");
    let size = large.to_bytes().expect("bytes").len() as u64;
    let limit = size / 2;
    let small = search(60).model_size_limit(limit).fit(&dataset).expect("a model");
    assert!(small.to_bytes().expect("bytes").len() as u64 <= limit);
    let total: f64 = small.base_learners().iter().map(|l| l.weight()).sum();
    assert!((total - 1.0).abs() < 1e-9);
    let err = search(12).model_size_limit(100).fit(&dataset).expect_err("no model is so small");
    assert!(matches!(err, AutoMlError::TooLarge { limit: 100, .. }), "{err}");
}

#[test]
fn a_cancelled_search_keeps_the_best_so_far() {
    let dataset = dataset(150);
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let mut n = 0;
    let stop_after_three = move |event: Event| {
        if let Happened::Finished { .. } = event.what {
            n += 1;
            set.store(n >= 3, std::sync::atomic::Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    };
    let automl = AutoMl::new().time_budget(Duration::from_secs(3600)).cancel(flag);
    let model = automl.fit_with(&dataset, stop_after_three).expect("a model");
    assert_eq!(model.report().stop_reason, StopReason::Cancelled);
    let stopped = Arc::new(AtomicBool::new(true));
    let err = AutoMl::new().cancel(stopped).fit(&dataset).expect_err("nothing was run");
    assert!(matches!(err, AutoMlError::Cancelled), "{err}");
}

#[test]
fn a_caller_who_has_heard_enough_gets_the_best_so_far() {
    let mut n = 0;
    let automl = AutoMl::new().time_budget(Duration::from_secs(3600));
    let model = automl.fit_with(&dataset(150), |event| {
        n += usize::from(matches!(event.what, Happened::Finished { .. }));
        if n < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(model.expect("a model").report().stop_reason, StopReason::Cancelled);
    let err = automl.fit_with(&dataset(150), |_| ControlFlow::Break(())).expect_err("too early");
    assert!(matches!(err, AutoMlError::Cancelled), "{err}");
}

#[test]
fn every_pipeline_that_was_started_is_told_of_once_more() {
    let mut events: Vec<Event> = Vec::new();
    // Five rows: those that ask for more neighbours than a fold has fail. A random order comes to some of them.
    let few = Dataset::new(
        vec![Column::Numeric((0..5).map(f64::from).collect())],
        Labels::from_codes([0, 1, 0, 1, 0], 2),
    );
    let model = search(80).method(Method::Random).fit_with(&few, |event| {
        events.push(event);
        ControlFlow::Continue(())
    });
    let model = model.expect("a model");
    let (mut started, mut ended) = (Vec::new(), Vec::new());
    let (mut n_finished, mut n_failed) = (0, 0);
    for event in &events {
        match &event.what {
            Happened::Started { pipelines } => {
                started.extend(pipelines.iter().map(ToString::to_string));
            }
            Happened::Finished { pipeline, .. } => {
                n_finished += 1;
                ended.push(pipeline.to_string());
            }
            Happened::Failed { pipeline, reason } => {
                n_failed += 1;
                assert!(!reason.is_empty());
                ended.push(pipeline.to_string());
            }
            Happened::OutOfTime { pipeline, .. } => ended.push(pipeline.to_string()),
            _ => (),
        }
    }
    started.sort();
    ended.sort();
    assert_eq!(started, ended);
    assert_eq!(started.len(), 80);
    assert!(n_failed > 0, "nothing failed");
    let report = model.report();
    assert_eq!((report.n_evaluated, report.n_failed), (n_finished, n_failed));
    assert!(matches!(events[0].what, Happened::Begun { n_rows: 5, .. }));
    assert!(matches!(events.last().expect("some").what, Happened::Done { .. }));
    let times: Vec<f64> = events.iter().map(|e| e.elapsed_secs).collect();
    assert!(times.is_sorted());
}

#[test]
fn no_time_means_no_model() {
    let err = AutoMl::new().time_budget(Duration::ZERO).fit(&dataset(60)).expect_err("no time");
    assert!(matches!(err, AutoMlError::OutOfTime { .. }), "{err}");
    assert_eq!(err.to_string(), "no pipeline finished within the time budget of 0s");
}

#[test]
fn tables_without_anything_to_learn_are_refused() {
    let one_class = Dataset::new(
        vec![Column::Numeric((0..20).map(f64::from).collect())],
        Labels::from_codes(vec![1; 20], 2),
    );
    assert!(matches!(search(3).fit(&one_class), Err(AutoMlError::OneClass)));
    let no_columns = Dataset::new(Vec::new(), Labels::from_codes([0, 1, 0, 1, 1], 2));
    assert!(matches!(search(3).fit(&no_columns), Err(AutoMlError::NoFeatures)));
    let few = Dataset::new(vec![Column::numeric(vec![0.0, 1.0])], Labels::from_codes([0, 1], 2));
    assert!(matches!(search(3).fit(&few), Err(AutoMlError::TooFewRows { n_rows: 2, .. })));
}

#[test]
fn other_columns_are_not_predicted() {
    let model = search(4).fit(&dataset(60)).expect("a model");
    let labels = Labels::from_codes([0, 1], 3);
    let column = || Column::numeric(vec![0.5, 1.5]);
    let codes = Column::categorical(vec![0, 1], 2);
    let few = Dataset::new(vec![column(), column(), column()], labels.clone());
    assert_eq!(
        model.predict(few.frame()).expect_err("a column is missing").to_string(),
        "the model was trained on 4 columns, but column 3 is missing or of another kind"
    );
    let other = Dataset::new(vec![column(), codes, column(), column()], labels);
    assert!(model.predict(other.frame()).is_err());
}
