//! The paper's baseline: the one pipeline with the lowest mean error over the meta-training datasets,
//! fitted on all training rows. A process of its own, so that it is measured like any other system.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pitchpipe_automl::surrogate::Surrogate;
use pitchpipe_learn::{FitContext, Pipeline, Stream};
use pitchpipe_table::{CancelCheck, Dataset, RawTable, ReadOptions, SchemaOptions, Source, read};

use super::export::TARGET;
use super::score::Predictions;

#[derive(clap::Args)]
pub(crate) struct Options {
    train: PathBuf,
    test: PathBuf,
    out: PathBuf,
    seed: u64,
}

/// The pipeline that the default surrogate found best on average.
pub(super) fn pipeline() -> Pipeline {
    let surrogate = Surrogate::embedded();
    surrogate.space().pipeline(surrogate.best_on_average())
}

/// Fits on one file, predicts another, and writes the predictions.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let begun = Instant::now();
    let schema_options = SchemaOptions { target: Some(TARGET.into()), ..SchemaOptions::default() };
    let (train, report) = Dataset::from_table(table(&options.train)?, &schema_options)
        .map_err(|e| format!("{}: {e}", options.train.display()))?;
    let ctx = FitContext::unhurried().with_stream(Stream::new(options.seed));
    let fitted = pipeline().fit(&train, &ctx).map_err(|e| e.to_string())?;
    let fit_secs = begun.elapsed().as_secs_f64();
    let schema = train.schema().expect("a dataset made from a table has a schema");
    let test = schema
        .apply(table(&options.test)?)
        .map_err(|e| format!("{}: {e}", options.test.display()))?;
    let predicted = fitted.predict(&test.frame, &ctx).map_err(|e| e.to_string())?;
    let classes: Vec<String> = report.classes.into_iter().map(|(name, _)| name).collect();
    let labels = predicted.labels.codes().iter().map(|&code| classes[code as usize].clone());
    let rows = 0..predicted.probabilities.n_rows();
    let answer = Predictions {
        predicted: labels.collect(),
        probabilities: rows.map(|row| predicted.probabilities.row(row).to_vec()).collect(),
        classes,
        fit_secs: Some(fit_secs),
        n_evaluated: Some(1),
    };
    let text = serde_json::to_string(&answer).expect("predictions are plain data");
    std::fs::write(&options.out, text).map_err(|e| format!("{}: {e}", options.out.display()))
}

fn table(path: &Path) -> Result<RawTable, String> {
    read(&Source::Path(path.to_owned()), &ReadOptions::default(), &CancelCheck::never())
        .map_err(|e| format!("{}: {e}", path.display()))
}
