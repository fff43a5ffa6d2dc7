//! Experiment design: which pipelines to run so that their errors say most about all others.
//!
//! The embedding `x` of a new dataset is estimated from errors `e_S = Y_Sᵀ x + noise`; its covariance is
//! the inverse of the information matrix `Σ y yᵀ` over the design, and a D-optimal design makes the
//! determinant of that matrix large (paper, eqs. `ED_number` and `ED_time`).

mod blocks;
mod greedy;
mod pivots;
mod random;
mod relaxation;

pub use blocks::{BlockDesign, design_blocks};
pub use greedy::{by_size, by_time, from_prior_by_time};
pub use random::random_by_time;
pub use relaxation::{Relaxed, Scalarization, relax};

use ndarray::ArrayView2;

use crate::bayes::Prior;
use crate::error::SurrogateError;
use crate::panels::Panels;

/// The latent vectors of all pipelines: the candidates of a design.
#[derive(Clone, Debug)]
pub struct DesignVectors {
    pub(crate) panels: Panels,
}

impl DesignVectors {
    /// From embeddings `y`, rank x pipelines (the paper's `Y`).
    pub fn new(y: ArrayView2<f32>) -> Result<Self, SurrogateError> {
        if y.is_empty() {
            return Err(SurrogateError::Empty { what: "design vectors" });
        }
        if let Some((at, &value)) = y.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            let value = f64::from(value);
            return Err(SurrogateError::NotFinite { what: "design vectors", at, value });
        }
        Ok(Self { panels: Panels::new(y) })
    }

    /// Each vector divided by the standard deviation `sigma` with which its pipeline is predicted
    /// (paper, Appendix C, weighted least squares).
    pub fn weighted(y: ArrayView2<f32>, sigma: &[f64]) -> Result<Self, SurrogateError> {
        if sigma.len() != y.ncols() {
            let (wanted, got) = (y.ncols(), sigma.len());
            return Err(SurrogateError::Size { what: "standard deviations", wanted, got });
        }
        check_positive("standard deviations", sigma)?;
        let scaled = ndarray::Array2::from_shape_fn(y.dim(), |(i, j)| {
            (f64::from(y[(i, j)]) / sigma[j]) as f32
        });
        Self::new(scaled.view())
    }

    /// The prior's own directions over each pipeline's noise: with them the information matrix starts at
    /// the identity, and a design shrinks the *posterior* covariance.
    pub fn of_prior(prior: &Prior) -> Result<Self, SurrogateError> {
        let sigma: Vec<f64> = prior.noise().iter().map(|v| v.sqrt()).collect();
        Self::weighted(prior.factor().view(), &sigma)
    }

    /// How many coordinates each vector has.
    pub fn rank(&self) -> usize {
        self.panels.rank()
    }

    /// How many pipelines there are.
    pub fn n_pipelines(&self) -> usize {
        self.panels.n()
    }

    fn check_secs(&self, secs: &[f64]) -> Result<(), SurrogateError> {
        if secs.len() != self.n_pipelines() {
            let (wanted, got) = (self.n_pipelines(), secs.len());
            return Err(SurrogateError::Size { what: "predicted runtimes", wanted, got });
        }
        check_positive("predicted runtimes", secs)
    }
}

/// The pipelines to run, in the order they were chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Design {
    /// Indices of the chosen pipelines.
    pub pipelines: Vec<usize>,
    /// Their predicted seconds together; their number, where times play no part.
    pub secs: f64,
}

fn check_positive(what: &'static str, values: &[f64]) -> Result<(), SurrogateError> {
    match values.iter().position(|v| !v.is_finite() || *v <= 0.0) {
        Some(at) => Err(SurrogateError::NotPositive { what, at, value: values[at] }),
        None => Ok(()),
    }
}

fn check_limit(limit_secs: f64) -> Result<(), SurrogateError> {
    if limit_secs.is_finite() && limit_secs >= 0.0 {
        return Ok(());
    }
    let (name, wanted) = ("time limit of the design", "zero seconds or more");
    Err(SurrogateError::Setting { name, value: limit_secs, wanted })
}

/// Standard deviation of what embeddings leave of each column of completed errors, datasets x pipelines; rows of `y`
/// are orthonormal (paper, Appendix C).
pub fn deviations(errors: ArrayView2<f32>, y: ArrayView2<f32>) -> Vec<f64> {
    let fitted = errors.dot(&y.t()).dot(&y);
    let m = errors.nrows().max(1) as f64;
    let of_column = |(own, fitted): (ndarray::ArrayView1<f32>, ndarray::ArrayView1<f32>)| {
        let squares = own.iter().zip(fitted).map(|(e, f)| f64::from(e - f).powi(2));
        (squares.sum::<f64>() / m).sqrt().max(LEAST_DEVIATION)
    };
    errors.columns().into_iter().zip(fitted.columns()).map(of_column).collect()
}

/// No pipeline is predicted better than this.
const LEAST_DEVIATION: f64 = 1e-6;
