//! How long each pipeline takes: polynomials per pipeline, and how they are corrected as runs come in.
//!
//! Pipelines that one-hot encode work on other numbers of features than those that keep integer codes, so
//! each half has polynomials in the number of features that it sees.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};
use pitchpipe_learn::search_space::{AXES, N_ESTIMATORS, N_PIPELINES, PipelineId, estimators};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_surrogate::runtime::{RuntimeCorrection, RuntimeForm, RuntimeModel};

use super::DatasetSize;

/// Predictions stay within these bounds. Our components are faster than those the paper timed, and
/// beyond two minutes an order is still wanted, if not an exact time.
pub(super) const BOUNDS_SECS: (f64, f64) = (2e-4, 1e5);

/// The encoders, in the order of their axis: one model each.
const N_ENCODERS: usize = AXES[1];

/// Predicted runtimes of all pipelines, each as if it ran alone.
#[derive(Clone, Debug)]
pub struct Runtimes {
    /// One per encoder, over the pipelines that have it, in their order.
    pub(super) models: Vec<RuntimeModel>,
    pub(super) correction: RuntimeCorrection,
}

impl Runtimes {
    /// Learns from recorded seconds, datasets x pipelines, of which those not above zero were not recorded.
    pub fn fit(sizes: &[DatasetSize], secs: ArrayView2<f32>) -> Result<Self, SurrogateError> {
        let models = fit_models(sizes, secs)?;
        let residuals = residuals(&models, sizes, secs)?;
        let (low, high) = BOUNDS_SECS;
        let correction = RuntimeCorrection::of_residuals(residuals.view())?.bounded(low, high);
        Ok(Self { models, correction })
    }

    pub(super) fn from_parts(
        models: Vec<RuntimeModel>,
        correction: Arc<Prior>,
    ) -> Result<Self, SurrogateError> {
        let got = models.iter().map(RuntimeModel::n_pipelines).sum();
        let each = N_PIPELINES / N_ENCODERS;
        if models.len() != N_ENCODERS || models.iter().any(|m| m.n_pipelines() != each) {
            return Err(SurrogateError::Size { what: "runtimes", wanted: N_PIPELINES, got });
        }
        let got = correction.n_pipelines();
        if got != N_PIPELINES {
            let what = "correction of runtimes";
            return Err(SurrogateError::Size { what, wanted: N_PIPELINES, got });
        }
        let (low, high) = BOUNDS_SECS;
        let correction = RuntimeCorrection::of_prior(correction).bounded(low, high);
        Ok(Self { models, correction })
    }

    /// Seconds that each pipeline is expected to take, cross-validated alone on a dataset of this size.
    pub fn predict_secs(&self, size: &DatasetSize) -> Vec<f64> {
        predict(&self.models, size).expect("sizes are at least 1")
    }

    /// How predictions are corrected as runs come in.
    pub fn correction(&self) -> &RuntimeCorrection {
        &self.correction
    }
}

/// Percentages of runtimes within a factor of 2 and 4 over datasets that were left out, `n_folds` times a
/// share of them; by type of estimator, after all of them together.
pub(crate) fn cross_validate(
    sizes: &[DatasetSize],
    secs: ArrayView2<f32>,
    n_folds: usize,
) -> Result<Vec<(f64, f64, usize)>, SurrogateError> {
    let (kinds, n_kinds) = kinds();
    let mut counts = vec![(0usize, 0usize, 0usize); n_kinds + 1];
    for fold in 0..n_folds {
        let train: Vec<usize> = (0..sizes.len()).filter(|i| i % n_folds != fold).collect();
        let train_sizes: Vec<DatasetSize> = train.iter().map(|&i| sizes[i]).collect();
        let models = fit_models(&train_sizes, secs.select(Axis(0), &train).view())?;
        for test in (fold..sizes.len()).step_by(n_folds) {
            for (j, predicted) in predict(&models, &sizes[test])?.into_iter().enumerate() {
                let taken = f64::from(secs[(test, j)]);
                if taken <= 0.0 {
                    continue;
                }
                let factor = (predicted / taken).max(taken / predicted);
                for at in [0, 1 + kinds[j]] {
                    counts[at].0 += usize::from(factor <= 2.0);
                    counts[at].1 += usize::from(factor <= 4.0);
                    counts[at].2 += 1;
                }
            }
        }
    }
    let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    Ok(counts.into_iter().map(|(two, four, n)| (share(two, n), share(four, n), n)).collect())
}

