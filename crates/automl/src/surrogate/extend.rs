//! Taking new datasets, new blocks of pipelines and new runs into a surrogate, without training it again.
//!
//! A row: its embedding is estimated from what was observed; the priors' means and covariances move as they
//! would have with one row more, within the directions they have; the dictionary of the kernel model gets
//! a row (paper, "Performance Prediction on New Dataset by KFMC"). Embeddings of pipelines stay.
//!
//! Columns of blocks that it does not know are added by `columns.rs`. A column that it knows can be estimated anew:
//! with the embeddings of the training datasets at hand, that of a pipeline is a regression of its errors on
//! them; the kernel model completes it by its out-of-sample extension.

use std::sync::Arc;

use ndarray::{Array1, Array2, Axis};
use pitchpipe_learn::search_space::{Mapping, SpaceMismatch};
use pitchpipe_learn::{PipelineId, SearchSpace};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_surrogate::complete::{KernelModel, KernelParts};
use pitchpipe_surrogate::policy::KERNEL_RIDGE;

use super::columns::{AddedBlock, MeasuredOn, Run};
use super::parts::{PackedPrior, Part};
use super::{ErrorKind, Surrogate, TrainedDataset};
use crate::offline::Seen;
use crate::offline::train::{Stack, StackRow};

/// A dataset with fewer entries of known pipelines than this is not placed among the others.
const FEWEST_ENTRIES: usize = 20;

/// Standard deviation of a measured error, or of its root.
const NOISE: f64 = 0.02;
/// A new column starts from a level that is not known.
const LEVEL_VARIANCE: f64 = 0.25;

/// Why a surrogate could not be extended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// The surrogate was trained on the dataset already.
    #[error("the surrogate knows dataset {name} already")]
    Known {
        /// The dataset.
        name: String,
    },
    /// Nothing was observed.
    #[error("no finished entry of {what}")]
    Nothing {
        /// Of what.
        what: String,
    },
    /// The store has a block of this name with other pipelines, or one that cannot be added.
    #[error(transparent)]
    Mismatch(#[from] SpaceMismatch),
    /// The numbers do not fit.
    #[error(transparent)]
    Numbers(#[from] SurrogateError),
}

/// A new dataset: errors of some pipelines, by flat index.
#[derive(Clone, Debug, Default)]
pub struct DatasetRow {
    /// Its name.
    pub name: String,
    /// The hash of its content, where it is known.
    pub content: Option<String>,
    /// Errors under the native decision.
    pub native: Vec<(usize, f64)>,
    /// Errors under the balanced decision.
    pub decided: Vec<(usize, f64)>,
}

/// A pipeline whose column is to be estimated anew: errors on some training datasets, by their position in
/// the facts.
#[derive(Clone, Debug)]
pub struct PipelineColumn {
    /// The pipeline.
    pub pipeline: PipelineId,
    /// Errors under the native decision.
    pub native: Vec<(usize, f64)>,
    /// Errors under the balanced decision.
    pub decided: Vec<(usize, f64)>,
}

/// Embeddings of the training datasets, rank x datasets, in the order of the facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatasetEmbeddings {
    pub(crate) native: Option<Array2<f32>>,
    pub(crate) decided: Option<Array2<f32>>,
    pub(crate) oboe: Option<Array2<f32>>,
    pub(crate) tensor_oboe: Option<Array2<f32>>,
}

impl DatasetEmbeddings {
    pub(super) fn each(&self) -> [Option<&Array2<f32>>; 4] {
        [&self.native, &self.decided, &self.oboe, &self.tensor_oboe].map(Option::as_ref)
    }

    pub(super) fn of([native, decided, oboe, tensor_oboe]: [Option<Array2<f32>>; 4]) -> Self {
        Self { native, decided, oboe, tensor_oboe }
    }
}

/// What an extension brought.
#[derive(Clone, Debug, Default)]
pub struct Extension {
    /// Datasets that became rows.
    pub datasets: Vec<String>,
    /// Errors that these rows were placed by.
    pub n_entries: usize,
    /// Blocks whose pipelines became columns.
    pub blocks: Vec<AddedBlock>,
    /// Datasets of which too little is known to place them; of their runs of new pipelines only the times are used.
    pub not_placed: Vec<String>,
}

