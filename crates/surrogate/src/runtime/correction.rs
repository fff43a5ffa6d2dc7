//! Rescaling predicted runtimes to the machine and dataset at hand, from the runs seen so far.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};

use crate::bayes::{Posterior, Prior, PriorSettings, Scale};
use crate::error::SurrogateError;
use crate::runtime::{BOUNDS_SECS, DatasetSize, RuntimeModel};

/// Directions of the residuals that are kept.
const RANK: usize = 20;

/// Standard deviation of a log runtime that no direction explains, at the least.
const NOISE: f64 = 0.1;

/// How logarithms of runtimes deviate together from what was predicted: a slow machine slows everything,
/// many classes slow boosting and linear models.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeCorrection {
    prior: Arc<Prior>,
    bounds_secs: (f64, f64),
}

impl RuntimeCorrection {
    /// Learns from the residuals of `model` on recorded seconds, datasets x pipelines; where nothing was
    /// recorded, a dataset's mean residual stands in.
    pub fn fit(
        model: &RuntimeModel,
        sizes: &[DatasetSize],
        secs: ArrayView2<f32>,
    ) -> Result<Self, SurrogateError> {
        let (m, n) = secs.dim();
        if sizes.len() != m {
            return Err(SurrogateError::Size {
                what: "dataset sizes",
                wanted: m,
                got: sizes.len(),
            });
        }
        if n != model.n_pipelines() {
            let wanted = model.n_pipelines();
            return Err(SurrogateError::Size { what: "recorded runtimes", wanted, got: n });
        }
        let mut residuals = Array2::<f32>::zeros((m, n));
        for (i, size) in sizes.iter().enumerate() {
            let predicted = model.predict_secs(size)?;
            let residual = |j: usize| {
                let t = f64::from(secs[(i, j)]);
                (t > 0.0 && t.is_finite()).then(|| (t / predicted[j]).ln())
            };
            let seen: Vec<f64> = (0..n).filter_map(residual).collect();
            let mean = seen.iter().sum::<f64>() / seen.len().max(1) as f64;
            for j in 0..n {
                residuals[(i, j)] = residual(j).unwrap_or(mean) as f32;
            }
        }
        Ok(Self { bounds_secs: model.bounds_secs, ..Self::of_residuals(residuals.view())? })
    }

    /// Learns from the differences between recorded and predicted logarithms of runtimes, datasets x
    /// pipelines, none of them missing.
    pub fn of_residuals(residuals: ArrayView2<f32>) -> Result<Self, SurrogateError> {
        let settings = PriorSettings { noise: NOISE, ..PriorSettings::plain(RANK) };
        let prior = Prior::fit(residuals, Scale::Plain, &settings)?;
        Ok(Self::of_prior(Arc::new(prior)))
    }

    /// A correction from its distribution of log residuals.
    pub fn of_prior(prior: Arc<Prior>) -> Self {
        Self { prior, bounds_secs: BOUNDS_SECS }
    }

    /// The same with corrected runtimes kept within other bounds.
    pub fn bounded(self, low_secs: f64, high_secs: f64) -> Self {
        Self { bounds_secs: (low_secs, high_secs.max(low_secs)), ..self }
    }

    /// The same for other pipelines, given their distribution of log residuals.
    pub fn with_prior(&self, prior: Arc<Prior>) -> Self {
        Self { prior, bounds_secs: self.bounds_secs }
    }

    /// The distribution of log residuals.
    pub fn prior(&self) -> &Arc<Prior> {
        &self.prior
    }

    /// Predictions to be corrected as runs come in.
    pub fn start(&self, predicted_secs: Vec<f64>) -> Result<CorrectedRuntimes, SurrogateError> {
        let n = self.prior.n_pipelines();
        if predicted_secs.len() != n {
            let got = predicted_secs.len();
            return Err(SurrogateError::Size { what: "predicted runtimes", wanted: n, got });
        }
        if let Some(at) = predicted_secs.iter().position(|t| !t.is_finite() || *t <= 0.0) {
            let value = predicted_secs[at];
            return Err(SurrogateError::NotPositive { what: "predicted runtimes", at, value });
        }
        let (posterior, bounds_secs) = (self.prior.posterior(), self.bounds_secs);
        Ok(CorrectedRuntimes { posterior, predicted_secs, bounds_secs })
    }
}

/// Predicted runtimes, corrected by the runs seen so far.
#[derive(Clone, Debug)]
pub struct CorrectedRuntimes {
    posterior: Posterior,
    predicted_secs: Vec<f64>,
    bounds_secs: (f64, f64),
}

impl CorrectedRuntimes {
    /// Takes in that pipelines took so many seconds.
    pub fn observe(&mut self, pipelines: &[usize], secs: &[f64]) -> Result<(), SurrogateError> {
        if let Some(at) = secs.iter().position(|t| !t.is_finite() || *t <= 0.0) {
            let value = secs[at];
            return Err(SurrogateError::NotPositive { what: "measured runtimes", at, value });
        }
        let size = self.predicted_secs.len();
        if let Some(&index) = pipelines.iter().find(|&&j| j >= size) {
            return Err(SurrogateError::OutOfRange { what: "pipeline", index, size });
        }
        let residuals: Vec<f64> =
            pipelines.iter().zip(secs).map(|(&j, t)| (t / self.predicted_secs[j]).ln()).collect();
        self.posterior.observe(pipelines, &residuals)
    }

    /// Goes over to other predictions, of other rows say; what was learned of the machine and the dataset stays.
    pub fn predict(&mut self, predicted_secs: &[f64]) {
        self.predicted_secs.copy_from_slice(predicted_secs);
    }

    /// The prediction for one pipeline before anything was measured.
    pub fn predicted_secs(&self, pipeline: usize) -> f64 {
        self.predicted_secs[pipeline]
    }

    /// The corrected prediction for one pipeline.
    pub fn secs(&self, pipeline: usize) -> f64 {
        let corrected = self.predicted_secs[pipeline] * self.posterior.mean()[pipeline].exp();
        corrected.clamp(self.bounds_secs.0, self.bounds_secs.1)
    }
}
