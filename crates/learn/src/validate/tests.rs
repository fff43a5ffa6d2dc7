use std::sync::atomic::Ordering;

use pitchpipe_table::{Column, Dependence, Labels, MISSING_CODE, stratified_folds};
use rand::Rng;

use super::*;
use crate::estimate::EstimatorKind;
use crate::{Preparation, SearchSpace};

/// Numbers, categories and missing cells; the classes depend on some of them.
fn mixed_table(n: usize, n_classes: u32, seed: u64) -> Dataset {
    let mut rng = Stream::new(seed).rng();
    let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut columns: Vec<Vec<f64>> = (0..4).map(|_| (0..n).map(|_| uniform()).collect()).collect();
    let codes: Vec<u32> = (0..n).map(|_| (uniform() * 4.0) as u32).collect();
    let labels = (0..n).map(|i| {
        let signal = columns[0][i] + 0.7 * columns[1][i] + 0.2 * f64::from(codes[i]);
        ((signal / 2.4 + 0.3 * (uniform() - 0.5)) * f64::from(n_classes))
            .clamp(0.0, f64::from(n_classes) - 1.0) as u32
    });
    let labels = Labels::from_codes(labels.collect::<Vec<_>>(), n_classes as usize);
    for column in columns.iter_mut().skip(1) {
        column.iter_mut().for_each(|v| *v = if uniform() < 0.1 { f64::NAN } else { *v });
    }
    let codes = codes.into_iter().map(|c| if uniform() < 0.1 { MISSING_CODE } else { c }).collect();
    let mut columns: Vec<Column> = columns.into_iter().map(Column::numeric).collect();
    columns.insert(2, Column::Categorical { codes, n_levels: 4 });
    columns.push(Column::numeric(vec![1.5; n]));
    Dataset::new(columns, labels)
}

fn numeric_table(n: usize, p: usize, seed: u64) -> Dataset {
    let mut rng = Stream::new(seed).rng();
    let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let columns: Vec<Vec<f64>> = (0..p).map(|_| (0..n).map(|_| uniform()).collect()).collect();
    let labels = (0..n).map(|i| u32::from(columns[0][i] + 0.3 * uniform() > 0.6));
    let labels = Labels::from_codes(labels.collect::<Vec<_>>(), 2);
    Dataset::new(columns.into_iter().map(Column::numeric).collect(), labels)
}

/// Every `step`th pipeline: a step prime to all axes meets every component.
fn some_pipelines(step: usize) -> Vec<Pipeline> {
    let space = SearchSpace::paper();
    space.ids().step_by(step).map(|id| space.pipeline(id)).collect()
}

/// Every estimator behind the preparation of Oboe.
fn slice(imputer: Imputer) -> Vec<Pipeline> {
    let space = SearchSpace::paper();
    let ids = space.behind(Preparation::of_oboe(imputer));
    ids.into_iter().map(|id| space.pipeline(id)).collect()
}

fn keeping_predictions(threads: usize) -> Validation {
    Validation { keep_predictions: true, area: true, threads, seed: 3, ..Validation::default() }
}

/// What must not depend on how a pipeline was evaluated.
fn numbers(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Finished(e) => format!(
            "{:?}",
            (
                &e.fold_errors,
                e.decided_error,
                e.native,
                e.decided,
                e.log_loss,
                e.roc_auc,
                e.out_of_fold.as_ref().map(|p| p.probabilities.values().to_vec())
            )
        ),
        other => format!("{other:?}"),
    }
}

fn check_probabilities(outcome: &Outcome, what: &str) {
    if let Outcome::Finished(evaluation) = outcome {
        assert!((0.0..=1.0).contains(&evaluation.error), "{what}: {}", evaluation.error);
        let probabilities = &evaluation.out_of_fold.as_ref().unwrap().probabilities;
        for i in 0..probabilities.n_rows() {
            let row = probabilities.row(i);
            assert!(row.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p)), "{what}: {row:?}");
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{what}: {row:?}");
        }
    }
}