impl Surrogate {
    /// Takes in what a store holds beyond it: datasets that it does not know become rows, blocks of pipelines that it
    /// does not know become columns.
    pub fn extend(&mut self, stack: &Stack) -> Result<Extension, ExtendError> {
        let mut extension = Extension::default();
        let mut spaces = vec![Arc::clone(&self.space)];
        for block in stack.space.blocks() {
            let last = &spaces[spaces.len() - 1];
            if last.range_of(block.name()).is_none() {
                let blocks = last.blocks().iter().chain([block]).cloned().collect();
                spaces.push(Arc::new(SearchSpace::new(blocks).map_err(SpaceMismatch::from)?));
            }
        }
        let mapping = stack.space.manifest().check(&spaces[spaces.len() - 1])?;
        let mut runs = Vec::new();
        for row in stack.rows.iter().chain(&stack.too_few) {
            let place = self.place(row, &mapping, &mut extension)?;
            let dataset = place.map_or_else(
                || {
                    extension.not_placed.push(row.name.clone());
                    MeasuredOn::NotPlaced(extension.not_placed.len() - 1)
                },
                MeasuredOn::Placed,
            );
            runs.extend(self.new_runs(row, dataset, &mapping));
        }
        for space in &spaces[1..] {
            extension.blocks.push(self.add_block(space, &runs)?);
        }
        Ok(extension)
    }

    /// The position of a store's dataset in the facts; where it is not there, it becomes a row.
    fn place(
        &mut self,
        row: &StackRow,
        mapping: &Mapping,
        extension: &mut Extension,
    ) -> Result<Option<usize>, ExtendError> {
        let content = row.about.as_ref().and_then(|a| a.content.clone());
        let is_same = |known: &TrainedDataset| {
            (content.is_some() && known.content == content)
                || (known.name == row.name && known.is_published == row.is_published)
        };
        if let Some(at) = self.facts.datasets.iter().position(is_same) {
            return Ok(Some(at));
        }
        let n_known = self.space.n_pipelines();
        let errors = |of: fn(&Seen) -> Option<f32>| -> Vec<(usize, f64)> {
            let known = |seen: &Seen| {
                let id = mapping.get(seen.pipeline).filter(|id| id.index() < n_known)?;
                Some((id.index(), f64::from(of(seen)?)))
            };
            row.seen.iter().filter_map(known).collect()
        };
        let new = DatasetRow {
            name: row.name.clone(),
            content,
            native: errors(|s| Some(s.error)),
            decided: errors(|s| s.decided),
        };
        if new.native.len() < FEWEST_ENTRIES {
            return Ok(None);
        }
        self.add_dataset(&new)?;
        extension.n_entries += new.native.len();
        extension.datasets.push(new.name);
        Ok(Some(self.facts.datasets.len() - 1))
    }

    /// A dataset's runs of pipelines that are not known yet.
    fn new_runs(&self, row: &StackRow, dataset: MeasuredOn, mapping: &Mapping) -> Vec<Run> {
        let n_known = self.space.n_pipelines();
        let run = |seen: &Seen| {
            let pipeline = mapping.get(seen.pipeline).filter(|id| id.index() >= n_known)?;
            Some(Run {
                pipeline,
                dataset,
                native: f64::from(seen.error),
                decided: seen.decided.map(f64::from),
                secs: f64::from(seen.runtime_s),
                size: row.about.as_ref().map(|about| about.size),
            })
        };
        row.seen.iter().filter_map(run).collect()
    }

