//! Ways to combine candidate learners, compared on rows that were held out (docs/decisions/0060-online.md).
//!
//! `ensembles CORPUS [--tables a,b] [--evaluations N] [--seeds N] [--least-rows N] [--most-rows N]`

use std::path::Path;
use std::time::Duration;

use pitchpipe_automl::AutoMl;
use pitchpipe_automl::ensemble::{GreedySettings, Judge, majority, select};
use pitchpipe_automl::offline::corpus::{load, tables};
use pitchpipe_learn::estimate::{EstimatorSpec, LogisticRegression, Penalty, Solver};
use pitchpipe_learn::{
    FitContext, Outcome, Pipeline, Prediction, Preparation, Probabilities, Validation,
};
use pitchpipe_table::{Column, Dataset, Labels, Metric, balanced_error_rate, holdout};

/// One candidate learner: what it says out of fold, and about the rows held out.
struct Candidate {
    error: f64,
    native_error: f64,
    out_of_fold: Prediction,
    test: Prediction,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        args.iter().position(|a| a == name).and_then(|at| args.get(at + 1)).map(String::as_str)
    };
    let number =
        |name: &str, default: usize| option(name).map_or(Ok(default), |text| text.parse::<usize>());
    let corpus = args.get(1).ok_or("name a corpus")?;
    let (least, most) = (number("--least-rows", 0)?, number("--most-rows", 2000)?);
    let every = number("--every", 1)?;
    let wanted: Option<Vec<&str>> = option("--tables").map(|names| names.split(',').collect());
    let mut totals: Vec<(String, Vec<f64>)> = Vec::new();
    let mut at = 0;
    for table in tables(Path::new(corpus), None)? {
        if wanted.as_ref().is_some_and(|names| !names.contains(&table.name.as_str())) {
            continue;
        }
        at += 1;
        if at % every != 0 {
            continue;
        }
        let all = load(&table)?;
        if !(least..=most).contains(&all.n_rows()) {
            continue;
        }
        for seed in 0..number("--seeds", 1)? as u64 {
            let split = holdout(all.labels(), 0.4, 77 + seed);
            let (train, test) = (all.select(&split.train), all.select(&split.test));
            let candidates = match candidates(&train, &test, number("--evaluations", 250)?, seed) {
                Ok(candidates) if !candidates.is_empty() => candidates,
                _ => continue,
            };
            println!("{} ({} candidates, {} rows)", table.name, candidates.len(), train.n_rows());
            for (name, error) in compared(&candidates, &train, &test) {
                match totals.iter_mut().find(|t| t.0 == name) {
                    Some(total) => total.1.push(error),
                    None => totals.push((name, vec![error])),
                }
            }
        }
    }
    let base = totals.iter().find(|t| t.0.starts_with("greedy, default")).map(|t| t.1.clone());
    for (name, errors) in &totals {
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        let differences: Vec<f64> = base.iter().flatten().zip(errors).map(|(b, e)| e - b).collect();
        let d = differences.iter().sum::<f64>() / n;
        let spread = differences.iter().map(|x| (x - d).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        println!("{name:44} {mean:.4}  {d:+.4} ± {:.4}", (spread / n).sqrt());
    }
    Ok(())
}

/// The best pipelines of a search, evaluated once more to have their predictions.
fn candidates(
    train: &Dataset,
    test: &Dataset,
    n: usize,
    seed: u64,
) -> Result<Vec<Candidate>, Box<dyn std::error::Error>> {
    let automl = AutoMl::new()
        .time_budget(Duration::from_secs(60))
        .max_evaluations(n)
        .repeatable(true)
        .seed(seed);
    let model = automl.fit(train)?;
    let n_folds = model.report().n_folds;
    let pipelines: Vec<Pipeline> =
        model.report().leaderboard.iter().map(|c| c.pipeline.clone()).collect();
    let validation = Validation {
        n_folds,
        seed,
        keep_predictions: true,
        keep_models: true,
        ..Validation::default()
    };
    let ctx = FitContext::unhurried();
    let mut found = Vec::new();
    for outcome in validation.outcomes(train, &pipelines)? {
        let Outcome::Finished(evaluation) = outcome else { continue };
        let n_classes = train.labels().n_classes();
        let mut mean = vec![0.0; test.n_rows() * n_classes];
        for model in &evaluation.models {
            let prediction = model.predict(test.frame(), &ctx)?;
            let weight = 1.0 / evaluation.models.len() as f64;
            mean.iter_mut()
                .zip(prediction.probabilities.values())
                .for_each(|(m, p)| *m += weight * p);
        }
        let Some(out_of_fold) = evaluation.out_of_fold else { continue };
        found.push(Candidate {
            error: evaluation.decided_error,
            native_error: evaluation.error,
            out_of_fold: (*out_of_fold).clone(),
            test: Prediction::most_probable(Probabilities::from_rows(n_classes, mean)),
        });
    }
    found.sort_by(|a, b| a.error.total_cmp(&b.error));
    Ok(found)
}

