//! Systems replayed on left-out datasets: what each finds by the end of each budget, and what is made of that.

use pitchpipe_automl::offline::published::N_PIPELINES;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::policy::Policy;
use pitchpipe_surrogate::simulate::{Row, replay_charging};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Context;
use super::csv::{Csv, short};
use super::replays::{Known, recording};
use crate::reference::recorded::{mean, mean_and_error};

/// Parts that the datasets are split into.
const FOLDS: usize = 10;

/// Budgets, in recorded seconds of one core.
const BUDGETS: [f64; 4] = [15.0, 30.0, 60.0, 120.0];

/// The error of the most common class, which stands until there is a model.
const MAJORITY: f64 = 0.5;

/// A policy for a budget.
pub(super) type Make<'a> = Box<dyn Fn(f64) -> Result<Box<dyn Policy>, SurrogateError> + Sync + 'a>;

/// One system: its name, and what it does; more than once, where chance decides.
pub(super) struct System<'a> {
    pub(super) name: &'static str,
    pub(super) draws: Vec<Make<'a>>,
}

/// Systems on a clock that charges each step at least so many seconds, which they plan with, too.
pub(super) struct OnClock<'a> {
    pub(super) least_secs: f64,
    pub(super) systems: Vec<System<'a>>,
}

/// What is compared with what.
pub(super) struct Comparison {
    /// What results are kept under.
    pub(super) name: &'static str,
    /// What is learned from the rows that are not left out.
    pub(super) learn: fn(&Context, &[usize]) -> Result<Vec<Known>, String>,
    /// The systems on a left-out dataset, by clock.
    pub(super) systems: for<'a> fn(&'a Context, &'a [Known], usize) -> Option<Vec<OnClock<'a>>>,
}

/// The best error by budget, recorded and in replicates.
type Found = Vec<(f64, f64)>;

/// What became of one left-out dataset.
#[derive(Serialize, Deserialize)]
struct OnDataset {
    /// By clock, system and draw.
    found: Vec<Vec<Vec<Found>>>,
    /// The lowest errors there are: recorded, in replicates.
    lowest: (f64, f64),
}

/// Left-out datasets with what each system found on one clock.
pub(super) struct All {
    names: Vec<String>,
    found: Vec<Replayed>,
}

/// By system and draw, and the lowest errors there are.
type Replayed = (Vec<Vec<Found>>, (f64, f64));

/// One fold: names of systems by clock, and its datasets.
type Fold = (Vec<Vec<String>>, Vec<OnDataset>);

impl Comparison {
    /// What was found on all datasets that are left out, on one of the clocks. Folds that were replayed before are
    /// taken over.
    pub(super) fn on_clock(&self, context: &Context, clock: usize) -> Result<All, String> {
        let mut all = All { names: Vec::new(), found: Vec::new() };
        for fold in 0..context.n_folds {
            let key = format!("{}, fold {fold} of {FOLDS}", self.name);
            let (names, datasets): Fold = context.kept.or(&key, || self.fold(context, fold))?;
            if let Some(names) = names.into_iter().nth(clock) {
                all.names = names;
            }
            let of_clock = |mut d: OnDataset| (d.found.swap_remove(clock), d.lowest);
            all.found.extend(datasets.into_iter().map(of_clock));
        }
        Ok(all)
    }

    fn fold(&self, context: &Context, fold: usize) -> Result<Fold, String> {
        let n = context.paper.dataset_ids.len();
        let rows: Vec<usize> = (0..n).filter(|i| i % FOLDS != fold).collect();
        let known = (self.learn)(context, &rows)?;
        let recording = recording(&context.paper)?;
        let step = if context.quick { 7 } else { 1 };
        let outs: Vec<usize> = (fold..n).step_by(FOLDS).step_by(step).collect();
        let done: Vec<Option<(Vec<Vec<String>>, OnDataset)>> = outs
            .par_iter()
            .map(|&out| {
                let Some(clocks) = (self.systems)(context, &known, out) else { return Ok(None) };
                let row = recording.row(out);
                let names = |c: &OnClock<'_>| c.systems.iter().map(|s| s.name.into()).collect();
                let names = clocks.iter().map(names).collect();
                let found = clocks.iter().map(|c| c.found(&row)).collect::<Result<_, _>>()?;
                let lowest = (row.lowest_error(), lowest_replicate(&row));
                Ok(Some((names, OnDataset { found, lowest })))
            })
            .collect::<Result<_, SurrogateError>>()
            .map_err(|e| e.to_string())?;
        let (mut names, datasets): (Vec<_>, Vec<_>) = done.into_iter().flatten().unzip();
        eprintln!("  {}, fold {fold}: {} datasets", self.name, datasets.len());
        Ok((names.pop().unwrap_or_default(), datasets))
    }
}

impl OnClock<'_> {
    /// By system and draw.
    fn found(&self, row: &Row<'_>) -> Result<Vec<Vec<Found>>, SurrogateError> {
        let of = |make: &Make<'_>| run(row, make, self.least_secs);
        self.systems.iter().map(|s| s.draws.iter().map(of).collect()).collect()
    }
}

/// The best error that a system has found by the end of each budget; its rounds depend on it.
fn run(row: &Row<'_>, make: &Make<'_>, least_secs: f64) -> Result<Found, SurrogateError> {
    let by = |&budget: &f64| {
        let trace = replay_charging(&mut *make(budget)?, row, budget, 1, least_secs)?;
        let best = trace.ranking(budget).first().copied();
        Ok(best.map_or((MAJORITY, MAJORITY), |(j, error)| (error, row.replicate_error(j))))
    };
    BUDGETS.iter().map(by).collect()
}

