//! What scikit-learn would have taken for the entries of a store, projected from `cargo xtask bench learn`.
//!
//! The benchmark times both, setting by setting, on eight tables. Per type of estimator the logarithm of
//! scikit-learn's CPU time is regressed on that of ours, and applied to every entry of the store, as if each
//! had run alone; no entry is projected to more than the time cap of the collection.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use pitchpipe_automl::offline::{Status, Store};
use pitchpipe_learn::estimate::EstimatorKind;

use crate::surrogate::meta;

/// What to project.
#[derive(Args)]
pub(crate) struct Options {
    /// What `cargo xtask bench learn` printed
    #[arg(long, value_name = "FILE")]
    learn: PathBuf,

    /// The store; data/meta where none is named
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

/// `log theirs = a + b log ours`, in seconds.
type Line = (f64, f64);

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let text = std::fs::read_to_string(&options.learn)
        .map_err(|e| format!("{}: {e}", options.learn.display()))?;
    let lines = lines(&text);
    let store =
        Store::open(&options.store.clone().unwrap_or_else(meta)).map_err(|e| e.to_string())?;
    let cap: f64 =
        store.facts().get("time_cap_s").and_then(|t| t.parse().ok()).unwrap_or(f64::INFINITY);
    let mut totals: BTreeMap<&str, (usize, f64, f64)> = BTreeMap::new();
    let (mut finished, mut out_of_time, mut failed, mut marginal) =
        (0_usize, 0_usize, 0_usize, 0.0);
    let datasets = store.datasets().map_err(|e| e.to_string())?;
    for dataset in &datasets {
        for entry in store.entries(dataset, &mut Vec::new()).map_err(|e| e.to_string())?.values() {
            marginal += f64::from(entry.marginal_s);
            match entry.status {
                Status::Finished(_) => finished += 1,
                Status::OutOfTime => out_of_time += 1,
                Status::Failed(_) => {
                    failed += 1;
                    continue;
                }
            }
            let name = store.space().kind(entry.pipeline.into()).name();
            let Some(&(a, b)) = lines.get(name) else {
                return Err(format!("{}: no timings of {name}", options.learn.display()));
            };
            let ours = f64::from(entry.runtime_s).max(1e-5);
            let total = totals.entry(name).or_default();
            total.0 += 1;
            total.1 += ours;
            total.2 += (a + b * ours.ln()).exp().min(cap);
        }
    }
    let all = datasets.len() * store.space().n_pipelines();
    println!(
        "{} datasets: {finished} entries finished, {out_of_time} out of time, {failed} not applicable; {:.2} % missing",
        datasets.len(),
        100.0 * (1.0 - finished as f64 / all.max(1) as f64)
    );
    println!(
        "{:<22}{:>10}{:>16}{:>22}{:>9}",
        "estimators", "entries", "alone, CPU s", "scikit-learn, CPU s", "ratio"
    );
    let mut sum = (0, 0.0, 0.0);
    for (name, (n, ours, theirs)) in &totals {
        println!("{name:<22}{n:>10}{ours:>16.0}{theirs:>22.0}{:>9.1}", theirs / ours);
        sum = (sum.0 + n, sum.1 + ours, sum.2 + theirs);
    }
    let (n, ours, theirs) = sum;
    println!("{:<22}{n:>10}{ours:>16.0}{theirs:>22.0}{:>9.1}", "all", theirs / ours);
    println!(
        "spent, with shared work: {marginal:.0} CPU s; scikit-learn {:.0} times that",
        theirs / marginal
    );
    Ok(())
}

/// A line per type of estimator, from rows `table estimator(…) ours-ms theirs-ms ratio`.
fn lines(text: &str) -> BTreeMap<String, Line> {
    let mut points: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in text.lines() {
        let words: Vec<&str> = row.split_whitespace().collect();
        let numbers: Vec<f64> = words.iter().rev().take(3).filter_map(|w| w.parse().ok()).collect();
        let (Some(&setting), [_, theirs, ours]) = (words.get(1), numbers.as_slice()) else {
            continue;
        };
        let name = setting.split('(').next().unwrap_or_default();
        if *ours > 0.0 && *theirs > 0.0 && name.parse::<EstimatorKind>().is_ok() {
            let point = ((ours / 1e3).ln(), (theirs / 1e3).ln());
            points.entry(name.to_owned()).or_default().push(point);
        }
    }
    points.into_iter().map(|(name, points)| (name, line(&points))).collect()
}

fn line(points: &[(f64, f64)]) -> Line {
    let n = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (mut xx, mut xy) = (0.0, 0.0);
    for (x, y) in points {
        xx += (x - mx).powi(2);
        xy += (x - mx) * (y - my);
    }
    let b = if xx > 0.0 { xy / xx } else { 1.0 };
    (my - b * mx, b)
}