/// The error of each way on the rows held out.
fn compared(candidates: &[Candidate], train: &Dataset, test: &Dataset) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    let priors = train.labels().priors();
    let judge = Judge::new(train.labels(), &priors, Metric::BalancedError);
    let decided = |p: &[f64]| {
        let rule = Metric::BalancedError.decision();
        balanced_error_rate(test.labels(), &rule.decide(test.labels(), p, &priors))
    };
    let single = &candidates[0];
    all.push(("best single".into(), decided(single.test.probabilities.values())));
    let mut native: Vec<&Candidate> = candidates.iter().collect();
    native.sort_by(|a, b| a.native_error.total_cmp(&b.native_error));
    all.push(("majority vote of 5, native".into(), voted(&native, test)));
    for n in [5, 10, 20] {
        let weights: Vec<(usize, f64)> = (0..n.min(candidates.len()))
            .map(|i| (i, 1.0 / n.min(candidates.len()) as f64))
            .collect();
        all.push((format!("mean of the {n} best"), decided(&mixed(candidates, &weights))));
    }
    let default = GreedySettings::default();
    let probabilities: Vec<Vec<f32>> = candidates
        .iter()
        .map(|c| c.out_of_fold.probabilities.values().iter().map(|&p| p as f32).collect())
        .collect();
    let mut greedy = |name: String, judge: &Judge, settings: &GreedySettings, most: usize| {
        let some: Vec<&[f32]> = probabilities.iter().take(most).map(Vec::as_slice).collect();
        let selection = select(judge, &some, settings, &|| false);
        let p = mixed(candidates, &selection.weights);
        all.push((name.clone(), decided(&p)));
        if name.starts_with("greedy, default") {
            let oof = mixed_out_of_fold(candidates, &selection.weights);
            let tuned = tuned_weights(train.labels(), &oof, &priors);
            all.push(("the same, tuned thresholds".into(), with_weights(&p, &tuned, test)));
            let half: Vec<f64> =
                tuned.iter().zip(&priors).map(|(t, pi)| (t / pi.max(1e-9)).sqrt()).collect();
            all.push(("the same, half of the way to tuned".into(), with_weights(&p, &half, test)));
        }
    };
    greedy("greedy, default".into(), &judge, &default, 40);
    for smooth in [0.0, 0.2, 1.0, 5.0, 100.0] {
        let judge = judge.clone().with_smooth_share(smooth);
        greedy(format!("greedy, smooth share {smooth}"), &judge, &default, 40);
    }
    for n_bags in [1, 8, 16] {
        greedy(format!("greedy, {n_bags} bags"), &judge, &GreedySettings { n_bags, ..default }, 40);
    }
    for n_rounds in [8, 12, 50] {
        let settings = GreedySettings { n_rounds, ..default };
        greedy(format!("greedy, {n_rounds} rounds"), &judge, &settings, 40);
    }
    for bag_share in [0.3, 0.8] {
        let settings = GreedySettings { bag_share, ..default };
        greedy(format!("greedy, bags of {bag_share}"), &judge, &settings, 40);
    }
    for most in [10, 20] {
        greedy(format!("greedy among the {most} best"), &judge, &default, most);
    }
    let smooth = judge.clone().with_smooth_share(100.0);
    for (n_bags, most) in [(1, 40), (8, 40), (4, 20), (4, 10)] {
        let settings = GreedySettings { n_bags, ..default };
        greedy(format!("greedy, smooth 100, {n_bags} bags, {most} best"), &smooth, &settings, most);
    }
    let smoother = judge.clone().with_smooth_share(1.0);
    let settings = GreedySettings { n_bags: 12, bag_share: 0.4, ..default };
    greedy("greedy, smooth 1, 12 bags of 0.4".into(), &smoother, &settings, 40);
    all.extend(stacked(candidates, train, test, &priors));
    all
}

