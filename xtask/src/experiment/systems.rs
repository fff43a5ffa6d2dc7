//! The paper's systems against time, replayed with the rows of a tenth of the datasets out of everything that is learned
//! (paper, Figures 10 to 12): mean rank, and regret on recorded and on replicate errors.

use std::sync::Arc;

use ndarray::Array2;
use pitchpipe_automl::offline::published::{AXES, N_PIPELINES, Published};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::policy::{
    InOrder, KernelSetup, LastRound, Next, Observation, Overhead, PaperLoop, PaperSettings, Policy,
    RankRule, Regress, Rounds, Step, Vectors, kernel_oboe,
};

use super::Context;
use super::compare::{Comparison, Make, OnClock, System, differences};
use super::csv::Csv;
use super::replays::{FLOOR_SECS, Known, Learned, N_ESTIMATORS, Part, SLICE};
use crate::reference::recorded::mean;

/// TensorOboe's ranks in the paper: whole tensor, subsampled, thresholded.
const RANK: usize = 20;
const RANK_SUBSAMPLED: usize = 40;
const RANK_THRESHOLDED: usize = 25;

/// The share of entries that the subsampled tensor keeps, and the threshold of the other, in seconds.
const KEPT: f64 = 0.1;
const THRESHOLD_SECS: f32 = 20.0;

/// Orders that random search is replayed in, on each dataset.
const DRAWS: u64 = 5;

const WHOLE: Comparison =
    Comparison { name: "systems", learn: learn_whole, systems: whole_systems };

const SPARSE: Comparison =
    Comparison { name: "systems-sparse", learn: learn_sparse, systems: sparse_systems };

const OPTIONS: Comparison =
    Comparison { name: "systems-options", learn: learn_whole, systems: systems_with_options };

/// A step is planned with half a second at the least, and takes so long.
pub(super) fn whole_tensor(context: &Context) -> Result<Csv, String> {
    Ok(WHOLE.on_clock(context, 0)?.table(context, "whole tensor; a step takes .5 s at the least"))
}

/// Steps take what their pipelines do, and are planned so.
pub(super) fn without_floor(context: &Context) -> Result<Csv, String> {
    Ok(WHOLE.on_clock(context, 1)?.table(context, "whole tensor; steps cost nothing of their own"))
}

pub(super) fn sparse_tensors(context: &Context) -> Result<Csv, String> {
    let data = "whole tensor, a tenth of it at random, what took at most 20 s; a step takes .5 s at the least";
    Ok(SPARSE.on_clock(context, 0)?.table(context, data))
}

/// What the options of the rounds change, each less TensorOboe as it is by default.
pub(super) fn options(context: &Context) -> Result<Csv, String> {
    let all = OPTIONS.on_clock(context, 0)?;
    let mut csv = differences();
    for system in OF_OPTIONS {
        all.difference(&mut csv, "systems-options", system, "TensorOboe");
    }
    Ok(csv)
}

const OF_OPTIONS: [&str; 8] = [
    "first target 1 s",
    "first target: an eighth",
    "ends at half",
    "10 best",
    "30 best",
    "100 best",
    "rank rule on other folds",
    "no baseline first",
];

/// Systems compared on the same datasets.
pub(super) fn paired(context: &Context) -> Result<Csv, String> {
    let mut csv = differences();
    for (comparison, clock, table) in
        [(&WHOLE, 0, "systems"), (&WHOLE, 1, "systems-no-floor"), (&SPARSE, 0, "systems-sparse")]
    {
        let all = comparison.on_clock(context, clock)?;
        let pairs = if table == "systems-sparse" { &SPARSE_PAIRS[..] } else { &PAIRS[..] };
        for (system, less) in pairs {
            all.difference(&mut csv, table, system, less);
        }
    }
    Ok(csv)
}

const PAIRS: [(&str, &str); 12] = [
    ("baseline", "random"),
    ("Oboe", "random"),
    ("TensorOboe", "random"),
    ("KernelOboe", "random"),
    ("TensorOboe; PCA; log runtimes", "random"),
    ("TensorOboe", "baseline"),
    ("TensorOboe; estimator rank grows", "TensorOboe"),
    ("TensorOboe; both ranks grow", "TensorOboe"),
    ("TensorOboe; log runtimes", "TensorOboe"),
    ("TensorOboe; PCA; log runtimes", "TensorOboe; log runtimes"),
    ("KernelOboe", "TensorOboe"),
    ("KernelOboe; by codes", "KernelOboe"),
];

