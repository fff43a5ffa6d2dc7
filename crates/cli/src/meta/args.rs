//! The command line of the offline phase.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use pitchpipe_automl::offline::train::TrainMethod;
use pitchpipe_automl::offline::{Preparation, SearchSpace};

use crate::output::ForceArgs;
use crate::values::duration;

/// Meta-train: measure pipelines on a corpus of tables.
#[derive(Debug, ClapArgs)]
pub(crate) struct MetaArgs {
    #[command(subcommand)]
    pub(crate) command: MetaCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MetaCommand {
    Collect(CollectArgs),
    Import(ImportArgs),
    Train(TrainArgs),
    Extend(ExtendArgs),
    Compact(CompactArgs),
    Info(InfoArgs),
    Status(StatusArgs),
}

/// Cross-validate pipelines on every table of a corpus and keep the results in a store.
///
/// Stop it whenever you like, with Ctrl-C or harder: a store is always whole. Started again with the same arguments, it goes on
/// where it was. The store is a folder of Parquet files, one row for each pipeline on each table.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe meta collect tables/ --store store
  pitchpipe meta collect tables/ --store store --fraction 0.1 --time-cap 30s --threads 2
  pitchpipe meta collect INDEX.tsv --store store --estimators knn,random_forest
  pitchpipe meta collect INDEX.tsv --store store --engine ray --address auto

CORPUS is a folder of tables, a tab-separated manifest with a column `file` (and perhaps `target`), or one
table. The target is the manifest's, else --target, else a column called `class`, else the last column.")]
pub(crate) struct CollectArgs {
    /// The tables: a folder, a manifest, or one file
    pub(crate) corpus: PathBuf,

    /// The folder of the results; made if it is not there, continued if it is
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,

    /// The column to predict, where the manifest names none
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,

    /// The share of the pipelines to run, drawn at random by families of estimators
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    pub(crate) fraction: f64,

    /// The seed of that draw
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,

    /// Do not run Oboe's 183 pipelines in full beside the random share
    #[arg(long)]
    pub(crate) no_slice: bool,

    /// How many folds to cross-validate with
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..=100))]
    pub(crate) folds: u16,

    /// How long a pipeline may take on a table, over all folds
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = duration)]
    pub(crate) time_cap: Duration,

    /// CPU time after which a table is left with what it has
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) dataset_cap: Option<Duration>,

    /// How many threads to use; all cores by default
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// Only these types of estimators, e.g. knn,random_forest
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub(crate) estimators: Vec<String>,

    /// Only these preparations, as positions of imputer.encoder.standardizer.reducer, e.g. 1.0.0.7
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',', value_parser = prefix)]
    pub(crate) prefixes: Vec<Preparation>,

    /// Who does the work: local (threads of this machine) or ray (a Ray cluster; the command must be the Python package's)
    #[arg(long, value_name = "ENGINE", default_value = "local", value_parser = ["local", "ray"])]
    pub(crate) engine: String,

    /// With --engine ray: the cluster, e.g. auto or ray://host:10001; by default one on this machine, with --threads workers
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,

    /// With --engine ray: where workers leave their results for the driver, e.g. s3://bucket/folder; by default they send them
    #[arg(long, value_name = "URI")]
    pub(crate) staging: Option<String>,

    /// With --engine ray: how often a task that fails is tried again before it is given up
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) retries: u32,

    /// With --engine ray: how long a task may be expected to take at most
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) task_time: Duration,

    /// Exit with 0 even if some tables could not be read or some pipelines were given up
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Print one JSON object an event instead of progress
    #[arg(long)]
    pub(crate) json: bool,
}

/// Put the errors and runtimes that the paper's authors published into a store.
///
/// Get the file with `pip download oboe==0.2.0 --no-deps`. It holds 551 OpenML datasets (BSD-3-Clause).
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  pip download oboe==0.2.0 --no-deps
  pitchpipe meta import oboe-0.2.0-py3-none-any.whl --store published")]
pub(crate) struct ImportArgs {
    /// The wheel oboe-0.2.0-py3-none-any.whl
    pub(crate) wheel: PathBuf,

    /// The folder of the results; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Train a surrogate from one store or several.
///
/// Stores are stacked by pipeline; what was not run is completed. Ranks are chosen by entries held out. Runtimes are
/// learned from your own runs; where there are published ones only, from those.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe meta train --store store --out mine.surrogate
  pitchpipe meta train --store store --store published --method bayes --out mine.surrogate
  pitchpipe meta train --store store --without iris --without wine --out honest.surrogate")]
pub(crate) struct TrainArgs {
    /// A store to train on; may be given several times
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) store: Vec<PathBuf>,

