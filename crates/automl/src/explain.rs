//! What a model makes of its columns: how much each matters, and how predictions depend on those that matter most.

use std::time::{Duration, Instant};

use pitchpipe_learn::FitContext;
use pitchpipe_table::{Column, Dataset, Frame, Kind, stratified_subsample};
use serde::Serialize;

use crate::importance::{Importance, groups, importances_within};
use crate::{Model, PredictError};

/// Dependence is shown of so many columns, at so many values, over so many rows.
const N_COLUMNS: usize = 6;
const N_VALUES: usize = 15;
const N_ROWS: usize = 200;

/// Fewer rows than this say nothing.
const LEAST_ROWS: usize = 30;

/// Means of fewer rows than this would say little of a dependence.
const LEAST_ROWS_OF_MEANS: usize = 20;

/// The share of the time that is left after importance which dependence plans with.
const DEPENDENCE_SHARE: f64 = 0.7;

/// Rows that tell how long a prediction takes.
const TIMED_ROWS: usize = 200;

/// The share of the time that importance may take; the rest is for dependence, and for having been wrong.
const IMPORTANCE_SHARE: f64 = 0.4;

/// How often [`importances_within`] predicts the rows for each column.
const SHUFFLES: f64 = 5.0;

/// What a model makes of its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// How many rows importance was measured on.
    pub n_rows: usize,
    /// What each column is worth, the most important first.
    pub importance: Vec<Importance>,
    /// How predictions depend on the most important columns.
    pub dependence: Vec<ColumnDependence>,
}

/// Mean predictions where all rows have the same value in one column (partial dependence).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnDependence {
    /// The column.
    pub column: String,
    /// `numeric` or `categorical`.
    pub kind: &'static str,
    /// The values: quantiles of a column of numbers, the most common categories of one of categories.
    pub values: Vec<ColumnValue>,
    /// For each value the mean probability of each class.
    pub probabilities: Vec<Vec<f64>>,
    /// How many rows they are means of.
    pub n_rows: usize,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ColumnValue {
    /// A number.
    Number(f64),
    /// A category.
    Category(String),
}

/// Explains a model on rows with the true class; in order to end by the deadline, on fewer of them. `None` where not even
/// a few rows would be done by then.
pub fn explain(
    model: &Model,
    dataset: &Dataset,
    deadline: Option<Instant>,
) -> Result<Option<Explanation>, PredictError> {
    match explain_within(model, dataset, deadline) {
        Err(_) if deadline.is_some_and(|d| Instant::now() >= d) => Ok(None),
        other => other,
    }
}

fn explain_within(
    model: &Model,
    dataset: &Dataset,
    deadline: Option<Instant>,
) -> Result<Option<Explanation>, PredictError> {
    let ctx = FitContext::unhurried().with_deadline(deadline);
    let columns = groups(model.schema(), dataset.columns().len());
    let mut most = dataset.n_rows();
    if let Some(deadline) = deadline {
        let timed = sample(dataset, TIMED_ROWS);
        let start = Instant::now();
        model.predict_within(timed.frame(), &ctx)?;
        let secs_a_row = start.elapsed().as_secs_f64() / timed.n_rows() as f64;
        let left = deadline.saturating_duration_since(Instant::now()).as_secs_f64();
        let rows = IMPORTANCE_SHARE * left / (secs_a_row * SHUFFLES * columns.len().max(1) as f64);
        most = most.min(rows as usize);
        if most < LEAST_ROWS.min(dataset.n_rows()) {
            return Ok(None);
        }
    }
    let rows = sample(dataset, most);
    let start = Instant::now();
    let mut importance = importances_within(model, &rows, &ctx)?;
    let took = start.elapsed();
    importance.sort_by(|a, b| b.increase.total_cmp(&a.increase));
    let n_predicted = rows.n_rows() as f64 * (1.0 + SHUFFLES * columns.len() as f64);
    let (n_columns, n_few) = match deadline {
        None => (N_COLUMNS, N_ROWS),
        Some(end) => {
            let left = end.saturating_duration_since(Instant::now());
            affordable(left, took.as_secs_f64() / n_predicted, columns.len())
        }
    };
    let few = sample(dataset, n_few);
    let mut dependence = Vec::new();
    for worth in importance.iter().take(n_columns) {
        let Some((_, features)) = columns.iter().find(|c| c.0 == worth.column) else { continue };
        if let [feature] = features[..] {
            let input = Input { model, rows: &few, column: &worth.column, feature };
            match input.dependence(&ctx) {
                // What is there by then is shown.
                Err(_) if deadline.is_some_and(|d| Instant::now() >= d) => break,
                other => dependence.extend(other?),
            }
        }
    }
    let n_rows = rows.n_rows().min(crate::importance::MAX_ROWS);
    Ok(Some(Explanation { n_rows, importance, dependence }))
}

/// Of how many columns dependence can be shown in the time that is left, and over how many rows: rather fewer rows than
/// fewer columns.
fn affordable(left: Duration, secs_a_row: f64, n_columns: usize) -> (usize, usize) {
    let values = DEPENDENCE_SHARE * left.as_secs_f64() / (secs_a_row * N_VALUES as f64);
    let n_columns = N_COLUMNS.min(n_columns).min((values / LEAST_ROWS_OF_MEANS as f64) as usize);
    (n_columns, N_ROWS.min((values / n_columns.max(1) as f64) as usize))
}

