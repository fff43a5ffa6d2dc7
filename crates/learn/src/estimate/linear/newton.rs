//! L2-regularised logistic regression by Newton's method: the optimum liblinear's trust-region solver
//! stops near.
//!
//! Minimises `|w|^2 / 2 + c * sum log(1 + exp(-y w·x))` with the constant among the features. Up to
//! [`MAX_DIRECT`] columns the Hessian is formed and factorised; beyond, each step is found by conjugate
//! gradients. Columns are scaled to at most 1, so the penalty on `v = scale * w` is `1 / scale^2`.

use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::{FitContext, FitError};

use super::lanes::{Kernel, Lanes, Quad, WIDTH, dispatch, dot, exp, sum};
use super::rows::Rows;

/// Columns up to which the Hessian is formed: its cost grows with the square of the columns, that of a
/// conjugate-gradient step linearly.
const MAX_DIRECT: usize = 320;

/// As the library.
const MAX_ITERATIONS: usize = 100;

/// A step whose squared Newton decrement is below this share of the objective is the last one: the
/// objective is then within half of that of its minimum *before* the step, and squared once more after.
const LAST_DECREMENT: f64 = 1e-9;

/// Numbers per slice between two looks at the clock: about a millisecond.
const SLICE: usize = 1 << 20;

/// What all problems on one matrix share.
pub(crate) struct Shared {
    rows: Rows,
    /// `1 / scale^2`.
    ridge: Vec<f64>,
    /// `X'X`, lower triangle: the Hessian of every problem at zero, but for factors. Empty if unused.
    gram: Mat<f64>,
}

