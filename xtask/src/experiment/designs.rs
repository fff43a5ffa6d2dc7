//! Designs compared: regret, time to design, pipelines chosen (paper, Figures 17 and 20).

use cpu_time::ThreadTime;
use ndarray::{Array2, ArrayView2, Axis};
use pitchpipe_surrogate::design::{
    Design, DesignVectors, Scalarization, by_time, deviations, random_by_time, relax,
};
use pitchpipe_surrogate::simulate::Row;
use pitchpipe_surrogate::{Pca, SurrogateError, least_squares};
use rayon::prelude::*;

use super::csv::{Csv, short};
use super::replays::{FLOOR_SECS, recording, slice_columns};
use super::{Context, completed};
use crate::reference::recorded::{mean, mean_and_error};

const METHODS: [&str; 4] = ["greedy", "weighted", "convex", "random"];

/// What one design found: regret of the best of it and of the best predicted, the same in replicates, CPU seconds to
/// design, pipelines chosen.
type Found = [f64; 4];

/// How a design is made, and the seconds that no pipeline is taken to go below.
type Method = (&'static str, f64);

fn name(&(how, floor_secs): &Method) -> String {
    if floor_secs > 0.0 { format!("{how}; floor {floor_secs} s") } else { how.to_owned() }
}

/// Oboe's 183 estimators.
pub(super) fn slice(context: &Context) -> Result<Csv, String> {
    compare(context, &slice_columns(), 8, &[0.01, 0.03, 0.1, 0.3], &METHODS.map(|how| (how, 0.0)))
}

/// All 23,424 pipelines, which the relaxation is not for.
pub(super) fn whole(context: &Context) -> Result<Csv, String> {
    let columns: Vec<usize> = (0..context.paper.errors.ncols()).collect();
    let shares: &[f64] = if context.quick { &[0.0003] } else { &[0.0001, 0.0003, 0.001, 0.003] };
    let with = |floor_secs: f64| ["greedy", "weighted", "random"].map(|how| (how, floor_secs));
    compare(context, &columns, 20, shares, &[with(0.0), with(FLOOR_SECS)].concat())
}

fn compare(
    context: &Context,
    columns: &[usize],
    rank: usize,
    shares: &[f64],
    methods: &[Method],
) -> Result<Csv, String> {
    let errors = completed(&context.paper, 40)?.select(Axis(1), columns);
    let recording = recording(&context.paper)?;
    let step = if context.quick { 43 } else { 5 };
    let datasets: Vec<usize> = (0..errors.nrows()).step_by(step).collect();
    // Datasets x shares x methods.
    let found: Vec<Vec<Vec<Found>>> = datasets
        .par_iter()
        .map(|&out| {
            let row = recording.row(out);
            let left = Left { errors: &errors, columns, row: &row, out, rank };
            left.found(shares, methods)
        })
        .collect::<Result<_, SurrogateError>>()
        .map_err(|e| e.to_string())?;
    let mut csv = Csv::new(
        format!(
            "published tensor, {} of the 215 datasets left out in turn, {} pipelines, rank {rank}, recorded runtimes, none below the floor; limits as shares of the time of all",
            datasets.len(),
            columns.len()
        ),
        &[
            "limit_share",
            "method",
            "regret",
            "regret_se",
            "less_random",
            "less_random_se",
            "replicate_regret",
            "replicate_less_random",
            "replicate_less_random_se",
            "design_cpu_s",
            "chosen",
        ],
    );
    for (s, share) in shares.iter().enumerate() {
        for (m, method) in methods.iter().enumerate() {
            let of = |part: usize| -> Vec<f64> { found.iter().map(|f| f[s][m][part]).collect() };
            let (regret, error) = mean_and_error(&of(0));
            let mean = |part: usize| mean(&of(part));
            // Under the same floor.
            let is_random = |other: &Method| *other == ("random", method.1);
            let random = methods.iter().position(is_random).ok_or("no random designs")?;
            let less_random = |part: usize| {
                let own = found.iter().map(|f| f[s][m][part] - f[s][random][part]);
                mean_and_error(&own.collect::<Vec<_>>())
            };
            let (recorded, replicate) = (less_random(0), less_random(1));
            csv.push(&[
                share,
                &name(method),
                &short(regret),
                &short(error),
                &short(recorded.0),
                &short(recorded.1),
                &short(mean(1)),
                &short(replicate.0),
                &short(replicate.1),
                &short(mean(2)),
                &format!("{:.1}", mean(3)),
            ]);
        }
    }
    Ok(csv)
}

/// One dataset that is left out.
struct Left<'a> {
    errors: &'a Array2<f32>,
    columns: &'a [usize],
    row: &'a Row<'a>,
    out: usize,
    rank: usize,
}

