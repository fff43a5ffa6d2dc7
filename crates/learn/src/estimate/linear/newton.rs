//! L2-regularised logistic regression by Newton's method: the optimum liblinear's trust-region solver
//! stops near.
//!
//! Minimises `|w|^2 / 2 + c * sum log(1 + exp(-y w·x))` with the constant among the features. Up to
//! [`MAX_DIRECT`] columns the Hessian is formed and factorised; beyond, each step is found by conjugate
//! gradients. Columns are scaled to at most 1, so the penalty on `v = scale * w` is `1 / scale^2`.

use std::marker::PhantomData;
use std::sync::Arc;

use faer::Mat;

use crate::{FitContext, FitError};

use super::gram::{Factor, weighted_gram};
use super::lanes::{Kernel, Lanes, Quad, WIDTH, dispatch, sum};
use super::loss::{self, Loss, Point, add_four, flat_dot, four_dots, slices};
use super::rows::Rows;

/// Columns up to which the Hessian is formed: its cost grows with the square of the columns, that of a
/// conjugate-gradient step linearly.
const MAX_DIRECT: usize = 640;

/// As the library.
const MAX_ITERATIONS: usize = 100;

/// The squared Newton decrement, in shares of the objective (of 1 if that is less), that ends the
/// iterations once it is to be expected of the step to come: the objective is then within half of that
/// of its minimum.
const LAST_DECREMENT: f64 = 1e-13;

/// What all problems on one matrix share.
pub(crate) struct Shared {
    rows: Arc<Rows>,
    /// `1 / scale^2`.
    ridge: Vec<f64>,
    /// `X'X`, lower triangle: the Hessian of every problem at zero, but for factors. Empty if unused.
    gram: Mat<f64>,
}