/// The lowest mean over replicates that any pipeline has.
fn lowest_replicate(row: &Row<'_>) -> f64 {
    let there = (0..N_PIPELINES).filter(|&j| row.error(j).is_some());
    there.map(|j| row.replicate_error(j)).fold(f64::INFINITY, f64::min)
}

impl All {
    /// Mean errors of a system over its draws, dataset by dataset: recorded, in replicates.
    fn errors(&self, system: usize, budget: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.found.iter().map(move |(found, _)| {
            let draws = &found[system];
            let of = |part: fn(&(f64, f64)) -> f64| {
                mean(&draws.iter().map(|d| part(&d[budget])).collect::<Vec<_>>())
            };
            (of(|f| f.0), of(|f| f.1))
        })
    }

    /// Mean rank, regrets and their standard errors, by budget and system.
    pub(super) fn table(&self, context: &Context, data: &str) -> Csv {
        let mut csv = Csv::new(
            format!(
                "published tensor ({data}), {} left-out datasets of known size in {} of {FOLDS} folds; one core, recorded seconds on the clock, predicted ones in the plan; majority class until the first model; random: mean of its draws",
                self.found.len(),
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
            for (s, name) in self.names.iter().enumerate() {
                let ranks: Vec<f64> =
                    self.found.iter().map(|(found, _)| rank_of(found, s, b)).collect();
                let pairs = self.errors(s, b).zip(&self.found);
                let (regrets, again): (Vec<f64>, Vec<f64>) =
                    pairs.map(|(e, (_, lowest))| (e.0 - lowest.0, e.1 - lowest.1)).unzip();
                let ((regret, se), (again, again_se)) =
                    (mean_and_error(&regrets), mean_and_error(&again));
                csv.push(&[
                    budget,
                    name,
                    &format!("{:.2}", mean(&ranks)),
                    &short(regret),
                    &short(se),
                    &short(again),
                    &short(again_se),
                ]);
            }
        }
        csv
    }

    /// Adds paired differences of errors between two systems, by budget, where both are here.
    pub(super) fn difference(&self, csv: &mut Csv, table: &str, system: &str, less: &str) {
        let at = |name: &str| self.names.iter().position(|n| n == name);
        let (Some(own), Some(other)) = (at(system), at(less)) else { return };
        for (b, budget) in BUDGETS.iter().enumerate() {
            let pairs = self.errors(own, b).zip(self.errors(other, b));
            let (errors, again): (Vec<f64>, Vec<f64>) =
                pairs.map(|(a, b)| (a.0 - b.0, a.1 - b.1)).unzip();
            let ((mean, se), (again, again_se)) = (mean_and_error(&errors), mean_and_error(&again));
            csv.push(&[
                &table,
                budget,
                &system,
                &less,
                &self.found.len(),
                &short(mean),
                &short(se),
                &short(again),
                &short(again_se),
            ]);
        }
    }
}

/// An empty table of paired differences.
pub(super) fn differences() -> Csv {
    Csv::new(
        "published tensor, left-out datasets as in the tables named; error of a system less that of another on the same datasets, mean and standard error",
        &[
            "table",
            "budget_s",
            "system",
            "less",
            "datasets",
            "difference",
            "difference_se",
            "replicate_difference",
            "replicate_se",
        ],
    )
}

/// The rank of a system among all on one dataset, equal ones sharing theirs; the mean over draws.
fn rank_of(found: &[Vec<Found>], system: usize, budget: usize) -> f64 {
    let n_draws = found.iter().map(Vec::len).max().unwrap_or(1);
    let ranks: Vec<f64> = (0..n_draws)
        .map(|draw| {
            let error = |draws: &Vec<Found>| draws[draw % draws.len()][budget].0;
            let own = error(&found[system]);
            let better = found.iter().filter(|f| error(f) < own).count() as f64;
            let equal = found.iter().filter(|f| error(f) == own).count() as f64;
            better + (equal + 1.0) / 2.0
        })
        .collect();
    mean(&ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> All {
        let system = |errors: &[f64]| -> Vec<Found> {
            errors.iter().map(|&e| vec![(e, e + 0.1); BUDGETS.len()]).collect()
        };
        let dataset = |a: f64, b: &[f64]| (vec![system(&[a]), system(b)], (0.1, 0.2));
        let found = vec![dataset(0.3, &[0.2, 0.4]), dataset(0.2, &[0.2, 0.3])];
        All { names: vec!["one".into(), "random".into()], found }
    }

    #[test]
    fn a_rank_is_the_mean_over_draws_and_equal_systems_share_theirs() {
        let all = all();
        // Beaten by the first draw, ahead of the second.
        assert_eq!(rank_of(&all.found[0].0, 0, 0), 1.5);
        // Equal to the first draw, ahead of the second.
        assert_eq!(rank_of(&all.found[1].0, 0, 0), 1.25);
        assert_eq!(rank_of(&all.found[1].0, 1, 0), 1.75);
    }

    #[test]
    fn differences_are_paired_and_draws_are_averaged_first() {
        let mut csv = differences();
        all().difference(&mut csv, "t", "one", "random");
        let cells = [("budget_s", "15"), ("system", "one"), ("less", "random")];
        // .3 - .3 and .2 - .25.
        let mean = csv.number("difference", &cells).unwrap();
        assert!((mean + 0.025).abs() < 1e-9, "{mean}");
        assert!((csv.number("difference_se", &cells).unwrap() - 0.025).abs() < 1e-9);
        all().difference(&mut csv, "t", "one", "nobody");
        assert_eq!(csv.n_rows(), BUDGETS.len());
    }
}
