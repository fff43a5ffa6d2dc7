//! All 23,424 pipelines on one table: ours in full, scikit-learn's from a stratified random sample.

use std::collections::BTreeMap;
use std::time::Instant;

use cpu_time::ProcessTime;
use pitchpipe_learn::{Outcome, Pipeline, SearchSpace, Stream, Validation};

use super::peer::{Case, Patience, Tables};

/// How many pipelines scikit-learn's total is estimated from.
const SAMPLE: usize = 300;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which table: `two-1000x20` is numeric and complete, `mixed-500x16` has missing, nominal and constant columns.
    #[arg(long, default_values = ["two-1000x20", "mixed-500x16"])]
    table: Vec<String>,
    /// A sample of 60 on scikit-learn's side, stopped at 5 s a pipeline.
    #[arg(long)]
    quick: bool,
    /// Threads of ours; CPU time is what is compared.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let names: Vec<&str> = options.table.iter().map(String::as_str).collect();
    let tables = Tables::read(&names)?;
    let space = SearchSpace::paper();
    let all: Vec<Pipeline> = space.ids().map(|id| space.pipeline(id)).collect();
    let mut missed = Vec::new();
    for name in names {
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        let (mut finished, mut marginal) = (0, 0.0);
        let validation = Validation { threads: options.threads, ..Validation::default() };
        let effort = validation
            .evaluate(&tables.tables[name], &all, |_, outcome| {
                if let Outcome::Finished(evaluation) = outcome {
                    finished += 1;
                    marginal += evaluation.marginal_secs;
                }
            })
            .map_err(|e| e.to_string())?;
        let (wall, ours) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        println!(
            "{name}: {finished} of {} pipelines finished, {} computations on {} prepared tables",
            all.len(),
            effort.n_computations,
            effort.n_prepared
        );
        println!(
            "  ours: {ours:.1} CPU s, {wall:.1} s on {} thread(s); preparation {:.1} s",
            options.threads, effort.preparation_secs
        );
        for (kind, secs) in &effort.estimator_secs {
            println!("    {kind:<22} {secs:>8.2} s");
        }
        let (n, cap_secs) = if options.quick { (60, 5.0) } else { (SAMPLE, 30.0) };
        let strata = sample(&all, n);
        let cases: Vec<Case> =
            strata.values().flatten().map(|p| Case::new(name, (*p).clone())).collect();
        let patience = Patience { repeats: 1, fold_cap_secs: f64::INFINITY, cap_secs };
        let file = format!("slice-{name}-{n}");
        let secs = tables.peer_secs(&file, &cases, patience)?;
        let (mut theirs, mut variance, mut at) = (0.0, 0.0, 0);
        for (kind, own) in &strata {
            let n_all = all.iter().filter(|p| p.estimator.name() == *kind).count() as f64;
            // A pipeline that scikit-learn refuses costs it nothing.
            let took: Vec<f64> =
                secs[at..at + own.len()].iter().map(|s| s.unwrap_or(0.0)).collect();
            at += own.len();
            let n = took.len() as f64;
            let mean = took.iter().sum::<f64>() / n;
            let spread = took.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
            theirs += n_all * mean;
            variance += n_all * n_all * spread / n;
        }
        println!(
            "  scikit-learn: {theirs:.0} CPU s (standard error {:.0}) estimated from {} pipelines, stopped at {cap_secs} s each",
            variance.sqrt(),
            cases.len()
        );
        let target = if name.starts_with("mixed") { 15.0 } else { 100.0 };
        println!("  ratio {:.1} (target {target})", theirs / ours);
        if theirs / ours < target {
            missed.push(format!("{name}: {:.1} times, not {target}", theirs / ours));
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ")) }
}

/// A random sample, each type of estimator with its share of the search space and at least two.
fn sample(all: &[Pipeline], n: usize) -> BTreeMap<&'static str, Vec<&Pipeline>> {
    let mut by_kind: BTreeMap<&'static str, Vec<&Pipeline>> = BTreeMap::new();
    for pipeline in all {
        by_kind.entry(pipeline.estimator.name()).or_default().push(pipeline);
    }
    for (kind, members) in &mut by_kind {
        let wanted = (members.len() * n).div_ceil(all.len()).max(2);
        let stream = Stream::new(1).named(kind);
        let mut keyed: Vec<(u64, &Pipeline)> =
            members.iter().enumerate().map(|(i, p)| (stream.child(i as u64).key(), *p)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        *members = keyed.into_iter().take(wanted).map(|(_, p)| p).collect();
    }
    by_kind
}