impl Shared {
    /// Takes rows with scaled columns.
    pub(crate) fn new(rows: Arc<Rows>, ctx: &FitContext) -> Result<Self, FitError> {
        let ridge = rows.scale.iter().map(|s| (1.0 / s) * (1.0 / s)).collect();
        let gram = if rows.d <= MAX_DIRECT {
            let ones = vec![[1.0; WIDTH]; rows.n_padded() / WIDTH];
            weighted_gram(&rows, &ones, ctx)?
        } else {
            Mat::new()
        };
        Ok(Self { rows, ridge, gram })
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The minimiser for targets of ±1 (0: no row), in the units of the original columns.
    pub(crate) fn solve<F: Loss>(
        &self,
        y: &[Quad],
        c: f64,
        ctx: &FitContext,
    ) -> Result<Vec<f64>, FitError> {
        let mut place = self.evaluate::<F>(self.rows.zeros(), y, c, ctx)?;
        let mut factor: Option<Factor> = None;
        let mut before = f64::INFINITY;
        for iteration in 0..MAX_ITERATIONS {
            let mut direction = if self.rows.d <= MAX_DIRECT {
                let at_zero = (iteration == 0).then_some(F::CURVATURE_AT_ZERO * c);
                let factor = match &mut factor {
                    Some(factor) => factor,
                    none => none.insert(self.factorise(&place.at, at_zero, ctx)?),
                };
                self.direct_step(&place.at, factor)
            } else {
                self.conjugate_gradients(&place, ctx)?
            };
            // Squared Newton decrement; also the slope of the line search, negated.
            let mut decrement = -flat_dot(&place.at.gradient, &direction);
            if decrement.is_nan() || decrement <= 0.0 {
                break;
            }
            if decrement > 1e-2 * place.objective {
                let length = self.stretch::<F>(&place.at, &direction, y, c, ctx)?;
                direction.as_flattened_mut().iter_mut().for_each(|d| *d *= length);
                decrement *= length;
            }
            let Some(next) = self.line_search::<F>(&place, &direction, decrement, y, c, ctx)?
            else {
                break;
            };
            // The step to come should shrink the decrement at least as well as this one did.
            let shrinks_by = if before.is_finite() { decrement / before } else { 1.0 };
            let scale = place.objective.min(1.0);
            place = next;
            if decrement * shrinks_by.min(1.0) <= LAST_DECREMENT * scale {
                break;
            }
            // Close to the optimum the Hessian hardly changes: an old one costs a little speed, a
            // new one a lot of time.
            let keep = decrement <= 1e-3 * place.objective
                && (shrinks_by <= 0.03 || before > 1e-3 * place.objective);
            if !keep {
                factor = None;
            }
            before = decrement;
        }
        let v = place.at.v.as_flattened();
        Ok(self.rows.scale.iter().zip(v).map(|(s, v)| v / s).collect())
    }

    /// How far to go along a step far from the optimum: the minimum along its line, roughly.
    ///
    /// The logistic loss curves less and less away from zero, so Newton's steps are too short there by
    /// factors; looking along a line needs no pass over the matrix but one for the products.
    fn stretch<F: Loss>(
        &self,
        at: &Point,
        direction: &[Quad],
        y: &[Quad],
        c: f64,
        ctx: &FitContext,
    ) -> Result<f64, FitError> {
        let mut products = vec![[0.0; WIDTH]; y.len()];
        for (start, end) in slices(&self.rows) {
            ctx.check_deadline()?;
            let rows = &self.rows.data[start * self.rows.stride..end * self.rows.stride];
            let out = &mut products[start / WIDTH..end / WIDTH];
            dispatch(Products { rows, v: direction, out });
        }
        // Slope and curvature of the penalty.
        let (mut slope, mut curvature) = (0.0, 0.0);
        for j in 0..self.rows.d {
            let (v, d) = (at.v.as_flattened()[j], direction.as_flattened()[j]);
            slope += self.ridge[j] * v * d;
            curvature += self.ridge[j] * d * d;
        }
        let mut length = 1.0;
        for _ in 0..5 {
            ctx.check_deadline()?;
            let along = AlongLine::<F> {
                loss: PhantomData,
                start: &at.products,
                products: &products,
                y,
                length,
            };
            let (first, second) = dispatch(along);
            let change = (c * first + slope + length * curvature) / (c * second + curvature);
            if !change.is_finite() {
                return Ok(1.0);
            }
            length = (length - change).clamp(0.3 * length, 3.0 * length);
            if change.abs() <= 0.1 * length {
                break;
            }
        }
        Ok(length)
    }

    /// The longest of the steps 1, 1/2, 1/4, … that lowers the objective enough, if any does.
    fn line_search<F: Loss>(
        &self,
        Place { at, objective }: &Place,
        direction: &[Quad],
        decrement: f64,
        y: &[Quad],
        c: f64,
        ctx: &FitContext,
    ) -> Result<Option<Place>, FitError> {
        let mut length = 1.0;
        for _ in 0..40 {
            let mut v = at.v.clone();
            for (v, d) in v.as_flattened_mut().iter_mut().zip(direction.as_flattened()) {
                *v += length * d;
            }
            let next = self.evaluate::<F>(v, y, c, ctx)?;
            // The last term forgives rounding where the objective has stopped changing.
            let rounding = 1e-14 * objective;
            if next.objective <= objective - 1e-4 * length * decrement + rounding {
                return Ok(Some(next));
            }
            length *= 0.5;
        }
        Ok(None)
    }

    /// The penalised objective and its gradient at `v`.
    fn evaluate<F: Loss>(
        &self,
        v: Vec<Quad>,
        y: &[Quad],
        c: f64,
        ctx: &FitContext,
    ) -> Result<Place, FitError> {
        let mut at = loss::evaluate::<F>(&self.rows, v, y, c, ctx)?;
        let mut objective = at.loss;
        let gradient = at.gradient.as_flattened_mut();
        for ((g, v), ridge) in gradient.iter_mut().zip(at.v.as_flattened()).zip(&self.ridge) {
            *g += ridge * v;
            objective += 0.5 * ridge * v * v;
        }
        Ok(Place { at, objective })
    }

    /// The Hessian's factor; at zero every row has the same curvature.
    fn factorise(
        &self,
        at: &Point,
        at_zero: Option<f64>,
        ctx: &FitContext,
    ) -> Result<Factor, FitError> {
        let d = self.rows.d;
        let mut hessian = match at_zero {
            Some(all) => Mat::from_fn(d, d, |i, j| all * self.gram[(i, j)]),
            None => weighted_gram(&self.rows, &at.curvature, ctx)?,
        };
        let largest = (0..d).fold(0.0_f64, |m, j| m.max(hessian[(j, j)]));
        for j in 0..d {
            // Collinear columns of huge scale have no penalty left to tell them apart: what the
            // addition loses in speed, the next iteration makes good.
            hessian[(j, j)] += self.ridge[j] + 1e-14 * largest + f64::MIN_POSITIVE;
        }
        Ok(Factor::new(hessian))
    }

    /// The Newton step by factorisation.
    fn direct_step(&self, at: &Point, factor: &Factor) -> Vec<Quad> {
        let mut direction = self.rows.zeros();
        let flat = &mut direction.as_flattened_mut()[..self.rows.d];
        flat.iter_mut().zip(at.gradient.as_flattened()).for_each(|(s, g)| *s = -g);
        factor.solve(flat);
        direction
    }

    /// The Newton step, approximately, by conjugate gradients with the Hessian's diagonal.
    fn conjugate_gradients(
        &self,
        Place { at, objective }: &Place,
        ctx: &FitContext,
    ) -> Result<Vec<Quad>, FitError> {
        let diagonal = self.hessian_diagonal(at, ctx)?;
        let mut step = self.rows.zeros();
        let mut residual: Vec<Quad> = at.gradient.iter().map(|g| g.map(|g| -g)).collect();
        let precondition = |r: &[Quad]| -> Vec<Quad> {
            let mut z = r.to_vec();
            z.as_flattened_mut().iter_mut().zip(&diagonal).for_each(|(z, d)| *z /= d);
            z
        };
        let mut z = precondition(&residual);
        let mut direction = z.clone();
        let mut rz = flat_dot(&residual, &z);
        let first = rz;
        // Forcing terms that shrink with the decrement keep Newton's fast end.
        let share = (rz / objective.max(1e-300)).sqrt().min(0.1);
        for _ in 0..(2 * self.rows.d).min(1000) {
            if rz.is_nan() || rz <= share * share * first {
                break;
            }
            let hd = self.hessian_times(at, &direction, ctx)?;
            let curvature = flat_dot(&direction, &hd);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let alpha = rz / curvature;
            for i in 0..step.len() {
                for k in 0..WIDTH {
                    step[i][k] += alpha * direction[i][k];
                    residual[i][k] -= alpha * hd[i][k];
                }
            }
            z = precondition(&residual);
            let next = flat_dot(&residual, &z);
            let beta = next / rz;
            rz = next;
            for i in 0..direction.len() {
                for k in 0..WIDTH {
                    direction[i][k] = z[i][k] + beta * direction[i][k];
                }
            }
        }
        Ok(step)
    }

    fn hessian_diagonal(&self, at: &Point, ctx: &FitContext) -> Result<Vec<f64>, FitError> {
        let mut sums = vec![0.0; self.rows.stride * WIDTH];
        for (i, &curvature) in at.curvature.as_flattened()[..self.rows.n].iter().enumerate() {
            if i % 256 == 0 {
                ctx.check_deadline()?;
            }
            for (s, x) in sums.iter_mut().zip(self.rows.row(i).as_flattened()) {
                *s += curvature * x * x;
            }
        }
        for (j, s) in sums.iter_mut().enumerate() {
            *s += self.ridge.get(j).copied().unwrap_or(1.0) + f64::MIN_POSITIVE;
        }
        Ok(sums)
    }

    fn hessian_times(
        &self,
        at: &Point,
        s: &[Quad],
        ctx: &FitContext,
    ) -> Result<Vec<Quad>, FitError> {
        let stride = self.rows.stride;
        let mut out = self.rows.zeros();
        for (start, end) in slices(&self.rows) {
            ctx.check_deadline()?;
            dispatch(HessianPass {
                rows: &self.rows.data[start * stride..end * stride],
                s,
                curvature: &at.curvature[start / WIDTH..end / WIDTH],
                out: &mut out,
            });
        }
        for ((o, s), ridge) in
            out.as_flattened_mut().iter_mut().zip(s.as_flattened()).zip(&self.ridge)
        {
            *o += ridge * s;
        }
        Ok(out)
    }
}

/// A point whose gradient is that of the penalised objective.
struct Place {
    at: Point,
    objective: f64,
}

/// The products of rows with one vector.
struct Products<'a> {
    rows: &'a [Quad],
    v: &'a [Quad],
    out: &'a mut [Quad],
}

