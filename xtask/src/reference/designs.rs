//! Designs compared: greedy, weighted, relaxed, random (§15).

use std::sync::Arc;

use cpu_time::ThreadTime;
use ndarray::{Array2, ArrayView2, Axis};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::{PriorRows, PriorSettings, Scale};
use pitchpipe_surrogate::design::{DesignVectors, Scalarization, by_time, random_by_time, relax};
use pitchpipe_surrogate::least_squares;
use rayon::prelude::*;

use super::recorded::{N_ESTIMATORS, Recorded, least_squares_or_mean, mean, set_b};
use super::systems::SLICE;
use super::{Context, Row, Rule, Table};

const SLICE_LIMITS: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
const SLICE_RANK: usize = 8;

/// Name, reference regrets by limit, and the line of random choice that it is told apart from. The last two predict with
/// §8(c).
type Line = (&'static str, [f64; 4], Option<usize>);
const SLICE_LINES: [Line; 6] = [
    ("greedy", [0.0188, 0.0126, 0.0097, 0.0054], Some(3)),
    ("weighted greedy", [0.0209, 0.0142, 0.0083, 0.0044], Some(3)),
    ("relaxation, D", [0.0185, 0.0114, 0.0099, 0.0049], Some(3)),
    ("random", [0.0379, 0.0245, 0.0129, 0.0055], None),
    ("greedy, Bayes", [0.0195, 0.0137, 0.0093, 0.0046], Some(5)),
    ("random, Bayes", [0.0218, 0.0198, 0.0112, 0.0071], None),
];

/// Of one dataset, lines x limits: regret, seconds of designing, size of the design.
type Found = Vec<[(f64, f64, f64); 4]>;

/// The reference does not name its 31 datasets; another 31 differ by about so much.
const MARGIN: f64 = 0.004;

pub(crate) fn tables(context: &Context) -> Result<Vec<Table>, String> {
    let recorded = Recorded::new(&context.paper)?;
    let mut tables = vec![slice(&recorded, context).map_err(|e| e.to_string())?];
    if !context.quick {
        tables.push(whole(&recorded).map_err(|e| e.to_string())?);
    }
    Ok(tables)
}

/// The 183 estimators of one prefix.
fn slice(recorded: &Recorded, context: &Context) -> Result<Table, SurrogateError> {
    let columns: Vec<usize> = (0..N_ESTIMATORS).map(|f| SLICE * N_ESTIMATORS + f).collect();
    let errors = recorded.completed.select(Axis(1), &columns);
    let rows = PriorRows::new(errors.view(), Scale::Plain)?;
    let roots = PriorRows::new(errors.view(), Scale::Root)?;
    let step = if context.quick { 43 } else { 7 };
    let datasets: Vec<usize> = (0..215).step_by(step).collect();
    let found: Vec<Found> = datasets
        .par_iter()
        .map(|&out| slice_dataset(recorded, &errors, &rows, &roots, &columns, out))
        .collect::<Result<_, SurrogateError>>()?;
    let mut table = Table::new(format!(
        "Designs on the slice of 183 estimators, k = {SLICE_RANK}, {} datasets: regret of the best of S and best predicted (§15); CPU s to design",
        datasets.len()
    ));
    for (l, (name, reference, random)) in SLICE_LINES.iter().enumerate() {
        for (at, limit) in SLICE_LIMITS.iter().enumerate() {
            let of = |get: fn(&(f64, f64, f64)) -> f64| {
                mean(&found.iter().map(|f| get(&f[l][at])).collect::<Vec<_>>())
            };
            let rule = match random {
                _ if context.quick => Rule::Shown,
                Some(random) => Rule::told_apart(reference[at], SLICE_LINES[*random].1[at], MARGIN),
                None => Rule::Near(MARGIN),
            };
            let what = format!("{name}, {limit} ({:.0} chosen)", of(|f| f.2));
            table.push(Row::new(what, reference[at], of(|f| f.0), rule).took(of(|f| f.1)));
        }
    }
    Ok(table)
}

fn slice_dataset(
    recorded: &Recorded,
    errors: &Array2<f32>,
    rows: &PriorRows,
    roots: &PriorRows,
    columns: &[usize],
    out: usize,
) -> Result<Found, SurrogateError> {
    let weights = recorded.without(out);
    let y = rows.embeddings(&weights, SLICE_RANK)?;
    let prior = Arc::new(roots.without(out, &PriorSettings::plain(60))?);
    let row = recorded.recording.row(out);
    let secs: Vec<f64> = columns.iter().map(|&j| row.secs(j).unwrap_or(1e9)).collect();
    let total: f64 = secs.iter().filter(|&&t| t < 1e9).sum();
    let truth: Vec<f64> = columns.iter().map(|&j| row.error(j).unwrap_or(f64::INFINITY)).collect();
    let lowest = truth.iter().copied().fold(f64::INFINITY, f64::min);
    let sigma = spread(errors, y.view(), out);
    let mut lines = vec![[(0.0, 0.0, 0.0); 4]; SLICE_LINES.len()];
    for (at, share) in SLICE_LIMITS.iter().enumerate() {
        let limit = share * total;
        let timed = |make: &dyn Fn() -> Result<Vec<usize>, SurrogateError>| {
            let start = ThreadTime::now();
            make().map(|design| (design, start.elapsed().as_secs_f64()))
        };
        let greedy =
            timed(&|| Ok(by_time(&DesignVectors::new(y.view())?, &secs, limit)?.pipelines))?;
        let weighted = timed(&|| {
            Ok(by_time(&DesignVectors::weighted(y.view(), &sigma)?, &secs, limit)?.pipelines)
        })?;
        let relaxed = timed(&|| {
            Ok(relax(y.view(), &secs, limit, Scalarization::D)?.round(&secs, limit).pipelines)
        })?;
        let random = timed(&|| Ok(random_by_time(&secs, limit, true, out as u64)?.pipelines))?;
        let designs = [&greedy, &weighted, &relaxed, &random, &greedy, &random];
        for (l, (design, took)) in designs.into_iter().enumerate() {
            let seen: Vec<(usize, f64)> =
                design.iter().map(|&j| (j, truth[j])).filter(|s| s.1.is_finite()).collect();
            let predicted = match (l, seen.is_empty()) {
                (_, true) => prior.posterior().predict(),
                (4.., _) => {
                    let mut posterior = prior.posterior();
                    let (at, values): (Vec<usize>, Vec<f64>) = seen.iter().copied().unzip();
                    posterior.observe(&at, &values)?;
                    posterior.predict()
                }
                _ => least_squares(y.view(), &seen)?,
            };
            let best = (0..truth.len())
                .filter(|&j| truth[j].is_finite())
                .reduce(|a, b| if predicted[b] < predicted[a] { b } else { a })
                .map_or(f64::INFINITY, |j| truth[j]);
            let found = seen.iter().map(|s| s.1).fold(best, f64::min);
            lines[l][at] = (found - lowest, *took, design.len() as f64);
        }
    }
    Ok(lines)
}

/// Standard deviation of what the embeddings leave of each column, over the datasets kept.
fn spread(errors: &Array2<f32>, y: ArrayView2<'_, f32>, out: usize) -> Vec<f64> {
    let m = errors.nrows() as f64 - 1.0;
    let mut squares = vec![0.0; errors.ncols()];
    for (_, row) in errors.rows().into_iter().enumerate().filter(|(i, _)| *i != out) {
        // Rows of y are orthonormal: coefficients are plain products.
        let x: Vec<f32> = y.rows().into_iter().map(|b| b.dot(&row)).collect();
        for (j, square) in squares.iter_mut().enumerate() {
            let fitted: f32 = x.iter().zip(y.column(j)).map(|(x, y)| x * y).sum();
            *square += f64::from(row[j] - fitted).powi(2);
        }
    }
    squares.into_iter().map(|s: f64| (s / m).sqrt().max(1e-6)).collect()
}

/// Greedy against random on all pipelines, least squares k = 20, set B.
fn whole(recorded: &Recorded) -> Result<Table, SurrogateError> {
    const LIMITS: [f64; 4] = [0.0003, 0.001, 0.003, 0.01];
    const MOST: usize = 400;
    let datasets = set_b();
    let found: Vec<[[f64; 4]; 2]> = datasets
        .par_iter()
        .map(|&out| {
            let row = recorded.recording.row(out);
            let y = recorded.plain.embeddings(&recorded.without(out), 20)?;
            let vectors = DesignVectors::new(y.view())?;
            let secs: Vec<f64> = row.all_secs().into_iter().map(|t| t.unwrap_or(1e9)).collect();
            let mut regrets = [[0.0; 4]; 2];
            for (at, share) in LIMITS.iter().enumerate() {
                let limit = share * row.total_secs();
                let mut greedy = by_time(&vectors, &secs, limit)?.pipelines;
                greedy.truncate(MOST);
                let random = random_by_time(&secs, limit, false, out as u64)?.pipelines;
                for (which, design) in [greedy, random].into_iter().enumerate() {
                    let seen: Vec<(usize, f64)> =
                        design.iter().filter_map(|&j| Some((j, row.error(j)?))).collect();
                    let predicted = least_squares_or_mean(recorded, y.view(), &seen, out)?;
                    let best = (0..predicted.len())
                        .filter(|&j| row.error(j).is_some())
                        .reduce(|a, b| if predicted[b] < predicted[a] { b } else { a })
                        .and_then(|j| row.error(j))
                        .unwrap_or(f64::INFINITY);
                    let found = seen.iter().map(|s| s.1).fold(best, f64::min);
                    regrets[which][at] = found - row.lowest_error();
                }
            }
            Ok(regrets)
        })
        .collect::<Result<_, SurrogateError>>()?;
    let mut table = Table::new(
        "Design against random on all pipelines, set B, least squares k = 20: regret (§15)",
    );
    let reference = [[0.034, 0.025, 0.023, 0.022], [0.049, 0.035, 0.029, 0.018]];
    for (which, name) in ["greedy", "random"].iter().enumerate() {
        for (at, limit) in LIMITS.iter().enumerate() {
            let ours = mean(&found.iter().map(|f| f[which][at]).collect::<Vec<_>>());
            let rule = match which {
                0 => Rule::told_apart(reference[0][at], reference[1][at], MARGIN),
                _ => Rule::Near(MARGIN),
            };
            table.push(Row::new(format!("{name}, {limit}"), reference[which][at], ours, rule));
        }
    }
    Ok(table)
}
