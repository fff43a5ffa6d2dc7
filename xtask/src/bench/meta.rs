//! Leave-one-dataset-out on our own rows: what published rows are worth in the priors, by the regret of whole
//! searches replayed on recorded errors and seconds; and what scikit-learn would have taken for the store.
//!
//! Groups of tables from one source are left out together, with the published rows of the same OpenML ids, in
//! five folds; everything, the completion too, is learned without them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use ndarray::Array2;
use pitchpipe_automl::offline::Store;
use pitchpipe_automl::offline::published::N_PIPELINES;
use pitchpipe_automl::offline::train::{Completed, Stack, StackRow, Training};
use pitchpipe_automl::surrogate::ErrorKind;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::{Prior, PriorRows, PriorSettings, Scale};
use pitchpipe_surrogate::policy::{Auto, AutoSettings, AutoSetup};
use pitchpipe_surrogate::search::{Actions, Rule, SearchSettings};
use pitchpipe_surrogate::simulate::{Recording, replay};
use rayon::prelude::*;

use crate::corpus::Index;
use crate::reference::recorded::{N_ESTIMATORS, families, mean, mean_and_error};
use crate::surrogate::{left_out, meta, published_store};

pub(super) const N_FOLDS: usize = 5;
const KINDS: [ErrorKind; 2] = [ErrorKind::Native, ErrorKind::Decided];
const BUDGETS: [f64; 4] = [0.3, 1.0, 3.0, 10.0];
const WEIGHTS: [f64; 3] = [0.25, 0.5, 1.0];
const REPLICATE_PERIOD: usize = N_PIPELINES / 4;

/// What to replay.
#[derive(Args)]
pub(crate) struct Options {
    /// The store of our own rows; data/meta where none is named
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,

    /// The manifest of the corpus, which says what comes from one source
    #[arg(long, value_name = "TSV", default_value = "../shared/corpus/train/INDEX.tsv")]
    index: PathBuf,

    /// Only every so many of the datasets
    #[arg(long, default_value_t = 1)]
    every: usize,

    /// How many of the five folds to leave out in turn
    #[arg(long, default_value_t = N_FOLDS, value_parser = folds)]
    folds: usize,

    /// Rank of the completions, the same for all so that they compare
    #[arg(long, default_value_t = 40)]
    rank: usize,
}

fn folds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=N_FOLDS).contains(&n) => Ok(n),
        _ => Err(format!("expected a number from 1 to {N_FOLDS}")),
    }
}

/// A prior to compare: the rows it is learned from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Published,
    Own,
    Both(f64),
}

impl Source {
    fn all() -> Vec<Self> {
        [Self::Published, Self::Own].into_iter().chain(WEIGHTS.map(Self::Both)).collect()
    }

    fn name(self) -> String {
        match self {
            Self::Published => "published only".to_owned(),
            Self::Own => "own only".to_owned(),
            Self::Both(weight) => format!("both, published at {weight}"),
        }
    }
}

/// Regrets of the best and of the five best at each budget, `None` where nothing finished.
type Found = [Option<(f64, f64)>; BUDGETS.len()];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let own = options.store.clone().unwrap_or_else(meta);
    let stores = [Store::open(&own).map_err(|e| e.to_string())?, published_store()?];
    let stack = Stack::read(&stores, &left_out()?).map_err(|e| e.to_string())?;
    let groups = groups(&options.index, &stack)?;
    let actions = Arc::new(families());
    let mut all: BTreeMap<(usize, usize), Vec<Found>> = BTreeMap::new();
    for fold in 0..options.folds {
        let is_out = |row: &StackRow| groups.get(&row.name).is_some_and(|g| g % N_FOLDS == fold);
        let training = stack.select(|row| !is_out(row));
        let tested = stack.select(|row| is_out(row) && !row.is_published);
        let tested: Vec<StackRow> = tested.rows.into_iter().step_by(options.every.max(1)).collect();
        let priors = priors(&training, options.rank).map_err(|e| e.to_string())?;
        for (k, (kind, priors)) in KINDS.into_iter().zip(&priors).enumerate() {
            for (s, prior) in priors.iter().enumerate() {
                let found: Vec<Found> = tested
                    .par_iter()
                    .map(|row| search(row, kind, prior, &actions))
                    .collect::<Result<_, SurrogateError>>()
                    .map_err(|e| e.to_string())?;
                all.entry((k, s)).or_default().extend(found);
            }
        }
        eprintln!("fold {} of {}: {} datasets", fold + 1, options.folds, tested.len());
    }
    for (k, name) in ["native", "balanced"].iter().enumerate() {
        table(name, &(0..Source::all().len()).map(|s| &all[&(k, s)]).collect::<Vec<_>>());
    }
    Ok(())
}

/// Numbers of the groups that tables and published rows belong to: one source, one group.
pub(super) fn groups(index: &Path, stack: &Stack) -> Result<BTreeMap<String, usize>, String> {
    let index = Index::read(index)?;
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups = BTreeMap::new();
    for row in index.rows() {
        let row = row?;
        let next = sources.len();
        let group = *sources.entry(row.text("source")?).or_insert(next);
        groups.insert(row.name()?.to_owned(), group);
        match row.text("openml_id")? {
            "" => {}
            id => _ = groups.insert(format!("openml-{id}"), group),
        }
    }
    let known: BTreeSet<&String> = stack.rows.iter().map(|r| &r.name).collect();
    groups.retain(|name, _| known.contains(name));
    Ok(groups)
}