const SPARSE_PAIRS: [(&str, &str); 9] = [
    ("TensorOboe; tenth", "TensorOboe"),
    ("KernelOboe; tenth", "KernelOboe"),
    ("TensorOboe; 20 s", "TensorOboe"),
    ("KernelOboe; 20 s", "KernelOboe"),
    ("KernelOboe; tenth", "TensorOboe; tenth"),
    ("KernelOboe; 20 s", "TensorOboe; 20 s"),
    ("TensorOboe", "random"),
    ("TensorOboe; tenth", "random"),
    ("KernelOboe; tenth", "random"),
];

fn learn_whole(context: &Context, rows: &[usize]) -> Result<Vec<Known>, String> {
    let paper = &context.paper;
    Ok(vec![Known::fit(paper, &Part::of(paper, rows, &|_, _| true), RANK)?])
}

/// What is not kept is unknown to everything: errors, runtimes, the baseline.
fn learn_sparse(context: &Context, rows: &[usize]) -> Result<Vec<Known>, String> {
    let paper = &context.paper;
    let limit = (KEPT * u64::MAX as f64) as u64;
    let tenth = Part::of(paper, rows, &|at, _| scatter(at) < limit);
    let fast = Part::of(paper, rows, &|_, t| t <= THRESHOLD_SECS);
    let mut all = learn_whole(context, rows)?;
    all.push(Known::fit(paper, &tenth, RANK_SUBSAMPLED)?);
    all.push(Known::fit(paper, &fast, RANK_THRESHOLDED)?);
    Ok(all)
}

/// A fixed scattering of entries.
fn scatter(at: usize) -> u64 {
    let x = (at as u64).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// Predicted seconds of a left-out dataset.
type Secs = Arc<Vec<Option<f64>>>;

/// What all systems of a clock have in common on a left-out dataset.
#[derive(Clone)]
struct Plan {
    overhead: Overhead,
    secs: Secs,
}

impl Plan {
    fn settings(&self, rank_rule: RankRule) -> PaperSettings {
        PaperSettings { rank_rule, overhead: self.overhead, ..PaperSettings::default() }
    }

    /// The same with other predictions.
    fn with(&self, secs: &Secs) -> Self {
        Self { secs: Arc::clone(secs), ..*self }
    }
}

fn overhead(least_secs: f64) -> Overhead {
    if least_secs > 0.0 { Overhead::Floor { secs: least_secs } } else { Overhead::None }
}

fn once<'a>(
    name: &'static str,
    make: impl Fn(f64) -> Result<Box<dyn Policy>, SurrogateError> + Sync + 'a,
) -> System<'a> {
    System { name, draws: vec![Box::new(make)] }
}

/// TensorOboe, or KernelOboe as the paper's overview has it.
fn tucker<'a>(
    name: &'static str,
    (embedding, ranks): &'a (Arc<pitchpipe_surrogate::TuckerEmbedding>, pitchpipe_surrogate::Ranks),
    baseline: usize,
    plan: Plan,
    rule: RankRule,
) -> System<'a> {
    once(name, move |budget| {
        let vectors = Vectors::tucker(Arc::clone(embedding), (0..N_PIPELINES).collect(), *ranks)?;
        let (rounds, baseline) = (Rounds::Doubling, Some(baseline));
        let settings = plan.settings(rule);
        let policy = PaperLoop::with(vectors, &plan.secs, budget, rounds, baseline, settings)?;
        Ok(Box::new(policy))
    })
}

fn nested<'a>(
    name: &'static str,
    y: Array2<f32>,
    rank: usize,
    baseline: Option<usize>,
    plan: Plan,
) -> System<'a> {
    once(name, move |budget| {
        let vectors = Vectors::nested(y.clone(), rank)?;
        let (rounds, settings) = (Rounds::Doubling, plan.settings(RankRule::Datasets));
        Ok(Box::new(PaperLoop::with(vectors, &plan.secs, budget, rounds, baseline, settings)?))
    })
}

fn baseline<'a>(known: &Known, secs: &Secs) -> System<'a> {
    let (only, secs) = (known.learned.baseline, Arc::clone(secs));
    once("baseline", move |_| Ok(Box::new(InOrder::new(vec![only], secs.to_vec()))))
}

/// One pipeline after the other, in orders that are others on each dataset.
fn random<'a>(out: usize, secs: &Secs) -> System<'a> {
    let draw = |at: u64| -> Make<'a> {
        let (secs, seed) = (Arc::clone(secs), out as u64 * DRAWS + at);
        Box::new(move |_| Ok(Box::new(InOrder::random(secs.to_vec(), seed))))
    };
    System { name: "random", draws: (0..DRAWS).map(draw).collect() }
}

