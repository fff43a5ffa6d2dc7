//! Whether the cost that sharing attributes to a pipeline is what running it alone really takes.
//!
//! Evaluates a sample of pipelines together, then each alone, and compares the CPU seconds.
//!
//! ```text
//! costs [--sample N] [--rows N] [--cols N]
//! ```

mod support;

use std::collections::BTreeMap;

use pitchpipe_learn::{Outcome, SearchSpace, Validation};
use support::{Shape, generated, uniform};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut shape = Shape { n_rows: 1000, n_cols: 20, n_classes: 3, is_mixed: true };
    let mut n_sample = 200;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let number = args.next().ok_or("a number is missing")?.parse::<usize>()?;
        match arg.as_str() {
            "--sample" => n_sample = number,
            "--rows" => shape.n_rows = number,
            "--cols" => shape.n_cols = number,
            other => return Err(format!("there is no option {other}").into()),
        }
    }
    let dataset = generated(shape, 3);
    let mut uniform = uniform(8);
    // Whole families of two preparations: what is shared is what has to be modelled.
    let space = SearchSpace::paper();
    let preparations = [
        "impute(mean) > one_hot > standardise > all_features",
        "impute(most_frequent) > codes > unscaled > pca(50%)",
    ];
    let mut pipelines = Vec::new();
    for text in preparations {
        pipelines.extend(space.behind(text.parse()?).into_iter().map(|id| space.pipeline(id)));
    }
    let options = Validation::default();
    // The least of three, here and below: other work on the machine only adds.
    let mut modelled = vec![f64::INFINITY; pipelines.len()];
    for _ in 0..3 {
        for (modelled, outcome) in modelled.iter_mut().zip(options.outcomes(&dataset, &pipelines)?)
        {
            if let Outcome::Finished(evaluation) = outcome {
                *modelled = modelled.min(evaluation.alone_secs);
            }
        }
    }

    let mut by_type: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..n_sample {
        let i = (uniform() * pipelines.len() as f64) as usize;
        let pipeline = &pipelines[i];
        if modelled[i].is_infinite() {
            continue;
        }
        let mut measured = f64::INFINITY;
        for _ in 0..3 {
            let start = cpu_time::ProcessTime::now();
            options.outcomes(&dataset, std::slice::from_ref(pipeline))?;
            measured = measured.min(start.elapsed().as_secs_f64());
        }
        by_type.entry(pipeline.estimator.name()).or_default().push(modelled[i] / measured);
    }
    println!("modelled / measured CPU seconds of a pipeline alone");
    println!(
        "{:<22} {:>5} {:>7} {:>7} {:>7} {:>9}",
        "", "n", "least", "median", "most", "within 25%"
    );
    let mut all = Vec::new();
    for (name, mut ratios) in by_type {
        all.extend(ratios.clone());
        print_row(name, &mut ratios);
    }
    print_row("all", &mut all);
    Ok(())
}

fn print_row(name: &str, ratios: &mut [f64]) {
    ratios.sort_by(f64::total_cmp);
    let (n, close) = (ratios.len(), ratios.iter().filter(|r| (0.75..=1.25).contains(*r)).count());
    if n > 0 {
        let (least, median, most) = (ratios[0], ratios[n / 2], ratios[n - 1]);
        println!(
            "{name:<22} {n:>5} {least:>7.2} {median:>7.2} {most:>7.2} {:>8}%",
            100 * close / n
        );
    }
}