impl Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        for (rows, out) in self.rows.chunks_exact(WIDTH * self.v.len()).zip(self.out) {
            *out = l.store(four_dots(l, rows, self.v));
        }
    }
}

/// First and second derivative of the summed loss along a line.
struct AlongLine<'a, F> {
    loss: PhantomData<F>,
    start: &'a [Quad],
    products: &'a [Quad],
    y: &'a [Quad],
    length: f64,
}

impl<F: Loss> Kernel for AlongLine<'_, F> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> (f64, f64) {
        let length = l.splat(self.length);
        let (mut slope, mut curvature) = (l.splat(0.0), l.splat(0.0));
        for ((start, product), y) in self.start.iter().zip(self.products).zip(self.y) {
            let product = l.load(product);
            let z = l.fma(length, product, l.load(start));
            let (first, second) = F::derivatives(l, l.load(y), z);
            slope = l.fma(first, product, slope);
            curvature = l.fma(second, l.mul(product, product), curvature);
        }
        (sum(l, slope), sum(l, curvature))
    }
}

/// Adds `X' D X s` of some rows.
struct HessianPass<'a> {
    rows: &'a [Quad],
    s: &'a [Quad],
    curvature: &'a [Quad],
    out: &'a mut [Quad],
}

impl Kernel for HessianPass<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        for (rows, curvature) in self.rows.chunks_exact(WIDTH * self.s.len()).zip(self.curvature) {
            let weight = l.store(l.mul(l.load(curvature), four_dots(l, rows, self.s)));
            add_four(l, rows, weight, self.out);
        }
    }
}