/// The priors of each kind of error, in the order of [`Source::all`].
fn priors(stack: &Stack, rank: usize) -> Result<Vec<Vec<Arc<Prior>>>, SurrogateError> {
    let training = Training { rank: Some(rank), ..Training::default() };
    let own = training.complete(&stack.select(|row| !row.is_published))?;
    let published = training.complete(&stack.select(|row| row.is_published))?;
    let both = training.complete(stack)?;
    let settings = PriorSettings::for_search(N_ESTIMATORS);
    let mut priors = Vec::new();
    for kind in KINDS {
        let rows = |completed: &Completed| {
            // Native errors of published rows stand for decided ones where nothing else is known.
            let decided = completed.decided.as_ref().filter(|_| kind == ErrorKind::Decided);
            PriorRows::new(decided.unwrap_or(&completed.native).view(), Scale::Root)
        };
        let even = |rows: &PriorRows| rows.fit(&vec![1.0; rows.n_datasets()], &settings);
        let both = rows(&both)?;
        let prior = |source: Source| match source {
            Source::Published => even(&rows(&published)?),
            Source::Own => even(&rows(&own)?),
            Source::Both(weight) => {
                let of = |row: &StackRow| if row.is_published { weight } else { 1.0 };
                both.fit(&stack.rows.iter().map(of).collect::<Vec<f64>>(), &settings)
            }
        };
        let of_kind = Source::all().into_iter().map(|source| prior(source).map(Arc::new));
        priors.push(of_kind.collect::<Result<_, _>>()?);
    }
    Ok(priors)
}

/// A whole search on one dataset, among the pipelines that were recorded there.
fn search(
    row: &StackRow,
    kind: ErrorKind,
    prior: &Arc<Prior>,
    actions: &Arc<Actions>,
) -> Result<Found, SurrogateError> {
    let mut errors = Array2::<f32>::zeros((1, N_PIPELINES));
    let mut secs = Array2::<f32>::zeros((1, N_PIPELINES));
    for seen in &row.seen {
        let error = match kind {
            ErrorKind::Native => Some(seen.error),
            ErrorKind::Decided => seen.decided,
        };
        if let Some(error) = error {
            let at = (0, seen.pipeline as usize);
            (errors[at], secs[at]) = (error, seen.runtime_s.max(1e-4));
        }
    }
    let recording = Recording::new(errors, secs, REPLICATE_PERIOD)?;
    let record = recording.row(0);
    let settings = SearchSettings { rule: Rule::JointFifth, ..SearchSettings::default() };
    let secs = record.all_secs();
    let setup = AutoSetup::plain(prior.posterior(), Arc::clone(actions), &secs);
    let mut policy = Auto::new(setup, AutoSettings::search_alone(settings))?;
    let most = BUDGETS[BUDGETS.len() - 1];
    let trace = replay(&mut policy, &record, most, 1)?;
    let lowest = record.lowest_error();
    Ok(BUDGETS.map(|budget| {
        let ranking = trace.ranking(budget);
        let five = &ranking[..ranking.len().min(5)];
        let mean_of_five = mean(&five.iter().map(|r| r.1).collect::<Vec<_>>());
        Some((ranking.first()?.1 - lowest, mean_of_five - lowest))
    }))
}

/// Mean regrets, and paired differences to the prior from all rows.
fn table(kind: &str, found: &[&Vec<Found>]) {
    let n = found.first().map_or(0, |f| f.len());
    println!(
        "\nerrors under the {kind} decision, {n} datasets left out: regret of the best / five best"
    );
    let heads: Vec<String> = BUDGETS.iter().map(|b| format!("{:>17}", format!("{b} s"))).collect();
    println!("{:<26}{}", "prior from", heads.join(""));
    let base = found.len() - 1;
    for (source, rows) in Source::all().into_iter().zip(found) {
        let cells = (0..BUDGETS.len()).map(|b| {
            let (best, five): (Vec<f64>, Vec<f64>) = rows.iter().filter_map(|f| f[b]).unzip();
            format!("{:>17}", format!("{:.4} / {:.4}", mean(&best), mean(&five)))
        });
        println!("{:<26}{}", source.name(), cells.collect::<String>());
    }
    println!("difference to the last row, of the five best, mean ± standard error");
    for (source, rows) in Source::all().into_iter().zip(found).take(base) {
        let cells = (0..BUDGETS.len()).map(|b| {
            let pairs = rows.iter().zip(found[base].iter());
            let differences: Vec<f64> =
                pairs.filter_map(|(x, y)| Some(x[b]?.1 - y[b]?.1)).collect();
            let (m, e) = mean_and_error(&differences);
            format!("{:>17}", format!("{m:+.4}±{e:.4}"))
        });
        println!("{:<26}{}", source.name(), cells.collect::<String>());
    }
}
