//! The paper's systems against time, replayed with the rows of a tenth of the datasets out of everything that is learned
//! (paper, Figures 10 to 12): mean rank, and regret on recorded and on replicate errors.

use std::sync::Arc;

use ndarray::Array2;
use pitchpipe_automl::offline::published::N_PIPELINES;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::policy::{
    InOrder, KernelSetup, Overhead, PaperLoop, PaperSettings, Policy, RankRule, Regress, Rounds,
    Vectors, kernel_oboe,
};
use pitchpipe_surrogate::runtime::RuntimeForm;
use pitchpipe_surrogate::simulate::{Row, replay};
use rayon::prelude::*;

use super::Context;
use super::csv::{Csv, short};
use super::replays::{Clock, FLOOR_SECS, Learned, N_ESTIMATORS, SLICE, recording, rows_of};
use crate::reference::recorded::mean_and_error;

/// Parts that the datasets are split into.
const FOLDS: usize = 10;

/// Budgets, in recorded seconds of one core.
const BUDGETS: [f64; 4] = [15.0, 30.0, 60.0, 120.0];

/// The error of the most common class, which stands until there is a model.
const MAJORITY: f64 = 0.5;

/// TensorOboe's ranks in the paper: whole tensor, subsampled, thresholded.
const RANK: usize = 20;
const RANK_SUBSAMPLED: usize = 40;
const RANK_THRESHOLDED: usize = 25;

/// The share of entries that the subsampled tensor keeps, and the threshold of the other, in seconds.
const KEPT: f64 = 0.1;
const THRESHOLD_SECS: f32 = 20.0;

/// Best error by budget, recorded and in replicates.
type Found = Vec<(f64, f64)>;

/// One system: its name, and its policy for a budget.
type System<'a> =
    (&'static str, Box<dyn Fn(f64) -> Result<Box<dyn Policy>, SurrogateError> + Sync + 'a>);

pub(super) fn whole_tensor(context: &Context) -> Result<Csv, String> {
    let found = each_fold(
        context,
        |rows| {
            let whole = Learned::fit(&rows_of(&context.paper, rows, &|_, _| true)?, RANK)
                .map_err(|e| e.to_string())?;
            Ok(vec![whole])
        },
        |learned, secs, log_secs| whole_systems(&learned[0], secs, log_secs),
    )?;
    table(context, &found, "whole tensor")
}

pub(super) fn sparse_tensors(context: &Context) -> Result<Csv, String> {
    let limit = (KEPT * u64::MAX as f64) as u64;
    let found = each_fold(
        context,
        |rows| {
            let fit = |rank: usize, keep: &dyn Fn(usize, f32) -> bool| {
                Learned::fit(&rows_of(&context.paper, rows, keep)?, rank).map_err(|e| e.to_string())
            };
            Ok(vec![
                fit(RANK, &|_, _| true)?,
                fit(RANK_SUBSAMPLED, &|at, _| scatter(at) < limit)?,
                fit(RANK_THRESHOLDED, &|_, t| t <= THRESHOLD_SECS)?,
            ])
        },
        sparse_systems,
    )?;
    table(context, &found, "whole tensor, a tenth of it at random, what took at most 20 s")
}

