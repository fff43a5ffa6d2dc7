//! L1-regularised logistic regression by proximal Newton steps: the optimum that liblinear's
//! coordinate descent (newGLMNET) stops near.
//!
//! Minimises `|w|_1 + c * sum log(1 + exp(-y w·x))` with the constant among the features. Each step
//! minimises the quadratic model plus the penalty by coordinate descent, as newGLMNET does; but the
//! Hessian of the columns in play is formed once per step, so a cycle over the coordinates costs the
//! square of their number instead of a pass over the rows.

use faer::Mat;

use crate::{FitContext, FitError};

use super::gram::{weighted_gram, weighted_gram_of};
use super::lanes::{Kernel, Lanes, Quad, WIDTH, axpy, dispatch};
use super::loss::{self, Logistic, Point};
use super::rows::Rows;

/// As the library.
const MAX_ITERATIONS: usize = 100;

/// A step that promises less than this share of the objective is the last one.
const LAST_PROMISE: f64 = 1e-11;

/// Columns up to which the Gram matrix at zero is made for all problems.
const MAX_SHARED: usize = 320;

/// Columns a step may move: those beyond the largest violations wait for a later one.
const MAX_WORKING: usize = 1500;

/// Cycles of coordinate descent in one step.
const MAX_CYCLES: usize = 1000;

/// What all problems on one matrix share.
pub(crate) struct Shared {
    rows: Rows,
    /// `1 / scale`.
    penalty: Vec<f64>,
    /// `X'X`, lower triangle. Empty if unused.
    gram: Mat<f64>,
}

