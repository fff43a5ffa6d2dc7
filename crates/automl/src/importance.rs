//! How much each column matters to a model: permutation importance.
//!
//! A column's cells change places among the rows, which leaves their distribution as it was and breaks their
//! tie with the target; by how much the error grows is what the column was worth to this model.

use pitchpipe_learn::{FitContext, Stream};
use pitchpipe_table::{Column, Dataset, Schema, stratified_subsample};
use rand::seq::SliceRandom;
use rayon::prelude::*;

use crate::{Model, PredictError, Predictions};

/// More rows cost more time and hardly change the answer.
pub(crate) const MAX_ROWS: usize = 5_000;

/// Each column is shuffled so often.
const N_SHUFFLES: u64 = 5;

/// What one column is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Importance {
    /// The column's name, or its position where the model knows no names.
    pub column: String,
    /// By how much the error of the metric that the model was made for grows, on average.
    pub increase: f64,
    /// The standard error of that average.
    pub standard_error: f64,
}

/// What each column of the training table is worth to the model, on rows with the true class.
///
/// The parts of a date change places together. Of a large table a stratified sample is taken.
pub fn importances(model: &Model, dataset: &Dataset) -> Result<Vec<Importance>, PredictError> {
    importances_within(model, dataset, &FitContext::unhurried())
}

/// The same while a deadline is watched.
pub(crate) fn importances_within(
    model: &Model,
    dataset: &Dataset,
    ctx: &FitContext,
) -> Result<Vec<Importance>, PredictError> {
    let sample;
    let dataset = if dataset.n_rows() > MAX_ROWS {
        let rows = stratified_subsample(dataset.labels(), MAX_ROWS, 0);
        sample = dataset.select(&rows);
        &sample
    } else {
        dataset
    };
    let base = error(model, dataset, &model.predict_within(dataset.frame(), ctx)?);
    groups(model.schema(), dataset.columns().len())
        .into_par_iter()
        .map(|(column, features)| {
            let increases = (0..N_SHUFFLES)
                .map(|shuffle| {
                    let shuffled = shuffled(dataset, &features, shuffle);
                    Ok(error(model, &shuffled, &model.predict_within(shuffled.frame(), ctx)?)
                        - base)
                })
                .collect::<Result<Vec<f64>, PredictError>>()?;
            let n = increases.len() as f64;
            let increase = increases.iter().sum::<f64>() / n;
            let spread = increases.iter().map(|i| (i - increase).powi(2)).sum::<f64>();
            Ok(Importance { column, increase, standard_error: (spread / (n - 1.0) / n).sqrt() })
        })
        .collect()
}

/// Zero where the metric has no value: rows of one class have no ROC curve, shuffled or not.
fn error(model: &Model, dataset: &Dataset, predictions: &Predictions) -> f64 {
    let probabilities = predictions.probabilities.values();
    let metric = model.report().metric;
    metric.error(dataset.labels(), &predictions.labels, probabilities).unwrap_or(0.0)
}

/// The columns of the table, each with its features.
pub(crate) fn groups(schema: Option<&Schema>, n_features: usize) -> Vec<(String, Vec<usize>)> {
    let Some(schema) = schema else {
        return (0..n_features).map(|j| (format!("column {}", j + 1), vec![j])).collect();
    };
    let mut next = 0;
    let group = |input: &pitchpipe_table::Input| {
        let n = input.kind.n_features();
        next += n;
        (input.name.clone(), (next - n..next).collect())
    };
    schema.inputs().iter().map(group).collect()
}

fn shuffled(dataset: &Dataset, features: &[usize], shuffle: u64) -> Dataset {
    let mut rows: Vec<usize> = (0..dataset.n_rows()).collect();
    let first = features.first().map_or(0, |&j| j as u64);
    rows.shuffle(&mut Stream::new(shuffle).named("importance").child(first).rng());
    let column = |(j, column): (usize, &Column)| match features.contains(&j) {
        true => column.select(&rows),
        false => column.clone(),
    };
    let columns = dataset.columns().iter().enumerate().map(column).collect();
    Dataset::new(columns, dataset.labels().clone())
}
