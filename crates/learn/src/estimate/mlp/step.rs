//! How weights move: Adam, and Nesterov's momentum.

use pulp::{Simd, WithSimd};

use super::MlpSolver;
use super::network::Shape;

const MOMENTUM: f32 = 0.9;
const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// What a solver remembers between steps.
pub(super) struct Motion {
    solver: MlpSolver,
    alpha: f32,
    /// The rate; `Sgd` lowers it when the loss stalls.
    pub(super) rate: f64,
    n_steps: i32,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Motion {
    pub(super) fn new(solver: MlpSolver, rate: f64, alpha: f64, n_weights: usize) -> Self {
        let second = if solver == MlpSolver::Adam { n_weights } else { 0 };
        Self {
            solver,
            alpha: alpha as f32,
            rate,
            n_steps: 0,
            first: vec![0.0; n_weights],
            second: vec![0.0; second],
        }
    }

    /// One step against the gradient of the mean loss over `n_rows`; gives the sum of squares of
    /// the penalised weights after it.
    pub(super) fn step(
        &mut self,
        shape: Shape,
        weights: &mut [f32],
        gradient: &[f32],
        n_rows: usize,
    ) -> f64 {
        self.n_steps += 1;
        let biases = shape.hidden_biases();
        let mut squares = 0.0;
        for (part, is_penalised) in [
            (0..biases.start, true),
            (biases.clone(), false),
            (biases.end..shape.bias_start(), true),
            (shape.bias_start()..shape.n_weights(), false),
        ] {
            let decay = if is_penalised { self.alpha / n_rows as f32 } else { 0.0 };
            let (weights, gradient) = (&mut weights[part.clone()], &gradient[part.clone()]);
            let first = &mut self.first[part.clone()];
            let sum = match self.solver {
                MlpSolver::Adam => {
                    let t = f64::from(self.n_steps);
                    let second_correction = 1.0 - f64::from(BETA_2).powf(t);
                    let first_correction = 1.0 - f64::from(BETA_1).powf(t);
                    let rate = self.rate * second_correction.sqrt() / first_correction;
                    pulp::Arch::new().dispatch(Adam {
                        rate: rate as f32,
                        decay,
                        weights,
                        gradient,
                        first,
                        second: &mut self.second[part],
                    })
                }
                MlpSolver::Sgd => pulp::Arch::new().dispatch(Nesterov {
                    rate: self.rate as f32,
                    decay,
                    weights,
                    gradient,
                    velocity: first,
                }),
            };
            squares += if is_penalised { sum } else { 0.0 };
        }
        squares
    }
}

struct Adam<'a> {
    rate: f32,
    decay: f32,
    weights: &'a mut [f32],
    gradient: &'a [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
}

impl WithSimd for Adam<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let splat = |v: f32| simd.splat_f32s(v);
        let (decay, rate, epsilon) = (splat(self.decay), splat(self.rate), splat(EPSILON));
        let (beta_1, rest_1) = (splat(BETA_1), splat(1.0 - BETA_1));
        let (beta_2, rest_2) = (splat(BETA_2), splat(1.0 - BETA_2));
        let weights = S::as_mut_simd_f32s(self.weights).0;
        let first = S::as_mut_simd_f32s(self.first).0;
        let second = S::as_mut_simd_f32s(self.second).0;
        let gradient = S::as_simd_f32s(self.gradient).0;
        let mut squares = splat(0.0);
        for (((w, g), m), v) in weights.iter_mut().zip(gradient).zip(first).zip(second) {
            let g = simd.mul_add_e_f32s(decay, *w, *g);
            *m = simd.mul_add_e_f32s(beta_1, *m, simd.mul_f32s(rest_1, g));
            *v = simd.mul_add_e_f32s(beta_2, *v, simd.mul_f32s(rest_2, simd.mul_f32s(g, g)));
            let scale = simd.add_f32s(simd.sqrt_f32s(*v), epsilon);
            *w = simd.sub_f32s(*w, simd.div_f32s(simd.mul_f32s(rate, *m), scale));
            squares = simd.mul_add_e_f32s(*w, *w, squares);
        }
        f64::from(simd.reduce_sum_f32s(squares))
    }
}

struct Nesterov<'a> {
    rate: f32,
    decay: f32,
    weights: &'a mut [f32],
    gradient: &'a [f32],
    velocity: &'a mut [f32],
}

impl WithSimd for Nesterov<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let splat = |v: f32| simd.splat_f32s(v);
        let (decay, rate, momentum) = (splat(self.decay), splat(-self.rate), splat(MOMENTUM));
        let weights = S::as_mut_simd_f32s(self.weights).0;
        let velocity = S::as_mut_simd_f32s(self.velocity).0;
        let gradient = S::as_simd_f32s(self.gradient).0;
        let mut squares = splat(0.0);
        for ((w, g), v) in weights.iter_mut().zip(gradient).zip(velocity) {
            let step = simd.mul_f32s(rate, simd.mul_add_e_f32s(decay, *w, *g));
            *v = simd.mul_add_e_f32s(momentum, *v, step);
            *w = simd.add_f32s(*w, simd.mul_add_e_f32s(momentum, *v, step));
            squares = simd.mul_add_e_f32s(*w, *w, squares);
        }
        f64::from(simd.reduce_sum_f32s(squares))
    }
}