#[test]
fn sharing_gives_exactly_what_a_pipeline_alone_gives() {
    let dataset = mixed_table(90, 3, 1);
    let pipelines = some_pipelines(211);
    let together = keeping_predictions(2).outcomes(&dataset, &pipelines).unwrap();
    let finished = together.iter().filter(|o| matches!(o, Outcome::Finished(_))).count();
    assert!(finished > pipelines.len() * 9 / 10, "{finished} of {}", pipelines.len());
    for (pipeline, together) in pipelines.iter().zip(&together) {
        let alone = keeping_predictions(1).outcomes(&dataset, std::slice::from_ref(pipeline));
        assert_eq!(numbers(&alone.unwrap()[0]), numbers(together), "{pipeline}");
    }
}

#[test]
fn kept_folds_change_nothing_but_the_time() {
    let dataset = mixed_table(300, 3, 1);
    let space = SearchSpace::all();
    let boosted: Vec<Pipeline> = (space.ids().skip(23_424).take(8))
        .chain(space.ids().step_by(5000))
        .map(|id| space.pipeline(id))
        .collect();
    let options = keeping_predictions(2);
    let plain = options.outcomes(&dataset, &boosted).unwrap();
    let folds = KeptFolds::new(&dataset, &options);
    let mut efforts = Vec::new();
    for _ in 0..2 {
        let mut outcomes = vec![String::new(); boosted.len()];
        let report = |i: usize, outcome: Outcome| outcomes[i] = numbers(&outcome);
        efforts.push(folds.evaluate(&options, &boosted, report).unwrap());
        assert_eq!(outcomes, plain.iter().map(numbers).collect::<Vec<_>>());
    }
    assert_eq!(efforts[0].n_prepared, efforts[1].n_prepared);
    let leaf = |fold| folds.find(&options, Preparation::AS_IT_IS, fold).unwrap();
    assert!((0..3).all(|fold| leaf(fold).train.has_bins()));
    // Folds of another seed are others.
    let other = Validation { seed: 4, ..options.clone() };
    assert!(folds.find(&other, Preparation::AS_IT_IS, 0).is_none());
    // Nothing is kept where there is no memory for it.
    let poor = Validation { memory_limit: Some(1 << 16), ..options };
    let folds = KeptFolds::new(&dataset, &poor);
    folds.evaluate(&poor, &boosted[..1], |_, _| ()).unwrap();
    assert!(folds.find(&poor, Preparation::AS_IT_IS, 0).is_none());
}

#[test]
fn families_give_exactly_what_a_member_alone_gives() {
    let dataset = mixed_table(80, 2, 2);
    let family = slice(Imputer::Median);
    let together = keeping_predictions(2).outcomes(&dataset, &family).unwrap();
    for (pipeline, together) in family.iter().zip(&together) {
        check_probabilities(together, &pipeline.to_string());
        let alone = keeping_predictions(1).outcomes(&dataset, std::slice::from_ref(pipeline));
        assert_eq!(numbers(&alone.unwrap()[0]), numbers(together), "{pipeline}");
    }
}

#[test]
fn the_number_of_threads_changes_no_number() {
    let dataset = mixed_table(70, 3, 4);
    let pipelines = some_pipelines(97);
    let [one, two, four] = [1, 2, 4].map(|threads| {
        let outcomes = keeping_predictions(threads).outcomes(&dataset, &pipelines).unwrap();
        outcomes.iter().map(numbers).collect::<Vec<_>>()
    });
    assert!(one == two && two == four);
}

#[test]
fn equal_inputs_are_computed_once() {
    // No missing cell, no category, no constant column: one imputer, one encoder, and variance
    // threshold equals nothing. That leaves 2 scalers by 7 reducers.
    let dataset = numeric_table(60, 8, 5);
    let pipelines: Vec<Pipeline> = some_pipelines(1)
        .into_iter()
        .filter(|p| p.estimator.kind() == EstimatorKind::GaussianNb)
        .collect();
    let mut outcomes = Vec::new();
    let options = Validation::default();
    let effort = options.evaluate(&dataset, &pipelines, |i, o| outcomes.push((i, o))).unwrap();
    assert_eq!((pipelines.len(), outcomes.len()), (128, 128));
    assert_eq!((effort.n_prepared, effort.n_computations), (14, 14));
}

