//! `cargo xtask bench design`: the time-constrained greedy design next to the authors' published loop.

use std::path::Path;
use std::process::Command;

use cpu_time::ThreadTime;
use ndarray::Array2;
use pitchpipe_automl::offline::published::{N_PIPELINES, Published};
use pitchpipe_surrogate::bayes::{PriorRows, Scale};
use pitchpipe_surrogate::design::{DesignVectors, by_size, by_time, design_blocks};

use crate::python::{environment, root};
use crate::reference::families;
use crate::{published, tests};

/// Rank of the design, as in the paper's largest experiments.
const RANK: usize = 40;

/// The dataset whose recorded seconds are the times (in the paper's order).
const DATASET: usize = 100;

/// Shortest time of a pipeline, for the scheduling of runs.
const LEAST_SECS: f64 = 0.1;

/// Prints milliseconds a step, ours and theirs, and whether the selections agree.
pub(crate) fn run() -> Result<(), String> {
    let wheel = published::wheel()?;
    let paper =
        Published::read(&wheel).and_then(|p| p.of_the_paper()).map_err(|e| e.to_string())?;
    let embeddings = embed(&paper)?;
    let secs: Vec<f64> = paper
        .runtimes_secs
        .row(DATASET)
        .iter()
        .map(|&t| if t > 0.0 { f64::from(t).max(LEAST_SECS) } else { 120.0 })
        .collect();
    let vectors = DesignVectors::new(embeddings.view()).map_err(|e| e.to_string())?;
    // A short design for both: the pivots, then some dozen greedy steps.
    let limit = 12.0;
    let ours = by_time(&vectors, &secs, limit).map_err(|e| e.to_string())?;
    let folder = root().join("target/bench/design");
    let theirs = run_published(&wheel, &folder, &embeddings, &secs, limit)?;

    let pivots = cpu_ms(5, || by_size(&vectors, RANK).map(|d| d.pipelines.len()))?;
    let long = by_time(&vectors, &secs, 100.0).map_err(|e| e.to_string())?.pipelines.len() - RANK;
    let whole = cpu_ms(5, || by_time(&vectors, &secs, 100.0).map(|d| d.pipelines.len()))?;
    let step = (whole - pivots) / long as f64;
    let actions = families();
    let start =
        cpu_ms(5, || design_blocks(&vectors, &actions, &secs, 0.0).map(|d| d.actions.len()))?;
    let blocks =
        design_blocks(&vectors, &actions, &secs, 100.0).map_err(|e| e.to_string())?.actions.len();
    let all_blocks =
        cpu_ms(5, || design_blocks(&vectors, &actions, &secs, 100.0).map(|d| d.actions.len()))?;
    let block = (all_blocks - start) / blocks as f64;

    let chosen: Vec<usize> = theirs["chosen"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|v| v.as_u64().map(|v| v as usize))
        .collect();
    let published_step = theirs["ms_per_step"].as_f64().unwrap_or(f64::NAN);
    println!(
        "greedy design within a time limit, rank {RANK}, {N_PIPELINES} pipelines, one thread, CPU time"
    );
    println!("  published loop     {published_step:9.2} ms a step ({} steps)", theirs["steps"]);
    println!(
        "  ours               {step:9.3} ms a step ({long} steps), {:.0} x faster",
        published_step / step
    );
    println!("  pivots beforehand  {pivots:9.2} ms");
    println!(
        "  blocks             {block:9.3} ms a block ({blocks} blocks), {:.2} x a step",
        block / step
    );
    println!("  same selections    {} ({} pipelines)", chosen == ours.pipelines, chosen.len());
    let reached = chosen == ours.pipelines
        && step < 1.0
        && published_step >= 100.0 * step
        && block <= 3.0 * step;
    if reached { Ok(()) } else { Err("the design is not as fast as it should be".to_owned()) }
}

/// Embeddings of the paper's datasets; missing entries at their dataset's mean, which is good enough to time.
fn embed(paper: &Published) -> Result<Array2<f32>, String> {
    let mut filled = paper.errors.clone();
    for (mut row, secs) in filled.rows_mut().into_iter().zip(paper.runtimes_secs.rows()) {
        let seen = secs.iter().filter(|&&t| t > 0.0).count();
        let mean = row.sum() / seen.max(1) as f32;
        row.iter_mut().zip(secs).filter(|(_, t)| **t <= 0.0).for_each(|(e, _)| *e = mean);
    }
    let rows = PriorRows::new(filled.view(), Scale::Plain).map_err(|e| e.to_string())?;
    rows.embeddings(&vec![1.0; filled.nrows()], RANK).map_err(|e| e.to_string())
}

/// Writes the problem down, runs the published loop on it, reads what it chose.
fn run_published(
    wheel: &Path,
    folder: &Path,
    embeddings: &Array2<f32>,
    secs: &[f64],
    limit: f64,
) -> Result<serde_json::Value, String> {
    let text = |e: std::io::Error| e.to_string();
    std::fs::create_dir_all(folder).map_err(text)?;
    let y: Vec<u8> = embeddings.iter().flat_map(|v| v.to_le_bytes()).collect();
    let t: Vec<u8> = secs.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(folder.join("y.f32"), y).map_err(text)?;
    std::fs::write(folder.join("secs.f64"), t).map_err(text)?;
    std::fs::write(folder.join("limit.txt"), limit.to_string()).map_err(text)?;
    tests::run(
        Command::new(environment("bench-learn")?)
            .arg(root().join("bench/surrogate/design.py"))
            .arg(wheel)
            .arg(folder),
    )?;
    let answer = std::fs::read(folder.join("published.json")).map_err(text)?;
    serde_json::from_slice(&answer).map_err(|e| e.to_string())
}

/// The least CPU milliseconds of several runs.
fn cpu_ms<T, E: std::fmt::Display>(
    runs: usize,
    mut work: impl FnMut() -> Result<T, E>,
) -> Result<f64, String> {
    let mut least = f64::INFINITY;
    for _ in 0..runs {
        let start = ThreadTime::now();
        work().map_err(|e| e.to_string())?;
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(least)
}