    /// Takes in a dataset that it was not trained on.
    pub fn add_dataset(&mut self, row: &DatasetRow) -> Result<(), ExtendError> {
        let name = row.name.clone();
        if self.facts.datasets.iter().any(|d| d.name == name && !d.is_published) {
            return Err(ExtendError::Known { name });
        }
        if row.native.is_empty() {
            return Err(ExtendError::Nothing { what: format!("dataset {name}") });
        }
        let n_rows = self.n_effective();
        for kind in [ErrorKind::Native, ErrorKind::Decided] {
            let observed = if kind == ErrorKind::Native { &row.native } else { &row.decided };
            let (prior, scores) = self.prior_parts(kind);
            if let (Some(prior), Some(scores), false) = (prior, scores, observed.is_empty()) {
                let (moved, embedded) = with_row(prior.get(), scores, observed, n_rows)?;
                *prior = Part::made(moved);
                *scores = embedded;
            }
        }
        if let Some(model) = &mut self.kernel_oboe {
            *model = Part::made(kernel_with_row(model.get(), &row.native)?);
        }
        for (scores, embedding) in [
            (&mut self.embeddings.oboe, &self.oboe),
            (&mut self.embeddings.tensor_oboe, &self.tensor_oboe),
        ] {
            if let (Some(scores), Some(embedding)) = (scores, embedding) {
                let embedding = embedding.get();
                let at = |j: usize| embedding.pipelines.iter().position(|&p| p as usize == j);
                let columns: Vec<(Vec<f64>, f64)> = row
                    .native
                    .iter()
                    .filter_map(|&(j, e)| Some((wide(embedding.y.column(at(j)?)), e)))
                    .collect();
                // Rows of Y are orthonormal: embeddings of datasets are as large as their errors.
                let variance =
                    vec![f64::from(scores.mapv(|v| v * v).mean().unwrap_or(1.0)); scores.nrows()];
                let x = ridge(&columns, &variance, NOISE)?;
                push_column(scores, &x);
            }
        }
        let n_entries = row.native.len();
        let content = row.content.clone();
        self.facts.datasets.push(TrainedDataset { name, content, is_published: false, n_entries });
        self.facts.n_entries += n_entries;
        let all = self.facts.datasets.len() * self.space.n_pipelines();
        self.facts.missing_ratio = 1.0 - self.facts.n_entries as f64 / all as f64;
        Ok(())
    }

    /// Estimates a pipeline's column anew, from its errors on training datasets.
    pub fn set_pipeline(&mut self, column: &PipelineColumn) -> Result<(), ExtendError> {
        let pipeline = column.pipeline.index();
        if column.native.is_empty() {
            return Err(ExtendError::Nothing { what: format!("pipeline {pipeline}") });
        }
        for kind in [ErrorKind::Native, ErrorKind::Decided] {
            let observed = if kind == ErrorKind::Native { &column.native } else { &column.decided };
            let (prior, scores) = self.prior_parts(kind);
            if let (Some(prior), Some(scores), false) = (prior, scores, observed.is_empty()) {
                *prior = Part::made(with_column(prior.get(), scores, pipeline, observed)?);
            }
        }
        for (scores, embedding) in [
            (&self.embeddings.oboe, &mut self.oboe),
            (&self.embeddings.tensor_oboe, &mut self.tensor_oboe),
        ] {
            let (Some(scores), Some(embedding)) = (scores, embedding) else { continue };
            let embedding = Arc::make_mut(embedding.get_mut());
            let Some(at) = embedding.pipelines.iter().position(|&p| p as usize == pipeline) else {
                continue;
            };
            let rows = rows_at(scores, &column.native);
            let variance = vec![1.0 / embedding.pipelines.len() as f64; scores.nrows()];
            let y = ridge(&rows, &variance, NOISE)?;
            embedding.y.column_mut(at).iter_mut().zip(y).for_each(|(own, v)| *own = v as f32);
        }
        if let Some(model) = &mut self.kernel_oboe {
            let (datasets, errors): (Vec<usize>, Vec<f64>) = column.native.iter().copied().unzip();
            let code = model.get().predict_pipeline(&datasets, &errors)?.code;
            let mut parts = KernelParts::from(KernelModel::clone(model.get()));
            let own = parts.codes[pipeline * code.len()..].iter_mut();
            own.zip(&code).for_each(|(z, &v)| *z = v as f32);
            *model = Part::made(KernelModel::try_from(parts)?);
        }
        Ok(())
    }

    fn prior_parts(
        &mut self,
        kind: ErrorKind,
    ) -> (Option<&mut Part<PackedPrior>>, Option<&mut Array2<f32>>) {
        match kind {
            ErrorKind::Native => (self.native.as_mut(), self.embeddings.native.as_mut()),
            ErrorKind::Decided => (self.decided.as_mut(), self.embeddings.decided.as_mut()),
        }
    }

    /// Rows that the priors were learned from, weighted ones counted by their weight.
    fn n_effective(&self) -> f64 {
        let (own, published) = self.facts.counts();
        let weight = if own > 0 { self.facts.published_weight } else { 1.0 };
        (own as f64 + weight * published as f64).max(2.0)
    }
}

