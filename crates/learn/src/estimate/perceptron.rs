//! The perceptron: one-vs-rest, every misclassified row is added to the weights or taken from them.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::scikit_learn::{PythonHelper, PythonScript};
use crate::{Character, Estimator, FamilyCost, Features, FitContext, FitError, ModelSize};

use super::linear::calibrated::FittedMargins;
use super::linear::lanes::{Kernel, Lanes, Quad, axpy, dispatch, dot, touch};
use super::linear::n_problems;
use super::linear::rows::Rows;
use super::linear::shuffle::shuffle;

/// Hyperparameters: none are searched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Perceptron {}

settings!(Perceptron {});

/// scikit-learn's defaults.
const MAX_EPOCHS: usize = 1000;
const TOLERANCE: f64 = 1e-3;
const PATIENCE: usize = 5;

/// How many rows ahead are fetched.
const AHEAD: usize = 3;

/// Numbers read between two looks at the clock: about a millisecond.
const SLICE: usize = 1 << 20;

impl Estimator for Perceptron {
    type Fitted = FittedMargins;

    const NAME: &'static str = "perceptron";

    const CHARACTER: Character = Character {
        refuses_one_class: true,
        reads_rows: false,
        takes_gaps: false,
        models: ModelSize::Modest,
        fits_each_class: true,
        family: FamilyCost::Alone,
    };

    fn check(&self) -> Result<(), FitError> {
        Ok(())
    }

    fn rough_cost(&self, _: usize) -> f64 {
        0.5
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        script.help(PythonHelper::SoftDecisions);
        let (class, seed) = (script.import("sklearn.linear_model", "Perceptron"), script.seed());
        format!("SoftDecisions({class}(random_state={seed}))")
    }

    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<FittedMargins, FitError> {
        let rows = Rows::raw(x, true, ctx, Self::NAME)?;
        let weights = train(&rows, y, ctx)?;
        let output = |w: &[Quad]| w.as_flattened()[..rows.d].to_vec();
        let solutions = weights.chunks_exact(rows.stride).map(output).collect();
        FittedMargins::new(Self::NAME, solutions, &rows, x, y)
    }
}

/// The progress of one class's problem.
struct Progress {
    problem: usize,
    best_loss: f64,
    epochs_without: usize,
}

/// Epochs over shuffled rows. The classes see the rows in one order, so each row is read once for all
/// of them, and the arithmetic of one class fills the waits of another; each stops by itself.
fn train(rows: &Rows, y: &Labels, ctx: &FitContext) -> Result<Vec<Quad>, FitError> {
    let n_problems = n_problems(y.n_classes());
    let mut weights = vec![[0.0; 4]; n_problems * rows.stride];
    let start = |problem| Progress { problem, best_loss: f64::INFINITY, epochs_without: 0 };
    let mut active: Vec<Progress> = (0..n_problems).map(start).collect();
    let mut order: Vec<u32> = (0..rows.n as u32).collect();
    let mut rng = ctx.stream().named(Perceptron::NAME).rng();
    for _ in 0..MAX_EPOCHS {
        shuffle(&mut order, &mut rng);
        let problems: Vec<usize> = active.iter().map(|a| a.problem).collect();
        let mut losses = vec![0.0; problems.len()];
        let slice = (SLICE / (rows.stride * 4 * problems.len())).max(16);
        for order in order.chunks(slice) {
            ctx.check_deadline()?;
            let (weights, losses) = (&mut weights[..], &mut losses[..]);
            dispatch(Steps { rows, order, y, problems: &problems, weights, losses });
        }
        let enough = TOLERANCE * rows.n as f64;
        for (progress, loss) in active.iter_mut().zip(losses) {
            if !loss.is_finite() {
                return Err(FitError::NotFinite { component: Perceptron::NAME });
            }
            let improved = loss <= progress.best_loss - enough;
            progress.epochs_without = if improved { 0 } else { progress.epochs_without + 1 };
            progress.best_loss = progress.best_loss.min(loss);
        }
        active.retain(|progress| progress.epochs_without < PATIENCE);
        if active.is_empty() {
            break;
        }
    }
    Ok(weights)
}

/// Some rows, in order, for the problems still running.
struct Steps<'a> {
    rows: &'a Rows,
    order: &'a [u32],
    y: &'a Labels,
    problems: &'a [usize],
    weights: &'a mut [Quad],
    losses: &'a mut [f64],
}

impl Kernel for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let stride = self.rows.stride;
        let two_classes = self.y.n_classes() == 2;
        // A matrix that fits the nearer caches needs no fetching.
        let is_far = size_of_val(&self.rows.data[..]) > 1 << 19;
        for (t, &i) in self.order.iter().enumerate() {
            if is_far {
                touch(self.rows.row(self.order[(t + AHEAD).min(self.order.len() - 1)] as usize));
            }
            let row = self.rows.row(i as usize);
            let code = self.y.codes()[i as usize] as usize;
            for (&k, loss) in self.problems.iter().zip(self.losses.iter_mut()) {
                let positive = if two_classes { code == 1 } else { code == k };
                let target = if positive { 1.0 } else { -1.0 };
                let weights = &mut self.weights[k * stride..(k + 1) * stride];
                let margin = target * dot(l, row, weights);
                // On the boundary is wrong, too: else zero weights would never move. NaN must reach
                // the loss, where it is seen.
                if margin <= 0.0 || margin.is_nan() {
                    *loss -= margin;
                    axpy(l, target, row, weights);
                }
            }
        }
    }
}
