//! Columns without retraining: kinds of estimators are hidden from training and added again, from none to all of
//! what was measured of them; prediction errors of their columns beside those after training with everything.
//!
//! Tables of one source are left out together. On each, ten pipelines of other kinds are observed, as in the
//! first moments of a search, then two of the kind as well; what is predicted are the entries of the kind that
//! were measured there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use ndarray::{Array2, Axis, IxDyn};
use pitchpipe_automl::offline::Store;
use pitchpipe_automl::offline::train::Stack;
use pitchpipe_automl::surrogate::ErrorKind;
use pitchpipe_learn::SearchSpace;
use pitchpipe_surrogate::bayes::{Prior, PriorRows, PriorSettings, Scale};
use pitchpipe_surrogate::columns::{NewColumn, NewColumns};
use pitchpipe_surrogate::complete::{EmOptions, complete_tucker};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::meta::{N_FOLDS, groups};
use crate::reference::recorded::N_ESTIMATORS;
use crate::surrogate::{left_out, meta};

const N_PREPARATIONS: usize = 128;
/// The preparation that every table was measured behind in full: mean, one-hot, standardise, all features.
const SLICE: usize = 39;
/// Datasets on which the kind was measured; the last stands for all.
const MEASURED: [usize; 6] = [0, 1, 5, 20, 100, usize::MAX];
/// Pipelines of other kinds observed on a dataset left out, and then of the kind itself.
const OBSERVED: (usize, usize) = (10, 2);
/// Rounds after which a completion has settled.
const MOST_ROUNDS: usize = 40;

/// What to hide.
#[derive(Args)]
pub(crate) struct Options {
    /// The store; data/meta where none is named
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,

    /// The manifest of the corpus, which says what comes from one source
    #[arg(long, value_name = "TSV", default_value = "../shared/corpus/train/INDEX.tsv")]
    index: PathBuf,

    /// The kinds of estimators to hide, each in turn
    #[arg(long, value_delimiter = ',', default_value = "gradient_boosting,random_forest,knn,mlp")]
    kinds: Vec<String>,

    /// How many of the five folds to leave out in turn
    #[arg(long, default_value_t = 1)]
    folds: usize,

    /// Random draws of the datasets that the kind was measured on
    #[arg(long, default_value_t = 3)]
    draws: u64,

    /// Rank of the completions
    #[arg(long, default_value_t = 20)]
    rank: usize,

    /// Errors under the estimators' own decisions instead of those made for the metric
    #[arg(long)]
    native: bool,
}

/// Errors of the training and the test datasets.
struct Errors {
    values: Array2<f32>,
    mask: Array2<bool>,
}

impl Errors {
    fn of(stack: &Stack, kind: ErrorKind) -> Self {
        let (values, mask) = stack.errors(kind);
        Self { values, mask }
    }

    fn columns(&self, columns: &[usize]) -> Self {
        let values = self.values.select(Axis(1), columns).as_standard_layout().into_owned();
        let mask = self.mask.select(Axis(1), columns).as_standard_layout().into_owned();
        Self { values, mask }
    }

    /// All entries, those not measured as a Tucker completion has them.
    fn complete(self, n_estimators: usize, rank: usize) -> Result<Array2<f32>, SurrogateError> {
        let dim = self.values.raw_dim();
        let shape = [dim[0], N_PREPARATIONS, n_estimators];
        let values = self.values.into_shape_with_order(IxDyn(&shape)).expect("the counts agree");
        let mask = self.mask.into_shape_with_order(IxDyn(&shape)).expect("the counts agree");
        let observed = PartialTensor::new(values, mask)?;
        let options = EmOptions { max_rounds: MOST_ROUNDS, ..EmOptions::shrunk() };
        let done = complete_tucker(&observed, &[rank.min(dim[0]), N_PREPARATIONS, rank], &options)?;
        let values = done.values.into_iter().map(|v| v.clamp(0.0, 1.0)).collect();
        Ok(Array2::from_shape_vec(dim, values).expect("the counts agree"))
    }
}