fn voted(best_first: &[&Candidate], test: &Dataset) -> f64 {
    let n_classes = test.labels().n_classes();
    let labels = (0..test.n_rows()).map(|row| {
        let votes: Vec<u32> =
            best_first.iter().take(5).map(|c| c.test.labels.codes()[row]).collect();
        majority(&votes, n_classes)
    });
    balanced_error_rate(test.labels(), &Labels::from_codes(labels, n_classes))
}

fn mixed(candidates: &[Candidate], weights: &[(usize, f64)]) -> Vec<f64> {
    sum(weights.iter().map(|&(i, w)| (candidates[i].test.probabilities.values(), w)))
}

fn mixed_out_of_fold(candidates: &[Candidate], weights: &[(usize, f64)]) -> Vec<f64> {
    sum(weights.iter().map(|&(i, w)| (candidates[i].out_of_fold.probabilities.values(), w)))
}

fn sum<'a>(parts: impl Iterator<Item = (&'a [f64], f64)>) -> Vec<f64> {
    let mut total: Vec<f64> = Vec::new();
    for (values, weight) in parts {
        total.resize(values.len(), 0.0);
        total.iter_mut().zip(values).for_each(|(t, v)| *t += weight * v);
    }
    total
}

/// Class weights that minimise the balanced error, one class after the other.
fn tuned_weights(truth: &Labels, p: &[f64], priors: &[f64]) -> Vec<f64> {
    let mut weights: Vec<f64> = priors.iter().map(|pi| 1.0 / pi.max(1e-9)).collect();
    let error = |weights: &[f64]| balanced_error_rate(truth, &labels_of(p, weights));
    for _ in 0..2 {
        for class in 0..weights.len() {
            let mut best = (error(&weights), weights[class]);
            let start = weights[class];
            for step in -8..=8 {
                weights[class] = start * 1.2f64.powi(step);
                let e = error(&weights);
                if e < best.0 - 1e-12 {
                    best = (e, weights[class]);
                }
            }
            weights[class] = best.1;
        }
    }
    weights
}

fn labels_of(p: &[f64], weights: &[f64]) -> Labels {
    let c = weights.len();
    let values = p.iter().enumerate().map(|(i, p)| p * weights[i % c]).collect();
    Probabilities::from_rows(c, values).argmax()
}

fn with_weights(p: &[f64], weights: &[f64], test: &Dataset) -> f64 {
    balanced_error_rate(test.labels(), &labels_of(p, weights))
}

/// A logistic regression on the log odds of the best candidates.
fn stacked(
    candidates: &[Candidate],
    train: &Dataset,
    test: &Dataset,
    priors: &[f64],
) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for n in [5, 15] {
        let columns = |of: &dyn Fn(&Candidate) -> Probabilities| -> Vec<Column> {
            let mut columns = Vec::new();
            for candidate in candidates.iter().take(n) {
                let p = of(candidate);
                for class in 0..p.n_classes() {
                    let odds = |row| {
                        let p: f64 = p.row(row)[class];
                        let p = p.clamp(1e-3, 1.0 - 1e-3);
                        (p / (1.0 - p)).ln()
                    };
                    columns.push(Column::Numeric((0..p.n_rows()).map(odds).collect()));
                }
            }
            columns
        };
        let learn =
            Dataset::new(columns(&|c| c.out_of_fold.probabilities.clone()), train.labels().clone());
        let ask = Dataset::new(columns(&|c| c.test.probabilities.clone()), test.labels().clone());
        let estimator =
            LogisticRegression { c: 0.1, solver: Solver::Liblinear, penalty: Penalty::L2 };
        let pipeline = Pipeline {
            preparation: Preparation::default(),
            estimator: EstimatorSpec::LogisticRegression(estimator),
        };
        let ctx = FitContext::unhurried();
        let Ok(fitted) = pipeline.fit(&learn, &ctx) else { continue };
        let Ok(prediction) = fitted.predict(ask.frame(), &ctx) else { continue };
        let rule = Metric::BalancedError.decision();
        let labels = rule.decide(test.labels(), prediction.probabilities.values(), priors);
        all.push((
            format!("stacking of the {n} best"),
            balanced_error_rate(test.labels(), &labels),
        ));
    }
    all
}
