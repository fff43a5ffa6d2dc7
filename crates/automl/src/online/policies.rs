//! The policy of each method, over the computations of a table.

use std::sync::Arc;

use ndarray::{Array2, Axis};
use pitchpipe_learn::{ModelSize, PipelineId};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_surrogate::policy::{
    Auto, AutoSettings, AutoSetup, InOrder, KernelSetup, MostMembers, Next, Observation, PaperLoop,
    Policy, Rounds, Step, kernel_oboe,
};
use pitchpipe_surrogate::runtime::CorrectedRuntimes;

use super::families::Families;
use super::space::Space;
use super::{AutoMlError, Method};
use crate::surrogate::{Embedding, ErrorKind, Surrogate};

/// What the fold models of one forest are taken to need in memory, for each row of the table. In a file they needed up to
/// 2,400 bytes a row of wine-quality-white, whose labels are noisy.
const FOREST_BYTES_A_ROW: u64 = 6_000;

/// What a policy is made from.
pub(crate) struct Setup<'a> {
    pub(crate) method: Method,
    pub(crate) surrogate: &'a Arc<Surrogate>,
    pub(crate) space: Space,
    /// Predicted seconds of all pipelines.
    pub(crate) secs: &'a [f64],
    /// The rows that pipelines run on at first, and the most they will.
    pub(crate) n_rows: usize,
    pub(crate) most_rows: usize,
    /// Bytes that the models of one step may take.
    pub(crate) step_bytes: u64,
    pub(crate) budget_secs: f64,
    pub(crate) seed: u64,
    /// Whether predicted times are corrected by measured ones.
    pub(crate) corrects_times: bool,
}

/// A policy, and the kind of errors it wants to be fed.
pub(crate) type Made = (Box<dyn Policy>, ErrorKind);

