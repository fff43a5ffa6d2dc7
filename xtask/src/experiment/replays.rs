//! The published tensor as something to replay, with rows left out of everything that is learned.

use std::sync::Arc;

use ndarray::{Array2, ArrayD, Axis, IxDyn};
use pitchpipe_automl::offline::published::{AXES, N_PIPELINES, Published};
use pitchpipe_surrogate::complete::{
    EmOptions, KernelModel, Kfmc, complete_matrix, complete_tucker,
};
use pitchpipe_surrogate::embedding::energy_rank;
use pitchpipe_surrogate::runtime::{DatasetSize, RuntimeForm, RuntimeModel};
use pitchpipe_surrogate::simulate::Recording;
use pitchpipe_surrogate::{PartialTensor, Pca, Ranks, SurrogateError, TuckerEmbedding};

use crate::reference::recorded::{kind, sizes};

/// Estimators of a prefix: the last axis.
pub(super) const N_ESTIMATORS: usize = AXES[4];

/// Oboe's prefix: mean, one-hot, standardized, not reduced.
pub(super) const SLICE: usize = 39;

/// The largest ranks that the rank rule may reach, as in a surrogate.
pub(super) const MOST: Ranks = Ranks { datasets: 24, estimators: 40 };

/// No pipeline is taken to need less (ALGORITHMS §14.9); the published code has this.
pub(super) const FLOOR_SECS: f64 = 0.5;

/// The share of the energy that Oboe's first rank holds.
const ENERGY: f64 = 0.97;

/// The pipelines of Oboe's slice.
pub(super) fn slice_columns() -> Vec<usize> {
    (0..N_ESTIMATORS).map(|f| SLICE * N_ESTIMATORS + f).collect()
}

/// Recorded errors and seconds; pipelines that differ by their imputer alone are replicates.
pub(super) fn recording(paper: &Published) -> Result<Recording, String> {
    let period = N_PIPELINES / AXES[0];
    Recording::new(paper.errors.clone(), paper.runtimes_secs.clone(), period)
        .map_err(|e| e.to_string())
}

/// Some rows of the tensor, of which only some entries are known.
pub(super) struct Part {
    rows: Vec<usize>,
    /// Zero where nothing is known.
    secs: Array2<f32>,
}

impl Part {
    /// Of these rows, the entries that `keep` allows: given the place of an entry in the rows, and its seconds.
    pub(super) fn of(paper: &Published, rows: &[usize], keep: &dyn Fn(usize, f32) -> bool) -> Self {
        let mut secs = paper.runtimes_secs.select(Axis(0), rows);
        for (at, t) in secs.iter_mut().enumerate() {
            if !(*t > 0.0 && keep(at, *t)) {
                *t = 0.0;
            }
        }
        Self { rows: rows.to_vec(), secs }
    }

    /// Its errors.
    pub(super) fn observed(&self, paper: &Published) -> Result<PartialTensor<f32>, String> {
        let shape: Vec<usize> = std::iter::once(self.rows.len()).chain(AXES).collect();
        let mask = self.secs.iter().map(|&t| t > 0.0).collect();
        let mask = ArrayD::from_shape_vec(IxDyn(&shape), mask).map_err(|e| e.to_string())?;
        let errors = paper.errors.select(Axis(0), &self.rows);
        let errors = errors.into_shape_with_order(shape).map_err(|e| e.to_string())?;
        PartialTensor::new(errors, mask).map_err(|e| e.to_string())
    }
}

/// Completed errors as a matrix of rates.
fn rates(values: Vec<f32>, n_rows: usize) -> Array2<f32> {
    let clipped = values.into_iter().map(|v| v.clamp(0.0, 1.0)).collect();
    Array2::from_shape_vec((n_rows, N_PIPELINES), clipped).expect("the counts agree")
}

/// What the systems know of the rows that are not left out.
pub(super) struct Learned {
    /// TensorOboe's embedding and first ranks.
    pub(super) tensor: (Arc<TuckerEmbedding>, Ranks),
    /// KernelOboe's.
    pub(super) kernel: (Arc<TuckerEmbedding>, Ranks),
    /// Its codes.
    pub(super) codes: Arc<KernelModel<f32>>,
    /// Principal components of the completed matrix: what TensorOboe had before.
    pub(super) components: (Array2<f32>, usize),
    /// Oboe's, over the slice.
    pub(super) oboe: (Array2<f32>, usize),
    /// The pipeline with the lowest mean error.
    pub(super) baseline: usize,
}

/// TensorOboe's embedding and first ranks from rows completed by EM-Tucker at this rank, and the completed rows.
pub(super) fn tensor_alone(
    observed: &PartialTensor<f32>,
    rank: usize,
) -> Result<(Arc<TuckerEmbedding>, Ranks, Array2<f32>), SurrogateError> {
    let [a, b, c, d, _] = AXES;
    let options = EmOptions { max_rounds: 100, ..EmOptions::plain() };
    let values = complete_tucker(observed, &[rank, a, b, c, d, rank], &options)?.values;
    let errors = rates(values, observed.shape()[0]);
    let (embedding, ranks) = TuckerEmbedding::fit(errors.view(), N_ESTIMATORS, MOST)?;
    Ok((Arc::new(embedding), ranks, errors))
}

