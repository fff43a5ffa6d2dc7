//! The command line of the search.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use pitchpipe_automl::{
    CategoryFill, Combination, DesignKind, KernelPrediction, LastRoundKind, Method, RankGrowth,
    RuntimeKind,
};

use pitchpipe_table::{DependsOn, Metric};

use crate::notes::Voice;
use crate::output::ForceArgs;
use crate::table_args::TableArgs;
use crate::values::{duration, size};

/// Find the best ensemble of pipelines for a table, within a time budget.
///
/// Reading, search, ensembling and saving all happen within the budget, which begins when the command does. Pipelines
/// are cross-validated, and the ones that do well together become the model. Ctrl-C ends the search and keeps the best
/// model so far; a second Ctrl-C quits at once.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe fit penguins.csv --target species --time-budget 60s --out penguins.pp
  pitchpipe fit loans.parquet --target default --metric roc-auc --threads 4 --out loans.pp
  pitchpipe fit survey.csv --target answer --categorical region --exclude id --out survey.pp
  pitchpipe fit penguins.csv --target species --repeatable --max-evaluations 100 --seed 1 --out penguins.pp

Exit codes: 0 a model was written; 1 there is none, and the reason is said; 2 the command line was
wrong; 3 Ctrl-C, SIGTERM or a lost terminal (SIGHUP) ended the search and the best model so far was
written; 130 a second one quit at once, with what was in FILE before left as it was.")]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: String,

    /// All the time there is, from start to end: 30s, 5m, 1h
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = duration,
        allow_hyphen_values = true
    )]
    pub(crate) time_budget: Duration,

    /// Where to write the model
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Also write a report, a page to open in a browser: how the search went, the ensemble, curves, what matters
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Show the search while it runs, on a page of this machine whose address is said: what was tried, the ensemble, what
    /// each thread is at, the time that is left, and a button that does what Ctrl-C does. At the end it shows the report; a
    /// page that is open then is waited for, up to two seconds. PORT is any free one by default
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0", value_parser = port)]
    pub(crate) live: Option<u16>,

    /// Keep nothing in the model but what predicts: no list of all that was tried, no curves and no counts of the table.
    /// They make the file some kilobytes larger, hold no rows, and a report tells little without them
    #[arg(long)]
    pub(crate) no_history: bool,

    /// How pipelines are chosen
    #[arg(long, default_value = "auto", value_parser = method())]
    pub(crate) method: Method,

    /// How base learners are combined: weighted means of probabilities, or the paper's vote of the five best. By default
    /// the paper's methods (oboe, tensor-oboe, kernel-oboe) vote and the others average
    #[arg(long, value_name = "WAY", value_parser = ensemble())]
    pub(crate) ensemble: Option<Combination>,

    /// How oboe, tensor-oboe and kernel-oboe choose what to run first: the paper's greedy design, the same weighted by how
    /// well pipelines are predicted, the convex relaxation (oboe only), or at random; greedy by default
    #[arg(long, value_name = "WAY", value_parser = words(DesignKind::ALL, DesignKind::name))]
    pub(crate) design: Option<DesignKind>,

    /// How oboe, tensor-oboe and kernel-oboe predict runtimes: the paper's polynomials of seconds, or those of logarithms
    /// that the other methods use; the paper's by default
    #[arg(long, value_name = "FORM", value_parser = words(RuntimeKind::ALL, RuntimeKind::name))]
    pub(crate) runtimes: Option<RuntimeKind>,

    /// How kernel-oboe predicts errors: by the embeddings of the tensor that its kernel method completed, or by the closed
    /// form on its codes; by embeddings by default
    #[arg(long, value_name = "WAY", value_parser = words(KernelPrediction::ALL, KernelPrediction::name))]
    pub(crate) kernel_prediction: Option<KernelPrediction>,

    /// Which rank oboe, tensor-oboe and kernel-oboe raise by one after a round that improved on the last: that of datasets,
    /// that of estimators (as the paper says of TensorOboe; not for oboe), or both; that of datasets by default
    #[arg(long, value_name = "RANK", value_parser = words(RankGrowth::ALL, RankGrowth::name))]
    pub(crate) rank_rule: Option<RankGrowth>,

    /// The time target of the first round of oboe, tensor-oboe and kernel-oboe, such as 1s; by default that of the published
    /// code: an eighth of the budget or the time of the fastest pipelines, as a power of two
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) first_target: Option<Duration>,

    /// What oboe, tensor-oboe and kernel-oboe do when the target would pass half of the budget, where the paper ends: one
    /// more round of the rest of the time, or none; the rest by default
    #[arg(long, value_name = "WHICH", value_parser = words(LastRoundKind::ALL, LastRoundKind::name))]
    pub(crate) last_round: Option<LastRoundKind>,

    /// How many of the best-predicted pipelines a round of oboe, tensor-oboe and kernel-oboe runs and makes the ensemble of;
    /// by default as many as the time allows, and the best of all that was run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) best_predicted: Option<u32>,

    /// Keep this share of the rows, such as 0.15, apart from the search of oboe, tensor-oboe and kernel-oboe: ranks grow by
    /// the ensemble's error on them. By default they grow by its cross-validated error
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) validation_share: Option<f64>,

    /// How oboe, tensor-oboe and kernel-oboe fill missing categories where they fill numbers by a mean or a median: by the
    /// mode, or by that statistic of their codes; by default oboe by the mode and the others by codes
    #[arg(long, value_name = "WAY", value_parser = words(CategoryFill::ALL, CategoryFill::name))]
    pub(crate) category_fill: Option<CategoryFill>,

    /// On how many folds pipelines are cross-validated; by default three, and five on tables under 500 rows where base
    /// learners are averaged
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=100))]
    pub(crate) folds: Option<u16>,

    /// What the model is to be good at
    #[arg(long, default_value = "balanced-error", value_parser = metric())]
    pub(crate) metric: Metric,

    /// How many threads to use; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// How much memory to use at most, such as 4GB; by default 70 % of what is free
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,

    /// End after so many pipelines
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_evaluations: Option<u32>,

    /// Make the run the same every time, on any number of threads, as long as the time suffices: pipelines are chosen by
    /// predicted times instead of the clock
    #[arg(long, requires = "max_evaluations")]
    pub(crate) repeatable: bool,

    /// The seed of folds and of all random numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// A table to choose pipelines by, with the same columns; by default, cross-validation
    #[arg(long, value_name = "TABLE")]
    pub(crate) validation: Option<PathBuf>,

    /// Keep this share of the rows back, such as 0.2: nothing sees them until the model is made, and its scores are of
    /// them. If time is left, the chosen pipelines are then fitted again on all rows
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) holdout: Option<f64>,

    /// Do not fit the chosen pipelines again when the search is over. They are otherwise, within the budget: on all rows with
    /// --holdout and --time-order, and on as many as the time allows where a search on a sample of a large table ends
    /// early, by --max-evaluations say
    #[arg(long)]
    pub(crate) no_refit: bool,

    /// Leave out what takes much of the time of a prediction and changes the ensemble's error by no more than its noise, and say
    /// how much of both. pitchpipe inspect --speed measures what is left
    #[arg(long, conflicts_with = "repeatable")]
    pub(crate) fast_predict: bool,

    /// Rows with the same value in this column belong together (a customer, a patient): they are never both learnt from
    /// and measured on. The column is no feature
    #[arg(long, value_name = "COLUMN", conflicts_with = "time_order")]
    pub(crate) group: Option<String>,

    /// Learn from the past and measure on what comes later, in the order of this column. The column is no feature
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time_order: Option<String>,

    /// A surrogate of your own, as `pitchpipe meta train` writes them, instead of the one inside
    #[arg(long, value_name = "FILE")]
    pub(crate) surrogate: Option<PathBuf>,

    /// Print no progress and no summary; warnings are still said
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// Print one JSON object an event, to standard output, instead of progress and summary
    #[arg(long)]
    pub(crate) json: bool,
}

