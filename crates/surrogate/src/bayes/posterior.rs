//! What is known of a new dataset after some pipelines have run on it.

use std::sync::Arc;

use crate::bayes::{Prior, Scale};
use crate::error::SurrogateError;
use crate::panels::WIDTH;
use crate::small::{Square, dot};

/// Observations are taken in at most this many at a time: one Cholesky factor of this size, one pass over
/// the factor of the prior.
const BLOCK: usize = 16;

/// Mean and variance of every pipeline given the observations so far.
///
/// With `L` the prior's factor and `x ~ N(0, I)` the new dataset's embedding, errors are
/// `mu + Lᵀ x + noise`. Observing a block `S` updates the covariance `C` of `x` by
/// `C -= Q Qᵀ`, `Q = C L_S chol(L_Sᵀ C L_S + noise_S)⁻ᵀ`, and mean and variance of all pipelines by the
/// products `Lᵀ Q`: one pass, O(rank) per pipeline and observation.
#[derive(Clone, Debug)]
pub struct Posterior {
    prior: Arc<Prior>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    covariance: Square,
    n_observed: usize,
}

impl Posterior {
    pub(super) fn new(prior: Arc<Prior>) -> Self {
        let rank = prior.rank();
        let axes: Vec<Vec<f64>> =
            (0..rank).map(|i| (0..rank).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        Self {
            mean: prior.mean.clone(),
            variance: prior.factor.quadratic_forms(&axes),
            covariance: Square::identity(rank),
            n_observed: 0,
            prior,
        }
    }

    /// The prior it started from.
    pub fn prior(&self) -> &Arc<Prior> {
        &self.prior
    }

    /// How many observations it has taken in.
    pub fn n_observed(&self) -> usize {
        self.n_observed
    }

    /// Posterior means, on the prior's scale.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Posterior variances of the noiseless values, on the prior's scale; an observation varies by the
    /// prior's noise on top.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// Predicted values of all pipelines, no longer on the prior's scale.
    pub fn predict(&self) -> Vec<f64> {
        self.mean.iter().map(|&m| self.prior.scale.undo(m)).collect()
    }

    /// Covariance of the new dataset's embedding, rank x rank.
    pub(crate) fn embedding_covariance(&self) -> &Square {
        &self.covariance
    }

    /// Values of all pipelines drawn from the posterior, given rank-many standard normal numbers.
    pub(crate) fn draw(&self, normals: &[f64]) -> Result<Vec<f64>, SurrogateError> {
        let mut covariance = self.covariance.clone();
        // Observed directions have next to no variance left; keep the factor's pivots positive.
        (0..covariance.size()).for_each(|i| covariance.set(i, i, covariance.at(i, i) + 1e-9));
        let factor = covariance
            .cholesky()
            .ok_or(SurrogateError::NotConverged { what: "factor of the posterior covariance" })?;
        let x: Vec<f64> = (0..normals.len()).map(|i| dot(factor.row(i), &normals[..=i])).collect();
        Ok(self.prior.factor.apply(&x).into_iter().zip(&self.mean).map(|(d, m)| d + m).collect())
    }

    /// Takes in the errors (or whatever the prior is of) observed at `pipelines`.
    pub fn observe(&mut self, pipelines: &[usize], values: &[f64]) -> Result<(), SurrogateError> {
        if values.len() != pipelines.len() {
            let (wanted, got) = (pipelines.len(), values.len());
            return Err(SurrogateError::Size { what: "observed values", wanted, got });
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let value = values[at];
            return Err(SurrogateError::NotFinite { what: "observed values", at, value });
        }
        let scaled: Vec<f64> = values.iter().map(|&v| self.prior.scale.of(v)).collect();
        self.take_in(pipelines, &scaled, &self.noise_of(pipelines)?)
    }

    /// The same of values that are on the prior's scale already, each with a noise variance of its own: what was
    /// seen on a smaller sample says less.
    pub(crate) fn observe_scaled(
        &mut self,
        pipelines: &[usize],
        scaled: &[f64],
        noise: &[f64],
    ) -> Result<(), SurrogateError> {
        self.noise_of(pipelines)?;
        self.take_in(pipelines, scaled, noise)
    }

    /// Takes in observations to come, at their means: the variance shrinks, the mean stays. This is how
    /// the pipelines other workers are busy with are counted in.
    pub fn expect(&mut self, pipelines: &[usize]) -> Result<(), SurrogateError> {
        let noise = self.noise_of(pipelines)?;
        let scaled: Vec<f64> = pipelines.iter().map(|&j| self.mean[j]).collect();
        self.take_in(pipelines, &scaled, &noise)
    }

    /// Takes over the means of a posterior that has seen what this one expected: how sure it is does not depend on what was
    /// seen.
    pub(crate) fn take_means_of(&mut self, seen: &Self) {
        self.mean.copy_from_slice(&seen.mean);
    }

    fn take_in(
        &mut self,
        pipelines: &[usize],
        scaled: &[f64],
        noise: &[f64],
    ) -> Result<(), SurrogateError> {
        let blocks = pipelines.chunks(BLOCK).zip(scaled.chunks(BLOCK)).zip(noise.chunks(BLOCK));
        for ((block, values), noise) in blocks {
            self.take_in_block(block, values, noise)?;
        }
        self.n_observed += pipelines.len();
        Ok(())
    }

    /// The prior's noise variances of pipelines, each of which must be there.
    fn noise_of(&self, pipelines: &[usize]) -> Result<Vec<f64>, SurrogateError> {
        let size = self.mean.len();
        let out = |index| SurrogateError::OutOfRange { what: "pipeline", index, size };
        let noise = |&j: &usize| self.prior.noise.get(j).copied().ok_or_else(|| out(j));
        pipelines.iter().map(noise).collect()
    }

    fn take_in_block(
        &mut self,
        block: &[usize],
        values: &[f64],
        noise: &[f64],
    ) -> Result<(), SurrogateError> {
        let columns: Vec<Vec<f64>> = block.iter().map(|&j| self.prior.factor.column(j)).collect();
        let mut directions: Vec<Vec<f64>> =
            columns.iter().map(|b| self.covariance.times(b)).collect();
        let mut spread = Square::zeros(block.len());
        for i in 0..block.len() {
            for j in 0..=i {
                let c = dot(&columns[i], &directions[j]);
                spread.set(i, j, c);
                spread.set(j, i, c);
            }
            spread.set(i, i, spread.at(i, i) + noise[i]);
        }
        let factor = spread
            .cholesky()
            .ok_or(SurrogateError::NotConverged { what: "factor of an observed block" })?;
        let surprise: Vec<f64> = block.iter().zip(values).map(|(&j, v)| v - self.mean[j]).collect();
        let weights = factor.solve(&surprise);
        // Q = C L_S chol⁻ᵀ, column by column: forward substitution over whole vectors.
        for i in 0..block.len() {
            let (done, rest) = directions.split_at_mut(i);
            for (j, q) in done.iter().enumerate() {
                let c = factor.at(i, j);
                rest[0].iter_mut().zip(q).for_each(|(x, q)| *x -= c * q);
            }
            rest[0].iter_mut().for_each(|x| *x /= factor.at(i, i));
            self.covariance.add_outer(-1.0, &rest[0]);
        }
        self.add(&directions, &weights);
        Ok(())
    }

    /// `mean += Σ wᵢ Lᵀqᵢ`, `variance -= Σ (Lᵀqᵢ)²`, in one pass.
    fn add(&mut self, directions: &[Vec<f64>], weights: &[f64]) {
        let Self { prior, mean, variance, .. } = self;
        let n = mean.len();
        prior.factor.for_each(
            directions,
            #[inline(always)]
            |p, gains| {
                let lanes = p * WIDTH..n.min((p + 1) * WIDTH);
                let mut shift = [0.0; WIDTH];
                let mut shrink = [0.0; WIDTH];
                for (g, &w) in gains.iter().zip(weights) {
                    for l in 0..WIDTH {
                        shift[l] += w * g[l];
                        shrink[l] += g[l] * g[l];
                    }
                }
                for (l, j) in lanes.enumerate() {
                    mean[j] += shift[l];
                    // Rounding may carry a variance that is all but spent below zero.
                    variance[j] = (variance[j] - shrink[l]).max(0.0);
                }
            },
        );
    }

    /// The scale means and variances are on.
    pub fn scale(&self) -> Scale {
        self.prior.scale
    }
}