#[test]
fn a_kept_model_predicts_its_test_rows_as_it_did_out_of_fold() {
    let dataset = mixed_table(60, 3, 6);
    let pipelines = some_pipelines(997);
    let options = Validation { keep_models: true, ..keeping_predictions(2) };
    let folds = stratified_folds(dataset.labels(), 3, options.seed).folds;
    for (pipeline, outcome) in pipelines.iter().zip(options.outcomes(&dataset, &pipelines).unwrap())
    {
        let Outcome::Finished(evaluation) = outcome else { continue };
        assert_eq!(evaluation.models.len(), 3);
        for (fold, model) in folds.iter().zip(&evaluation.models) {
            let bytes = postcard::to_stdvec(model).unwrap();
            let model: crate::FittedPipeline = postcard::from_bytes(&bytes).unwrap();
            assert_eq!(model.name(), pipeline.to_string());
            let ctx = FitContext::unhurried();
            let again = model.predict_rows(dataset.frame(), &fold.test, &ctx).unwrap();
            let all = evaluation.out_of_fold.as_ref().unwrap();
            for (i, &row) in fold.test.iter().enumerate() {
                assert_eq!(again.probabilities.row(i), all.probabilities.row(row), "{pipeline}");
                assert_eq!(again.labels.codes()[i], all.labels.codes()[row], "{pipeline}");
            }
        }
    }
}

#[test]
fn fitting_a_pipeline_outside_of_cross_validation_gives_the_fold_model() {
    let dataset = mixed_table(60, 3, 6);
    let pipelines = some_pipelines(1499);
    let outcomes = keeping_predictions(1).outcomes(&dataset, &pipelines).unwrap();
    let fold = &stratified_folds(dataset.labels(), 3, 3).folds[1];
    for (pipeline, outcome) in pipelines.iter().zip(outcomes) {
        let Outcome::Finished(evaluation) = outcome else { continue };
        let ctx = FitContext::unhurried().with_stream(Stream::new(3).child(1));
        let model = pipeline.fit_rows(&dataset, &fold.train, &ctx).unwrap();
        let prediction = model.predict_rows(dataset.frame(), &fold.test, &ctx).unwrap();
        let all = evaluation.out_of_fold.as_ref().unwrap();
        for (i, &row) in fold.test.iter().enumerate() {
            assert_eq!(prediction.probabilities.row(i), all.probabilities.row(row), "{pipeline}");
        }
    }
}

#[test]
fn a_deadline_in_the_past_and_a_cancelled_run_are_reported_as_such() {
    let dataset = numeric_table(50, 4, 7);
    let pipelines = some_pipelines(2999);
    let late = Validation { deadline: Some(Instant::now()), ..Validation::default() };
    for outcome in late.outcomes(&dataset, &pipelines).unwrap() {
        assert!(matches!(outcome, Outcome::OutOfTime { .. }), "{outcome:?}");
    }
    let flag = Arc::new(AtomicBool::new(false));
    flag.store(true, Ordering::Relaxed);
    let cancelled = Validation { cancel: Some(flag), ..Validation::default() };
    for outcome in cancelled.outcomes(&dataset, &pipelines).unwrap() {
        assert!(matches!(outcome, Outcome::Failed(FitError::Cancelled)), "{outcome:?}");
    }
}

#[test]
fn a_pipeline_limit_of_nothing_leaves_no_pipeline_and_a_long_one_leaves_all() {
    let dataset = mixed_table(60, 2, 8);
    let pipelines = slice(Imputer::Mean);
    let none = Validation { pipeline_limit: Some(Duration::ZERO), ..Validation::default() };
    for outcome in none.outcomes(&dataset, &pipelines).unwrap() {
        assert!(matches!(outcome, Outcome::OutOfTime { .. }), "{outcome:?}");
    }
    let hour = Some(Duration::from_secs(3600));
    let ample = Validation { pipeline_limit: hour, ..keeping_predictions(2) };
    let unlimited = keeping_predictions(1).outcomes(&dataset, &pipelines).unwrap();
    for (a, b) in ample.outcomes(&dataset, &pipelines).unwrap().iter().zip(&unlimited) {
        assert_eq!(numbers(a), numbers(b));
    }
}