/// Makes the policy of a method.
pub(crate) fn make(setup: &Setup<'_>) -> Result<Made, AutoMlError> {
    let missing = || AutoMlError::NotInSurrogate { method: setup.method };
    let surrogate = setup.surrogate;
    let (kind, policy) = match setup.method {
        Method::Auto => {
            let kinds = [ErrorKind::Decided, ErrorKind::Native];
            let found = kinds.into_iter().find_map(|kind| Some((surrogate.prior(kind)?, kind)));
            let (prior, kind) = found.ok_or_else(missing)?;
            (kind, auto(setup, &prior)?)
        }
        Method::Oboe => {
            let embedding = surrogate.oboe().ok_or_else(missing)?;
            (ErrorKind::Native, paper(setup, embedding)?)
        }
        Method::TensorOboe => {
            let embedding = surrogate.tensor_oboe().ok_or_else(missing)?;
            (ErrorKind::Native, paper(setup, embedding)?)
        }
        Method::KernelOboe => (ErrorKind::Native, kernel(setup).ok_or_else(missing)??),
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
fn auto(setup: &Setup<'_>, prior: &Prior) -> Result<Mapped, AutoMlError> {
    let space = &setup.space;
    let ids: Vec<PipelineId> = (0..space.len()).map(|at| space.id(at)).collect();
    let families = Families::of(space.search(), &ids)?;
    let most_members = most_members(setup, &families);
    let secs = setup.secs_of(&ids);
    let setup_of = AutoSetup {
        posterior: Arc::new(space.prior(prior)?).posterior(),
        actions: families.actions,
        secs: &secs,
        kinds: families.kinds,
        preparations: families.preparations,
        opening: families.opening,
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
    let narrow = setup.space.prior(correction.prior())?;
    let secs = ids.iter().map(|id| setup.secs[id.index()]).collect();
    correction.with_prior(Arc::new(narrow)).start(secs)
}

/// Forests are large: no more of them at once than the memory holds.
fn most_members(setup: &Setup<'_>, families: &Families) -> MostMembers {
    let (step_bytes, actions) = (setup.step_bytes, &families.actions);
    let is_forest = |action| {
        let kind = setup.space.kind(actions.members(action)[0]);
        kind.character().models == ModelSize::Forest
    };
    let is_forest: Vec<bool> = (0..actions.len()).map(is_forest).collect();
    Box::new(move |action, n_rows| {
        let most = step_bytes / (FOREST_BYTES_A_ROW * n_rows as u64).max(1);
        if is_forest[action] { most as usize } else { usize::MAX }
    })
}

/// Pipelines in an order that the seed decides.
fn in_random_order(setup: &Setup<'_>, ids: Vec<PipelineId>) -> Mapped {
    Mapped::new(InOrder::random(setup.secs_of(&ids), setup.seed), ids)
}

/// The paper's loop over those columns of an embedding that are distinct computations here.
fn paper(setup: &Setup<'_>, embedding: &Embedding) -> Result<Mapped, AutoMlError> {
    let columns = Columns::of_embedding(&setup.space, embedding);
    let y = embedding.y.select(Axis(1), &columns.at);
    let (rank, secs) = (embedding.initial_rank.clamp(1, y.nrows()), setup.secs_of(&columns.ids));
    let (budget_secs, baseline) = (setup.budget_secs, setup.baseline(&columns.ids));
    let rounds = Rounds::Doubling;
    let policy = PaperLoop::new(y.view(), rank, &secs, budget_secs, rounds, baseline)?;
    Ok(Mapped::new(policy, columns.ids))
}

/// KernelOboe over the distinct computations, where the surrogate has its codes.
fn kernel(setup: &Setup<'_>) -> Option<Result<Mapped, AutoMlError>> {
    let model = setup.surrogate.kernel_oboe()?;
    let Columns { at, ids } = Columns::of(&setup.space, setup.space.search().ids().map(Some));
    let codes: Vec<&[f32]> = at.iter().filter_map(|&c| model.code(c)).collect();
    let n_atoms = codes.first().map_or(0, |code| code.len());
    // z: atoms x computations.
    let z = Array2::from_shape_fn((n_atoms, codes.len()), |(i, j)| codes[j][i]);
    let surrogate = Arc::clone(setup.surrogate);
    let regress = move |seen: &[usize], errors: &[f64], ridge: f64| {
        let model = surrogate.kernel_oboe().expect("it was there a moment ago");
        let pipelines: Vec<usize> = seen.iter().map(|&j| at[j]).collect();
        let all = model.predict_dataset(&pipelines, errors, ridge)?;
        Ok(at.iter().map(|&c| all[c]).collect())
    };
    let policy = kernel_oboe(KernelSetup {
        codes: z.view(),
        regress: Box::new(regress),
        secs: &setup.secs_of(&ids),
        budget_secs: setup.budget_secs,
        baseline: setup.baseline(&ids),
    });
    Some(policy.map(|policy| Mapped::new(policy, ids)).map_err(AutoMlError::from))
}

impl Setup<'_> {
    /// Predicted seconds of some pipelines.
    fn secs_of(&self, ids: &[PipelineId]) -> Vec<Option<f64>> {
        ids.iter().map(|id| Some(self.secs[id.index()])).collect()
    }

    /// The position of the best pipeline on average, which runs first, so that there is always an answer
    /// (ALGORITHMS §12).
    fn baseline(&self, ids: &[PipelineId]) -> Option<usize> {
        let computation = self.space.place(self.surrogate.best_on_average());
        ids.iter().position(|&id| self.space.place(id) == computation)
    }
}

/// Columns of an embedding that are distinct computations on a table, and their pipelines.
struct Columns {
    at: Vec<usize>,
    ids: Vec<PipelineId>,
}

impl Columns {
    fn of_embedding(space: &Space, embedding: &Embedding) -> Self {
        Self::of(space, embedding.pipelines.iter().map(|&j| space.search().id(j as usize)))
    }

    /// One column for each computation, that of the pipeline that stands for it where it is among them.
    fn of(space: &Space, ids: impl Iterator<Item = Option<PipelineId>>) -> Self {
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
struct Mapped {
    policy: Box<dyn Policy>,
    ids: Vec<PipelineId>,
    /// Pipelines with their positions, in the order of pipelines.
    positions: Vec<(usize, usize)>,
}

impl Mapped {
    fn new(policy: impl Policy + 'static, ids: Vec<PipelineId>) -> Self {
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

    fn ensembled(&mut self, error: f64) {
        self.policy.ensembled(error);
    }

    fn expected_error(&self, pipeline: usize) -> Option<f64> {
        self.policy.expected_error(self.position(pipeline)?)
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        let own: Vec<f64> = self.ids.iter().map(|id| secs[id.index()]).collect();
        self.policy.resized(n_rows, &own);
    }
}