/// The pipelines that have an encoder, by flat index.
fn with_encoder(encoder: usize) -> Vec<usize> {
    PipelineId::all().filter(|id| id.positions()[1] == encoder).map(PipelineId::index).collect()
}

/// The type of each pipeline's estimator, as a number, and how many there are.
fn kinds() -> (Vec<usize>, usize) {
    let mut of_estimator = Vec::new();
    for (at, estimator) in estimators().iter().enumerate() {
        let last = of_estimator.last().copied().unwrap_or(0);
        let new = at > 0 && estimators()[at - 1].name() != estimator.name();
        of_estimator.push(last + usize::from(new));
    }
    let n_kinds = of_estimator.last().map_or(0, |last| last + 1);
    ((0..N_PIPELINES).map(|j| of_estimator[j % N_ESTIMATORS]).collect(), n_kinds)
}

fn fit_models(
    sizes: &[DatasetSize],
    secs: ArrayView2<f32>,
) -> Result<Vec<RuntimeModel>, SurrogateError> {
    let (kinds, _) = kinds();
    (0..N_ENCODERS)
        .map(|encoder| {
            let pipelines = with_encoder(encoder);
            let families: Vec<usize> = pipelines.iter().map(|&j| kinds[j]).collect();
            // Where no pipeline with this encoder ever ran, those with the other one stand in.
            let ran = |encoder: &usize| {
                with_encoder(*encoder).iter().any(|&j| secs.column(j).iter().any(|&t| t > 0.0))
            };
            let source = (0..N_ENCODERS).map(|at| (encoder + at) % N_ENCODERS).find(ran);
            let source = source.unwrap_or(encoder);
            let sizes: Vec<_> = sizes.iter().map(|s| s.for_encoder(source)).collect();
            let secs = secs.select(Axis(1), &with_encoder(source));
            let model = RuntimeModel::fit(RuntimeForm::LogLog, &sizes, secs.view(), &families)?;
            Ok(model.bounded(BOUNDS_SECS.0, BOUNDS_SECS.1))
        })
        .collect()
}

fn predict(models: &[RuntimeModel], size: &DatasetSize) -> Result<Vec<f64>, SurrogateError> {
    let mut secs = vec![0.0; N_PIPELINES];
    for (encoder, model) in models.iter().enumerate() {
        let predicted = model.predict_secs(&size.for_encoder(encoder))?;
        with_encoder(encoder).into_iter().zip(predicted).for_each(|(j, t)| secs[j] = t);
    }
    Ok(secs)
}

/// Log ratios of recorded to predicted seconds; where nothing was recorded, the mean over the dataset's
/// pipelines of the same type, or else over all of them.
fn residuals(
    models: &[RuntimeModel],
    sizes: &[DatasetSize],
    secs: ArrayView2<f32>,
) -> Result<Array2<f32>, SurrogateError> {
    let (kinds, n_kinds) = kinds();
    let mut all = Array2::<f32>::zeros(secs.raw_dim());
    for (i, size) in sizes.iter().enumerate() {
        let predicted = predict(models, size)?;
        let mut sums = vec![(0.0, 0.0); n_kinds + 1];
        let residual = |j: usize| {
            let taken = f64::from(secs[(i, j)]);
            (taken > 0.0).then(|| (taken / predicted[j]).ln())
        };
        for j in 0..N_PIPELINES {
            if let Some(r) = residual(j) {
                for at in [kinds[j], n_kinds] {
                    sums[at].0 += r;
                    sums[at].1 += 1.0;
                }
            }
        }
        let mean = |at: usize| {
            let (sum, n) = if sums[at].1 > 0.0 { sums[at] } else { sums[n_kinds] };
            if n > 0.0 { sum / n } else { 0.0 }
        };
        for j in 0..N_PIPELINES {
            all[(i, j)] = residual(j).unwrap_or_else(|| mean(kinds[j])) as f32;
        }
    }
    Ok(all)
}
