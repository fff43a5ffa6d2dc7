//! Searches on tables of a corpus, measured on rows that were held out, next to a default random forest.
//!
//! `holdout CORPUS [--budget SECS] [--methods auto,random] [--tables a,b] [--most-rows N] [--folds N]
//! [--seeds N] [--threads N] [--surrogate FILE] [--ensemble vote|average] [--spent yes]`
//! prints one line a table and method, then means.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pitchpipe_automl::offline::corpus::{load, tables};
use pitchpipe_automl::surrogate::Surrogate;
use pitchpipe_automl::{AutoMl, Combination, Happened, Method};
use pitchpipe_learn::{FitContext, Pipeline};
use pitchpipe_table::{Dataset, Labels, Metric, balanced_error_rate, holdout};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        args.iter().position(|a| a == name).and_then(|at| args.get(at + 1)).map(String::as_str)
    };
    let corpus = args.get(1).ok_or("name a corpus")?;
    let budget: f64 = option("--budget").unwrap_or("5").parse()?;
    let most_rows: usize = option("--most-rows").unwrap_or("3000").parse()?;
    let seeds: u64 = option("--seeds").unwrap_or("1").parse()?;
    let methods: Vec<Method> = option("--methods")
        .unwrap_or("auto")
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let wanted: Option<Vec<&str>> = option("--tables").map(|names| names.split(',').collect());
    let mut sums = vec![(0.0, 0.0, 0usize); methods.len()];
    for table in tables(Path::new(corpus), None)? {
        if wanted.as_ref().is_some_and(|names| !names.contains(&table.name.as_str())) {
            continue;
        }
        let all = load(&table)?;
        if all.n_rows() > most_rows {
            continue;
        }
        for seed in 0..seeds {
            let split = holdout(all.labels(), 1.0 / 3.0, 1000 + seed);
            let (train, test) = (all.select(&split.train), all.select(&split.test));
            let forest = forest_error(&train, &test);
            for (m, &method) in methods.iter().enumerate() {
                let start = Instant::now();
                let mut automl = AutoMl::new()
                    .time_budget(Duration::from_secs_f64(budget))
                    .method(method)
                    .seed(seed);
                if let Some(n) = option("--folds") {
                    automl = automl.folds(n.parse()?);
                }
                if let Some(n) = option("--threads") {
                    automl = automl.threads(n.parse()?);
                }
                if let Some(way) = option("--ensemble") {
                    automl = automl.ensemble(match way {
                        "vote" => Combination::Vote,
                        "average" => Combination::Average,
                        _ => return Err("--ensemble is vote or average".into()),
                    });
                }
                if let Some(file) = option("--surrogate") {
                    automl = automl.surrogate(Arc::new(Surrogate::read(Path::new(file))?));
                }
                let (cpu, mut first) = (cpu_time::ProcessTime::now(), None);
                let model = automl.fit_with(&train, |event| {
                    if let Happened::EnsembleChanged { .. } = event.what {
                        first.get_or_insert(cpu.elapsed());
                    }
                    ControlFlow::Continue(())
                })?;
                let cpu = cpu.elapsed().as_secs_f64();
                let secs = start.elapsed().as_secs_f64();
                let predictions = model.predict(test.frame())?;
                let error = balanced_error_rate(test.labels(), &predictions.labels);
                let report = model.report();
                sums[m].0 += error;
                sums[m].1 += forest;
                sums[m].2 += 1;
                println!(
                    "{:28} {:11} error {error:.4} (validated {:.4}, best single {:.4})  forest {forest:.4}  {} pipelines, {} in it, {secs:.2} s ({cpu:.2} of work, first model after {:.3}), {} rows of {}",
                    table.name,
                    method,
                    report.scores.balanced_error,
                    report.leaderboard[0].error,
                    report.n_evaluated,
                    model.base_learners().len(),
                    first.map_or(f64::NAN, |f| f.as_secs_f64()),
                    report.n_rows_used,
                    report.n_rows,
                );
                if option("--spent").is_some() {
                    for spent in &report.time_spent {
                        println!("    {:20} {:.3} s", spent.what, spent.secs);
                    }
                    for c in report.leaderboard.iter().take(5) {
                        println!("    {:.4} {:.3} {}", c.error, c.weight, c.pipeline);
                    }
                }
            }
        }
    }
    for (method, (error, forest, n)) in methods.iter().zip(sums) {
        let n = n.max(1) as f64;
        println!("mean of {n}: {method} {:.4}, forest {:.4}", error / n, forest / n);
    }
    Ok(())
}

/// The error of a forest of the usual settings, deciding for the same metric.
fn forest_error(train: &Dataset, test: &Dataset) -> f64 {
    let text = "impute(mean) > one_hot > standardise > all_features > \
                random_forest(min_samples_split=2, criterion=gini)";
    let pipeline: Pipeline = text.parse().expect("a pipeline");
    let ctx = FitContext::unhurried();
    let fitted = pipeline.fit(train, &ctx).expect("it fits");
    let prediction = fitted.predict(test.frame(), &ctx).expect("it predicts");
    let decided: Labels = Metric::BalancedError.decision().decide(
        &prediction.labels,
        prediction.probabilities.values(),
        &train.labels().priors(),
    );
    balanced_error_rate(test.labels(), &decided)
}
