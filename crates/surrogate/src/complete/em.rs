//! Expectation-maximisation: the loop that matrix and Tucker completion share.

use super::refill::{Filled, Measured};
use crate::{PartialTensor, Scalar, SurrogateError};

/// How to fit, and when to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmOptions {
    /// How strongly components that hardly rise above the noise are shrunk. A component of energy
    /// `e` that `k` observed entries of noise variance `v` would have by chance keeps the share
    /// `1 - shrinkage * k * v / e` of its size. 0 is the plain projection of the paper, whose rank must then
    /// be kept low and which overfits the further it converges.
    pub shrinkage: f64,
    /// Without shrinkage: stop when the residual norm on observed entries decreases by less than
    /// this share of itself (the paper's rule).
    pub tolerance: f64,
    /// With shrinkage: stop when predictions of missing entries move by less than this share of the
    /// noise, root mean square, in a round.
    pub settled: f64,
    /// Stop after this many rounds.
    pub max_rounds: usize,
}

impl EmOptions {
    /// The paper's algorithm: plain projections until the residual decreases by less than 0.01 %.
    pub fn plain() -> Self {
        Self { shrinkage: 0.0, tolerance: 1e-4, settled: 0.02, max_rounds: 1000 }
    }

    /// Shrunk projections with momentum, which lose less at any rank and settle sooner.
    pub fn shrunk() -> Self {
        Self { shrinkage: 0.8, ..Self::plain() }
    }

    pub(super) fn check(&self) -> Result<(), SurrogateError> {
        let within = |name, value: f64, fine: bool, wanted| {
            if fine { Ok(()) } else { Err(SurrogateError::Setting { name, value, wanted }) }
        };
        let below_one = |v: f64| (0.0..1.0).contains(&v);
        let (strength, rounds) = (self.shrinkage, self.max_rounds);
        let positive = strength >= 0.0 && strength.is_finite();
        within("shrinkage", strength, positive, "at least 0 and finite")?;
        within("tolerance", self.tolerance, below_one(self.tolerance), "at least 0 and below 1")?;
        within("settled", self.settled, below_one(self.settled), "at least 0 and below 1")?;
        within("max_rounds", rounds as f64, rounds > 0, "positive")
    }
}

/// Rounds without which convergence is not believed.
const MIN_ROUNDS: usize = 3;

/// How a completion went.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Residual norm on the observed entries after each round. Without shrinkage it never
    /// increases; with shrinkage the variance of the noise is part of what is estimated, and it may.
    pub residuals: Vec<f64>,
}

/// The maximisation step of a low-rank model, and the refilling with its prediction.
pub(super) trait Model<T> {
    /// Fits the model to the filled matrix, shrinking by `shrinkage`.
    fn fit(&mut self, values: &[T], shrinkage: Shrinkage) -> Result<(), SurrogateError>;

    /// Refills the missing entries.
    fn refill(&mut self, filled: &mut Filled<'_, T>, momentum: f64) -> Measured;

    /// The number of parameters of the last fit, shrunk ones counted by the share they keep.
    fn degrees_of_freedom(&self) -> f64;
}

/// What noise adds to the energy of a component, per column it was seen in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shrinkage(f64);

impl Shrinkage {
    #[cfg(test)]
    pub(super) fn of_noise(noise: f64) -> Self {
        Self(noise)
    }

    /// The share that a component of the given energy keeps, when noise from `columns` is in it.
    pub(super) fn kept(self, energy: f64, columns: usize) -> f64 {
        if self.0 == 0.0 {
            return 1.0;
        }
        if energy > 0.0 { (1.0 - self.0 * columns as f64 / energy).max(0.0) } else { 0.0 }
    }
}

/// Alternates fitting and refilling until nothing moves.
pub(super) fn run<T: Scalar>(
    observed: &PartialTensor<T>,
    start: Vec<T>,
    model: &mut impl Model<T>,
    options: &EmOptions,
) -> Result<(Vec<T>, Progress), SurrogateError> {
    let shrinks = options.shrinkage > 0.0;
    let (seen, all) = (observed.n_observed() as f64, observed.values().len() as f64);
    let mut filled = Filled::new(observed, start, shrinks);
    let mut residuals: Vec<f64> = Vec::new();
    let mut speed = 1.0_f64; // Nesterov's t
    let mut noise = 0.0;
    while residuals.len() < options.max_rounds {
        // Only observed entries bring noise with them, hence their share of all.
        model.fit(&filled.values, Shrinkage(options.shrinkage * noise * seen / all))?;
        let next = 0.5 * (1.0 + (1.0 + 4.0 * speed * speed).sqrt());
        let momentum = if shrinks && !residuals.is_empty() { (speed - 1.0) / next } else { 0.0 };
        let measured = model.refill(&mut filled, momentum);
        let free = (seen - model.degrees_of_freedom()).max(0.1 * seen);
        noise = measured.residual / free;
        // Momentum that works against the descent is dropped (O'Donoghue and Candes).
        speed = if measured.turning > 0.0 && !residuals.is_empty() { 1.0 } else { next };
        let residual = measured.residual.sqrt();
        let last = residuals.last().copied().unwrap_or(f64::INFINITY);
        if !shrinks && residual > last {
            break; // within rounding of the fixed point
        }
        residuals.push(residual);
        let settled = if shrinks {
            (measured.moved / (all - seen).max(1.0)).sqrt()
                <= options.settled * (measured.residual / seen).sqrt()
        } else {
            last - residual < options.tolerance * last
        };
        if residuals.len() >= MIN_ROUNDS && settled {
            break;
        }
    }
    Ok((filled.finish(), Progress { residuals }))
}
