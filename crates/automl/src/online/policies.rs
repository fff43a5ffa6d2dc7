//! The policy of each method, over the computations of a table.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};
use pitchpipe_learn::{PipelineId, Stream};
use pitchpipe_surrogate::simulate::{InOrder, PaperLoop, Policy, Rounds, Step};
use pitchpipe_surrogate::{Pca, SurrogateError};
use rand::seq::SliceRandom;

use super::auto::Auto;
use super::space::Space;
use super::{AutoMlError, Method};
use crate::surrogate::{Embedding, ErrorKind, Surrogate};

/// Ridge of KernelOboe's regression on codes (ALGORITHMS §8b).
const KERNEL_RIDGE: f64 = 1e-2;

/// The largest rank that a design with codes may grow to.
const KERNEL_RANK: usize = 40;

/// KernelOboe starts at this share of the codes' energy, as the paper's 97 % rule has it.
const ENERGY: f64 = 0.97;

/// What a policy is made from.
pub(crate) struct Setup<'a> {
    pub(crate) method: Method,
    pub(crate) surrogate: &'a Arc<Surrogate>,
    pub(crate) space: Space,
    /// Predicted seconds of all pipelines.
    pub(crate) secs: &'a [f64],
    pub(crate) n_rows: usize,
    /// Bytes that the models of one step may take.
    pub(crate) step_bytes: u64,
    pub(crate) budget_secs: f64,
    pub(crate) seed: u64,
    pub(crate) is_repeatable: bool,
    pub(crate) is_side_by_side: bool,
}

/// A policy, and the kind of errors it wants to be fed.
pub(crate) type Made = (Box<dyn Policy>, ErrorKind);

/// Makes the policy of a method.
pub(crate) fn make(setup: Setup<'_>) -> Result<Made, AutoMlError> {
    let missing = AutoMlError::NotInSurrogate { method: setup.method };
    let surrogate = Arc::clone(setup.surrogate);
    match setup.method {
        Method::Auto => {
            let kinds = [ErrorKind::Decided, ErrorKind::Native];
            let found = kinds.into_iter().find_map(|kind| Some((surrogate.prior(kind)?, kind)));
            let (prior, kind) = found.ok_or(missing)?;
            Ok((Box::new(Auto::new(setup, &prior)?), kind))
        }
        Method::Oboe => {
            let embedding = surrogate.oboe().ok_or(missing)?;
            Ok((Box::new(paper(&setup, embedding)?), ErrorKind::Native))
        }
        Method::TensorOboe => {
            let embedding = surrogate.tensor_oboe().ok_or(missing)?;
            Ok((Box::new(paper(&setup, embedding)?), ErrorKind::Native))
        }
        Method::KernelOboe => Ok((Box::new(kernel(&setup, missing)?), ErrorKind::Native)),
        Method::Random => {
            let all = (0..setup.space.len()).map(|at| setup.space.id(at)).collect();
            Ok((Box::new(in_random_order(&setup, all)), ErrorKind::Native))
        }
        Method::RandomOboe => {
            let embedding = surrogate.oboe().ok_or(missing)?;
            let (ids, columns) = distinct_pipelines(&setup.space, embedding);
            let distinct = columns.iter().filter_map(|&c| ids[c]).collect();
            Ok((Box::new(in_random_order(&setup, distinct)), ErrorKind::Native))
        }
    }
}

/// Pipelines in an order that the seed decides.
fn in_random_order(setup: &Setup<'_>, ids: Vec<PipelineId>) -> Mapped<InOrder> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.shuffle(&mut Stream::new(setup.seed).named("random order").rng());
    let secs = ids.iter().map(|id| Some(setup.secs[id.index()])).collect();
    Mapped { policy: InOrder::new(order, secs), ids }
}

/// The pipelines of an embedding's columns, and those columns that are distinct computations here.
fn distinct_pipelines(
    space: &Space,
    embedding: &Embedding,
) -> (Vec<Option<PipelineId>>, Vec<usize>) {
    let all = embedding.pipelines.iter().map(|&j| space.search().id(j as usize));
    let ids: Vec<Option<PipelineId>> = all.collect();
    let columns = distinct_columns(space, &ids);
    (ids, columns)
}

/// The paper's loop over those columns of an embedding that are distinct computations here.
fn paper(setup: &Setup<'_>, embedding: &Embedding) -> Result<Mapped<PaperLoop>, AutoMlError> {
    let (ids, columns) = distinct_pipelines(&setup.space, embedding);
    let y = embedding.y.select(Axis(1), &columns);
    paper_loop(setup, &ids, &columns, y.view(), embedding.initial_rank)
}