/// Squared and absolute errors of predictions, before and after the kind's own observations.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    n: f64,
    squared: [f64; 2],
    absolute: [f64; 2],
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.n += other.n;
        for at in 0..2 {
            self.squared[at] += other.squared[at];
            self.absolute[at] += other.absolute[at];
        }
    }

    fn show(&self, at: usize) -> String {
        format!("{:.4} {:.4}", (self.squared[at] / self.n).sqrt(), self.absolute[at] / self.n)
    }
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let text = |e: SurrogateError| e.to_string();
    let store =
        Store::open(&options.store.clone().unwrap_or_else(meta)).map_err(|e| e.to_string())?;
    let stack = Stack::read(&[store], &left_out()?).map_err(|e| e.to_string())?;
    let groups = groups(&options.index, &stack)?;
    let error_kind = if options.native { ErrorKind::Native } else { ErrorKind::Decided };
    let kinds = kinds_of_estimators();
    let mut found: BTreeMap<(usize, usize), Sums> = BTreeMap::new();
    let mut n_tested = 0;
    for fold in 0..options.folds.clamp(1, N_FOLDS) {
        let is_out = |name: &str| groups.get(name).is_some_and(|g| g % N_FOLDS == fold);
        let train = Errors::of(&stack.select(|row| !is_out(&row.name)), error_kind);
        let test = Errors::of(&stack.select(|row| is_out(&row.name)), error_kind);
        n_tested += test.values.nrows();
        let everything: Vec<usize> = (0..train.values.ncols()).collect();
        let (retrained, _) =
            train_on(&train, &everything, N_ESTIMATORS, options.rank).map_err(text)?;
        for (k, hidden) in options.kinds.iter().enumerate() {
            let is_hidden = |j: &usize| kinds[j % N_ESTIMATORS] == *hidden;
            let (new, known): (Vec<usize>, Vec<usize>) =
                everything.iter().partition(|j| is_hidden(j));
            if new.is_empty() {
                return Err(format!("there is no kind of estimator called {hidden}"));
            }
            let n_known = known.len() / N_PREPARATIONS;
            let (prior, embedded) =
                train_on(&train, &known, n_known, options.rank).map_err(text)?;
            for (at, &n) in MEASURED.iter().enumerate() {
                let draws = if (1..train.values.nrows()).contains(&n) { options.draws } else { 1 };
                for draw in 0..draws {
                    let columns = new_columns(&train, &known, &new, &kinds, n, draw);
                    let (wider, _) = prior.with_columns(embedded.view(), &columns).map_err(text)?;
                    let order: Vec<usize> = known.iter().chain(&new).copied().collect();
                    let sums = judge(wider, &order, known.len(), &test).map_err(text)?;
                    found.entry((k, at)).or_default().add(&sums);
                }
            }
            let order: Vec<usize> = known.iter().chain(&new).copied().collect();
            let again = reordered(&retrained, &order).map_err(text)?;
            let sums = judge(again, &order, known.len(), &test).map_err(text)?;
            found.entry((k, MEASURED.len())).or_default().add(&sums);
            eprintln!("fold {}: {hidden}", fold + 1);
        }
    }
    let names = ["kin only", "1", "5", "20", "100", "all", "retrained"];
    for (at, after) in [(0, "of other kinds"), (1, "of other kinds and 2 of its own")] {
        println!(
            "\n{n_tested} datasets left out, {} pipelines {after} observed: root mean squared, mean absolute error",
            OBSERVED.0
        );
        let heads: String = names.iter().map(|n| format!("{n:>15}")).collect();
        println!("{:<20}{heads}", "added from datasets");
        for (k, kind) in options.kinds.iter().enumerate() {
            let cells: String =
                (0..names.len()).map(|c| format!("{:>15}", found[&(k, c)].show(at))).collect();
            println!("{kind:<20}{cells}");
        }
    }
    Ok(())
}

/// The kind of each of the 183 estimators.
fn kinds_of_estimators() -> Vec<&'static str> {
    SearchSpace::paper().estimators().iter().map(|e| e.kind().name()).collect()
}

/// A prior over some columns, and the embeddings of the training datasets under it.
fn train_on(
    train: &Errors,
    columns: &[usize],
    n_estimators: usize,
    rank: usize,
) -> Result<(Prior, Array2<f32>), SurrogateError> {
    let completed = train.columns(columns).complete(n_estimators, rank)?;
    let rows = PriorRows::new(completed.view(), Scale::Root)?;
    let settings = PriorSettings::for_search(n_estimators);
    let prior = rows.fit(&vec![1.0; rows.n_datasets()], &settings)?;
    let embedded = prior.embed(completed.view())?;
    Ok((prior, embedded))
}

