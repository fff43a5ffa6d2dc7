//! Policies replayed on datasets left out of all that is learned.

use std::sync::Arc;

use ndarray::Array2;
use pitchpipe_automl::Families;
use pitchpipe_automl::offline::published::N_PIPELINES;
use pitchpipe_learn::{PipelineId, SearchSpace};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::{Posterior, Prior, PriorSettings};
use pitchpipe_surrogate::policy::{
    Auto, AutoSettings, AutoSetup, InOrder, Next, Observation, PaperLoop, Policy, Rounds, Step,
};
use pitchpipe_surrogate::runtime::{DatasetSize, RuntimeCorrection, RuntimeForm, RuntimeModel};
use pitchpipe_surrogate::search::{Actions, Rule as Value, SearchSettings};
use pitchpipe_surrogate::simulate::{Row as Record, replay};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Context;
use super::kept::Kept;
use super::recorded::{BASELINE, N_ESTIMATORS, N_PREFIXES, Recorded, families, kind, mean, sizes};

/// Directions of the prior the reference figures were made with.
const REFERENCE_RANK: usize = 60;

/// The prior of the default policy.
pub(crate) fn default_prior() -> PriorSettings {
    PriorSettings::for_search(N_ESTIMATORS)
}

/// A policy of the tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Random,
    MeanError,
    /// The paper's: rank, half the budget for the design.
    Paper(usize),
    /// One pipeline at a time by expected improvement, per second or not; at most so many.
    Single {
        per_second: bool,
        most: usize,
    },
    /// Families, valued by a rule, under the reference prior.
    Block(Value),
    /// Families under the prior that is the default, by the search alone.
    Best(Value),
    /// The search alone, as in `Best(JointFifth)`, with a change.
    Changed(Variant),
    /// What ships: openings, turns, its own families and their costs.
    Default,
}

/// Changes to the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Variant {
    /// A decision tree first: its time tells how fast the machine is. Online naive Bayes opens, too.
    Tree,
    /// A tree, naive Bayes, neighbours and a perceptron first, on the prefix of the best pipeline on average.
    Landmarks,
    /// After so many actions the prior is learned again, datasets weighted by how alike their errors are.
    Similar(usize),
    /// No action counts as cheaper than this share of the time left.
    Ahead(f64),
}

impl Kind {
    /// Whether one run to the last budget is read at all of them, as the reference figures were made: it
    /// leaves datasets without a result at short budgets, where a dear pipeline happens to come first.
    /// The paper's rounds depend on the budget, and the default policy is told it, as it is in use.
    fn is_anytime(self) -> bool {
        !matches!(self, Self::Paper(_) | Self::Best(_) | Self::Changed(_) | Self::Default)
    }

    fn has_default_prior(self) -> bool {
        matches!(self, Self::Best(_) | Self::Changed(_) | Self::Default)
    }
}

/// How runtimes are known to the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Times {
    True,
    Predicted,
    /// Corrected by what was learned of how runtimes vary together: what ships.
    Corrected,
}

/// What one search came to.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) best: f64,
    pub(crate) five: f64,
    pub(crate) replicate: f64,
    pub(crate) replicate_five: f64,
}

/// Runs policies on datasets, each left out of all that is learned.
pub(crate) struct Bench<'a> {
    pub(crate) recorded: &'a Recorded,
    pub(crate) sizes: Vec<Option<DatasetSize>>,
    families: Arc<Actions>,
    singles: Arc<Actions>,
    shipped: Families,
    secs: &'a Array2<f32>,
    kept: &'a Kept,
}

/// What policies on one dataset share.
struct Learned {
    reference: Option<Arc<Prior>>,
    default: Option<Arc<Prior>>,
    embeddings: Option<Array2<f32>>,
    runtimes: Option<(Vec<f64>, RuntimeCorrection)>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(recorded: &'a Recorded, context: &'a Context) -> Self {
        Self {
            recorded,
            families: Arc::new(families()),
            singles: Arc::new(Actions::singles(N_PIPELINES)),
            shipped: shipped_families(),
            sizes: sizes(&context.paper),
            secs: &context.paper.runtimes_secs,
            kept: &context.kept,
        }
    }

