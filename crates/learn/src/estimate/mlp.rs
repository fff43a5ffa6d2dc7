//! Multilayer perceptron: one hidden layer of rectified units, trained by stochastic gradients.
//!
//! Single precision throughout: it costs no accuracy that ten seeds can show
//! (docs/decisions/0024-multilayer-perceptron.md).

mod kernel;
mod network;
mod step;

use pitchpipe_table::Labels;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::component::above_zero;
use crate::scikit_learn::PythonScript;
use crate::{
    Character, Classifier, Estimator, FamilyCost, Features, FitContext, FitError, ModelSize,
    Prediction, Probabilities,
};
use network::{Backward, Forward, HIDDEN, Scratch, Shape};
use step::Motion;

/// Rows of a mini-batch.
const BATCH: usize = 200;
/// The most passes over the training rows.
const MAX_EPOCHS: usize = 200;
/// A pass that lowers the loss by less than this has not improved it.
const TOLERANCE: f64 = 1e-4;
/// Passes without improvement before the solver stops or lowers its rate.
const PATIENCE: usize = 10;
/// SGD's rate is divided by this when the loss stalls, until it is below the least.
const RATE_DIVISOR: f64 = 5.0;
const LEAST_RATE: f64 = 1e-6;
/// Larger inputs would overflow single precision within a step.
const LARGEST_INPUT: f64 = 1e15;

/// How the weights follow the gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MlpSolver {
    /// Steps scaled by running moments of the gradient.
    #[default]
    Adam,
    /// Nesterov's momentum, with a rate that falls when the loss stalls (`learning_rate="adaptive"`).
    Sgd,
}

words!(MlpSolver { Adam => "adam", Sgd => "sgd" });

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mlp {
    /// The first step size.
    pub learning_rate_init: f64,
    /// How the weights follow the gradient.
    pub solver: MlpSolver,
    /// The weight of the L2 penalty.
    pub alpha: f64,
}

settings!(Mlp { learning_rate_init, solver, alpha });

impl Default for Mlp {
    fn default() -> Self {
        Self { learning_rate_init: 1e-3, solver: MlpSolver::Adam, alpha: 1e-4 }
    }
}

/// Only [`Mlp::fit`] makes one, so it can always predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedMlp {
    n_cols: usize,
    n_classes: usize,
    /// For each input, and last for the constant 1, the weight into each hidden unit.
    into: Vec<f32>,
    /// For each output the weight from each hidden unit.
    out_of: Vec<f32>,
    biases: Vec<f32>,
}

impl Estimator for Mlp {
    type Fitted = FittedMlp;
    const NAME: &'static str = "mlp";

    const CHARACTER: Character = Character {
        refuses_one_class: false,
        reads_rows: true,
        takes_gaps: false,
        models: ModelSize::Modest,
        fits_each_class: true,
        family: FamilyCost::Alone,
    };

    fn check(&self) -> Result<(), FitError> {
        if self.alpha != 0.0 && !(self.alpha.is_finite() && self.alpha > 0.0) {
            let (component, setting, value) = (Self::NAME, "alpha", self.alpha);
            let wanted = "zero or more";
            return Err(FitError::Setting { component, setting, value, wanted });
        }
        above_zero::<Self>("learning_rate_init", self.learning_rate_init)
    }

