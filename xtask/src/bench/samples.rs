//! How errors on a smaller sample compare with those on a larger one, pipeline by pipeline: what the search makes of
//! looks at few rows (`surrogate::search`).

use std::path::PathBuf;

use pitchpipe_automl::offline::corpus;
use pitchpipe_automl::surrogate::{ErrorKind, Surrogate};
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::{Outcome, Pipeline, PipelineId, Preparation, SearchSpace, Validation};
use pitchpipe_table::{Dataset, stratified_subsample};

use crate::reference::recorded::mean_and_error;

/// The rows of the largest sample; each smaller one has half as many.
const MOST_ROWS: usize = 8_000;
const N_HALVINGS: usize = 3;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder of tables, of which those with 8,000 rows are taken
    #[arg(long, value_name = "DIR", default_value = "../shared/corpus/train")]
    tables: PathBuf,

    /// Every so many of the estimators, on one preparation
    #[arg(long, value_name = "N", default_value_t = 9)]
    every: usize,

    /// At most so many tables
    #[arg(long, value_name = "N", default_value_t = usize::MAX)]
    most: usize,
}

/// Prints how errors fall as rows double, and the spread around that beside the prior's noise.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let plain = SearchSpace::paper().behind(Preparation::of_oboe(Imputer::Mean));
    let ids: Vec<PipelineId> = plain.into_iter().step_by(options.every.max(1)).collect();
    let surrogate = Surrogate::embedded();
    let prior = surrogate.prior(ErrorKind::Decided).ok_or("the surrogate has no prior")?;
    let mut drops = vec![Vec::new(); N_HALVINGS];
    let mut spreads = vec![Vec::new(); N_HALVINGS];
    let mut n_tables = 0;
    for table in corpus::tables(&options.tables, None).map_err(|e| e.to_string())? {
        let Ok(dataset) = corpus::load(&table) else { continue };
        if dataset.n_rows() < MOST_ROWS || n_tables >= options.most {
            continue;
        }
        n_tables += 1;
        let sizes = (0..=N_HALVINGS).map(|d| MOST_ROWS >> d);
        let errors: Vec<Vec<Option<f64>>> =
            sizes.map(|n| errors(&dataset, n, &ids)).collect::<Result<_, _>>()?;
        for d in 1..=N_HALVINGS {
            let pairs = errors[d].iter().zip(&errors[0]).zip(&ids);
            let pairs: Vec<(f64, f64, f64)> = pairs
                .filter_map(|((small, large), id)| {
                    Some(((*small)?, (*large)?, prior.noise()[id.index()]))
                })
                .filter(|(_, large, _)| *large > 1e-3)
                .collect();
            let logs: Vec<f64> = pairs.iter().map(|(s, l, _)| (s.max(1e-3) / l).ln()).collect();
            let drop = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
            // Around this table's own drop: one that all pipelines share, the prior's level explains.
            let excess = |(s, l, noise): &(f64, f64, f64)| {
                ((s / drop.exp()).sqrt() - l.sqrt()).powi(2) / noise
            };
            drops[d - 1].push(drop / d as f64);
            spreads[d - 1].extend(pairs.iter().map(excess));
        }
    }
    println!("{n_tables} tables, {} pipelines, {MOST_ROWS} rows and fewer", ids.len());
    for d in 1..=N_HALVINGS {
        let ((drop, drop_error), (spread, spread_error)) =
            (mean_and_error(&drops[d - 1]), mean_and_error(&spreads[d - 1]));
        println!(
            "{} rows: errors fall by a share of {:.3} (±{drop_error:.3}) a doubling; variance around that {spread:.2} (±{spread_error:.2}) times the prior's noise",
            MOST_ROWS >> d,
            1.0 - (-drop).exp(),
        );
    }
    Ok(())
}

/// The error of each pipeline on a sample, where it finished.
fn errors(
    dataset: &Dataset,
    n_rows: usize,
    ids: &[PipelineId],
) -> Result<Vec<Option<f64>>, String> {
    let rows = stratified_subsample(dataset.labels(), n_rows, 0);
    let sample = dataset.select(&rows);
    let space = SearchSpace::paper();
    let pipelines: Vec<Pipeline> = ids.iter().map(|&id| space.pipeline(id)).collect();
    let mut errors = vec![None; ids.len()];
    let validation = Validation { threads: 2, ..Validation::default() };
    validation
        .evaluate(&sample, &pipelines, |i, outcome| {
            if let Outcome::Finished(evaluation) = outcome {
                errors[i] = Some(evaluation.decided_error);
            }
        })
        .map_err(|e| e.to_string())?;
    Ok(errors)
}
