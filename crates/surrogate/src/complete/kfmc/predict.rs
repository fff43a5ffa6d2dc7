//! What a kernel model says of a new dataset (row) and of a new pipeline (column).

use faer::Mat;

use super::batch::{Shared, Work};
use super::{KernelModel, Kfmc};
use crate::algebra::spd_solve;
use crate::{Scalar, SurrogateError};

/// Moves after which a new pipeline has settled.
pub(super) const NEW_COLUMN_ROUNDS: usize = 100;

/// A new pipeline, completed.
#[derive(Clone, Debug)]
pub struct NewPipeline {
    /// Its error on every dataset of the model; those handed in as they were.
    pub errors: Vec<f64>,
    /// Its code, to be put beside those of the others.
    pub code: Vec<f64>,
}

impl<T: Scalar> KernelModel<T> {
    /// Errors of every pipeline on a new dataset of which `errors` were observed on `pipelines`.
    ///
    /// `d = e_S Z_S^T (Z_S Z_S^T + alpha I)^-1`, predictions `d Z`; the paper's formula lacks the
    /// inverse. With fewer observations than atoms the |S| x |S| system is solved instead.
    pub fn predict_dataset(
        &self,
        pipelines: &[usize],
        errors: &[f64],
        alpha: f64,
    ) -> Result<Vec<f64>, SurrogateError> {
        self.check_row(pipelines, errors, alpha)?;
        let (r, k) = (self.dictionary.r, pipelines.len());
        let z = |i: usize, s: usize| self.codes[pipelines[s] * r + i].wide();
        let diagonal = |i, j| if i == j { alpha } else { 0.0 };
        let z_s = Mat::from_fn(r, k, z);
        let e_s = Mat::from_fn(k, 1, |s, _| errors[s]);
        let singular = SurrogateError::NotConverged { what: "the regression on codes" };
        let d = if k < r {
            let gram = z_s.transpose() * &z_s;
            let system = Mat::from_fn(k, k, |i, j| gram[(i, j)] + diagonal(i, j));
            &z_s * spd_solve(&system, &e_s).ok_or(singular)?
        } else {
            let gram = &z_s * z_s.transpose();
            let system = Mat::from_fn(r, r, |i, j| gram[(i, j)] + diagonal(i, j));
            spd_solve(&system, &(&z_s * &e_s)).ok_or(singular)?
        };
        let dot = |code: &[T]| code.iter().enumerate().map(|(i, z)| d[(i, 0)] * z.wide()).sum();
        Ok(self.codes.chunks(r).map(dot).collect())
    }

    fn check_row(
        &self,
        pipelines: &[usize],
        errors: &[f64],
        alpha: f64,
    ) -> Result<(), SurrogateError> {
        if pipelines.is_empty() {
            return Err(SurrogateError::Empty { what: "the set of observed pipelines" });
        }
        if !(alpha > 0.0 && alpha.is_finite()) {
            let wanted = "positive and finite";
            return Err(SurrogateError::Setting { name: "alpha", value: alpha, wanted });
        }
        check_values("the observed errors", "pipeline", pipelines, errors, self.n_pipelines())
    }

    /// Errors of a new pipeline on all datasets, of which `errors` were observed on `datasets`: the
    /// out-of-sample extension, the inner loop with the dictionary fixed, from the datasets' means.
    pub fn predict_pipeline(
        &self,
        datasets: &[usize],
        errors: &[f64],
    ) -> Result<NewPipeline, SurrogateError> {
        let (m, r) = (self.dictionary.m, self.dictionary.r);
        if datasets.is_empty() {
            return Err(SurrogateError::Empty { what: "the set of observed datasets" });
        }
        check_values("the observed errors", "dataset", datasets, errors, m)?;
        let mut column: Vec<T> = self.row_means.iter().map(|&v| T::of(v)).collect();
        let mut missing = vec![true; m];
        for (&i, &e) in datasets.iter().zip(errors) {
            column[i] = T::of(e);
            missing[i] = false;
        }
        let shared = Shared::new(&self.dictionary, self.beta)?;
        let mut work = Work::gather(&[0], &column, &missing, m, r);
        work.iterate(&self.dictionary, &shared, &Kfmc::new(r), NEW_COLUMN_ROUNDS);
        work.encode(&self.dictionary, &shared);
        let mut completed: Vec<f64> = work.x.iter().map(|v| v.wide()).collect();
        datasets.iter().zip(errors).for_each(|(&i, &e)| completed[i] = e);
        Ok(NewPipeline { errors: completed, code: work.codes.iter().map(|v| v.wide()).collect() })
    }
}

fn check_values(
    what: &'static str,
    kind: &'static str,
    at: &[usize],
    values: &[f64],
    size: usize,
) -> Result<(), SurrogateError> {
    if values.len() != at.len() {
        let (wanted, got) = (at.len(), values.len());
        return Err(SurrogateError::Size { what, wanted, got });
    }
    if let Some(&index) = at.iter().find(|&&i| i >= size) {
        return Err(SurrogateError::OutOfRange { what: kind, index, size });
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(SurrogateError::NotFinite { what, at, value: values[at] }),
        None => Ok(()),
    }
}