/// The hidden columns, measured on `n` random datasets; kin are all kinds behind the same preparation, each
/// counting the same.
fn new_columns(
    train: &Errors,
    known: &[usize],
    new: &[usize],
    kinds: &[&str],
    n: usize,
    draw: u64,
) -> NewColumns {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for j in known {
        *sizes.entry(kinds[j % N_ESTIMATORS]).or_default() += 1.0;
    }
    let mut kin = vec![Vec::new(); N_PREPARATIONS];
    for (at, j) in known.iter().enumerate() {
        kin[j / N_ESTIMATORS].push((at, 1.0 / sizes[kinds[j % N_ESTIMATORS]]));
    }
    let mut datasets: Vec<usize> = (0..train.values.nrows()).collect();
    shuffle(&mut datasets, draw);
    datasets.truncate(n);
    let column = |&j: &usize| {
        let measured = datasets.iter().filter(|&&d| train.mask[(d, j)]);
        NewColumn {
            kin: j / N_ESTIMATORS,
            kind: 0,
            setting: j % N_ESTIMATORS,
            measured: measured.map(|&d| (d, f64::from(train.values[(d, j)]))).collect(),
        }
    };
    NewColumns { kin, columns: new.iter().map(column).collect() }
}

/// Puts numbers into a random order.
fn shuffle(numbers: &mut [usize], seed: u64) {
    numbers.sort_by_key(|n| xxh3_64_with_seed(&n.to_le_bytes(), seed));
}

/// The same prior with its columns in another order.
fn reordered(prior: &Prior, order: &[usize]) -> Result<Prior, SurrogateError> {
    let pick = |values: &[f64]| order.iter().map(|&j| values[j]).collect::<Vec<f64>>();
    let factor = prior.factor().select(Axis(1), order);
    Prior::from_parts(prior.scale(), pick(prior.mean()), factor.view(), pick(prior.noise()))
}

/// How far predictions of the columns from `first_new` on are from what was measured; `order` says which pipeline
/// each column is.
fn judge(
    prior: Prior,
    order: &[usize],
    first_new: usize,
    test: &Errors,
) -> Result<Sums, SurrogateError> {
    let prior = Arc::new(prior);
    let of_row = |d: usize| -> Result<Sums, SurrogateError> {
        let is_slice = |c: &usize| order[*c] / N_ESTIMATORS == SLICE && test.mask[(d, order[*c])];
        let draw = |from: std::ops::Range<usize>, n: usize| -> Vec<usize> {
            let mut found: Vec<usize> = from.filter(is_slice).collect();
            found.sort_by_key(|&c| xxh3_64_with_seed(&order[c].to_le_bytes(), d as u64));
            found.truncate(n);
            found
        };
        let observed = [draw(0..first_new, OBSERVED.0), draw(first_new..order.len(), OBSERVED.1)];
        let tested: Vec<usize> = (first_new..order.len())
            .filter(|c| test.mask[(d, order[*c])] && !observed[1].contains(c))
            .collect();
        if tested.is_empty() {
            return Ok(Sums::default());
        }
        let mut posterior = prior.posterior();
        let mut sums = Sums { n: 1.0, ..Sums::default() };
        for (at, columns) in observed.iter().enumerate() {
            let errors: Vec<f64> =
                columns.iter().map(|&c| f64::from(test.values[(d, order[c])])).collect();
            posterior.observe(columns, &errors)?;
            let predicted = posterior.predict();
            for &c in &tested {
                let off = predicted[c].min(1.0) - f64::from(test.values[(d, order[c])]);
                sums.squared[at] += off * off / tested.len() as f64;
                sums.absolute[at] += off.abs() / tested.len() as f64;
            }
        }
        Ok(sums)
    };
    let all: Vec<Sums> =
        (0..test.values.nrows()).into_par_iter().map(of_row).collect::<Result<_, _>>()?;
    Ok(all.iter().fold(Sums::default(), |mut sums, one| {
        sums.add(one);
        sums
    }))
}
