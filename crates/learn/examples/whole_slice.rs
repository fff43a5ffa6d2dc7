//! Evaluates all 23,424 pipelines of one table and says how long that takes.
//!
//! ```text
//! whole_slice [--threads N] [--rows N] [--cols N] [--classes N] [--mixed] [FILE]
//! ```

mod support;

use std::time::Instant;

use pitchpipe_learn::{Outcome, SearchSpace, Validation};
use support::{Shape, from_file, generated};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut shape = Shape { n_rows: 1000, n_cols: 20, n_classes: 2, is_mixed: false };
    let (mut threads, mut file) = (2, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || {
            args.next().ok_or("a number is missing")?.parse::<usize>().map_err(|e| e.to_string())
        };
        match arg.as_str() {
            "--threads" => threads = number()?,
            "--rows" => shape.n_rows = number()?,
            "--cols" => shape.n_cols = number()?,
            "--classes" => shape.n_classes = number()?,
            "--mixed" => shape.is_mixed = true,
            path => file = Some(path.to_owned()),
        }
    }
    let dataset = match &file {
        Some(path) => from_file(path)?,
        None => generated(shape, 1),
    };
    let space = SearchSpace::paper();
    let pipelines: Vec<_> = space.ids().map(|id| space.pipeline(id)).collect();
    let options = Validation { threads, ..Validation::default() };

    let (mut finished, mut failed, mut best) = (0, 0, (f64::INFINITY, 0));
    let (mut alone_secs, mut marginal_secs) = (0.0, 0.0);
    let start = Instant::now();
    let cpu = cpu_time::ProcessTime::now();
    let effort = options.evaluate(&dataset, &pipelines, |i, outcome| match outcome {
        Outcome::Finished(evaluation) => {
            finished += 1;
            alone_secs += evaluation.alone_secs;
            marginal_secs += evaluation.marginal_secs;
            if evaluation.error < best.0 {
                best = (evaluation.error, i);
            }
        }
        _ => failed += 1,
    })?;
    let secs = start.elapsed().as_secs_f64();

    println!("{} rows, {} columns", dataset.n_rows(), dataset.columns().len());
    println!("{finished} pipelines finished, {failed} did not apply");
    println!("{secs:.1} s on {threads} threads, {:.1} s of CPU", cpu.elapsed().as_secs_f64());
    println!("{} computations on {} prepared tables", effort.n_computations, effort.n_prepared);
    println!("{marginal_secs:.1} s accounted for; one by one they would take {alone_secs:.1} s");
    println!("best: {:.4} by {}", best.0, pipelines[best.1]);
    println!("{:>8.2} s  preparation", effort.preparation_secs);
    let mut by_type = effort.estimator_secs;
    by_type.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, secs) in by_type {
        println!("{secs:>8.2} s  {name}");
    }
    Ok(())
}