#[test]
fn one_hot_columns_that_would_not_fit_in_memory_are_refused() {
    let n = 3000;
    let codes = Column::Categorical { codes: (0..n).collect(), n_levels: n };
    let labels = Labels::from_codes((0..n).map(|i| i % 2), 2);
    let dataset = Dataset::new(vec![codes, Column::numeric(vec![0.5; n as usize])], labels);
    let text = "impute(mean) > one_hot > standardise > all_features > gaussian_nb";
    let one_hot: Pipeline = text.parse().unwrap();
    let codes: Pipeline = text.replace("one_hot", "codes").parse().unwrap();
    let options = Validation { memory_limit: Some(3 << 20), ..Validation::default() };
    let outcomes = options.outcomes(&dataset, &[one_hot, codes]).unwrap();
    assert!(matches!(outcomes[0], Outcome::Failed(FitError::OutOfMemory { .. })));
    assert!(matches!(outcomes[1], Outcome::Finished(_)));
}

mod bad_input;
mod faults;
mod many_classes;

pub(super) use faults::break_off;

/// Sixty groups of three equal rows, whose class is drawn group by group.
fn triplets() -> (Dataset, Vec<u32>) {
    let group = |row: usize| (row / 3) as u32;
    let number = |row: usize| (Stream::new(u64::from(group(row))).key() >> 11) as f64;
    let class = |row: usize| (Stream::new(u64::from(group(row))).child(1).key() % 2) as u32;
    let labels = Labels::from_codes((0..180).map(class), 2);
    let columns = vec![Column::numeric((0..180).map(number).collect::<Vec<_>>())];
    (Dataset::new(columns, labels), (0..180).map(group).collect())
}

fn error_of_one_neighbour(dataset: &Dataset) -> f64 {
    let text = "impute(mean) > one_hot > unscaled > all_features > knn(n_neighbors=1, p=2)";
    let pipeline: Pipeline = text.parse().expect("a pipeline reads back");
    let outcomes = keeping_predictions(1).outcomes(dataset, &[pipeline]).unwrap();
    let Outcome::Finished(evaluation) = &outcomes[0] else { panic!("it finishes") };
    evaluation.error
}

#[test]
fn rows_of_a_group_do_not_vouch_for_each_other() {
    let (dataset, groups) = triplets();
    // A row has no twin among the training rows only where all three fell into one fold.
    assert!(error_of_one_neighbour(&dataset) < 0.2);
    let grouped = dataset.with_dependence(Dependence::Groups(groups));
    assert!(error_of_one_neighbour(&grouped) > 0.3);
}

#[test]
fn in_order_of_time_only_later_rows_are_predicted() {
    let dataset = numeric_table(60, 2, 4).with_dependence(Dependence::Order((0..60).collect()));
    let options = Validation { keep_models: true, ..keeping_predictions(2) };
    let tested = options.tested_rows(&dataset).expect("the earliest rows are not tested");
    assert_eq!(tested, (30..60).collect::<Vec<_>>());
    let pipelines = some_pipelines(2999);
    for outcome in options.outcomes(&dataset, &pipelines).unwrap() {
        let Outcome::Finished(evaluation) = outcome else { continue };
        let all = evaluation.out_of_fold.as_ref().unwrap();
        assert_eq!(all.labels.len(), tested.len());
        // The last model knows the first fifty rows and predicts the last ten.
        let (model, ctx) = (&evaluation.models[2], FitContext::unhurried());
        let last = model.predict_rows(dataset.frame(), &tested[20..], &ctx).unwrap();
        assert_eq!(last.labels.codes(), &all.labels.codes()[20..]);
    }
}

#[test]
fn one_fold_of_several_is_a_part_held_out() {
    let dataset = mixed_table(100, 2, 4);
    let whole = Validation { n_folds: 5, keep_models: true, ..keeping_predictions(2) };
    let held_out = Validation { most_folds: 1, ..whole.clone() };
    let tested = held_out.tested_rows(&dataset).expect("the other folds are not tested");
    assert!((18..=22).contains(&tested.len()), "{}", tested.len());
    assert_eq!(whole.tested_rows(&dataset), None);
    let pipelines = some_pipelines(2999);
    let (all, one) =
        (whole.outcomes(&dataset, &pipelines), held_out.outcomes(&dataset, &pipelines));
    let mut n_compared = 0;
    for (all, one) in all.unwrap().into_iter().zip(one.unwrap()) {
        let (Outcome::Finished(all), Outcome::Finished(one)) = (all, one) else { continue };
        assert_eq!(one.models.len(), 1);
        assert_eq!(one.fold_errors[..], all.fold_errors[..1], "it is the first fold's");
        let labels = one.out_of_fold.as_ref().unwrap().labels.codes().to_vec();
        let of_all = all.out_of_fold.as_ref().unwrap().labels.select(&tested);
        assert_eq!(labels, of_all.codes());
        n_compared += 1;
    }
    assert!(n_compared > 3);
}

