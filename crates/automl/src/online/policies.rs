//! The policy of each method, over the computations of a table.

use std::sync::Arc;

use pitchpipe_learn::{ModelSize, PipelineId};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::policy::{
    Auto, AutoSettings, AutoSetup, InOrder, MostMembers, Next, Observation, Policy, Step,
};
use pitchpipe_surrogate::runtime::CorrectedRuntimes;

use super::families::Families;
use super::paper_policies::{kernel_oboe, oboe, tensor_oboe};
use super::space::Space;
use super::{AutoMlError, Method, PaperOptions};
use crate::surrogate::{Embedding, ErrorKind, PriorNumbers, Surrogate};

/// What the fold models of one forest are taken to need in memory, for each row of the table. In a file they needed up to
/// 2,400 bytes a row of wine-quality-white, whose labels are noisy.
const FOREST_BYTES_A_ROW: u64 = 6_000;

/// The probabilities of so many classes are small beside what else a step takes.
const FEW_CLASSES: u64 = 100;

/// From so many rows on boosting on histograms is among the first things run, if it takes no more than this share of the time.
const LARGE: usize = 3_000;
const BOOSTING_SHARE: f64 = 0.15;

/// What a policy is made from.
pub(crate) struct Setup<'a> {
    pub(crate) method: Method,
    pub(crate) surrogate: &'a Arc<Surrogate>,
    pub(crate) space: Space,
    /// How the paper's systems do what can be done in several ways.
    pub(crate) paper: PaperOptions,
    /// Predicted seconds of all pipelines.
    pub(crate) secs: &'a [f64],
    /// The rows that pipelines run on at first, and the most they will.
    pub(crate) n_rows: usize,
    pub(crate) most_rows: usize,
    /// Whether boosting on histograms is among the first things run where rows are many.
    pub(crate) opens_with_boosting: bool,
    /// How many classes there are.
    pub(crate) n_classes: usize,
    /// Bytes that the models of one step may take.
    pub(crate) step_bytes: u64,
    pub(crate) budget_secs: f64,
    pub(crate) seed: u64,
    /// Whether predicted times are corrected by measured ones.
    pub(crate) corrects_times: bool,
}

/// A policy, and the kind of errors it wants to be fed.
pub(crate) type Made = (Box<dyn Policy + Send>, ErrorKind);

/// Makes the policy of a method.
pub(crate) fn make(setup: &Setup<'_>) -> Result<Made, AutoMlError> {
    let missing = || AutoMlError::NotInSurrogate { method: setup.method };
    let surrogate = setup.surrogate;
    let (kind, policy) = match setup.method {
        Method::Auto => {
            let kinds = [ErrorKind::Decided, ErrorKind::Native];
            let found =
                kinds.into_iter().find_map(|kind| Some((surrogate.prior_numbers(kind)?, kind)));
            let (prior, kind) = found.ok_or_else(missing)?;
            (kind, auto(setup, &prior)?)
        }
        Method::Oboe => {
            let embedding = surrogate.oboe().ok_or_else(missing)?;
            (ErrorKind::Native, oboe(setup, embedding)?)
        }
        Method::TensorOboe => (ErrorKind::Native, tensor_oboe(setup)?.ok_or_else(missing)?),
        Method::KernelOboe => (ErrorKind::Native, kernel_oboe(setup)?.ok_or_else(missing)?),
        Method::Random => {
            let ids = (0..setup.space.len()).map(|at| setup.space.id(at)).collect();
            (ErrorKind::Native, in_random_order(setup, ids))
        }
        Method::RandomOboe => {
            let embedding = surrogate.oboe().ok_or_else(missing)?;
            let columns = Columns::of_embedding(&setup.space, embedding);
            (ErrorKind::Native, in_random_order(setup, columns.ids))
        }
    };
    Ok((Box::new(policy), kind))
}

/// The default policy over the distinct computations of the table.
fn auto(setup: &Setup<'_>, prior: &PriorNumbers<'_>) -> Result<Mapped, AutoMlError> {
    let space = &setup.space;
    let ids: Vec<PipelineId> = (0..space.len()).map(|at| space.id(at)).collect();
    let families = Families::of(space.search(), &ids)?;
    let most_members = most_members(setup, &families);
    let secs = setup.secs_of(&ids);
    let mut opening = families.opening;
    if setup.opens_with_boosting && setup.most_rows >= LARGE {
        // The dearest that leaves time for others.
        let cost_secs = |action: usize| {
            let members = families.actions.members(action);
            let dearest = members.iter().filter_map(|&j| secs[j]).fold(0.0, f64::max);
            dearest * families.actions.cost_factor(action)
        };
        let is_affordable =
            |&action: &usize| cost_secs(action) <= BOOSTING_SHARE * setup.budget_secs;
        opening.extend(families.boosting.iter().copied().find(is_affordable));
    }
    let setup_of = AutoSetup {
        posterior: Arc::new(space.prior(prior)?).posterior(),
        actions: families.actions,
        secs: &secs,
        kinds: families.kinds,
        preparations: families.preparations,
        opening,
        most_members,
        n_rows: setup.n_rows,
        most_rows: setup.most_rows,
    };
    let policy = Auto::new(setup_of, AutoSettings::default())?;
    let policy = match setup.corrects_times {
        true => policy.correcting(corrected(setup, &ids)?),
        false => policy,
    };
    Ok(Mapped::new(policy, ids))
}

/// Predicted times of the computations of the table, to be corrected by measured ones.
fn corrected(setup: &Setup<'_>, ids: &[PipelineId]) -> Result<CorrectedRuntimes, SurrogateError> {
    let correction = setup.surrogate.runtimes().correction();
    let narrow = setup.space.prior(&PriorNumbers::Whole(correction.prior()))?;
    let secs = ids.iter().map(|id| setup.secs[id.index()]).collect();
    correction.with_prior(Arc::new(narrow)).start(secs)
}

