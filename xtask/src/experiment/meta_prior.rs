//! Meta-features as a prior mean for a new dataset: does what a table looks like tell which pipelines do well on it?
//!
//! On our own collection (data/meta), whose tables are at hand: the errors of Oboe's 183 estimators, each table left out
//! of all that is learned together with what was made from the same source. Square roots of errors are regressed on
//! meta-features by kernels; the covariance is that of what the regression leaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::{Array2, Axis};
use pitchpipe_automl::offline::Store;
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::{Preparation, SearchSpace};
use pitchpipe_surrogate::bayes::{Prior, PriorSettings, Scale};
use pitchpipe_surrogate::complete::{EmOptions, complete_matrix};
use pitchpipe_surrogate::policy::{Auto, AutoSettings, AutoSetup};
use pitchpipe_surrogate::search::{Actions, Rule, SearchSettings};
use pitchpipe_surrogate::simulate::{Recording, Row, replay};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};
use rayon::prelude::*;

use super::Context;
use super::csv::{Csv, short};
use super::meta_features::{Described, described};
use super::regression::{Kernel, Regression};
use crate::python::root;
use crate::reference::recorded::{mean, mean_and_error};

/// Parts that sources are split into.
const FOLDS: usize = 10;

/// Directions of the covariance.
const RANK: usize = 60;

/// Rank of the completion of what timed out.
const COMPLETION_RANK: usize = 10;

/// A table is used where it has so many of the estimators' errors.
const LEAST_SHARE: f64 = 0.8;

/// Budgets, in recorded seconds of our engine.
const BUDGETS: [f64; 3] = [0.3, 1.0, 3.0];

/// Those at which the time for the meta-features is charged, too.
const CHARGED: [f64; 2] = [1.0, 3.0];

/// The error of the most common class.
const MAJORITY: f64 = 0.5;

/// What the prior mean is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The mean of all datasets.
    Mean,
    /// Rows, features and classes.
    Size(Kernel),
    /// All that need no model.
    Plain(Kernel),
    /// Those and the landmarks.
    All(Kernel),
}

const WAYS: [Way; 7] = [
    Way::Mean,
    Way::Size(Kernel::Linear),
    Way::Size(Kernel::Gaussian),
    Way::Plain(Kernel::Linear),
    Way::Plain(Kernel::Gaussian),
    Way::All(Kernel::Linear),
    Way::All(Kernel::Gaussian),
];

impl Way {
    fn name(self) -> String {
        let (what, kernel) = match self {
            Self::Mean => return "mean of all".to_owned(),
            Self::Size(kernel) => ("size", kernel),
            Self::Plain(kernel) => ("no landmarks", kernel),
            Self::All(kernel) => ("all", kernel),
        };
        let kernel = if kernel == Kernel::Linear { "ridge" } else { "kernel" };
        format!("{what}; {kernel}")
    }

    /// Its numbers of a dataset; what a dataset does not have is not a number.
    fn features(self, of: &Described) -> Vec<f64> {
        const OF_SIZE: [&str; 3] = ["log_n_instances", "log_n_features", "n_classes"];
        let value = |v: &Option<f64>| v.unwrap_or(f64::NAN);
        let all = of.features.iter();
        match self {
            Self::Mean => Vec::new(),
            Self::Size(_) => all
                .filter(|(name, _)| OF_SIZE.contains(&name.as_str()))
                .map(|(_, v)| value(v))
                .collect(),
            Self::Plain(_) => all.take(of.n_plain).map(|(_, v)| value(v)).collect(),
            Self::All(_) => all.map(|(_, v)| value(v)).collect(),
        }
    }

    /// What it takes to compute them, in seconds.
    fn secs(self, of: &Described) -> f64 {
        match self {
            Self::Mean | Self::Size(_) => 0.0,
            Self::Plain(_) => of.secs_without_landmarks,
            Self::All(_) => of.secs,
        }
    }
}

/// The collection: errors and seconds of Oboe's estimators, completed errors, and what the tables look like.
struct Collection {
    tables: Vec<Described>,
    /// The fold of each.
    folds: Vec<usize>,
    completed: Array2<f32>,
    recording: Recording,
}