impl Learned {
    /// Completes rows by each method, at this rank, and embeds them.
    pub(super) fn fit(observed: &PartialTensor<f32>, rank: usize) -> Result<Self, SurrogateError> {
        let n_rows = observed.shape()[0];
        let (tensor, ranks, by_tucker) = tensor_alone(observed, rank)?;
        let kfmc = Kfmc { passes: 2, ..Kfmc::new(n_rows) };
        // Observed entries as they are.
        let both = observed.values().iter().zip(observed.mask()).zip(&by_tucker);
        let start = both.map(|((&v, &seen), &f)| if seen { v } else { f }).collect();
        let by_kernel = kfmc.complete_from(observed, start)?;
        let kernel = rates(by_kernel.values, n_rows);
        let embed = |errors: &Array2<f32>| -> Result<_, SurrogateError> {
            let (embedding, ranks) = TuckerEmbedding::fit(errors.view(), N_ESTIMATORS, MOST)?;
            Ok((Arc::new(embedding), ranks))
        };
        let nested = |errors: &Array2<f32>| -> Result<_, SurrogateError> {
            let most = MOST.datasets.min(errors.nrows());
            let pca = Pca::fit(errors.view(), most)?;
            let y = pca.pipelines.mapv(|v| v as f32);
            let rank = energy_rank(&pca.singular_values, ENERGY).clamp(1, y.nrows());
            Ok((y, rank))
        };
        let sums: Vec<f32> = by_tucker.columns().into_iter().map(|c| c.sum()).collect();
        let least = |a: usize, b: usize| if sums[b] < sums[a] { b } else { a };
        Ok(Self {
            tensor: (tensor, ranks),
            kernel: embed(&kernel)?,
            codes: Arc::new(by_kernel.model),
            components: nested(&by_tucker)?,
            oboe: nested(&oboe_rows(observed)?)?,
            baseline: (0..N_PIPELINES).reduce(least).unwrap_or(0),
        })
    }
}

/// Oboe's slice, completed as a matrix. Rows without an entry in it are left out.
fn oboe_rows(observed: &PartialTensor<f32>) -> Result<Array2<f32>, SurrogateError> {
    let n_rows = observed.shape()[0];
    let columns = slice_columns();
    let at = |i: usize, c: usize| i * N_PIPELINES + columns[c];
    let is_there = |&i: &usize| (0..columns.len()).any(|c| observed.mask()[at(i, c)]);
    let rows: Vec<usize> = (0..n_rows).filter(is_there).collect();
    let shape = (rows.len(), columns.len());
    let errors = Array2::from_shape_fn(shape, |(i, c)| observed.values()[at(rows[i], c)]);
    let mask = Array2::from_shape_fn(shape, |(i, c)| observed.mask()[at(rows[i], c)]);
    let slice = PartialTensor::new(errors.into_dyn(), mask.into_dyn())?;
    let options = EmOptions { max_rounds: 100, ..EmOptions::plain() };
    let values = complete_matrix(&slice, 20.min(rows.len()), &options)?.values;
    Ok(Array2::from_shape_vec(shape, values).expect("the counts agree"))
}

/// Predicted seconds of one dataset, from others of known size, in a form.
pub(super) struct Clock {
    model: RuntimeModel,
}

impl Clock {
    pub(super) fn fit(paper: &Published, part: &Part, form: RuntimeForm) -> Result<Self, String> {
        let all = sizes(paper);
        let known: Vec<usize> =
            (0..part.rows.len()).filter(|&i| all[part.rows[i]].is_some()).collect();
        let own: Vec<DatasetSize> = known.iter().filter_map(|&i| all[part.rows[i]]).collect();
        let families: Vec<usize> = (0..N_PIPELINES).map(|j| kind(j % N_ESTIMATORS)).collect();
        let secs = part.secs.select(Axis(0), &known);
        let model =
            RuntimeModel::fit(form, &own, secs.view(), &families).map_err(|e| e.to_string())?;
        Ok(Self { model })
    }

    /// Of the pipelines that a dataset has a record of.
    pub(super) fn secs(&self, paper: &Published, row: usize) -> Option<Vec<Option<f64>>> {
        let size = sizes(paper)[row]?;
        let predicted = self.model.predict_secs(&size).ok()?;
        let recorded = paper.runtimes_secs.row(row);
        let both = predicted.into_iter().zip(recorded);
        Some(both.map(|(p, &t)| (t > 0.0).then_some(p)).collect())
    }
}

/// All that is known of the rows that are not left out.
pub(super) struct Known {
    pub(super) learned: Learned,
    /// Runtimes in the paper's form, and by logarithms.
    pub(super) clock: Clock,
    pub(super) log_clock: Clock,
}

impl Known {
    /// From a part of the tensor, completed at this rank.
    pub(super) fn fit(paper: &Published, part: &Part, rank: usize) -> Result<Self, String> {
        Ok(Self {
            learned: Learned::fit(&part.observed(paper)?, rank).map_err(|e| e.to_string())?,
            clock: Clock::fit(paper, part, RuntimeForm::PaperSeconds)?,
            log_clock: Clock::fit(paper, part, RuntimeForm::LogLog)?,
        })
    }
}