/// Oboe: the other pipelines do not exist.
fn oboe<'a>(learned: &Learned, plan: &Plan) -> System<'a> {
    let within = SLICE * N_ESTIMATORS..(SLICE + 1) * N_ESTIMATORS;
    let (slice, rank) = &learned.oboe;
    let mut y = Array2::zeros((slice.nrows(), N_PIPELINES));
    for ((i, f), &v) in slice.indexed_iter() {
        y[(i, within.start + f)] = v;
    }
    let all = plan.secs.iter().enumerate();
    let of_slice = all.map(|(j, t)| t.filter(|_| within.contains(&j))).collect();
    nested("Oboe", y, *rank, None, plan.with(&Arc::new(of_slice)))
}

/// KernelOboe by the closed form on its codes.
fn by_codes<'a>(name: &'static str, learned: &'a Learned, plan: Plan) -> System<'a> {
    once(name, move |budget_secs| {
        let model = Arc::clone(&learned.codes);
        let regress: Regress = Box::new(move |pipelines, errors, ridge| {
            model.predict_dataset(pipelines, errors, ridge)
        });
        let codes = learned.codes.codes();
        let (codes, baseline) = (codes.t(), Some(learned.baseline));
        let (secs, settings) = (plan.secs.as_slice(), plan.settings(RankRule::Datasets));
        let setup = KernelSetup { codes, regress, secs, budget_secs, baseline, settings };
        Ok(Box::new(kernel_oboe(setup)?))
    })
}

fn whole_systems<'a>(
    context: &'a Context,
    known: &'a [Known],
    out: usize,
) -> Option<Vec<OnClock<'a>>> {
    let known = &known[0];
    let secs: Secs = Arc::new(known.clock.secs(&context.paper, out)?);
    let log_secs: Secs = Arc::new(known.log_clock.secs(&context.paper, out)?);
    let learned = &known.learned;
    let (tensor, at) = (&learned.tensor, learned.baseline);
    let (components, first) = &learned.components;
    let on = |least_secs: f64| {
        let plan = Plan { overhead: overhead(least_secs), secs: Arc::clone(&secs) };
        let log_plan = plan.with(&log_secs);
        let of = |name, rule| tucker(name, tensor, at, plan.clone(), rule);
        let mut systems = vec![
            baseline(known, &secs),
            random(out, &secs),
            oboe(learned, &plan),
            of("TensorOboe", RankRule::Datasets),
            tucker("TensorOboe; log runtimes", tensor, at, log_plan.clone(), RankRule::Datasets),
            nested("TensorOboe; PCA; log runtimes", components.clone(), *first, Some(at), log_plan),
            tucker("KernelOboe", &learned.kernel, at, plan.clone(), RankRule::Datasets),
        ];
        if least_secs > 0.0 {
            systems.extend([
                of("TensorOboe; estimator rank grows", RankRule::Estimators),
                of("TensorOboe; both ranks grow", RankRule::Both),
                by_codes("KernelOboe; by codes", learned, plan),
            ]);
        }
        OnClock { least_secs, systems }
    };
    Some(vec![on(FLOOR_SECS), on(0.0)])
}

/// TensorOboe with one option at a time.
fn systems_with_options<'a>(
    context: &'a Context,
    known: &'a [Known],
    out: usize,
) -> Option<Vec<OnClock<'a>>> {
    let known = &known[0];
    let secs: Secs = Arc::new(known.clock.secs(&context.paper, out)?);
    let learned = &known.learned;
    let plan = Plan { overhead: overhead(FLOOR_SECS), secs };
    let (usual, baseline) = (plan.settings(RankRule::Datasets), Some(learned.baseline));
    let plan_secs = &plan.secs;
    let with = |name, settings: PaperSettings, baseline: Option<usize>| {
        let secs = Arc::clone(plan_secs);
        once(name, move |budget| {
            Ok(Box::new(tensor_loop(&learned.tensor, &secs, budget, baseline, settings.clone())?))
        })
    };
    let eighth = {
        let (secs, settings) = (Arc::clone(plan_secs), usual.clone());
        once("first target: an eighth", move |budget| {
            let first_target_secs = Some(budget / 8.0);
            let settings = PaperSettings { first_target_secs, ..settings.clone() };
            Ok(Box::new(tensor_loop(&learned.tensor, &secs, budget, baseline, settings)?))
        })
    };
    let apart = {
        let (secs, settings, paper) = (Arc::clone(plan_secs), usual.clone(), &context.paper);
        once("rank rule on other folds", move |budget| {
            let policy = tensor_loop(&learned.tensor, &secs, budget, baseline, settings.clone())?;
            Ok(Box::new(JudgedApart::new(policy, replicates(paper, out))))
        })
    };
    let best = |n| PaperSettings { n_best: Some(n), ..usual.clone() };
    let one = PaperSettings { first_target_secs: Some(1.0), ..usual.clone() };
    let half = PaperSettings { last_round: LastRound::None, ..usual.clone() };
    let systems = vec![
        with("TensorOboe", usual.clone(), baseline),
        with("first target 1 s", one, baseline),
        eighth,
        with("ends at half", half, baseline),
        with("10 best", best(10), baseline),
        with("30 best", best(30), baseline),
        with("100 best", best(100), baseline),
        apart,
        with("no baseline first", usual.clone(), None),
    ];
    Some(vec![OnClock { least_secs: FLOOR_SECS, systems }])
}