impl Collection {
    fn read(context: &Context) -> Result<Self, String> {
        let store = Store::open(&root().join("data/meta")).map_err(|e| e.to_string())?;
        let space = SearchSpace::paper();
        let slice = space.behind(Preparation::of_oboe(Imputer::Mean));
        let place: BTreeMap<usize, usize> =
            slice.iter().enumerate().map(|(at, id)| (id.index(), at)).collect();
        let n = slice.len();
        let (mut tables, mut errors, mut secs) = (Vec::new(), Vec::new(), Vec::new());
        for table in described(context)? {
            let seen = store.seen(&table.name, &mut Vec::new()).map_err(|e| e.to_string())?;
            let (mut own_errors, mut own_secs) = (vec![0.0_f32; n], vec![0.0_f32; n]);
            for entry in &seen {
                if let Some(&at) = place.get(&(entry.pipeline as usize)) {
                    own_errors[at] = entry.error;
                    own_secs[at] = entry.runtime_s.max(1e-4);
                }
            }
            let n_seen = own_secs.iter().filter(|&&t| t > 0.0).count();
            if n_seen as f64 >= LEAST_SHARE * n as f64 {
                tables.push(table);
                errors.extend(own_errors);
                secs.extend(own_secs);
            }
        }
        let m = tables.len();
        let shaped = |v: Vec<f32>| Array2::from_shape_vec((m, n), v).map_err(|e| e.to_string());
        let (errors, secs) = (shaped(errors)?, shaped(secs)?);
        let completed = completed(&errors, &secs).map_err(|e| e.to_string())?;
        // No pipeline is a replicate of another here.
        let recording = Recording::new(errors, secs, n).map_err(|e| e.to_string())?;
        Ok(Self { folds: folds(&tables), tables, completed, recording })
    }
}

/// Tables of one source have one fold.
fn folds(tables: &[Described]) -> Vec<usize> {
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    let fold = |table| {
        let next = sources.len();
        *sources.entry(table).or_insert(next) % FOLDS
    };
    tables.iter().map(|t| t.source.as_str()).map(fold).collect()
}

fn completed(errors: &Array2<f32>, secs: &Array2<f32>) -> Result<Array2<f32>, SurrogateError> {
    let mask = secs.mapv(|t| t > 0.0);
    let observed = PartialTensor::new(errors.clone().into_dyn(), mask.into_dyn())?;
    let rank = COMPLETION_RANK.min(errors.nrows());
    let values = complete_matrix(&observed, rank, &EmOptions::plain())?.values;
    let rates = values.into_iter().map(|v| v.clamp(0.0, 1.0)).collect();
    Ok(Array2::from_shape_vec(errors.dim(), rates).expect("the counts agree"))
}

/// What a way has learned of the datasets outside a fold.
enum Learned {
    Mean(Arc<Prior>),
    /// The regression, and the prior of what it leaves.
    Regression {
        regression: Box<Regression>,
        around: Prior,
    },
}

impl Learned {
    fn of(all: &Collection, way: Way, fold: usize) -> Result<Self, SurrogateError> {
        let rows: Vec<usize> = (0..all.tables.len()).filter(|&i| all.folds[i] != fold).collect();
        let known = all.completed.select(Axis(0), &rows);
        let settings = PriorSettings::plain(RANK);
        let (Way::Size(kernel) | Way::Plain(kernel) | Way::All(kernel)) = way else {
            let prior = Prior::fit(known.view(), Scale::Root, &settings)?;
            return Ok(Self::Mean(Arc::new(prior)));
        };
        let roots = known.mapv(|e| f64::from(e.max(0.0)).sqrt());
        let features: Vec<Vec<f64>> = rows.iter().map(|&i| way.features(&all.tables[i])).collect();
        let regression = Box::new(Regression::fit(&features, &roots, kernel));
        let left = regression.left_out_residuals().mapv(|r| r as f32);
        let around = Prior::fit(left.view(), Scale::Plain, &settings)?;
        Ok(Self::Regression { regression, around })
    }

    /// What is known of a dataset before anything has run on it.
    fn prior(&self, way: Way, of: &Described) -> Result<Arc<Prior>, SurrogateError> {
        match self {
            Self::Mean(prior) => Ok(Arc::clone(prior)),
            Self::Regression { regression, around } => {
                let mean = regression.predict(&way.features(of));
                let (factor, noise) = (around.factor(), around.noise().to_vec());
                Prior::from_parts(Scale::Root, mean, factor.view(), noise).map(Arc::new)
            }
        }
    }
}