#[test]
fn rows_of_one_group_cannot_be_validated() {
    let dataset = numeric_table(30, 2, 4).with_dependence(Dependence::Groups(vec![0; 30]));
    let error = keeping_predictions(1).outcomes(&dataset, &some_pipelines(9999)).unwrap_err();
    assert_eq!(error, FitError::TooFewFolds { got: 0 });
}

#[test]
fn whoever_watches_sees_what_every_thread_is_at_and_nothing_once_it_is_over() {
    let dataset = mixed_table(60, 2, 3);
    let pipelines = some_pipelines(97);
    let watch = Arc::new(Watch::default());
    let options =
        Validation { threads: 2, watch: Some(Arc::clone(&watch)), ..keeping_predictions(2) };
    let mut seen = Vec::new();
    let look = |_, _| seen.extend(watch.threads().into_iter().flatten());
    options.evaluate(&dataset, &pipelines, look).unwrap();
    assert!(seen.iter().any(|r| matches!(r.activity, Activity::Fitting { n_settings: 1.., .. })));
    assert!(seen.iter().all(|r| r.fold < r.n_folds && r.n_folds == 3));
    let after = watch.threads();
    assert!(after.len() <= 2 && after.iter().all(Option::is_none));
}

/// Orders of one pipeline each; the first is not let go of before others have ended.
#[derive(Default)]
struct Orders {
    pipelines: Vec<Pipeline>,
    /// How many were given, how many have ended, how often something was to be waited for.
    state: Mutex<(usize, usize, usize)>,
    changed: std::sync::Condvar,
}

impl Work for Orders {
    fn next(&self) -> Supply {
        let mut state = self.state.lock().unwrap();
        match self.pipelines.get(state.0) {
            // The last one is told of what came of all others.
            Some(_) if state.0 + 1 == self.pipelines.len() && state.1 < state.0 => {
                state.2 += 1;
                self.changed.notify_all();
                Supply::Later
            }
            Some(pipeline) => {
                state.0 += 1;
                let (id, pipelines) = (state.0 - 1, vec![pipeline.clone()]);
                Supply::Order(Order { id, pipelines, deadline: None })
            }
            None => Supply::Over,
        }
    }

    fn tell(&self, order: usize, _: usize, outcome: Outcome) {
        assert!(matches!(outcome, Outcome::Finished(_)));
        if order == 0 {
            let state = self.state.lock().unwrap();
            let wait = Duration::from_secs(60);
            let waits = |state: &mut (usize, usize, usize)| state.1 < 3 || state.2 == 0;
            let (state, slept) = self.changed.wait_timeout_while(state, wait, waits).unwrap();
            drop(state);
            assert!(!slept.timed_out(), "the others wait for the slowest");
        }
    }

    fn ended(&self, _: usize, effort: Effort) {
        assert!(effort.cpu_secs() > 0.0 && effort.busy_secs > 0.0);
        self.state.lock().unwrap().1 += 1;
        self.changed.notify_all();
    }
}

#[test]
fn no_thread_waits_for_the_slowest_but_where_it_is_told_to() {
    let dataset = numeric_table(60, 3, 5);
    let pipelines: Vec<Pipeline> = slice(Imputer::Median).into_iter().step_by(31).take(5).collect();
    assert_eq!(pipelines.len(), 5);
    let orders = Orders { pipelines, ..Orders::default() };
    Validation { threads: 2, ..Validation::default() }.run(&dataset, &orders).unwrap();
    let (given, ended, waited) = *orders.state.lock().unwrap();
    assert_eq!((given, ended), (5, 5));
    // Asked again when an order has ended, and not all the time.
    assert!((1..=4).contains(&waited), "{waited}");
}