/// Bytes that a probability of a row takes while a family is evaluated: in its sums, its prediction and what is kept of it.
const PROBABILITY_BYTES: u64 = 20;

/// Forests are large, and so are the probabilities of thousands of classes: no more of them at once than the memory holds.
fn most_members(setup: &Setup<'_>, families: &Families) -> MostMembers {
    let (step_bytes, actions) = (setup.step_bytes, &families.actions);
    let n_classes = setup.n_classes as u64;
    let is_forest = |action| {
        let kind = setup.space.kind(actions.members(action)[0]);
        kind.character().models == ModelSize::Forest
    };
    let is_forest: Vec<bool> = (0..actions.len()).map(is_forest).collect();
    Box::new(move |action, n_rows| {
        let models = if is_forest[action] { FOREST_BYTES_A_ROW } else { 0 };
        let probabilities = if n_classes > FEW_CLASSES { PROBABILITY_BYTES * n_classes } else { 0 };
        let most = step_bytes / ((models + probabilities) * n_rows as u64).max(1);
        usize::try_from(most).unwrap_or(usize::MAX)
    })
}

/// Pipelines in an order that the seed decides.
fn in_random_order(setup: &Setup<'_>, ids: Vec<PipelineId>) -> Mapped {
    Mapped::new(InOrder::random(setup.secs_of(&ids), setup.seed), ids)
}

impl Setup<'_> {
    /// Predicted seconds of some pipelines.
    pub(super) fn secs_of(&self, ids: &[PipelineId]) -> Vec<Option<f64>> {
        ids.iter().map(|id| Some(self.secs[id.index()])).collect()
    }

    /// The position of the best pipeline on average, which runs first, so that there is always an answer
    /// (ALGORITHMS §12).
    pub(super) fn baseline(&self, ids: &[PipelineId]) -> Option<usize> {
        let computation = self.space.place(self.surrogate.best_on_average());
        ids.iter().position(|&id| self.space.place(id) == computation)
    }
}

/// Columns of an embedding that are distinct computations on a table, and their pipelines.
pub(super) struct Columns {
    pub(super) at: Vec<usize>,
    pub(super) ids: Vec<PipelineId>,
}

impl Columns {
    pub(super) fn of_embedding(space: &Space, embedding: &Embedding) -> Self {
        Self::of(space, embedding.pipelines.iter().map(|&j| space.search().id(j as usize)))
    }

    /// One column for each computation, that of the pipeline that stands for it where it is among them.
    pub(super) fn of(space: &Space, ids: impl Iterator<Item = Option<PipelineId>>) -> Self {
        let mut column_of: Vec<Option<(usize, PipelineId)>> = vec![None; space.len()];
        for (column, id) in ids.enumerate() {
            let Some((id, at)) = id.and_then(|id| Some((id, space.place(id)?))) else { continue };
            if column_of[at].is_none() || space.id(at) == id {
                column_of[at] = Some((column, id));
            }
        }
        let (at, ids) = column_of.into_iter().flatten().unzip();
        Self { at, ids }
    }
}

/// A policy over positions as one over pipelines.
pub(super) struct Mapped {
    policy: Box<dyn Policy + Send>,
    ids: Vec<PipelineId>,
    /// Pipelines with their positions, in the order of pipelines.
    positions: Vec<(usize, usize)>,
}

impl Mapped {
    pub(super) fn new(policy: impl Policy + Send + 'static, ids: Vec<PipelineId>) -> Self {
        let mut positions: Vec<(usize, usize)> =
            ids.iter().enumerate().map(|(at, id)| (id.index(), at)).collect();
        positions.sort_unstable();
        Self { policy: Box::new(policy), ids, positions }
    }

    fn position(&self, pipeline: usize) -> Option<usize> {
        let found = self.positions.binary_search_by_key(&pipeline, |p| p.0).ok()?;
        Some(self.positions[found].1)
    }

    fn at_positions(&self, observations: &[Observation]) -> Vec<Observation> {
        let place =
            |o: &Observation| Some(Observation { pipeline: self.position(o.pipeline)?, ..*o });
        observations.iter().filter_map(place).collect()
    }
}

impl Policy for Mapped {
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        Ok(match self.policy.next(left_secs)? {
            Next::Run(step) => {
                let members = step.members.iter().map(|&at| self.ids[at].index()).collect();
                Next::Run(Step { members, ..step })
            }
            other => other,
        })
    }

    fn observe(&mut self, step: &Step, observations: &[Observation]) -> Result<(), SurrogateError> {
        let members = step.members.iter().filter_map(|&j| self.position(j)).collect();
        let observations = self.at_positions(observations);
        self.policy.observe(&Step { members, ..step.clone() }, &observations)
    }

    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        let observations = self.at_positions(observations);
        self.policy.observe_unasked(&observations)
    }

    fn passed(&mut self, work_secs: f64) {
        self.policy.passed(work_secs);
    }

    fn ensembled(&mut self, error: f64) {
        self.policy.ensembled(error);
    }

    fn expected_error(&self, pipeline: usize) -> Option<f64> {
        self.policy.expected_error(self.position(pipeline)?)
    }

    fn voters(&self) -> Option<Vec<usize>> {
        let voters = self.policy.voters()?;
        Some(voters.into_iter().map(|at| self.ids[at].index()).collect())
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        let own: Vec<f64> = self.ids.iter().map(|id| secs[id.index()]).collect();
        self.policy.resized(n_rows, &own);
    }
}