    /// The surrogate's file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// What to train: matrix (Oboe), tensor (TensorOboe), kernel (KernelOboe), bayes (the default search), all
    #[arg(long, value_name = "METHOD", default_value = "all", value_parser = method)]
    pub(crate) method: Methods,

    /// Leave out the dataset of this name; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) without: Vec<String>,

    /// Leave out the datasets that a manifest lists, by their content, their names and their OpenML ids
    #[arg(long, value_name = "TSV")]
    pub(crate) without_index: Vec<PathBuf>,

    /// The rank of completions (for kernel, the number of atoms) instead of one chosen by held-out entries
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=2000))]
    pub(crate) rank: Option<u16>,

    /// What a published dataset counts in the priors, where one of your own counts 1
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0, value_parser = share)]
    pub(crate) published_weight: f64,

    /// Decides which entries are held out
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,

    /// Hold the completed errors of at most this many datasets in memory; of more, all are learned from block by block
    #[arg(long, value_name = "DATASETS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    pub(crate) at_once: u32,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// The methods that one word on the command line stands for.
#[derive(Clone, Debug)]
pub(crate) struct Methods(pub(crate) Vec<TrainMethod>);

fn method(text: &str) -> Result<Methods, String> {
    if text == "all" {
        return Ok(Methods(TrainMethod::ALL.to_vec()));
    }
    let found = TrainMethod::ALL.into_iter().find(|m| m.name() == text);
    found
        .map(|method| Methods(vec![method]))
        .ok_or_else(|| "expected matrix, tensor, kernel, bayes or all".to_owned())
}

/// Take new datasets and new pipelines into a surrogate without training it again, in seconds.
///
/// Datasets of the store that the surrogate does not know become rows of it. Blocks of pipelines that it does not know
/// become columns: each starts as the mean of its kin (pipelines behind the same preparation; of the same kind of
/// estimator, where there are any) and moves as far as its runs say. A few datasets go a long way, and pipelines that
/// were not run learn from others of their kind. With --pipelines, columns that the surrogate has are estimated anew
/// from their runs on datasets that it was trained on.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe meta collect tables/ --store new --fraction 0.1
  pitchpipe meta extend default --store new --out more.surrogate
  pitchpipe meta extend mine.surrogate --store store --pipelines 21669,7310 --out more.surrogate")]
pub(crate) struct ExtendArgs {
    /// The surrogate's file; `default` is the surrogate inside this program
    pub(crate) surrogate: PathBuf,

    /// The store with the new runs
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,

    /// The extended surrogate's file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Estimate the columns of these pipelines anew, instead of adding rows
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub(crate) pipelines: Vec<u32>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a store in its compact form: one Parquet file, equal computations once, scores to three or four digits.
///
/// `meta train` and `meta info` read it like any store.
#[derive(Debug, ClapArgs)]
pub(crate) struct CompactArgs {
    /// The store
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,

    /// The folder of the compact form
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say what a store or a surrogate holds: datasets, coverage, time spent; ranks, accuracy.
#[derive(Debug, ClapArgs)]
pub(crate) struct InfoArgs {
    /// The store's folder, or the surrogate's file; `default` is the surrogate inside this program
    pub(crate) path: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say how far a collection on a cluster is: progress, entries per second, what is left, what failed.
///
/// The driver writes it every few seconds beside the store.
#[derive(Debug, ClapArgs)]
pub(crate) struct StatusArgs {
    /// The store's folder
    pub(crate) store: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a share between 0 and 1".to_owned()),
    }
}

fn prefix(text: &str) -> Result<Preparation, String> {
    let paper = SearchSpace::paper();
    let parts: Vec<usize> = text.split('.').map_while(|part| part.parse().ok()).collect();
    let found = paper.paper_block().and_then(|(block, _)| {
        let &[imputer, encoder, scaler, reducer] = parts.as_slice() else { return None };
        Some(Preparation {
            imputer: *block.imputers.get(imputer)?,
            encoder: *block.encoders.get(encoder)?,
            scaler: *block.scalers.get(scaler)?,
            reducer: *block.reducers.get(reducer)?,
        })
    });
    found.ok_or_else(|| "expected four positions such as 1.0.0.7, below 4, 2, 2 and 8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_four_positions() {
        let text = prefix("1.0.0.7").map(|preparation| preparation.to_string());
        assert_eq!(text.as_deref(), Ok("impute(mean) > one_hot > standardise > all_features"));
        assert!(prefix("4.0.0.7").is_err() && prefix("1.0.0").is_err() && prefix("x").is_err());
    }
}