impl Shared {
    /// Takes rows with scaled columns.
    pub(crate) fn new(rows: Rows, ctx: &FitContext) -> Result<Self, FitError> {
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
    pub(crate) fn solve(&self, y: &[Quad], c: f64, ctx: &FitContext) -> Result<Vec<f64>, FitError> {
        let mut at = self.evaluate(self.rows.zeros(), y, c, ctx)?;
        for iteration in 0..MAX_ITERATIONS {
            let direction = if self.rows.d <= MAX_DIRECT {
                self.direct_step(&at, c, iteration == 0, ctx)?
            } else {
                self.conjugate_gradients(&at, ctx)?
            };
            // Squared Newton decrement; also the slope of the line search, negated.
            let decrement = -flat_dot(&at.gradient, &direction);
            if decrement.is_nan() || decrement <= 0.0 {
                break;
            }
            let Some(next) = self.line_search(&at, &direction, decrement, y, c, ctx)? else {
                break;
            };
            let done = decrement <= LAST_DECREMENT * at.objective.min(1.0);
            at = next;
            if done {
                break;
            }
        }
        let v = at.v.as_flattened();
        Ok(self.rows.scale.iter().zip(v).map(|(s, v)| v / s).collect())
    }

    /// The longest of the steps 1, 1/2, 1/4, … that lowers the objective enough, if any does.
    fn line_search(
        &self,
        at: &Point,
        direction: &[Quad],
        decrement: f64,
        y: &[Quad],
        c: f64,
        ctx: &FitContext,
    ) -> Result<Option<Point>, FitError> {
        let mut length = 1.0;
        for _ in 0..40 {
            let mut v = at.v.clone();
            for (v, d) in v.as_flattened_mut().iter_mut().zip(direction.as_flattened()) {
                *v += length * d;
            }
            let next = self.evaluate(v, y, c, ctx)?;
            // The last term forgives rounding where the objective has stopped changing.
            let rounding = 1e-14 * at.objective;
            if next.objective <= at.objective - 1e-4 * length * decrement + rounding {
                return Ok(Some(next));
            }
            length *= 0.5;
        }
        Ok(None)
    }

    /// Objective, gradient and curvatures at `v`.
    fn evaluate(
        &self,
        v: Vec<Quad>,
        y: &[Quad],
        c: f64,
        ctx: &FitContext,
    ) -> Result<Point, FitError> {
        let stride = self.rows.stride;
        let mut gradient = self.rows.zeros();
        let mut curvature = vec![[0.0; WIDTH]; y.len()];
        let mut objective = 0.0;
        let slice = (SLICE / (stride * WIDTH)).next_multiple_of(WIDTH).max(WIDTH);
        for start in (0..self.rows.n_padded()).step_by(slice) {
            ctx.check_deadline()?;
            let end = (start + slice).min(self.rows.n_padded());
            objective += dispatch(LogisticPass {
                rows: &self.rows.data[start * stride..end * stride],
                v: &v,
                y: &y[start / WIDTH..end / WIDTH],
                c,
                gradient: &mut gradient,
                curvature: &mut curvature[start / WIDTH..end / WIDTH],
            });
        }
        let flat = gradient.as_flattened_mut();
        for ((g, v), ridge) in flat.iter_mut().zip(v.as_flattened()).zip(&self.ridge) {
            *g += ridge * v;
            objective += 0.5 * ridge * v * v;
        }
        Ok(Point { v, objective, gradient, curvature })
    }

    /// The Newton step by factorisation.
    fn direct_step(
        &self,
        at: &Point,
        c: f64,
        at_zero: bool,
        ctx: &FitContext,
    ) -> Result<Vec<Quad>, FitError> {
        let d = self.rows.d;
        // At zero every row has the curvature c / 4.
        let mut hessian = if at_zero {
            Mat::from_fn(d, d, |i, j| if i >= j { 0.25 * c * self.gram[(i, j)] } else { 0.0 })
        } else {
            weighted_gram(&self.rows, &at.curvature, ctx)?
        };
        let largest = (0..d).fold(0.0_f64, |m, j| m.max(hessian[(j, j)]));
        for j in 0..d {
            // Collinear columns of huge scale have no penalty left to tell them apart: what the
            // addition loses in speed, the next iteration makes good.
            hessian[(j, j)] += self.ridge[j] + 1e-14 * largest + f64::MIN_POSITIVE;
        }
        let mut direction = self.rows.zeros();
        let flat = &mut direction.as_flattened_mut()[..d];
        flat.iter_mut().zip(at.gradient.as_flattened()).for_each(|(s, g)| *s = -g);
        solve_positive_definite(hessian, flat);
        Ok(direction)
    }

    /// The Newton step, approximately, by conjugate gradients with the Hessian's diagonal.
    fn conjugate_gradients(&self, at: &Point, ctx: &FitContext) -> Result<Vec<Quad>, FitError> {
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
        let share = (rz / at.objective.max(1e-300)).sqrt().min(0.1);
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
        let slice = (SLICE / (stride * WIDTH)).next_multiple_of(WIDTH).max(WIDTH);
        for start in (0..self.rows.n_padded()).step_by(slice) {
            ctx.check_deadline()?;
            let end = (start + slice).min(self.rows.n_padded());
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

/// A place on the way, with all that was computed there.
struct Point {
    v: Vec<Quad>,
    objective: f64,
    gradient: Vec<Quad>,
    /// The second derivative of each row's loss, times c.
    curvature: Vec<Quad>,
}

/// Loss of some rows; adds to the gradient and sets the curvatures.
struct LogisticPass<'a> {
    rows: &'a [Quad],
    v: &'a [Quad],
    y: &'a [Quad],
    c: f64,
    gradient: &'a mut [Quad],
    curvature: &'a mut [Quad],
}

impl Kernel for LogisticPass<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> f64 {
        let (zero, one, c) = (l.splat(0.0), l.splat(1.0), l.splat(self.c));
        let mut hinge = zero;
        // log(1 + e) is summed as the logarithm of a product, taken before it can overflow.
        let (mut product, mut logs) = (one, 0.0);
        let blocks = self.rows.chunks_exact(WIDTH * self.v.len());
        for (b, (rows, y)) in blocks.zip(self.y).enumerate() {
            let y = l.load(y);
            let z = four_dots(l, rows, self.v);
            let margin = l.mul(y, z);
            // A padding row has y = 0: it drops out of everything.
            let e = l.mul(l.mul(y, y), exp(l, l.sub(zero, l.abs(margin))));
            let one_e = l.add(one, e);
            let inverse = l.div(one, one_e);
            product = l.mul(product, one_e);
            hinge = l.add(hinge, l.max(zero, l.sub(zero, margin)));
            let miss = l.if_less(zero, margin, l.mul(e, inverse), inverse);
            let residual = l.store(l.mul(c, l.mul(y, l.sub(zero, miss))));
            self.curvature[b] = l.store(l.mul(c, l.mul(e, l.mul(inverse, inverse))));
            add_four(l, rows, residual, self.gradient);
            if b % 512 == 511 {
                logs += l.store(product).iter().map(|p| p.ln()).sum::<f64>();
                product = one;
            }
        }
        logs += l.store(product).iter().map(|p| p.ln()).sum::<f64>();
        self.c * (logs + sum(l, hinge))
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

/// The inner products of four rows with one vector.
#[inline(always)]
fn four_dots<L: Lanes>(l: L, rows: &[Quad], v: &[Quad]) -> L::V {
    let stride = v.len();
    let (r0, rest) = rows.split_at(stride);
    let (r1, rest) = rest.split_at(stride);
    let (r2, r3) = rest.split_at(stride);
    let r3 = &r3[..stride];
    let mut acc = [l.splat(0.0); 4];
    for j in 0..stride {
        let v = l.load(&v[j]);
        acc[0] = l.fma(l.load(&r0[j]), v, acc[0]);
        acc[1] = l.fma(l.load(&r1[j]), v, acc[1]);
        acc[2] = l.fma(l.load(&r2[j]), v, acc[2]);
        acc[3] = l.fma(l.load(&r3[j]), v, acc[3]);
    }
    l.load(&acc.map(|a| sum(l, a)))
}

/// `out += a[0] * row 0 + … + a[3] * row 3`.
#[inline(always)]
fn add_four<L: Lanes>(l: L, rows: &[Quad], a: Quad, out: &mut [Quad]) {
    let stride = out.len();
    let (r0, rest) = rows.split_at(stride);
    let (r1, rest) = rest.split_at(stride);
    let (r2, r3) = rest.split_at(stride);
    let r3 = &r3[..stride];
    let a = a.map(|a| l.splat(a));
    for j in 0..stride {
        let mut o = l.load(&out[j]);
        o = l.fma(a[0], l.load(&r0[j]), o);
        o = l.fma(a[1], l.load(&r1[j]), o);
        o = l.fma(a[2], l.load(&r2[j]), o);
        o = l.fma(a[3], l.load(&r3[j]), o);
        out[j] = l.store(o);
    }
}

/// The lower triangle of `X' D X`, in blocks of rows with a look at the clock between them.
fn weighted_gram(rows: &Rows, weights: &[Quad], ctx: &FitContext) -> Result<Mat<f64>, FitError> {
    const BLOCK: usize = 256;
    let (d, stride) = (rows.d, rows.stride);
    let mut gram = Mat::<f64>::zeros(d, d);
    let mut block = vec![[0.0; WIDTH]; BLOCK * stride];
    for start in (0..rows.n).step_by(BLOCK) {
        ctx.check_deadline()?;
        let end = (start + BLOCK).min(rows.n);
        let block = &mut block[..(end - start) * stride];
        dispatch(ScaleRows {
            rows: &rows.data[start * stride..end * stride],
            weights: &weights.as_flattened()[start..end],
            out: block,
            stride,
        });
        // Row-major rows are the columns of the transpose.
        let t = MatRef::from_column_major_slice_with_stride(
            block.as_flattened(),
            stride * WIDTH,
            end - start,
            stride * WIDTH,
        )
        .get(..d, ..);
        triangular::matmul(
            gram.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Add,
            t,
            BlockStructure::Rectangular,
            t.transpose(),
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
    }
    Ok(gram)
}

/// Rows times the square roots of their weights.
struct ScaleRows<'a> {
    rows: &'a [Quad],
    weights: &'a [f64],
    out: &'a mut [Quad],
    stride: usize,
}

impl Kernel for ScaleRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let blocks =
            self.rows.chunks_exact(self.stride).zip(self.out.chunks_exact_mut(self.stride));
        for ((row, out), weight) in blocks.zip(self.weights) {
            let root = l.splat(weight.sqrt());
            for (x, o) in row.iter().zip(out) {
                *o = l.store(l.mul(root, l.load(x)));
            }
        }
    }
}

/// Solves `matrix * x = b` in place, given the lower triangle; a matrix that is not positive definite
/// gets as much added to its diagonal as it takes.
fn solve_positive_definite(matrix: Mat<f64>, b: &mut [f64]) {
    let d = b.len();
    let params = faer::Spec::default();
    let req = llt::factor::cholesky_in_place_scratch::<f64>(d, Par::Seq, params);
    let mut memory = faer::dyn_stack::MemBuffer::new(req);
    let largest = (0..d).fold(f64::MIN_POSITIVE, |m, j| m.max(matrix[(j, j)]));
    let mut damping = 0.0;
    loop {
        let mut factor = matrix.clone();
        (0..d).for_each(|j| factor[(j, j)] += damping);
        let stack = faer::dyn_stack::MemStack::new(&mut memory);
        let done = llt::factor::cholesky_in_place(
            factor.as_mut(),
            Default::default(),
            Par::Seq,
            stack,
            params,
        );
        if done.is_ok() {
            let rhs = MatMut::from_column_major_slice_mut(b, d, 1);
            llt::solve::solve_in_place(factor.as_ref(), rhs, Par::Seq, stack);
            return;
        }
        damping = if damping == 0.0 { 1e-13 * largest } else { damping * 10.0 };
        if damping.is_nan() || damping >= 1e6 * largest {
            // Not a matrix of numbers: no step is the safe step.
            b.fill(0.0);
            return;
        }
    }
}

fn flat_dot(a: &[Quad], b: &[Quad]) -> f64 {
    struct Dot<'a>(&'a [Quad], &'a [Quad]);
    impl Kernel for Dot<'_> {
        type Output = f64;
        #[inline(always)]
        fn run<L: Lanes>(self, l: L) -> f64 {
            dot(l, self.0, self.1)
        }
    }
    dispatch(Dot(a, b))
}
