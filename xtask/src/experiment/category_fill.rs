//! Missing categories filled by their mode, as the paper has it of Oboe, and by the mean of their codes, as the published
//! errors have it: the same estimators on the same folds of our training tables that lack categories.

use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::{Outcome, Pipeline, Preparation, SearchSpace, Validation};
use pitchpipe_table::{Column, Dataset};

use super::Context;
use super::csv::{Csv, short};
use crate::corpus::{Entry, index};
use crate::reference::recorded::{mean, mean_and_error};

/// Of Oboe's estimators, every so many; from the first of them on.
const STEP: usize = 13;

/// No larger tables.
const MOST_ROWS: usize = 2_000;

/// Draws of folds.
const SEEDS: u64 = 2;

/// So many tables, where all is to take seconds.
const QUICK: usize = 3;

/// The share of a table's cells of categories that are missing.
fn missing_share(dataset: &Dataset) -> f64 {
    let (mut n, mut n_missing) = (0, 0);
    for column in dataset.columns() {
        if let Column::Categorical { codes, .. } = column {
            n += codes.len();
            n_missing += (0..codes.len()).filter(|&row| column.is_missing(row)).count();
        }
    }
    if n == 0 { 0.0 } else { n_missing as f64 / n as f64 }
}

/// What each filling comes to on a table: errors by estimator, mean over draws.
fn errors(dataset: &Dataset, imputer: Imputer, seeds: u64) -> Result<Vec<Option<f64>>, String> {
    let space = SearchSpace::paper();
    let slice = space.behind(Preparation::of_oboe(Imputer::Mean));
    let pipelines: Vec<Pipeline> = slice
        .into_iter()
        .step_by(STEP)
        .map(|id| Pipeline {
            preparation: Preparation::of_oboe(imputer),
            estimator: space.estimator(id).clone(),
        })
        .collect();
    let mut by_seed = Vec::new();
    for seed in 0..seeds {
        let validation = Validation { seed, threads: 1, ..Validation::default() };
        let outcomes = validation.outcomes(dataset, &pipelines).map_err(|e| e.to_string())?;
        let error = |outcome: &Outcome| match outcome {
            Outcome::Finished(evaluation) => Some(evaluation.error),
            _ => None,
        };
        by_seed.push(outcomes.iter().map(error).collect::<Vec<Option<f64>>>());
    }
    let over_seeds = |at: usize| {
        let all: Option<Vec<f64>> = by_seed.iter().map(|errors| errors[at]).collect();
        all.map(|errors| mean(&errors))
    };
    Ok((0..pipelines.len()).map(over_seeds).collect())
}

/// A row for each table, and one for all.
pub(super) fn table(context: &Context) -> Result<Csv, String> {
    let seeds = if context.quick { 1 } else { SEEDS };
    let most_rows = if context.quick { 300 } else { MOST_ROWS };
    let fits = |e: &Entry| e.missing_cells > 0 && e.n_nominal > 0 && e.n_rows <= most_rows;
    let mut found = Vec::new();
    for entry in index("train")?.into_iter().filter(fits) {
        if context.quick && found.len() >= QUICK {
            break;
        }
        let dataset = entry.read()?;
        let share = missing_share(&dataset);
        if share == 0.0 {
            continue;
        }
        let both = context.kept.or(&format!("category-fill on {}", entry.name), || {
            let [codes, mode] =
                [Imputer::Mean, Imputer::MeanOrMode].map(|i| errors(&dataset, i, seeds));
            Ok::<_, String>((codes?, mode?))
        })?;
        let (codes, mode): (Vec<Option<f64>>, Vec<Option<f64>>) = both;
        let pairs: Vec<(f64, f64)> =
            codes.iter().zip(&mode).filter_map(|(c, m)| Some(((*c)?, (*m)?))).collect();
        if !pairs.is_empty() {
            found.push((entry.name, share, pairs));
        }
    }
    let data = format!(
        "the {} training tables of the corpus of at most {most_rows} rows that lack categories, every {STEP}th of Oboe's estimators on its preparation, three folds, {seeds} draws of them; mean balanced error over estimators, and that of the best; mode less codes",
        found.len()
    );
    let columns = ["dataset", "missing_share", "codes", "mode", "less", "less_se"];
    let best = ["best_codes", "best_mode", "best_less", "best_less_se"];
    let mut csv = Csv::new(data, &[columns.as_slice(), &best].concat());
    let mut rows = Vec::new();
    for (name, share, pairs) in &found {
        let of = |part: fn(&(f64, f64)) -> f64| pairs.iter().map(part).collect::<Vec<f64>>();
        let (codes, mode, less) = (of(|p| p.0), of(|p| p.1), of(|p| p.1 - p.0));
        let lowest = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let (low_codes, low_mode) = (lowest(&codes), lowest(&mode));
        let (mean_less, se) = mean_and_error(&less);
        rows.push([
            mean(&codes),
            mean(&mode),
            mean_less,
            low_codes,
            low_mode,
            low_mode - low_codes,
        ]);
        let [a, b, c, d, e, f] = rows[rows.len() - 1].map(short);
        csv.push(&[name, &short(*share), &a, &b, &c, &short(se), &d, &e, &f, &""]);
    }
    let column = |at: usize| rows.iter().map(|r| r[at]).collect::<Vec<f64>>();
    let ((less, se), (best, best_se)) = (mean_and_error(&column(2)), mean_and_error(&column(5)));
    let shares: Vec<f64> = found.iter().map(|f| f.1).collect();
    let means = [0, 1, 3, 4].map(|at| short(mean(&column(at))));
    let [codes, mode, low_codes, low_mode] = &means;
    csv.push(&[
        &"all",
        &short(mean(&shares)),
        codes,
        mode,
        &short(less),
        &short(se),
        low_codes,
        low_mode,
        &short(best),
        &short(best_se),
    ]);
    Ok(csv)
}
