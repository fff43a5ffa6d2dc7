//! `cargo xtask bench`: speed next to the peer, in one run on one machine.

mod automl;
mod boosting;
mod build;
mod columns;
mod cores;
mod design;
mod honesty;
mod learn;
mod memory;
mod meta;
mod meta_train;
mod peer;
mod predict;
mod projection;
mod promises;
mod python;
mod report;
mod samples;
mod slice;
mod surrogate;
mod table;
mod wider;

use clap::{Args, Subcommand};

use crate::cluster;

/// What to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Whole runs of the command: time beyond the budget and peak memory, also on very large tables.
    Budget(promises::Options),
    /// The first model of every table of the corpus: is it there within a second?
    First(promises::Options),
    /// A minute on 1,000,000 rows by 50 columns, next to LightGBM, scikit-learn and FLAML and to the rule behind each table.
    Large(promises::Large),
    /// Rows predicted a second, and the time of one row, by a model of a minute on 1,000,000 rows by 50 columns.
    Predict(predict::Options),
    /// A minute on 100,000 rows of 1,000 classes, in 4 GB.
    Classes,
    /// Which types of estimators run on 1,000,000 rows by 100 columns under 8 GiB, and what the others say.
    Memory(memory::Options),
    /// Ctrl-C at random moments: a model that loads or a message.
    Interrupt(promises::Options),
    /// Reading 1,000,000 rows by 20 columns of CSV, next to pyarrow and pandas.
    Table,
    /// Boosting on histograms next to LightGBM, XGBoost, CatBoost and scikit-learn, with equal settings.
    Boosting(boosting::Options),
    /// The program compiled from nothing: how long that takes, and how large it gets.
    Build(build::Options),
    /// Cross-validation of each estimator type, pipeline by pipeline, next to scikit-learn.
    Learn(learn::Options),
    /// The whole slice of 23,424 pipelines of one table, next to scikit-learn.
    Slice(slice::Options),
    /// The greedy design of 23,424 pipelines at rank 40, next to the authors' published loop.
    Design,
    /// The test corpus within a time budget, next to scikit-learn's defaults and other AutoML systems.
    Automl(automl::Options),
    /// Collecting on a Ray cluster beside the local collector, what the driver costs, and 1,000 cores simulated from that.
    Cluster(cluster::Options),
    /// Pipelines finished in a fixed time, and errors on rows held out, with one thread and with more.
    Cores(cores::Options),
    /// Reported scores beside those on rows that the search has not seen, and on noise.
    Honesty(honesty::Options),
    /// The report and the live page in a browser: size, time until they can be used, and what serving costs.
    Report,
    /// How errors on a smaller sample compare with those on a larger one.
    Samples(samples::Options),
    /// The paper's baseline on one split, for `bench automl`.
    #[command(hide = true)]
    AutomlBaseline(automl::baseline::Options),
    /// Kinds of estimators hidden from training and added again: prediction errors beside retraining.
    Columns(columns::Options),
    /// What published rows are worth beside our own, by searches on datasets left out.
    Meta(meta::Options),
    /// Meta-training on a made store of thousands of datasets: time, peak memory, and how far off it is on fresh ones.
    MetaTrain(meta_train::Options),
    /// The Python package: memory of a table handed over, overhead of `fit`, Ctrl-C, predictions next to AutoGluon, FLAML and
    /// a forest.
    Python(python::Options),
    /// What scikit-learn would have taken for the entries of a store.
    Projection(projection::Options),
    /// Completion of the published tensor, next to numpy and tensorly.
    Surrogate(surrogate::Options),
    /// What estimators that the search space does not have would add to its ensembles.
    Wider(wider::Options),
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    match &options.what {
        What::Budget(options) => promises::check(promises::Promise::Budget, options),
        What::First(options) => promises::check(promises::Promise::First, options),
        What::Large(options) => promises::large(options),
        What::Predict(options) => predict::run(options),
        What::Classes => promises::check(promises::Promise::Classes, &promises::Options::default()),
        What::Memory(options) => memory::run(options),
        What::Interrupt(options) => promises::check(promises::Promise::Interrupt, options),
        What::Table => table::bench(),
        What::Boosting(options) => boosting::run(options),
        What::Build(options) => build::run(options),
        What::Learn(options) => learn::run(options),
        What::Slice(options) => slice::run(options),
        What::Automl(options) => automl::run(options),
        What::Cluster(options) => cluster::bench(options),
        What::Cores(options) => cores::run(options),
        What::Honesty(options) => honesty::run(options),
        What::Report => report::run(),
        What::Samples(options) => samples::run(options),
        What::AutomlBaseline(options) => automl::baseline::run(options),
        What::Design => design::run(),
        What::Columns(options) => columns::run(options),
        What::Meta(options) => meta::run(options),
        What::MetaTrain(options) => meta_train::run(options),
        What::Projection(options) => projection::run(options),
        What::Python(options) => python::run(options),
        What::Surrogate(options) => surrogate::run(options),
        What::Wider(options) => wider::run(options),
    }
}