fn sample(dataset: &Dataset, most: usize) -> Dataset {
    match dataset.n_rows() <= most {
        true => dataset.clone(),
        false => dataset.select(&stratified_subsample(dataset.labels(), most, 0)),
    }
}

/// A column of a table, as one feature.
struct Input<'a> {
    model: &'a Model,
    rows: &'a Dataset,
    column: &'a str,
    feature: usize,
}

impl Input<'_> {
    /// All rows once for each value, predicted together.
    fn dependence(&self, ctx: &FitContext) -> Result<Option<ColumnDependence>, PredictError> {
        let n_rows = self.rows.n_rows();
        let (kind, values, column) = match &self.rows.columns()[self.feature] {
            Column::Numeric(cells) => {
                let numbers = quantiles(cells.iter().copied().collect());
                let column = numbers.iter().flat_map(|&v| vec![v; n_rows]).collect::<Vec<f64>>();
                let values = numbers.into_iter().map(ColumnValue::Number).collect::<Vec<_>>();
                ("numeric", values, Column::numeric(column))
            }
            Column::Categorical { codes, n_levels } => {
                let Some(names) = self.level_names() else { return Ok(None) };
                let common = most_common(codes, names.len());
                let column = common.iter().flat_map(|&c| vec![c; n_rows]).collect::<Vec<u32>>();
                let name = |&code: &u32| ColumnValue::Category(names[code as usize].clone());
                let values = common.iter().map(name).collect();
                ("categorical", values, Column::categorical(column, *n_levels))
            }
        };
        if values.len() < 2 {
            return Ok(None);
        }
        let all: Vec<usize> = values.iter().flat_map(|_| 0..n_rows).collect();
        let mut columns = self.rows.frame().select(&all).columns().to_vec();
        columns[self.feature] = column;
        let frame = Frame::new(columns, all.len());
        let predicted = self.model.predict_within(&frame, ctx)?;
        let n_classes = self.model.n_classes();
        let of_value = predicted.probabilities.values().chunks_exact(n_rows * n_classes);
        let mean = |rows: &[f64]| {
            let sum = |k: usize| rows.iter().skip(k).step_by(n_classes).sum::<f64>();
            (0..n_classes).map(|k| sum(k) / n_rows as f64).collect()
        };
        let probabilities = of_value.map(mean).collect();
        let column = self.column.to_owned();
        Ok(Some(ColumnDependence { column, kind, values, probabilities, n_rows }))
    }

    fn level_names(&self) -> Option<Vec<String>> {
        let inputs = self.model.schema()?.inputs();
        match &inputs.iter().find(|input| input.name == self.column)?.kind {
            Kind::Categorical(levels) => Some(levels.names().to_vec()),
            _ => None,
        }
    }
}

/// Distinct quantiles of the numbers that are there.
fn quantiles(mut cells: Vec<f64>) -> Vec<f64> {
    cells.retain(|v| v.is_finite());
    cells.sort_unstable_by(f64::total_cmp);
    if cells.is_empty() {
        return cells;
    }
    let last = cells.len() - 1;
    // The extremes are single rows: twentieths from either end instead.
    let at = |i: usize| {
        let share = 0.05 + 0.9 * i as f64 / (N_VALUES - 1) as f64;
        cells[(share * last as f64).round() as usize]
    };
    let mut values: Vec<f64> = (0..N_VALUES).map(at).collect();
    values.dedup();
    values
}

/// The most common codes, in their order.
fn most_common(codes: &[u32], n_levels: usize) -> Vec<u32> {
    let mut counts = vec![0_usize; n_levels];
    for &code in codes {
        if let Some(count) = counts.get_mut(code as usize) {
            *count += 1;
        }
    }
    let mut common: Vec<u32> = (0..n_levels as u32).filter(|&c| counts[c as usize] > 0).collect();
    common.sort_by_key(|&c| std::cmp::Reverse(counts[c as usize]));
    common.truncate(N_VALUES);
    common.sort_unstable();
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_time_takes_rows_from_dependence_and_then_columns() {
        let of = |secs| affordable(Duration::from_secs_f64(secs), 1e-4, 9);
        assert_eq!(of(10.0), (N_COLUMNS, N_ROWS));
        let (n_columns, n_rows) = of(0.5);
        assert!(n_columns == N_COLUMNS && (20..N_ROWS).contains(&n_rows), "{n_rows}");
        let (n_columns, n_rows) = of(0.15);
        assert!((1..N_COLUMNS).contains(&n_columns) && n_rows >= 20, "{n_columns} {n_rows}");
        assert_eq!(of(0.0).0, 0);
    }

    #[test]
    fn quantiles_are_distinct_and_leave_out_what_is_missing() {
        assert_eq!(quantiles(vec![f64::NAN, 1.0, 1.0, 2.0, 1.0]), [1.0, 2.0]);
        assert_eq!(quantiles(vec![f64::NAN]), [0.0; 0]);
        let many = quantiles((0..1000).map(f64::from).collect());
        assert_eq!((many.len(), many[0]), (N_VALUES, 50.0));
    }

    #[test]
    fn the_most_common_categories_come_in_their_own_order() {
        assert_eq!(most_common(&[2, 2, 0, u32::MAX, 2], 4), [0, 2]);
    }
}
