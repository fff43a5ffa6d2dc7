//! The paper's systems and the default policy on all usable datasets, each left out in turn (KernelOboe: a
//! tenth of them at a time): mean regret after 1, 2, 5 and 10 % of the time all pipelines take together.

use ndarray::{Array2, Axis};
use pitchpipe_automl::Families;
use pitchpipe_automl::offline::published::N_PIPELINES;
use pitchpipe_automl::offline::train::EMBEDDING_RANK;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::{PriorRows, Scale};
use pitchpipe_surrogate::policy::{Auto, AutoSettings, InOrder, PaperLoop, Policy, Rounds};
use pitchpipe_surrogate::simulate::{Row as Record, replay};
use rayon::prelude::*;

use super::policies::{default_prior, default_setup, shipped_families};
use super::recorded::{BASELINE, N_ESTIMATORS, Recorded, mean, mean_and_error};
use super::{Context, Row, Rule, Table, partial};

mod kernel;

/// Parts that the datasets are split into for KernelOboe, which is too dear to train for each of them.
const FOLDS: usize = 10;

/// The prefix of the Oboe slice: mean, one-hot, standardize, no reduction.
pub(crate) const SLICE: usize = 39;

/// Shares of the total time.
const SHARES: [f64; 4] = [0.01, 0.02, 0.05, 0.1];

/// Ranks the systems start at: 97 % of the energy, of the slice and of the whole matrix (§5).
const SLICE_RANK: usize = 4;
const RANK: usize = 8;

/// Ranks the rule may reach, as in a surrogate.
const MOST_RANK: usize = EMBEDDING_RANK;

/// What ships: it has to be better than random order.
const DEFAULT: &str = "default policy";

/// Standard errors of a paired difference that tell a system from random order.
const SURE: f64 = 2.0;

/// Datasets with at least this share of their entries observed are usable.
const USABLE: f64 = 0.3;

pub(crate) fn tables(context: &Context) -> Result<Vec<Table>, String> {
    if context.quick {
        return Ok(Vec::new());
    }
    let usable = context.all.observed_above(USABLE);
    let recorded = Recorded::new(&usable)?;
    let simulation = Simulation::new(&recorded).map_err(|e| e.to_string())?;
    let datasets: Vec<usize> = (0..recorded.n_datasets()).step_by(context.every).collect();
    let mut found: Vec<Vec<Option<[f64; 4]>>> = datasets
        .par_iter()
        .map(|&out| {
            context.kept.or(&format!("systems and random on {out}"), || simulation.dataset(out))
        })
        .collect::<Result<_, SurrogateError>>()
        .map_err(|e| e.to_string())?;
    let observed = partial(&usable, f32::INFINITY)?;
    for fold in 0..FOLDS {
        let members: Vec<usize> =
            (0..datasets.len()).filter(|i| datasets[*i] % FOLDS == fold).collect();
        let outs: Vec<usize> = members.iter().map(|&i| datasets[i]).collect();
        let key = format!("kernel systems, fold {fold} on {outs:?}");
        let regrets = context.kept.or(&key, || {
            kernel::fold(&recorded, &observed, fold, &outs).map_err(|e| e.to_string())
        })?;
        for (i, regrets) in members.into_iter().zip(regrets) {
            found[i].extend(regrets);
        }
    }
    let mut table = Table::new(format!(
        "Left-out datasets, {} of {} usable: mean regret after a share of the total time; the reference is random order on the same datasets",
        datasets.len(),
        recorded.n_datasets()
    ));
    let names = [
        "random order",
        "Oboe (183 estimators, doubling rounds)",
        "TensorOboe (doubling rounds)",
        DEFAULT,
        "KernelOboe (doubling rounds), 10-fold",
        "KernelOboe on errors less their means, 10-fold",
    ];
    for (system, name) in names.iter().enumerate() {
        for (at, share) in SHARES.iter().enumerate() {
            // Where both have a result.
            let both = found.iter().filter_map(|f| Some((f[system]?[at], f[0]?[at])));
            let (regrets, random): (Vec<f64>, Vec<f64>) = both.unzip();
            let differences: Vec<f64> = regrets.iter().zip(&random).map(|(a, b)| a - b).collect();
            let (_, error) = mean_and_error(&differences);
            let (regret, what) = (mean(&regrets), format!("{name}, {} %", 100.0 * share));
            let by = SURE * error;
            table.push(match *name {
                _ if system == 0 => Row::shown(what, regret),
                DEFAULT if context.every == 1 => {
                    Row::new(what, mean(&random), regret, Rule::BelowRandom(by))
                }
                _ => Row::new(what, mean(&random), regret, Rule::PerhapsBelowRandom(by)),
            });
        }
    }
    Ok(vec![table])
}