    fn rough_cost(&self, _: usize) -> f64 {
        250.0 - self.learning_rate_init
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        let class = script.import("sklearn.neural_network", "MLPClassifier");
        let (Self { learning_rate_init, solver, alpha }, seed) = (self, script.seed());
        format!(
            "{class}(learning_rate_init={learning_rate_init:?}, learning_rate=\"adaptive\", \
             solver=\"{solver}\", alpha={alpha:?}, random_state={seed})"
        )
    }

    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<FittedMlp, FitError> {
        let shape = Shape::of(x.n_cols(), y.n_classes());
        let bytes = 4 * (x.n_rows() + BATCH) * shape.inputs + 16 * shape.n_weights();
        ctx.check_memory(Self::NAME, bytes as u64)?;
        if x.columns().iter().any(|v| v.abs() > LARGEST_INPUT) {
            return Err(FitError::NotFinite { component: Self::NAME });
        }
        let stream = ctx.stream().named(Self::NAME);
        let mut weights = glorot(shape, &mut stream.named("weights").rng());
        let mut batches = Batches::new(x, y, stream.named("order").rng());
        let mut motion =
            Motion::new(self.solver, self.learning_rate_init, self.alpha, shape.n_weights());
        let mut gradient = vec![0.0; shape.n_weights()];
        let mut scratch = Scratch::new(shape);
        let mut squares = penalised_squares(shape, &weights);
        let (mut best, mut stalled) = (f64::INFINITY, 0);
        for _ in 0..MAX_EPOCHS {
            batches.shuffle();
            let mut loss = 0.0;
            while let Some((rows, classes)) = batches.next() {
                ctx.check_deadline()?;
                let (weights, gradient) = (&mut weights, &mut gradient);
                loss += 0.5 * self.alpha * squares;
                loss += pulp::Arch::new().dispatch(Backward {
                    shape,
                    weights,
                    rows,
                    classes,
                    gradient,
                    scratch: &mut scratch,
                });
                squares = motion.step(shape, weights, gradient, classes.len());
            }
            let loss = loss / x.n_rows() as f64;
            if !loss.is_finite() || !squares.is_finite() {
                return Err(FitError::NotFinite { component: Self::NAME });
            }
            stalled = if loss > best - TOLERANCE { stalled + 1 } else { 0 };
            best = best.min(loss);
            if stalled > PATIENCE {
                if self.solver == MlpSolver::Adam || motion.rate <= LEAST_RATE {
                    break;
                }
                motion.rate /= RATE_DIVISOR;
                stalled = 0;
            }
        }
        Ok(FittedMlp::unpadded(x.n_cols(), y.n_classes(), shape, &weights))
    }
}

/// Uniform weights and biases within Glorot's bounds.
fn glorot(shape: Shape, rng: &mut impl rand::Rng) -> Vec<f32> {
    let mut weights = vec![0.0; shape.n_weights()];
    let mut fill = |part: &mut [f32], fan: usize| {
        let bound = (6.0 / fan as f64).sqrt();
        part.iter_mut().for_each(|w| *w = (bound * (2.0 * rng.random::<f64>() - 1.0)) as f32);
    };
    let (fan_in, fan_out) = (shape.inputs - 1 + HIDDEN, HIDDEN + shape.outputs);
    let (into, rest) = weights.split_at_mut(shape.output_start());
    into.chunks_exact_mut(shape.hidden_width).for_each(|row| fill(&mut row[..HIDDEN], fan_in));
    let (out_of, biases) = rest.split_at_mut(shape.outputs * shape.hidden_width);
    out_of.chunks_exact_mut(shape.hidden_width).for_each(|row| fill(&mut row[..HIDDEN], fan_out));
    fill(&mut biases[..shape.outputs], fan_out);
    weights
}

fn penalised_squares(shape: Shape, weights: &[f32]) -> f64 {
    let square = |w: &f32| f64::from(*w) * f64::from(*w);
    let (into, biases) = (&weights[..shape.hidden_biases().start], shape.hidden_biases().end);
    let out_of = &weights[biases..shape.bias_start()];
    into.iter().chain(out_of).map(square).sum()
}

/// The training rows in single precision, handed out in shuffled batches.
struct Batches<'a, R> {
    inputs: usize,
    rows: Vec<f32>,
    classes: &'a [u32],
    order: Vec<u32>,
    at: usize,
    batch_rows: Vec<f32>,
    batch_classes: Vec<u32>,
    rng: R,
}

impl<'a, R: rand::Rng> Batches<'a, R> {
    fn new(x: &Features, y: &'a Labels, rng: R) -> Self {
        let inputs = x.n_cols() + 1;
        let rows = single_precision(x, 0..x.n_rows());
        let order = (0..x.n_rows() as u32).collect();
        let size = BATCH.min(x.n_rows());
        let batch_rows = Vec::with_capacity(size * inputs);
        let batch_classes = Vec::with_capacity(size);
        Self { inputs, rows, classes: y.codes(), order, at: 0, batch_rows, batch_classes, rng }
    }

