//! Where datasets lie under a prior.

use faer::Mat;
use ndarray::{Array2, ArrayView2};

use super::Prior;
use crate::SurrogateError;
use crate::algebra::spd_solve;

impl Prior {
    /// Embeddings of completed rows (datasets x pipelines), rank x datasets:
    /// `(I + L N⁻¹ Lᵀ)⁻¹ L N⁻¹ (row - mean)`, with `L` the factor and `N` the noise.
    pub fn embed(&self, rows: ArrayView2<f32>) -> Result<Array2<f32>, SurrogateError> {
        let (wanted, got) = (self.n_pipelines(), rows.ncols());
        if wanted != got {
            return Err(SurrogateError::Size { what: "rows to embed", wanted, got });
        }
        let factor = self.factor();
        let weighted =
            Array2::from_shape_fn(factor.raw_dim(), |(i, j)| factor[(i, j)] / self.noise[j] as f32);
        let normal = weighted.dot(&factor.t());
        let deviations = Array2::from_shape_fn(rows.raw_dim(), |(d, j)| {
            (self.scale.of(f64::from(rows[(d, j)])) - self.mean[j]) as f32
        });
        let right = weighted.dot(&deviations.t());
        let k = self.rank();
        let system =
            Mat::from_fn(k, k, |i, j| f64::from(normal[(i, j)]) + f64::from(u8::from(i == j)));
        let right = Mat::from_fn(k, rows.nrows(), |i, d| f64::from(right[(i, d)]));
        let scores = spd_solve(&system, &right)
            .ok_or(SurrogateError::NotConverged { what: "embeddings of datasets" })?;
        Ok(Array2::from_shape_fn((k, rows.nrows()), |(i, d)| scores[(i, d)] as f32))
    }
}
