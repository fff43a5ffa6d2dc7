//! The losses of two-class problems, with gradients and curvatures, in one pass over the rows.

use std::marker::PhantomData;

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
    /// Each row's decision value.
    pub products: Vec<Quad>,
}

/// Loss, gradient and curvatures at `v`, for targets of ±1 (0: no row).
pub(crate) fn evaluate<F: Loss>(
    rows: &Rows,
    v: Vec<Quad>,
    y: &[Quad],
    c: f64,
    ctx: &FitContext,
) -> Result<Point, FitError> {
    let stride = rows.stride;
    let mut gradient = rows.zeros();
    let mut curvature = vec![[0.0; WIDTH]; y.len()];
    let mut products = curvature.clone();
    let mut loss = 0.0;
    for (start, end) in slices(rows) {
        ctx.check_deadline()?;
        loss += dispatch(LossPass::<F> {
            loss: PhantomData,
            rows: &rows.data[start * stride..end * stride],
            v: &v,
            y: &y[start / WIDTH..end / WIDTH],
            c,
            gradient: &mut gradient,
            curvature: &mut curvature[start / WIDTH..end / WIDTH],
            products: &mut products[start / WIDTH..end / WIDTH],
        });
    }
    Ok(Point { v, loss, gradient, curvature, products })
}

/// Runs of rows that take about a millisecond to pass over.
pub(crate) fn slices(rows: &Rows) -> impl Iterator<Item = (usize, usize)> {
    let n = rows.n_padded();
    let slice = (SLICE / (rows.stride * WIDTH)).next_multiple_of(WIDTH).max(WIDTH);
    (0..n).step_by(slice).map(move |start| (start, (start + slice).min(n)))
}

/// A loss of one row's target (±1, or 0 for no row) and decision value.
pub(crate) trait Loss: Copy + Send + Sync {
    /// The second derivative at a decision value of zero.
    const CURVATURE_AT_ZERO: f64;

    /// Adds four rows' losses; returns their first and second derivatives by the decision value.
    fn four<L: Lanes>(l: L, y: L::V, z: L::V, sums: &mut Sums<L>) -> (L::V, L::V);

    /// The derivatives alone.
    #[inline(always)]
    fn derivatives<L: Lanes>(l: L, y: L::V, z: L::V) -> (L::V, L::V) {
        Self::four(l, y, z, &mut Sums::zero(l))
    }
}

impl<L: Lanes> Sums<L> {
    #[inline(always)]
    fn zero(l: L) -> Self {
        Self { plain: l.splat(0.0), product: l.splat(1.0) }
    }
}

/// A sum of losses: `plain + log(product)`.
pub(crate) struct Sums<L: Lanes> {
    plain: L::V,
    product: L::V,
}

/// `log(1 + exp(-y z))`.
#[derive(Clone, Copy)]
pub(crate) struct Logistic;

impl Loss for Logistic {
    const CURVATURE_AT_ZERO: f64 = 0.25;

    #[inline(always)]
    fn four<L: Lanes>(l: L, y: L::V, z: L::V, sums: &mut Sums<L>) -> (L::V, L::V) {
        let (zero, one) = (l.splat(0.0), l.splat(1.0));
        let margin = l.mul(y, z);
        // A padding row has y = 0: it drops out of everything.
        let e = l.mul(l.mul(y, y), exp(l, l.sub(zero, l.abs(margin))));
        let one_e = l.add(one, e);
        let inverse = l.div(one, one_e);
        // The logarithm of a product is cheaper than a sum of logarithms.
        sums.product = l.mul(sums.product, one_e);
        sums.plain = l.add(sums.plain, l.max(zero, l.sub(zero, margin)));
        let miss = l.if_less(zero, margin, l.mul(e, inverse), inverse);
        (l.mul(y, l.sub(zero, miss)), l.mul(e, l.mul(inverse, inverse)))
    }
}

/// `max(0, 1 - y z)^2`.
#[derive(Clone, Copy)]
pub(crate) struct SquaredHinge;

impl Loss for SquaredHinge {
    const CURVATURE_AT_ZERO: f64 = 2.0;

    #[inline(always)]
    fn four<L: Lanes>(l: L, y: L::V, z: L::V, sums: &mut Sums<L>) -> (L::V, L::V) {
        let (zero, two) = (l.splat(0.0), l.splat(2.0));
        let miss = l.mul(l.mul(y, y), l.max(zero, l.fnma(y, z, l.splat(1.0))));
        sums.plain = l.fma(miss, miss, sums.plain);
        (l.mul(l.sub(zero, two), l.mul(y, miss)), l.if_less(zero, miss, two, zero))
    }
}

/// Loss of some rows; adds to the gradient and sets the curvatures.
struct LossPass<'a, F> {
    loss: PhantomData<F>,
    rows: &'a [Quad],
    v: &'a [Quad],
    y: &'a [Quad],
    c: f64,
    gradient: &'a mut [Quad],
    curvature: &'a mut [Quad],
    products: &'a mut [Quad],
}

impl<F: Loss> Kernel for LossPass<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> f64 {
        let c = l.splat(self.c);
        let mut sums = Sums::zero(l);
        let mut logs = 0.0;
        let blocks = self.rows.chunks_exact(WIDTH * self.v.len());
        for (b, (rows, y)) in blocks.zip(self.y).enumerate() {
            let z = four_dots(l, rows, self.v);
            let (first, second) = F::four(l, l.load(y), z, &mut sums);
            self.products[b] = l.store(z);
            self.curvature[b] = l.store(l.mul(c, second));
            add_four(l, rows, l.store(l.mul(c, first)), self.gradient);
            // Factors are at most 2: the logarithm is taken before the product can overflow.
            if b % 512 == 511 {
                logs += l.store(sums.product).iter().map(|p| p.ln()).sum::<f64>();
                sums.product = l.splat(1.0);
            }
        }
        logs += l.store(sums.product).iter().map(|p| p.ln()).sum::<f64>();
        self.c * (logs + sum(l, sums.plain))
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