impl Shared {
    /// Takes rows with scaled columns.
    pub(crate) fn new(rows: Rows, ctx: &FitContext) -> Result<Self, FitError> {
        let penalty = rows.scale.iter().map(|s| 1.0 / s).collect();
        let gram = if rows.d <= MAX_SHARED {
            let ones = vec![[1.0; WIDTH]; rows.n_padded() / WIDTH];
            weighted_gram(&rows, &ones, ctx)?
        } else {
            Mat::new()
        };
        Ok(Self { rows, penalty, gram })
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The minimiser for targets of ±1 (0: no row), in the units of the original columns.
    pub(crate) fn solve(&self, y: &[Quad], c: f64, ctx: &FitContext) -> Result<Vec<f64>, FitError> {
        let mut at = loss::evaluate::<Logistic>(&self.rows, self.rows.zeros(), y, c, ctx)?;
        let mut objective = at.loss;
        for iteration in 0..MAX_ITERATIONS {
            let working = self.working_set(&at);
            if working.is_empty() {
                break;
            }
            let hessian = self.hessian(&at, &working, (iteration == 0).then_some(c), ctx)?;
            let (step, promise) = self.step(&at, &working, &hessian, objective, ctx)?;
            if promise.is_nan() || promise <= 0.0 {
                break;
            }
            let search = self.line_search(&at, objective, &working, &step, promise, y, c, ctx)?;
            let Some((next, next_objective)) = search else { break };
            let done = promise <= LAST_PROMISE * objective.min(1.0);
            (at, objective) = (next, next_objective);
            if done {
                break;
            }
        }
        let v = at.v.as_flattened();
        Ok(self.rows.scale.iter().zip(v).map(|(s, v)| v / s).collect())
    }

    /// The columns with a weight, or about to get one.
    fn working_set(&self, at: &Point) -> Vec<usize> {
        let (v, gradient) = (at.v.as_flattened(), at.gradient.as_flattened());
        let is_in_play = |&j: &usize| v[j] != 0.0 || gradient[j].abs() > 0.9 * self.penalty[j];
        let mut working: Vec<usize> = (0..self.rows.d).filter(is_in_play).collect();
        if working.len() > MAX_WORKING {
            let violation = |j: usize| {
                let slack = if v[j] == 0.0 {
                    gradient[j].abs() - self.penalty[j]
                } else {
                    (gradient[j] + self.penalty[j].copysign(v[j])).abs()
                };
                slack / self.penalty[j]
            };
            working.sort_by(|&a, &b| violation(b).total_cmp(&violation(a)).then(a.cmp(&b)));
            working.truncate(MAX_WORKING);
            working.sort_unstable();
        }
        working
    }

    /// The Hessian of the working columns, full and padded; at zero it is a part of the Gram matrix.
    fn hessian(
        &self,
        at: &Point,
        working: &[usize],
        c_at_zero: Option<f64>,
        ctx: &FitContext,
    ) -> Result<Vec<Quad>, FitError> {
        let m = working.len();
        let lower = match c_at_zero {
            Some(c) if self.rows.d <= MAX_SHARED => Mat::from_fn(m, m, |a, b| match a >= b {
                true => 0.25 * c * self.gram[(working[a], working[b])],
                false => 0.0,
            }),
            _ => weighted_gram_of(&self.rows, &at.curvature, working, ctx)?,
        };
        let stride = m.div_ceil(WIDTH);
        let mut full = vec![[0.0; WIDTH]; m * stride];
        for a in 0..m {
            for b in 0..=a {
                full[a * stride + b / WIDTH][b % WIDTH] = lower[(a, b)];
                full[b * stride + a / WIDTH][a % WIDTH] = lower[(a, b)];
            }
        }
        Ok(full)
    }

    /// The minimiser of the quadratic model plus the penalty, and by how much it promises to lower the
    /// objective.
    fn step(
        &self,
        at: &Point,
        working: &[usize],
        hessian: &[Quad],
        objective: f64,
        ctx: &FitContext,
    ) -> Result<(Vec<f64>, f64), FitError> {
        let pick = |from: &[f64]| working.iter().map(|&j| from[j]).collect::<Vec<f64>>();
        let (v, gradient) = (pick(at.v.as_flattened()), pick(at.gradient.as_flattened()));
        let penalty = pick(&self.penalty);
        let mut model = Model {
            v: &v,
            gradient: &gradient,
            penalty: &penalty,
            hessian,
            step: vec![0.0; working.len()],
            // Hessian times step.
            slope: vec![[0.0; WIDTH]; working.len().div_ceil(WIDTH)],
        };
        let all: Vec<usize> = (0..working.len()).collect();
        let mut first = 0.0;
        let mut cycle = 0;
        while cycle < MAX_CYCLES {
            // A cycle over all, then cycles over those that have a weight until they rest.
            let moved = dispatch(Cycle { model: &mut model, over: &all });
            cycle += 1;
            if cycle == 1 {
                first = moved;
            }
            let enough = (1e-10 * first).max(1e-15 * objective);
            if moved <= enough {
                break;
            }
            let nonzero: Vec<usize> =
                all.iter().copied().filter(|&a| v[a] + model.step[a] != 0.0).collect();
            while cycle < MAX_CYCLES {
                ctx.check_deadline()?;
                cycle += 1;
                if dispatch(Cycle { model: &mut model, over: &nonzero }) <= 0.1 * enough {
                    break;
                }
            }
        }
        let promise = (0..working.len())
            .map(|a| {
                let step = model.step[a];
                penalty[a] * (v[a].abs() - (v[a] + step).abs()) - gradient[a] * step
            })
            .sum();
        Ok((model.step, promise))
    }

    /// The longest of the steps 1, 1/2, 1/4, … that lowers the objective enough, if any does.
    fn line_search(
        &self,
        at: &Point,
        objective: f64,
        working: &[usize],
        step: &[f64],
        promise: f64,
        y: &[Quad],
        c: f64,
        ctx: &FitContext,
    ) -> Result<Option<(Point, f64)>, FitError> {
        let mut length = 1.0;
        for _ in 0..40 {
            let mut v = at.v.clone();
            for (&j, s) in working.iter().zip(step) {
                v.as_flattened_mut()[j] += length * s;
            }
            let next = loss::evaluate::<Logistic>(&self.rows, v, y, c, ctx)?;
            let v = next.v.as_flattened();
            let penalty: f64 = self.penalty.iter().zip(v).map(|(p, v)| p * v.abs()).sum();
            let next_objective = next.loss + penalty;
            // The last term forgives rounding where the objective has stopped changing.
            if next_objective <= objective - 1e-4 * length * promise + 1e-14 * objective {
                return Ok(Some((next, next_objective)));
            }
            length *= 0.5;
        }
        Ok(None)
    }
}

/// The quadratic model of the loss around `v`, with the penalty.
struct Model<'a> {
    v: &'a [f64],
    gradient: &'a [f64],
    penalty: &'a [f64],
    hessian: &'a [Quad],
    step: Vec<f64>,
    slope: Vec<Quad>,
}

/// One cycle of coordinate descent; returns the sum of the coordinates' improvements, times two.
struct Cycle<'a, 'b> {
    model: &'a mut Model<'b>,
    over: &'a [usize],
}

impl Kernel for Cycle<'_, '_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> f64 {
        let model = self.model;
        let stride = model.slope.len();
        let mut moved = 0.0;
        for &a in self.over {
            let row = &model.hessian[a * stride..(a + 1) * stride];
            // The addition keeps columns without curvature from dividing by zero, as in the library.
            let curvature = row[a / WIDTH][a % WIDTH] + 1e-12;
            let slope = model.gradient[a] + model.slope[a / WIDTH][a % WIDTH];
            let weight = model.v[a] + model.step[a];
            let free = weight - slope / curvature;
            let threshold = model.penalty[a] / curvature;
            let next = free - free.clamp(-threshold, threshold);
            let change = next - weight;
            if change != 0.0 {
                // From the step and not from the weight: zero must stay exactly zero.
                model.step[a] = if next == 0.0 { -model.v[a] } else { model.step[a] + change };
                axpy(l, change, row, &mut model.slope);
                moved += curvature * change * change;
            }
        }
        moved
    }
}