/// A fixed scattering of entries.
fn scatter(at: usize) -> u64 {
    let x = (at as u64).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// What each system found on a dataset; the lowest errors there: recorded, replicate.
type OnDataset = (Vec<Found>, (f64, f64));

/// Datasets with what each system found.
struct All {
    names: Vec<&'static str>,
    found: Vec<OnDataset>,
}

fn each_fold(
    context: &Context,
    learn: impl Fn(&[usize]) -> Result<Vec<Learned>, String>,
    systems: impl for<'a> Fn(&'a [Learned], &'a [Option<f64>], &'a [Option<f64>]) -> Vec<System<'a>>
    + Sync,
) -> Result<All, String> {
    let paper = &context.paper;
    let recording = recording(paper)?;
    let n = paper.dataset_ids.len();
    let mut all = All { names: Vec::new(), found: Vec::new() };
    for fold in 0..context.n_folds {
        let rows: Vec<usize> = (0..n).filter(|i| i % FOLDS != fold).collect();
        let learned = learn(&rows)?;
        let clock = Clock::fit(paper, &rows, RuntimeForm::PaperSeconds)?;
        let log_clock = Clock::fit(paper, &rows, RuntimeForm::LogLog)?;
        let step = if context.quick { 7 } else { 1 };
        let outs: Vec<usize> = (fold..n).step_by(FOLDS).step_by(step).collect();
        let done: Vec<Option<(Vec<&'static str>, OnDataset)>> = outs
            .par_iter()
            .map(|&out| {
                let both = (clock.secs(paper, out), log_clock.secs(paper, out));
                let (Some(secs), Some(log_secs)) = both else { return Ok(None) };
                let row = recording.row(out);
                let systems = systems(&learned, &secs, &log_secs);
                let names = systems.iter().map(|s| s.0).collect();
                let found = systems.iter().map(|s| run(&row, &s.1)).collect::<Result<_, _>>()?;
                let lowest = (row.lowest_error(), lowest_replicate(&row));
                Ok(Some((names, (found, lowest))))
            })
            .collect::<Result<_, SurrogateError>>()
            .map_err(|e| e.to_string())?;
        for (names, found) in done.into_iter().flatten() {
            all.names = names;
            all.found.push(found);
        }
        eprintln!("  fold {fold}: {} datasets so far", all.found.len());
    }
    Ok(all)
}

/// The lowest mean over replicates that any pipeline has.
fn lowest_replicate(row: &Row<'_>) -> f64 {
    let there = (0..N_PIPELINES).filter(|&j| row.error(j).is_some());
    there.map(|j| row.replicate_error(j)).fold(f64::INFINITY, f64::min)
}

/// The best error that a system has found by the end of each budget; its rounds depend on it.
fn run(
    row: &Row<'_>,
    policy: &(dyn Fn(f64) -> Result<Box<dyn Policy>, SurrogateError> + Sync),
) -> Result<Found, SurrogateError> {
    BUDGETS
        .iter()
        .map(|&budget| {
            let trace = replay(&mut *policy(budget)?, row, budget, 1)?;
            let best = trace.ranking(budget).first().copied();
            Ok(best.map_or((MAJORITY, MAJORITY), |(j, error)| (error, row.replicate_error(j))))
        })
        .collect()
}

fn settings(rank_rule: RankRule) -> PaperSettings {
    let overhead = Overhead::Floor { secs: FLOOR_SECS };
    PaperSettings { rank_rule, overhead, ..PaperSettings::default() }
}

/// TensorOboe, or KernelOboe as the paper's overview has it.
fn tucker<'a>(
    name: &'static str,
    (embedding, ranks): &'a (Arc<pitchpipe_surrogate::TuckerEmbedding>, pitchpipe_surrogate::Ranks),
    baseline: usize,
    secs: &'a [Option<f64>],
    rule: RankRule,
) -> System<'a> {
    let make = move |budget: f64| -> Result<Box<dyn Policy>, SurrogateError> {
        let vectors = Vectors::tucker(Arc::clone(embedding), (0..N_PIPELINES).collect(), *ranks)?;
        let (rounds, baseline) = (Rounds::Doubling, Some(baseline));
        let policy = PaperLoop::with(vectors, secs, budget, rounds, baseline, settings(rule))?;
        Ok(Box::new(policy))
    };
    (name, Box::new(make))
}

fn nested<'a>(
    name: &'static str,
    y: Array2<f32>,
    rank: usize,
    baseline: Option<usize>,
    secs: Vec<Option<f64>>,
    overhead: Overhead,
) -> System<'a> {
    let make = move |budget: f64| -> Result<Box<dyn Policy>, SurrogateError> {
        let vectors = Vectors::nested(y.clone(), rank)?;
        let settings = PaperSettings { overhead, ..PaperSettings::default() };
        let rounds = Rounds::Doubling;
        Ok(Box::new(PaperLoop::with(vectors, &secs, budget, rounds, baseline, settings)?))
    };
    (name, Box::new(make))
}

/// One pipeline after the other.
fn in_order<'a>(name: &'static str, order: Option<usize>, secs: &'a [Option<f64>]) -> System<'a> {
    let make = move |_: f64| -> Result<Box<dyn Policy>, SurrogateError> {
        Ok(match order {
            Some(only) => Box::new(InOrder::new(vec![only], secs.to_vec())),
            None => Box::new(InOrder::random(secs.to_vec(), 0)),
        })
    };
    (name, Box::new(make))
}