fn paper_loop(
    setup: &Setup<'_>,
    all: &[Option<PipelineId>],
    columns: &[usize],
    y: ArrayView2<'_, f32>,
    rank: usize,
) -> Result<Mapped<PaperLoop>, AutoMlError> {
    let ids: Vec<PipelineId> = columns.iter().filter_map(|&c| all[c]).collect();
    let secs: Vec<Option<f64>> = ids.iter().map(|id| Some(setup.secs[id.index()])).collect();
    // The best pipeline on average runs first, so that there is always an answer (ALGORITHMS §12).
    let best = setup.surrogate.best_on_average();
    let computation = setup.space.place(best);
    let baseline = ids.iter().position(|&id| setup.space.place(id) == computation);
    let rank = rank.clamp(1, y.nrows());
    let policy = PaperLoop::new(y, rank, &secs, setup.budget_secs, Rounds::Doubling, baseline)?;
    Ok(Mapped { policy, ids })
}

/// The columns to keep: one for each distinct computation, the pipeline that stands for it where it is
/// among them.
fn distinct_columns(space: &Space, ids: &[Option<PipelineId>]) -> Vec<usize> {
    let mut column_of = vec![None; space.len()];
    for (column, id) in ids.iter().enumerate() {
        let Some((id, at)) = id.and_then(|id| Some((id, space.place(id)?))) else { continue };
        if column_of[at].is_none() || space.id(at) == id {
            column_of[at] = Some(column);
        }
    }
    column_of.into_iter().flatten().collect()
}

/// KernelOboe: designs on the leading directions of the codes, predictions by the regression on codes.
fn kernel(setup: &Setup<'_>, missing: AutoMlError) -> Result<Mapped<PaperLoop>, AutoMlError> {
    let Some(model) = setup.surrogate.kernel_oboe() else { return Err(missing) };
    let all: Vec<Option<PipelineId>> = setup.surrogate.space().ids().map(Some).collect();
    let columns = distinct_columns(&setup.space, &all);
    let codes: Vec<&[f32]> = columns.iter().filter_map(|&c| model.code(c)).collect();
    let n_atoms = codes.first().map_or(0, |code| code.len());
    // z: atoms x computations.
    let z = Array2::from_shape_fn((n_atoms, codes.len()), |(i, j)| codes[j][i]);
    let pca = Pca::fit(z.view(), KERNEL_RANK.min(n_atoms).min(codes.len()))?;
    let rank = rank_of_energy(&pca.singular_values);
    let y = scaled_directions(&pca);
    let mapped = paper_loop(setup, &all, &columns, y.view(), rank)?;
    let surrogate = Arc::clone(setup.surrogate);
    let predict = move |seen: &[(usize, f64)]| -> Result<Vec<f64>, SurrogateError> {
        let model = surrogate.kernel_oboe().expect("it was there a moment ago");
        let (pipelines, errors): (Vec<usize>, Vec<f64>) =
            seen.iter().map(|&(at, error)| (columns[at], error)).unzip();
        let all = model.predict_dataset(&pipelines, &errors, KERNEL_RIDGE)?;
        Ok(columns.iter().map(|&c| all[c]).collect())
    };
    Ok(Mapped { policy: mapped.policy.predicting(Box::new(predict)), ids: mapped.ids })
}

/// The leading directions of the codes, each as long as its singular value says.
fn scaled_directions(pca: &Pca) -> Array2<f32> {
    let s = &pca.singular_values;
    Array2::from_shape_fn(pca.pipelines.dim(), |(i, j)| (s[i] * pca.pipelines[(i, j)]) as f32)
}

fn rank_of_energy(singular_values: &[f64]) -> usize {
    let total: f64 = singular_values.iter().map(|s| s * s).sum();
    let mut sum = 0.0;
    let reaches = |s: &f64| {
        sum += s * s;
        sum >= ENERGY * total
    };
    1 + singular_values.iter().position(reaches).unwrap_or(0)
}

/// A policy over positions as one over pipelines.
struct Mapped<P> {
    policy: P,
    ids: Vec<PipelineId>,
}

impl<P: Policy> Policy for Mapped<P> {
    fn next(&mut self, left_secs: f64) -> Result<Option<Step>, SurrogateError> {
        let step = self.policy.next(left_secs)?;
        Ok(step.map(|step| Step {
            members: step.members.iter().map(|&at| self.ids[at].index()).collect(),
            ..step
        }))
    }

    fn finished(
        &mut self,
        step: &Step,
        errors: &[(usize, f64)],
        secs: &[(usize, f64)],
    ) -> Result<(), SurrogateError> {
        let position = |j: usize| self.ids.binary_search_by_key(&j, |id| id.index()).ok();
        let at = |of: &[(usize, f64)]| -> Vec<(usize, f64)> {
            of.iter().filter_map(|&(j, value)| Some((position(j)?, value))).collect()
        };
        let members = step.members.iter().filter_map(|&j| position(j)).collect();
        let step = Step { members, ..step.clone() };
        let (errors, secs) = (at(errors), at(secs));
        self.policy.finished(&step, &errors, &secs)
    }

    fn ensembled(&mut self, error: f64) {
        self.policy.ensembled(error);
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        let own: Vec<f64> = self.ids.iter().map(|id| secs[id.index()]).collect();
        self.policy.resized(n_rows, &own);
    }
}