/// The prior with one row more, and the embeddings of the datasets with that of the new one.
///
/// With `n` rows the covariance becomes `(n-1)/n C + 1/(n+1) d dᵀ`, `d` the row's deviation from the mean.
/// Within the prior's own directions, `d = Lᵀ x`, that is `L <- M L` with `M² = a² I + b² x xᵀ`; what is
/// observed beyond them goes to the pipelines' noise. Embeddings turn the other way.
fn with_row(
    prior: &Prior,
    scores: &Array2<f32>,
    observed: &[(usize, f64)],
    n_rows: f64,
) -> Result<(Prior, Array2<f32>), SurrogateError> {
    let factor = prior.factor();
    let (mut mean, mut noise) = (prior.mean().to_vec(), prior.noise().to_vec());
    check(observed, mean.len())?;
    let scale = prior.scale();
    let columns: Vec<(Vec<f64>, f64)> = observed
        .iter()
        .map(|&(j, e)| {
            let weight = NOISE / noise[j].sqrt();
            let column = factor.column(j).iter().map(|&l| weight * f64::from(l)).collect();
            (column, weight * (scale.of(e) - mean[j]))
        })
        .collect();
    let x = ridge(&columns, &vec![1.0; factor.nrows()], NOISE)?;
    let moved: Array1<f32> = Array1::from_iter(x.iter().map(|&v| v as f32)).dot(&factor);
    let mut deviation: Vec<f64> = moved.iter().map(|&v| f64::from(v)).collect();
    for &(j, e) in observed {
        let own = scale.of(e) - mean[j];
        noise[j] = (noise[j] * n_rows + (own - deviation[j]).powi(2)) / (n_rows + 1.0);
        deviation[j] = own;
    }
    mean.iter_mut().zip(&deviation).for_each(|(m, d)| *m += d / (n_rows + 1.0));
    let (a, b) = (((n_rows - 1.0) / n_rows).sqrt(), (1.0 / (n_rows + 1.0)).sqrt());
    let length = x.iter().map(|v| v * v).sum::<f64>().max(1e-12);
    let along = (a * a + b * b * length).sqrt();
    let stretch = |value: f32, i: usize, along_x: f32, plain: f64, at_x: f64| {
        (plain * f64::from(value) + (at_x - plain) / length * x[i] * f64::from(along_x)) as f32
    };
    let turned = Array2::from_shape_fn(factor.raw_dim(), |(i, j)| {
        stretch(factor[(i, j)], i, moved[j], a, along)
    });
    let projected: Array1<f32> = Array1::from_iter(x.iter().map(|&v| v as f32)).dot(scores);
    let mut embedded = Array2::from_shape_fn(scores.raw_dim(), |(i, d)| {
        stretch(scores[(i, d)], i, projected[d], 1.0 / a, 1.0 / along)
    });
    let own: Vec<f64> = x.iter().map(|v| v / along).collect();
    push_column(&mut embedded, &own);
    Ok((Prior::from_parts(scale, mean, turned.view(), noise)?, embedded))
}

/// The prior with one pipeline's mean and direction estimated from its errors on training datasets.
fn with_column(
    prior: &Prior,
    scores: &Array2<f32>,
    pipeline: usize,
    observed: &[(usize, f64)],
) -> Result<Prior, SurrogateError> {
    check(observed, scores.ncols())?;
    let (mut mean, mut factor) = (prior.mean().to_vec(), prior.factor());
    let scale = prior.scale();
    let level = mean.iter().sum::<f64>() / mean.len() as f64;
    let mut rows = rows_at(scores, observed);
    for (row, value) in &mut rows {
        row.push(1.0);
        *value = scale.of(*value) - level;
    }
    let squares = factor.mapv(|l| l * l).mean_axis(Axis(1)).unwrap_or_default();
    let mut variance: Vec<f64> = squares.iter().map(|&v| f64::from(v).max(1e-9)).collect();
    variance.push(LEVEL_VARIANCE);
    let mut own = ridge(&rows, &variance, NOISE)?;
    mean[pipeline] = level + own.pop().unwrap_or(0.0);
    factor.column_mut(pipeline).iter_mut().zip(own).for_each(|(l, v)| *l = v as f32);
    Prior::from_parts(scale, mean, factor.view(), prior.noise().to_vec())
}

/// A row more in the dictionary.
fn kernel_with_row(
    model: &KernelModel<f32>,
    observed: &[(usize, f64)],
) -> Result<KernelModel<f32>, SurrogateError> {
    check(observed, model.n_pipelines())?;
    let mut parts = KernelParts::from(model.clone());
    let (d, mean) = kernel_row(&parts, observed)?;
    let atoms = parts.atoms.chunks(parts.n_datasets).zip(&d);
    parts.atoms = atoms.flat_map(|(atom, &d)| atom.iter().copied().chain([d as f32])).collect();
    parts.n_datasets += 1;
    parts.row_means.push(mean);
    KernelModel::try_from(parts)
}

