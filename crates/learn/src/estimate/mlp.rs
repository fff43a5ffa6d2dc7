//! Multilayer perceptron: one hidden layer, trained by stochastic gradients.

use serde::{Deserialize, Serialize};

/// How the weights follow the gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MlpSolver {
    /// Steps scaled by running moments of the gradient.
    #[default]
    Adam,
    /// Nesterov's momentum, with a rate that falls when the loss stalls (`learning_rate="adaptive"`).
    Sgd,
}

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

impl Default for Mlp {
    fn default() -> Self {
        Self { learning_rate_init: 1e-3, solver: MlpSolver::Adam, alpha: 1e-4 }
    }
}