impl Left<'_> {
    fn found(&self, shares: &[f64], methods: &[Method]) -> Result<Vec<Vec<Found>>, SurrogateError> {
        let rows: Vec<usize> = (0..self.errors.nrows()).filter(|&i| i != self.out).collect();
        let known = self.errors.select(Axis(0), &rows);
        let y = Pca::fit(known.view(), self.rank)?.pipelines.mapv(|v| v as f32);
        let deviations = deviations(known.view(), y.view());
        let total: f64 = self.columns.iter().filter_map(|&j| self.row.secs(j)).sum();
        let design = |how: &str, secs: &[f64], limit: f64| -> Result<Design, SurrogateError> {
            match how {
                "greedy" => by_time(&DesignVectors::new(y.view())?, secs, limit),
                "weighted" => {
                    by_time(&DesignVectors::weighted(y.view(), &deviations)?, secs, limit)
                }
                "convex" => Ok(relax(y.view(), secs, limit, Scalarization::D)?.round(secs, limit)),
                _ => random_by_time(secs, limit, true, self.out as u64),
            }
        };
        shares
            .iter()
            .map(|share| {
                methods
                    .iter()
                    .map(|&(how, floor_secs)| {
                        let of = |&j: &usize| self.row.secs(j).map_or(1e9, |t| t.max(floor_secs));
                        let secs: Vec<f64> = self.columns.iter().map(of).collect();
                        let clock = ThreadTime::now();
                        let chosen = design(how, &secs, share * total)?.pipelines;
                        let took = clock.elapsed().as_secs_f64();
                        let (regret, replicate) = self.regret(y.view(), &chosen)?;
                        Ok([regret, replicate, took, chosen.len() as f64])
                    })
                    .collect()
            })
            .collect()
    }

    /// Of the best among the design and the best predicted from it: recorded, and in replicates.
    fn regret(
        &self,
        y: ArrayView2<'_, f32>,
        chosen: &[usize],
    ) -> Result<(f64, f64), SurrogateError> {
        let error = |c: usize| self.row.error(self.columns[c]);
        let seen: Vec<(usize, f64)> = chosen.iter().filter_map(|&c| Some((c, error(c)?))).collect();
        let there: Vec<usize> = (0..self.columns.len()).filter(|&c| error(c).is_some()).collect();
        let mut candidates: Vec<usize> = seen.iter().map(|s| s.0).collect();
        if !seen.is_empty() {
            let predicted = least_squares(y, &seen)?;
            let least = |a: usize, b: usize| if predicted[b] < predicted[a] { b } else { a };
            candidates.extend(there.iter().copied().reduce(least));
        } else {
            candidates.extend(there.first());
        }
        let lowest = |of: &dyn Fn(usize) -> f64, among: &[usize]| {
            among.iter().map(|&c| of(c)).fold(f64::INFINITY, f64::min)
        };
        let recorded = |c: usize| error(c).unwrap_or(f64::INFINITY);
        let replicate = |c: usize| self.row.replicate_error(self.columns[c]);
        let best = candidates.iter().copied();
        let best = best.min_by(|&a, &b| recorded(a).total_cmp(&recorded(b))).unwrap_or(0);
        let regret = recorded(best) - lowest(&recorded, &there);
        Ok((regret, replicate(best) - lowest(&replicate, &there)))
    }
}
