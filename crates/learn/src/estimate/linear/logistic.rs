//! The logistic loss of one two-class problem, with its gradient and curvatures.

use crate::{FitContext, FitError};

use super::lanes::{Kernel, Lanes, Quad, WIDTH, dispatch, dot, exp, sum};
use super::rows::Rows;

/// Numbers per slice.
const SLICE: usize = 1 << 20;

/// A place on the way, with what was computed there.
pub(crate) struct Point {
    /// The weights, in the units of the rows' scaled columns.
    pub v: Vec<Quad>,
    /// The sum of the rows' losses, times c.
    pub loss: f64,
    /// The loss's gradient.
    pub gradient: Vec<Quad>,
    /// The second derivative of each row's loss, times c.
    pub curvature: Vec<Quad>,
}

/// Loss, gradient and curvatures at `v`, for targets of ±1 (0: no row).
pub(crate) fn evaluate(
    rows: &Rows,
    v: Vec<Quad>,
    y: &[Quad],
    c: f64,
    ctx: &FitContext,
) -> Result<Point, FitError> {
    let stride = rows.stride;
    let mut gradient = rows.zeros();
    let mut curvature = vec![[0.0; WIDTH]; y.len()];
    let mut loss = 0.0;
    for (start, end) in slices(rows) {
        ctx.check_deadline()?;
        loss += dispatch(LogisticPass {
            rows: &rows.data[start * stride..end * stride],
            v: &v,
            y: &y[start / WIDTH..end / WIDTH],
            c,
            gradient: &mut gradient,
            curvature: &mut curvature[start / WIDTH..end / WIDTH],
        });
    }
    Ok(Point { v, loss, gradient, curvature })
}

/// Runs of rows that take about a millisecond to pass over.
pub(crate) fn slices(rows: &Rows) -> impl Iterator<Item = (usize, usize)> {
    let n = rows.n_padded();
    let slice = (SLICE / (rows.stride * WIDTH)).next_multiple_of(WIDTH).max(WIDTH);
    (0..n).step_by(slice).map(move |start| (start, (start + slice).min(n)))
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

/// The inner products of four rows with one vector.
#[inline(always)]
pub(crate) fn four_dots<L: Lanes>(l: L, rows: &[Quad], v: &[Quad]) -> L::V {
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
pub(crate) fn add_four<L: Lanes>(l: L, rows: &[Quad], a: Quad, out: &mut [Quad]) {
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

/// The inner product of two padded vectors, dispatched.
pub(crate) fn flat_dot(a: &[Quad], b: &[Quad]) -> f64 {
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