    /// What each policy finds within each budget on each dataset, `None` where nothing finished; policies x
    /// budgets x datasets. Datasets run in parallel; results do not depend on it.
    pub(crate) fn run(
        &self,
        policies: &[(Kind, Times)],
        budgets: &[f64],
        datasets: &[usize],
        n_workers: usize,
    ) -> Result<Vec<Vec<Vec<Option<Found>>>>, SurrogateError> {
        let per_dataset: Vec<Vec<Vec<Option<Found>>>> = datasets
            .par_iter()
            .map(|&out| self.dataset(policies, budgets, out, n_workers))
            .collect::<Result<_, SurrogateError>>()?;
        let turn = |p: usize, b: usize| per_dataset.iter().map(|d| d[p][b]).collect();
        Ok((0..policies.len()).map(|p| (0..budgets.len()).map(|b| turn(p, b)).collect()).collect())
    }

    /// What each policy finds on one dataset, as far as that is not known from an earlier run.
    fn dataset(
        &self,
        policies: &[(Kind, Times)],
        budgets: &[f64],
        out: usize,
        n_workers: usize,
    ) -> Result<Vec<Vec<Option<Found>>>, SurrogateError> {
        let key =
            |policy: &(Kind, Times)| format!("{policy:?} {budgets:?} on {out} by {n_workers}");
        let mut found: Vec<Option<_>> = policies.iter().map(|p| self.kept.get(&key(p))).collect();
        let unknown = policies.iter().zip(&found).filter(|(_, found)| found.is_none());
        let missing: Vec<(Kind, Times)> = unknown.map(|(&policy, _)| policy).collect();
        if !missing.is_empty() {
            let mut fresh = self.run_dataset(&missing, budgets, out, n_workers)?.into_iter();
            for (policy, found) in policies.iter().zip(&mut found).filter(|(_, f)| f.is_none()) {
                *found = fresh.next();
                self.kept.keep(&key(policy), found);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn run_dataset(
        &self,
        policies: &[(Kind, Times)],
        budgets: &[f64],
        out: usize,
        n_workers: usize,
    ) -> Result<Vec<Vec<Option<Found>>>, SurrogateError> {
        let row = self.recorded.recording.row(out);
        let learned = self.learn(policies, out)?;
        let mut found = Vec::new();
        for &(kind, times) in policies {
            let secs: Vec<Option<f64>> = match (times, &learned.runtimes) {
                (Times::True, _) => row.all_secs(),
                (_, None) => {
                    found.push(vec![None; budgets.len()]);
                    continue;
                }
                (_, Some((predicted, _))) => {
                    // What was never recorded is not offered, as with true runtimes.
                    (0..N_PIPELINES).map(|j| row.secs(j).map(|_| predicted[j])).collect()
                }
            };
            let trace = |budget: f64| {
                let mut policy = self.policy(kind, times, &learned, &secs, budget, out)?;
                replay(policy.as_mut(), &row, budget, n_workers)
            };
            let last = budgets.iter().copied().fold(0.0, f64::max);
            let whole = if kind.is_anytime() { Some(trace(last)?) } else { None };
            let mut at_budgets = Vec::new();
            for &budget in budgets {
                let ranking = match &whole {
                    Some(trace) => trace.ranking(budget),
                    None => trace(budget)?.ranking(budget),
                };
                at_budgets.push(judge(&ranking, &row));
            }
            found.push(at_budgets);
        }
        Ok(found)
    }

    /// Everything but the dataset `out`, as far as some policy needs it.
    fn learn(&self, policies: &[(Kind, Times)], out: usize) -> Result<Learned, SurrogateError> {
        let needs = |wanted: fn(&Kind) -> bool| policies.iter().any(|(kind, _)| wanted(kind));
        let predicted = policies.iter().any(|(_, t)| *t != Times::True);
        Ok(Learned {
            reference: needs(|k| matches!(k, Kind::Single { .. } | Kind::Block(_)))
                .then(|| self.recorded.prior(out, &PriorSettings::plain(REFERENCE_RANK)))
                .transpose()?,
            default: needs(|k| k.has_default_prior())
                .then(|| self.recorded.prior(out, &default_prior()))
                .transpose()?,
            embeddings: needs(|k| matches!(k, Kind::Paper(_)))
                .then(|| self.recorded.plain.embeddings(&self.recorded.without(out), 30))
                .transpose()?,
            runtimes: if predicted { self.runtimes(out)? } else { None },
        })
    }

    fn policy<'b>(
        &'b self,
        kind: Kind,
        times: Times,
        learned: &'b Learned,
        secs: &[Option<f64>],
        budget: f64,
        out: usize,
    ) -> Result<Box<dyn Policy + 'b>, SurrogateError> {
        let prior = match kind.has_default_prior() {
            true => learned.default.as_ref(),
            false => learned.reference.as_ref(),
        };
        let posterior = || prior.expect("learned for such policies").posterior();
        let correcting = |policy: Auto| match (times, &learned.runtimes) {
            (Times::Corrected, Some((predicted, correction))) => {
                Ok::<_, SurrogateError>(policy.correcting(correction.start(predicted.clone())?))
            }
            _ => Ok(policy),
        };
        let search = |search: SearchSettings, actions: &Arc<Actions>, most_steps: usize, first| {
            let setup = AutoSetup::plain(posterior(), Arc::clone(actions), secs);
            // All that the shipped policy knows of pipelines, less turns.
            let setup = AutoSetup { opening: first, kinds: self.shipped.kinds.clone(), ..setup };
            let alone = AutoSettings::search_alone(search);
            correcting(Auto::new(setup, AutoSettings { most_steps, ..alone })?)
        };
        let blocks = |settings: SearchSettings, first: Vec<usize>| {
            search(settings, &self.families, 1200, first)
        };
        let none = Vec::new();
        Ok(match kind {
            Kind::Random => Box::new(InOrder::random(secs.to_vec(), out as u64)),
            Kind::MeanError => Box::new(InOrder::new(self.by_mean_error(out), secs.to_vec())),
            Kind::Paper(rank) => {
                let y = learned.embeddings.as_ref().expect("learned for such policies");
                let rounds = Rounds::Once { design_share: 0.5 };
                Box::new(PaperLoop::new(y.view(), rank, secs, budget, rounds, None)?)
            }
            Kind::Single { per_second, most } => {
                let cost_power = f64::from(u8::from(per_second));
                let settings =
                    SearchSettings { rule: Value::Max, cost_power, ..Default::default() };
                Box::new(search(settings, &self.singles, most, none)?)
            }
            Kind::Block(rule) | Kind::Best(rule) => {
                Box::new(blocks(SearchSettings { rule, ..Default::default() }, none)?)
            }
            Kind::Changed(Variant::Ahead(least_share)) => {
                Box::new(blocks(SearchSettings { least_share, ..Default::default() }, none)?)
            }
            Kind::Changed(variant @ (Variant::Tree | Variant::Landmarks)) => {
                let n = if variant == Variant::Tree { 1 } else { usize::MAX };
                let first = landmarks(&self.families).into_iter().take(n).collect();
                Box::new(blocks(SearchSettings::default(), first)?)
            }
            Kind::Changed(Variant::Similar(after)) => {
                let policy = blocks(SearchSettings::default(), none)?;
                let recorded = self.recorded;
                Box::new(Rethinking { policy, left: after, recorded, out, seen: Vec::new() })
            }
            Kind::Default => {
                let setup = default_setup(&self.shipped, posterior(), secs);
                Box::new(correcting(Auto::new(setup, AutoSettings::default())?)?)
            }
        })
    }

    /// Predicted seconds and their correction, learned from the other datasets of known size.
    fn runtimes(
        &self,
        out: usize,
    ) -> Result<Option<(Vec<f64>, RuntimeCorrection)>, SurrogateError> {
        let Some(size) = self.sizes[out] else { return Ok(None) };
        let (rows, sizes): (Vec<usize>, Vec<DatasetSize>) = (0..self.sizes.len())
            .filter(|&i| i != out)
            .filter_map(|i| Some((i, self.sizes[i]?)))
            .unzip();
        let secs = self.secs.select(ndarray::Axis(0), &rows);
        let kinds: Vec<usize> = (0..N_PIPELINES).map(|j| kind(j % N_ESTIMATORS)).collect();
        let model = RuntimeModel::fit(RuntimeForm::LogLog, &sizes, secs.view(), &kinds)?;
        let correction = RuntimeCorrection::fit(&model, &sizes, secs.view())?;
        Ok(Some((model.predict_secs(&size)?, correction)))
    }

    fn by_mean_error(&self, out: usize) -> Vec<usize> {
        let weights = self.recorded.without(out);
        let completed = &self.recorded.completed;
        let means: Vec<f64> = (0..N_PIPELINES)
            .map(|j| completed.column(j).iter().zip(&weights).map(|(&e, w)| w * f64::from(e)).sum())
            .collect();
        let mut order: Vec<usize> = (0..N_PIPELINES).collect();
        order.sort_by(|&a, &b| means[a].total_cmp(&means[b]));
        order
    }
}

/// The families of the whole search space, as the online phase has them.
pub(crate) fn shipped_families() -> Families {
    let space = SearchSpace::paper();
    let ids: Vec<PipelineId> = space.ids().collect();
    Families::of(&space, &ids).expect("the families are within the search space")
}

/// What the shipped policy is made from, on a record.
pub(crate) fn default_setup<'a>(
    families: &Families,
    posterior: Posterior,
    secs: &'a [Option<f64>],
) -> AutoSetup<'a> {
    AutoSetup {
        kinds: families.kinds.clone(),
        preparations: families.preparations.clone(),
        opening: families.opening.clone(),
        ..AutoSetup::plain(posterior, Arc::clone(&families.actions), secs)
    }
}