/// How far predictions are from what was recorded: the root of the mean square.
fn distance(prior: &Prior, row: &Row<'_>) -> f64 {
    let own = |(j, &mean): (usize, &f64)| Some((row.error(j)? - prior.scale().undo(mean)).powi(2));
    mean(&prior.mean().iter().enumerate().filter_map(own).collect::<Vec<_>>()).sqrt()
}

/// Regret of the best pipeline found by expected improvement per second.
fn regret(prior: &Arc<Prior>, row: &Row<'_>, budget_secs: f64) -> Result<f64, SurrogateError> {
    let secs = row.all_secs();
    let actions = Arc::new(Actions::singles(secs.len()));
    let search = SearchSettings { rule: Rule::Max, overhead_secs: 0.01, ..Default::default() };
    let setup = AutoSetup::plain(prior.posterior(), actions, &secs);
    let mut policy = Auto::new(setup, AutoSettings::search_alone(search))?;
    let trace = replay(&mut policy, row, budget_secs, 1)?;
    let best = trace.ranking(budget_secs).first().map_or(MAJORITY, |b| b.1);
    Ok(best - row.lowest_error())
}

/// What a way comes to on one dataset: the distance, the regrets, and the regrets with its own time charged.
fn measured(
    all: &Collection,
    (way, learned): (Way, &Learned),
    out: usize,
) -> Result<Vec<f64>, SurrogateError> {
    let row = all.recording.row(out);
    let prior = learned.prior(way, &all.tables[out])?;
    let mut measured = vec![distance(&prior, &row)];
    let own_secs = way.secs(&all.tables[out]);
    let free = BUDGETS.iter().map(|b| (b, 0.0));
    for (budget, charge) in free.chain(CHARGED.iter().map(|b| (b, own_secs))) {
        measured.push(regret(&prior, &row, (budget - charge).max(0.0))?);
    }
    Ok(measured)
}

/// The same on all datasets, in their order.
fn on_all(all: &Collection, way: Way) -> Result<Vec<Vec<f64>>, SurrogateError> {
    let learned: Vec<Learned> = (0..FOLDS)
        .into_par_iter()
        .map(|fold| Learned::of(all, way, fold))
        .collect::<Result<_, SurrogateError>>()?;
    let outs = (0..all.tables.len()).into_par_iter();
    outs.map(|out| measured(all, (way, &learned[all.folds[out]]), out)).collect()
}

fn measures() -> Vec<String> {
    let regrets = BUDGETS.iter().map(|b| format!("regret after {b} s"));
    let charged = CHARGED.iter().map(|b| format!("{b} s; meta-features charged"));
    std::iter::once("distance of predicted errors".to_owned())
        .chain(regrets)
        .chain(charged)
        .collect()
}

/// Every way on every dataset, paired with the mean of all.
pub(super) fn table(context: &Context) -> Result<Csv, String> {
    let all = Collection::read(context)?;
    let by_way: Vec<Vec<Vec<f64>>> = WAYS
        .iter()
        .map(|&way| on_all(&all, way))
        .collect::<Result<_, SurrogateError>>()
        .map_err(|e| e.to_string())?;
    let data = format!(
        "our own collection (data/meta), {} training tables of the corpus left out by source in {FOLDS} folds, Oboe's 183 estimators; recorded seconds on the clock and in the plan",
        all.tables.len()
    );
    let mut csv = Csv::new(data, &["measure", "from", "value", "less", "less_se"]);
    for (m, measure) in measures().iter().enumerate() {
        for (way, found) in WAYS.iter().zip(&by_way) {
            let values: Vec<f64> = found.iter().map(|d| d[m]).collect();
            let less: Vec<f64> = found.iter().zip(&by_way[0]).map(|(a, b)| a[m] - b[m]).collect();
            let (less, se) = mean_and_error(&less);
            csv.push(&[measure, &way.name(), &short(mean(&values)), &short(less), &short(se)]);
        }
    }
    Ok(csv)
}