impl FitArgs {
    /// How things are said.
    pub(crate) fn voice(&self) -> Voice {
        Voice { json: self.json, quiet: self.quiet, is_described: true }
    }

    /// Which rows hang together.
    pub(crate) fn depends_on(&self) -> Option<DependsOn> {
        let group = self.group.clone().map(DependsOn::Group);
        group.or_else(|| self.time_order.clone().map(DependsOn::TimeOrder))
    }
}

/// A port, or 0 for any that is free.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| {
        "it must be a number of a port, such as 8000; a table's name goes before --live".to_owned()
    })
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("it must be a number between 0 and 1, such as 0.2".to_owned()),
    }
}

fn method() -> impl TypedValueParser<Value = Method> {
    let names = Method::ALL.map(Method::name);
    PossibleValuesParser::new(names)
        .map(|name| name.parse().expect("the possible values are names of methods"))
}

/// Values by their names.
fn words<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let value = move |word: String| {
        let found = all.iter().copied().find(|&v| name(v) == word);
        found.expect("the possible values are these names")
    };
    PossibleValuesParser::new(all.iter().map(move |&v| name(v))).map(value)
}

fn ensemble() -> impl TypedValueParser<Value = Combination> {
    PossibleValuesParser::new(["average", "vote"]).map(|name| match name.as_str() {
        "vote" => Combination::Vote,
        _ => Combination::Average,
    })
}

/// Metrics as flags are spelt, with hyphens; with underscores, as elsewhere, they work too.
fn metric() -> impl TypedValueParser<Value = Metric> {
    let names = Metric::ALL.map(|metric| {
        let name: &'static str = match metric {
            Metric::BalancedError => "balanced-error",
            Metric::BalancedAccuracy => "balanced-accuracy",
            Metric::Accuracy => "accuracy",
            Metric::LogLoss => "log-loss",
            Metric::MacroF1 => "macro-f1",
            Metric::RocAuc => "roc-auc",
        };
        clap::builder::PossibleValue::new(name).alias(metric.name())
    });
    PossibleValuesParser::new(names)
        .map(|name| name.parse().expect("the possible values are names of metrics"))
}