    /// Starts a pass in a new order.
    fn shuffle(&mut self) {
        for i in (1..self.order.len()).rev() {
            // A product instead of a division: its bias is below 2^-32.
            let j = (u64::from(self.rng.next_u32()) * (i as u64 + 1)) >> 32;
            self.order.swap(i, j as usize);
        }
        self.at = 0;
    }

    /// The next rows of this pass and their classes.
    fn next(&mut self) -> Option<(&[f32], &[u32])> {
        let end = (self.at + BATCH).min(self.order.len());
        let rows = &self.order[self.at..end];
        if rows.is_empty() {
            return None;
        }
        self.at = end;
        self.batch_rows.clear();
        self.batch_classes.clear();
        for &row in rows {
            let row = row as usize;
            let values = &self.rows[row * self.inputs..(row + 1) * self.inputs];
            self.batch_rows.extend_from_slice(values);
            self.batch_classes.push(self.classes[row]);
        }
        Some((&self.batch_rows, &self.batch_classes))
    }
}

/// Rows in single precision, each followed by 1.
fn single_precision(x: &Features, rows: std::ops::Range<usize>) -> Vec<f32> {
    let mut values = Vec::with_capacity(rows.len() * (x.n_cols() + 1));
    for i in rows {
        let single = |v: &f64| v.clamp(-LARGEST_INPUT, LARGEST_INPUT) as f32;
        values.extend(x.row(i).iter().map(single));
        values.push(1.0);
    }
    values
}

impl FittedMlp {
    fn unpadded(n_cols: usize, n_classes: usize, shape: Shape, weights: &[f32]) -> Self {
        let units = |part: &[f32]| {
            let rows = part.chunks_exact(shape.hidden_width);
            rows.flat_map(|row| row[..HIDDEN].iter().copied()).collect()
        };
        Self {
            n_cols,
            n_classes,
            into: units(&weights[..shape.output_start()]),
            out_of: units(&weights[shape.output_start()..shape.bias_start()]),
            biases: weights[shape.bias_start()..][..shape.outputs].to_vec(),
        }
    }

    fn padded(&self, shape: Shape) -> Vec<f32> {
        let mut weights = vec![0.0; shape.n_weights()];
        let units = self.into.chunks_exact(HIDDEN).chain(self.out_of.chunks_exact(HIDDEN));
        for (to, from) in weights.chunks_exact_mut(shape.hidden_width).zip(units) {
            to[..HIDDEN].copy_from_slice(from);
        }
        weights[shape.bias_start()..][..shape.outputs].copy_from_slice(&self.biases);
        weights
    }
}

impl Classifier for FittedMlp {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn is_sound(&self, n_cols: usize) -> bool {
        let outputs = if self.n_classes == 2 { 1 } else { self.n_classes };
        self.n_cols == n_cols
            && (n_cols + 1).checked_mul(HIDDEN) == Some(self.into.len())
            && outputs.checked_mul(HIDDEN) == Some(self.out_of.len())
            && self.biases.len() == outputs
    }

    /// Numbers beyond 1e15 count as 1e15.
    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        let shape = Shape::of(self.n_cols, self.n_classes);
        ctx.check_memory(Mlp::NAME, (8 * x.n_rows() * self.n_classes) as u64)?;
        let weights = self.padded(shape);
        let mut scratch = Scratch::new(shape);
        let mut out = Vec::with_capacity(x.n_rows() * self.n_classes);
        for first in (0..x.n_rows()).step_by(BATCH) {
            ctx.check_deadline()?;
            let rows = single_precision(x, first..(first + BATCH).min(x.n_rows()));
            pulp::Arch::new().dispatch(Forward {
                shape,
                weights: &weights,
                rows: &rows,
                out: &mut out,
                scratch: &mut scratch,
            });
        }
        if out.iter().any(|p| !p.is_finite()) {
            return Err(FitError::NotFinite { component: Mlp::NAME });
        }
        Ok(Prediction::most_probable(Probabilities::from_rows(self.n_classes, out)))
    }
}

#[cfg(test)]
mod tests;