/// After so many steps the prior is learned again, datasets weighted by how alike their errors are.
struct Rethinking<'a> {
    policy: Auto,
    left: usize,
    recorded: &'a Recorded,
    out: usize,
    seen: Vec<(usize, f64)>,
}

impl Policy for Rethinking<'_> {
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        self.policy.next(left_secs)
    }

    fn observe(&mut self, step: &Step, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.policy.observe(step, observations)?;
        self.seen.extend(observations.iter().filter_map(|o| Some((o.pipeline, o.error?))));
        if self.left == 1 {
            let weights = alike(self.recorded, &self.seen, self.out);
            let prior = Arc::new(self.recorded.roots.fit(&weights, &default_prior())?);
            let mut posterior = prior.posterior();
            let (pipelines, errors): (Vec<usize>, Vec<f64>) = self.seen.iter().copied().unzip();
            posterior.observe(&pipelines, &errors)?;
            self.policy.rethink(posterior)?;
        }
        self.left = self.left.saturating_sub(1);
        Ok(())
    }

    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.policy.observe_unasked(observations)
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        self.policy.resized(n_rows, secs);
    }
}

/// Regrets of the best pipeline and of the mean of the five best, recorded and replicate.
fn judge(ranking: &[(usize, f64)], row: &Record<'_>) -> Option<Found> {
    let lowest = row.lowest_error();
    let &(first, error) = ranking.first()?;
    let five = &ranking[..ranking.len().min(5)];
    let over_five =
        |value: &dyn Fn(&(usize, f64)) -> f64| mean(&five.iter().map(value).collect::<Vec<_>>());
    Some(Found {
        best: error - lowest,
        five: over_five(&|p| p.1) - lowest,
        replicate: row.replicate_error(first) - lowest,
        replicate_five: over_five(&|p| row.replicate_error(p.0)) - lowest,
    })
}