fn tensor_loop(
    (embedding, ranks): &(Arc<pitchpipe_surrogate::TuckerEmbedding>, pitchpipe_surrogate::Ranks),
    secs: &Secs,
    budget: f64,
    baseline: Option<usize>,
    settings: PaperSettings,
) -> Result<PaperLoop, SurrogateError> {
    let vectors = Vectors::tucker(Arc::clone(embedding), (0..N_PIPELINES).collect(), *ranks)?;
    PaperLoop::with(vectors, secs, budget, Rounds::Doubling, baseline, settings)
}

/// The mean error of each pipeline's replicates on a dataset: of the same pipeline on other folds.
fn replicates(paper: &Published, out: usize) -> Arc<Vec<f64>> {
    let period = N_PIPELINES / AXES[0];
    let (errors, secs) = (paper.errors.row(out), paper.runtimes_secs.row(out));
    let of = |j: usize| {
        let others = (j % period..N_PIPELINES).step_by(period).filter(|&i| i != j && secs[i] > 0.0);
        let others: Vec<f64> = others.map(|i| f64::from(errors[i])).collect();
        if others.is_empty() { f64::from(errors[j]) } else { mean(&others) }
    };
    Arc::new((0..N_PIPELINES).map(of).collect())
}

/// A policy that is told, for its rank rule, the error on other folds of the best pipeline so far: what rows kept apart
/// (`D_val` of Algorithm 3) would tell of it.
struct JudgedApart {
    policy: PaperLoop,
    replicates: Arc<Vec<f64>>,
    best: (f64, usize),
}

impl JudgedApart {
    fn new(policy: PaperLoop, replicates: Arc<Vec<f64>>) -> Self {
        Self { policy, replicates, best: (f64::INFINITY, 0) }
    }
}

impl Policy for JudgedApart {
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        self.policy.next(left_secs)
    }

    fn observe(&mut self, step: &Step, observations: &[Observation]) -> Result<(), SurrogateError> {
        for seen in observations {
            if let Some(error) = seen.error.filter(|e| *e < self.best.0) {
                self.best = (error, seen.pipeline);
                self.policy.ensembled(self.replicates[seen.pipeline]);
            }
        }
        self.policy.observe(step, observations)
    }

    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.policy.observe_unasked(observations)
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        self.policy.resized(n_rows, secs);
    }
}

fn sparse_systems<'a>(
    context: &'a Context,
    known: &'a [Known],
    out: usize,
) -> Option<Vec<OnClock<'a>>> {
    const NAMES: [[&str; 2]; 3] = [
        ["TensorOboe", "KernelOboe"],
        ["TensorOboe; tenth", "KernelOboe; tenth"],
        ["TensorOboe; 20 s", "KernelOboe; 20 s"],
    ];
    let secs: Secs = Arc::new(known[0].clock.secs(&context.paper, out)?);
    let mut systems = vec![baseline(&known[0], &secs), random(out, &secs)];
    for (known, [tensor, kernel]) in known.iter().zip(NAMES) {
        let secs = Arc::new(known.clock.secs(&context.paper, out)?);
        let plan = Plan { overhead: overhead(FLOOR_SECS), secs };
        let (learned, rule) = (&known.learned, RankRule::Datasets);
        let at = learned.baseline;
        systems.push(tucker(tensor, &learned.tensor, at, plan.clone(), rule));
        systems.push(tucker(kernel, &learned.kernel, at, plan, rule));
    }
    Some(vec![OnClock { least_secs: FLOOR_SECS, systems }])
}