struct Simulation<'a> {
    recorded: &'a Recorded,
    slice: PriorRows,
    families: Families,
}

impl<'a> Simulation<'a> {
    fn new(recorded: &'a Recorded) -> Result<Self, SurrogateError> {
        let columns: Vec<usize> = (0..N_ESTIMATORS).map(|f| SLICE * N_ESTIMATORS + f).collect();
        let slice = recorded.completed.select(Axis(1), &columns);
        Ok(Self {
            recorded,
            slice: PriorRows::new(slice.view(), Scale::Plain)?,
            families: shipped_families(),
        })
    }

    /// Regrets of random search and of three systems at each share; `None` where nothing finished.
    fn dataset(&self, out: usize) -> Result<Vec<Option<[f64; 4]>>, SurrogateError> {
        let row = self.recorded.recording.row(out);
        let weights = self.recorded.without(out);
        let within = |f: usize| (SLICE * N_ESTIMATORS..(SLICE + 1) * N_ESTIMATORS).contains(&f);
        let in_slice = self.slice.embeddings(&weights, MOST_RANK)?;
        let mut y = Array2::zeros((in_slice.nrows(), N_PIPELINES));
        for ((i, f), &v) in in_slice.indexed_iter() {
            y[(i, SLICE * N_ESTIMATORS + f)] = v;
        }
        let secs: Vec<Option<f64>> =
            (0..N_PIPELINES).map(|j| row.secs(j).filter(|_| within(j))).collect();
        let doubling = |y: &Array2<f32>, rank: usize, secs: &[Option<f64>], baseline| {
            paper(&row, |budget| {
                let (rank, rounds) = (rank.min(y.nrows()), Rounds::Doubling);
                PaperLoop::new(y.view(), rank, secs, budget, rounds, baseline)
            })
        };
        let oboe = doubling(&y, SLICE_RANK, &secs, None)?;
        let y = self.recorded.plain.embeddings(&weights, MOST_RANK)?;
        let tensor = doubling(&y, RANK, &row.all_secs(), Some(BASELINE))?;
        let random = paper(&row, |_| Ok(InOrder::random(row.all_secs(), out as u64)))?;
        Ok(vec![random, oboe, tensor, self.default(out, &row)?])
    }

    /// One run to the last share, read at all: the default needs not know when it will end.
    fn default(&self, out: usize, row: &Record<'_>) -> Result<Option<[f64; 4]>, SurrogateError> {
        let prior = self.recorded.prior(out, &default_prior())?;
        let secs = row.all_secs();
        let setup = default_setup(&self.families, prior.posterior(), &secs);
        let mut policy = Auto::new(setup, AutoSettings::default())?;
        let budget = SHARES[3] * row.total_secs();
        let trace = replay(&mut policy, row, budget, 1)?;
        Ok(SHARES
            .map(|share| {
                let first = trace.ranking(share * row.total_secs()).first().copied();
                first.map(|(_, error)| error - row.lowest_error())
            })
            .into_iter()
            .collect::<Option<Vec<f64>>>()
            .and_then(|regrets| regrets.try_into().ok()))
    }
}

/// The paper's loop once per share: its rounds depend on the budget.
fn paper<P: Policy>(
    row: &Record<'_>,
    policy: impl Fn(f64) -> Result<P, SurrogateError>,
) -> Result<Option<[f64; 4]>, SurrogateError> {
    let mut regrets = [0.0; 4];
    for (at, share) in SHARES.iter().enumerate() {
        let budget = share * row.total_secs();
        let trace = replay(&mut policy(budget)?, row, budget, 1)?;
        match trace.ranking(budget).first() {
            Some((_, error)) => regrets[at] = error - row.lowest_error(),
            None => return Ok(None),
        }
    }
    Ok(Some(regrets))
}