/// The landmark families of one prefix: decision trees, naive Bayes, nearest neighbours, the perceptron.
fn landmarks(families: &Actions) -> Vec<usize> {
    let prefix = BASELINE / N_ESTIMATORS;
    let per_prefix = families.len() / N_PREFIXES;
    let within = prefix * per_prefix..(prefix + 1) * per_prefix;
    let of = |estimator: usize| {
        let pipeline = prefix * N_ESTIMATORS + estimator;
        within.clone().find(|&a| families.members(a).contains(&pipeline))
    };
    [10, 82, 83, 143].into_iter().filter_map(of).collect()
}

/// Weights of datasets by how alike their errors on what was seen are, on the scale of roots: the width of
/// the kernel is the median distance. The one left out weighs nothing.
fn alike(recorded: &Recorded, seen: &[(usize, f64)], out: usize) -> Vec<f64> {
    let distance = |i: usize| {
        let square = |&(j, e): &(usize, f64)| {
            (f64::from(recorded.completed[(i, j)]).sqrt() - e.sqrt()).powi(2)
        };
        mean(&seen.iter().map(square).collect::<Vec<_>>())
    };
    let squares: Vec<f64> = (0..recorded.n_datasets()).map(distance).collect();
    let middle = super::recorded::median(squares.clone()).max(1e-9);
    let weight = |(i, d): (usize, &f64)| if i == out { 0.0 } else { (-0.5 * d / middle).exp() };
    squares.iter().enumerate().map(weight).collect()
}
