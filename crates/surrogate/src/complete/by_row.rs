//! Completing rows one by one after vectors of pipelines: what EM does in its expectation step, with as much of the matrix
//! at hand as one likes.
//!
//! A row is `xᵀ Y` and noise, `x` Gaussian with the spread that rows had before (paper, Eq. "ls_X", with a ridge that the
//! spread and the noise say): of few entries it takes the strong directions alone.

use faer::Mat;
use ndarray::Array2;
use rayon::prelude::*;

use crate::algebra::{multiply, rows, rows_mut, spd_solve};
use crate::tucker::Tucker;
use crate::{Scalar, SurrogateError};

/// Rows predicted together.
const ROW_BLOCK: usize = 16;

/// Vectors of pipelines, and how far rows spread along them.
#[derive(Clone, Debug)]
pub struct RowModel {
    rank: usize,
    /// Y: rank x pipelines, and its transposed.
    y: Vec<f32>,
    by_pipeline: Vec<f32>,
    /// Mean square of rows along each vector.
    spread: Vec<f64>,
    /// Variance of an entry about its prediction.
    noise: f64,
}

impl RowModel {
    /// Of a decomposition of `n_rows` rows, or of a sketch of so many.
    pub fn of_tucker<T: Scalar>(
        tucker: &Tucker<T>,
        n_rows: usize,
        noise: f64,
    ) -> Result<Self, SurrogateError> {
        let (x, y) = tucker.embeddings()?;
        let (rank, n) = y.dim();
        let of_row = |row: ndarray::ArrayView1<f64>| row.dot(&row) / n_rows.max(1) as f64;
        let spread = x.rows().into_iter().map(of_row).collect();
        let flat: Vec<f32> = y.iter().map(|&v| v as f32).collect();
        let by_pipeline = (0..rank * n).map(|at| flat[at % rank * n + at / rank]).collect();
        Self { rank, y: flat, by_pipeline, spread, noise: 0.0 }.with_noise(noise)
    }

    /// The same with another variance of entries.
    pub fn with_noise(self, noise: f64) -> Result<Self, SurrogateError> {
        if noise > 0.0 && noise.is_finite() {
            return Ok(Self { noise, ..self });
        }
        let (name, wanted) = ("noise of entries", "positive and finite");
        Err(SurrogateError::Setting { name, value: noise, wanted })
    }

    /// The variance of an entry about its prediction.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// How many pipelines it speaks of.
    pub fn n_pipelines(&self) -> usize {
        self.y.len() / self.rank
    }

    /// Completes rows from what was observed of each, by pipeline; observed entries stay as they are.
    pub fn complete(&self, observed: &[Vec<(u32, f32)>]) -> Result<Array2<f32>, SurrogateError> {
        let (n, r) = (self.n_pipelines(), self.rank);
        if let Some(index) = observed.iter().position(Vec::is_empty) {
            return Err(SurrogateError::Unobserved { axis: 0, index });
        }
        let of_row = |seen: &Vec<(u32, f32)>| self.coordinates(seen);
        let x: Vec<Vec<f32>> = observed.par_iter().map(of_row).collect::<Result<_, _>>()?;
        let x = x.concat();
        let mut values = vec![0.0_f32; observed.len() * n];
        values
            .par_chunks_mut(n * ROW_BLOCK)
            .zip(x.par_chunks(r * ROW_BLOCK))
            .zip(observed.par_chunks(ROW_BLOCK))
            .for_each(|((values, x), observed)| {
                let height = observed.len();
                multiply(rows_mut(values, height, n), rows(x, height, r), rows(&self.y, r, n));
                for (row, seen) in values.chunks_mut(n).zip(observed) {
                    seen.iter().for_each(|&(j, e)| row[j as usize] = e);
                }
            });
        Ok(Array2::from_shape_vec((observed.len(), n), values).expect("the counts agree"))
    }

    /// `x`, by least squares with a ridge.
    fn coordinates(&self, seen: &[(u32, f32)]) -> Result<Vec<f32>, SurrogateError> {
        let (n, r) = (self.n_pipelines(), self.rank);
        let mut vectors = Vec::with_capacity(seen.len() * r);
        for &(j, e) in seen {
            let index = j as usize;
            if index >= n {
                let what = "an observed entry";
                return Err(SurrogateError::OutOfRange { what, index, size: n });
            }
            if !e.is_finite() {
                let (what, value) = ("the observed errors", f64::from(e));
                return Err(SurrogateError::NotFinite { what, at: index, value });
            }
            let vector = &self.by_pipeline[index * r..(index + 1) * r];
            vectors.extend(vector.iter().map(|&v| f64::from(v)));
        }
        let vectors = rows(&vectors, seen.len(), r);
        let errors: Vec<f64> = seen.iter().map(|&(_, e)| f64::from(e)).collect();
        let (mut normal, mut right) = (Mat::<f64>::zeros(r, r), Mat::<f64>::zeros(r, 1));
        multiply(normal.as_mut(), vectors.transpose(), vectors);
        multiply(right.as_mut(), vectors.transpose(), rows(&errors, seen.len(), 1));
        for k in 0..r {
            normal[(k, k)] += self.noise / self.spread[k].max(1e-12);
        }
        let x = spd_solve(&normal, &right)
            .ok_or(SurrogateError::NotConverged { what: "the embedding of a dataset" })?;
        Ok((0..r).map(|k| x[(k, 0)] as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayD;

    use super::*;

    fn table(m: usize) -> ArrayD<f64> {
        ArrayD::from_shape_fn(vec![m, 4, 10], |at| {
            let (i, p, f) = (at[0] as f64, at[1] as f64, at[2] as f64);
            0.4 + 0.2 * (0.9 * i).sin() * (0.5 * f).cos()
                + 0.1 * (1.7 * i).cos() * (p * f * 0.3).sin()
        })
    }

    #[test]
    fn rows_of_the_model_come_back_from_a_third_of_their_entries() {
        let e = table(30);
        let tucker = Tucker::fit(e.view(), &[3, 4, 6], 3).unwrap();
        let model = RowModel::of_tucker(&tucker, 30, 1e-8).unwrap();
        let flat: Vec<f64> = e.iter().copied().collect();
        let of_row = |i: usize| -> Vec<(u32, f32)> {
            let seen = (0..40_usize).filter(|j| (i + j) % 3 == 0);
            seen.map(|j| (j as u32, flat[i * 40 + j] as f32)).collect()
        };
        let observed: Vec<Vec<(u32, f32)>> = (0..30).map(of_row).collect();
        let completed = model.complete(&observed).unwrap();
        for (&got, &wanted) in completed.iter().zip(&flat) {
            assert!((f64::from(got) - wanted).abs() < 1e-2, "{got} {wanted}");
        }
        for (i, seen) in observed.iter().enumerate() {
            assert!(seen.iter().all(|&(j, v)| completed[(i, j as usize)] == v));
        }
    }

    #[test]
    fn entries_that_cannot_be_are_refused() {
        let tucker = Tucker::fit(table(6).view(), &[2, 4, 4], 1).unwrap();
        let model = RowModel::of_tucker(&tucker, 6, 1e-4).unwrap();
        let complete = |entry| model.complete(&[vec![entry]]).unwrap_err();
        assert!(matches!(complete((40, 0.1)), SurrogateError::OutOfRange { .. }));
        assert!(matches!(complete((0, f32::NAN)), SurrogateError::NotFinite { .. }));
        assert!(RowModel::of_tucker(&tucker, 6, 0.0).is_err());
    }
}