fn whole_systems<'a>(
    learned: &'a Learned,
    secs: &'a [Option<f64>],
    log_secs: &'a [Option<f64>],
) -> Vec<System<'a>> {
    let baseline = learned.baseline;
    let floor = Overhead::Floor { secs: FLOOR_SECS };
    // Oboe: the other pipelines do not exist.
    let within = SLICE * N_ESTIMATORS..(SLICE + 1) * N_ESTIMATORS;
    let (slice, rank) = &learned.oboe;
    let mut y = Array2::zeros((slice.nrows(), N_PIPELINES));
    for ((i, f), &v) in slice.indexed_iter() {
        y[(i, within.start + f)] = v;
    }
    let of_slice =
        secs.iter().enumerate().map(|(j, t)| t.filter(|_| within.contains(&j))).collect();
    let tensor = &learned.tensor;
    let (components, first) = &learned.components;
    let old = (components.clone(), *first);
    vec![
        in_order("baseline", Some(baseline), secs),
        in_order("random", None, secs),
        nested("Oboe", y, *rank, None, of_slice, floor),
        tucker("TensorOboe", tensor, baseline, secs, RankRule::Datasets),
        tucker("TensorOboe, estimator rank grows", tensor, baseline, secs, RankRule::Estimators),
        tucker("TensorOboe, both ranks grow", tensor, baseline, secs, RankRule::Both),
        tucker("TensorOboe, log runtimes", tensor, baseline, log_secs, RankRule::Datasets),
        nested(
            "TensorOboe as before (PCA, log runtimes, no floor)",
            old.0,
            old.1,
            Some(baseline),
            log_secs.to_vec(),
            Overhead::None,
        ),
        tucker("KernelOboe", &learned.kernel, baseline, secs, RankRule::Datasets),
        by_codes("KernelOboe, by codes", learned, secs),
    ]
}

/// KernelOboe by the closed form on its codes.
fn by_codes<'a>(name: &'static str, learned: &'a Learned, secs: &'a [Option<f64>]) -> System<'a> {
    let make = move |budget_secs: f64| -> Result<Box<dyn Policy>, SurrogateError> {
        let model = Arc::clone(&learned.codes);
        let regress: Regress = Box::new(move |pipelines, errors, ridge| {
            model.predict_dataset(pipelines, errors, ridge)
        });
        let codes = learned.codes.codes();
        let (codes, baseline) = (codes.t(), Some(learned.baseline));
        let settings = settings(RankRule::Datasets);
        let setup = KernelSetup { codes, regress, secs, budget_secs, baseline, settings };
        Ok(Box::new(kernel_oboe(setup)?))
    };
    (name, Box::new(make))
}

fn sparse_systems<'a>(
    learned: &'a [Learned],
    secs: &'a [Option<f64>],
    _: &'a [Option<f64>],
) -> Vec<System<'a>> {
    let rule = RankRule::Datasets;
    let tensor =
        |name, at: usize| tucker(name, &learned[at].tensor, learned[0].baseline, secs, rule);
    let kernel =
        |name, at: usize| tucker(name, &learned[at].kernel, learned[0].baseline, secs, rule);
    vec![
        in_order("baseline", Some(learned[0].baseline), secs),
        tensor("TensorOboe", 0),
        kernel("KernelOboe", 0),
        tensor("TensorOboe, tenth", 1),
        kernel("KernelOboe, tenth", 1),
        tensor("TensorOboe, 20 s", 2),
        kernel("KernelOboe, 20 s", 2),
    ]
}

/// Mean rank, regrets and their standard errors, by budget and system.
fn table(context: &Context, all: &All, data: &str) -> Result<Csv, String> {
    let mut csv = Csv::new(
        format!(
            "published tensor ({data}), {} left-out datasets of known size in {} of {FOLDS} folds; one core, recorded seconds on the clock, predicted ones in the plan; majority class until the first model",
            all.found.len(),
            context.n_folds
        ),
        &[
            "budget_s",
            "system",
            "mean_rank",
            "regret",
            "regret_se",
            "replicate_regret",
            "replicate_se",
        ],
    );
    for (b, budget) in BUDGETS.iter().enumerate() {
        for (s, name) in all.names.iter().enumerate() {
            let mean_of = |of: &dyn Fn(&OnDataset) -> f64| {
                let values: Vec<f64> = all.found.iter().map(of).collect();
                mean_and_error(&values)
            };
            let (rank, _) = mean_of(&|(found, _)| rank_of(found, s, b));
            let (regret, se) = mean_of(&|(found, lowest)| found[s][b].0 - lowest.0);
            let (again, again_se) = mean_of(&|(found, lowest)| found[s][b].1 - lowest.1);
            csv.push(&[
                budget,
                &name.replace(',', ";"),
                &format!("{rank:.2}"),
                &short(regret),
                &short(se),
                &short(again),
                &short(again_se),
            ]);
        }
    }
    Ok(csv)
}

/// The rank of a system among all on one dataset, equal ones sharing theirs.
fn rank_of(found: &[Found], system: usize, budget: usize) -> f64 {
    let own = found[system][budget].0;
    let better = found.iter().filter(|f| f[budget].0 < own).count() as f64;
    let equal = found.iter().filter(|f| f[budget].0 == own).count() as f64;
    better + (equal + 1.0) / 2.0
}