/// A new dataset's row of the dictionary, `d = e_S Z_Sᵀ (Z_S Z_Sᵀ + alpha I)⁻¹` (`Eq.KFMC_ose0`, with its inverse), and the
/// mean of its errors.
pub(crate) fn kernel_row(
    parts: &KernelParts<f32>,
    observed: &[(usize, f64)],
) -> Result<(Vec<f64>, f64), SurrogateError> {
    let r = parts.atoms.len() / parts.n_datasets;
    let code = |j: usize| parts.codes[j * r..(j + 1) * r].iter().map(|&z| f64::from(z)).collect();
    let rows: Vec<(Vec<f64>, f64)> = observed.iter().map(|&(j, e)| (code(j), e)).collect();
    let d = ridge(&rows, &vec![1.0 / KERNEL_RIDGE; r], 1.0)?;
    let n = parts.codes.len() / r;
    let predicted = |z: &[f32]| z.iter().zip(&d).map(|(&z, d)| f64::from(z) * d).sum::<f64>();
    let mean = parts.codes.chunks(r).map(predicted).sum::<f64>() / n as f64;
    Ok((d, mean))
}

fn check(observed: &[(usize, f64)], size: usize) -> Result<(), SurrogateError> {
    if let Some(&(index, _)) = observed.iter().find(|(j, _)| *j >= size) {
        return Err(SurrogateError::OutOfRange { what: "an observed entry", index, size });
    }
    match observed.iter().position(|(_, e)| !e.is_finite()) {
        Some(at) => {
            let value = observed[at].1;
            Err(SurrogateError::NotFinite { what: "the observed errors", at, value })
        }
        None => Ok(()),
    }
}

fn rows_at(scores: &Array2<f32>, observed: &[(usize, f64)]) -> Vec<(Vec<f64>, f64)> {
    observed.iter().map(|&(d, e)| (wide(scores.column(d)), e)).collect()
}

fn wide(column: ndarray::ArrayView1<f32>) -> Vec<f64> {
    column.iter().map(|&v| f64::from(v)).collect()
}

fn push_column(matrix: &mut Array2<f32>, column: &[f64]) {
    let column = Array1::from_iter(column.iter().map(|&v| v as f32));
    matrix.push_column(column.view()).expect("as many coordinates as the others have");
}

/// Coefficients with these prior variances, given `(features, value)` with noise of this deviation.
pub(crate) fn ridge(
    rows: &[(Vec<f64>, f64)],
    variance: &[f64],
    noise: f64,
) -> Result<Vec<f64>, SurrogateError> {
    let k = variance.len();
    let mut normal = Array2::<f64>::zeros((k, k));
    let mut right = vec![0.0; k];
    for (x, y) in rows {
        for a in 0..k {
            right[a] += x[a] * y;
            for b in 0..=a {
                normal[(a, b)] += x[a] * x[b];
            }
        }
    }
    for a in 0..k {
        normal[(a, a)] += noise * noise / variance[a];
    }
    cholesky_solve(normal, &mut right)?;
    Ok(right)
}

/// Solves in place a system whose lower triangle is given.
pub(crate) fn cholesky_solve(mut a: Array2<f64>, x: &mut [f64]) -> Result<(), SurrogateError> {
    let k = x.len();
    for i in 0..k {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|t| a[(i, t)] * a[(j, t)]).sum();
            let rest = a[(i, j)] - dot;
            if i == j {
                if rest <= 0.0 || !rest.is_finite() {
                    return Err(SurrogateError::NotConverged { what: "a regression" });
                }
                a[(i, i)] = rest.sqrt();
            } else {
                a[(i, j)] = rest / a[(j, j)];
            }
        }
    }
    for i in 0..k {
        let dot: f64 = (0..i).map(|t| a[(i, t)] * x[t]).sum();
        x[i] = (x[i] - dot) / a[(i, i)];
    }
    for i in (0..k).rev() {
        let dot: f64 = (i + 1..k).map(|t| a[(t, i)] * x[t]).sum();
        x[i] = (x[i] - dot) / a[(i, i)];
    }
    Ok(())
}
