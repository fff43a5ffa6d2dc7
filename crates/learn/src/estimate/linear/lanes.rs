//! Four numbers at a time: the arithmetic that the linear solvers share.
//!
//! A solver's whole inner loop is one [`Kernel`], dispatched once per pass: AVX2 with fused
//! multiply-add where the processor has it, plain arrays elsewhere. The order of every sum is fixed by
//! the width of four and not by the processor, and products are added with one rounding on all of them, so that results
//! are the same to the last bit everywhere. On ARM plain arrays are compiled to its own fused instruction; an x86 processor
//! without one, older than 2013, calls a function for it and is slow here.

/// How many numbers one vector holds.
pub(crate) const WIDTH: usize = 4;

/// Four numbers in memory.
pub(crate) type Quad = [f64; WIDTH];

/// Arithmetic on vectors of four numbers.
pub(crate) trait Lanes: Copy {
    /// Four numbers in a register.
    type V: Copy;
    /// The same number four times.
    fn splat(self, x: f64) -> Self::V;
    /// From memory.
    fn load(self, x: &Quad) -> Self::V;
    /// To memory.
    fn store(self, v: Self::V) -> Quad;
    /// `a + b`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `c - a * b`, rounded once.
    fn fnma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The larger of each pair.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The smaller of each pair.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// Without sign.
    fn abs(self, a: Self::V) -> Self::V;
    /// `a` where `x < y`, `b` elsewhere.
    fn if_less(self, x: Self::V, y: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// To the nearest integer.
    fn round(self, a: Self::V) -> Self::V;
    /// Two to the power of integers between -1022 and 1023.
    fn exp2(self, k: Self::V) -> Self::V;
}

/// A loop to be run with the best arithmetic there is.
pub(crate) trait Kernel {
    /// What it computes.
    type Output;
    /// The loop; implementations are `#[inline(always)]`, or they lose the dispatch.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Runs a kernel with the best arithmetic of this processor.
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        struct Wide<K>(K, pulp::x86::V3);
        impl<K: Kernel> pulp::NullaryFnOnce for Wide<K> {
            type Output = K::Output;
            #[inline(always)]
            fn call(self) -> K::Output {
                self.0.run(self.1)
            }
        }
        return pulp::Simd::vectorize(v3, Wide(kernel, v3));
    }
    kernel.run(Plain)
}

#[cfg(target_arch = "x86_64")]
impl Lanes for pulp::x86::V3 {
    type V = pulp::f64x4;

    #[inline(always)]
    fn splat(self, x: f64) -> Self::V {
        self.splat_f64x4(x)
    }
    #[inline(always)]
    fn load(self, x: &Quad) -> Self::V {
        pulp::cast(*x)
    }
    #[inline(always)]
    fn store(self, v: Self::V) -> Quad {
        pulp::cast(v)
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        self.add_f64x4(a, b)
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        self.sub_f64x4(a, b)
    }
    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        self.mul_f64x4(a, b)
    }
    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        self.div_f64x4(a, b)
    }
    #[inline(always)]
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.mul_add_f64x4(a, b, c)
    }
    #[inline(always)]
    fn fnma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.negate_mul_add_f64x4(a, b, c)
    }
    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        self.max_f64x4(a, b)
    }
    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        self.min_f64x4(a, b)
    }
    #[inline(always)]
    fn abs(self, a: Self::V) -> Self::V {
        self.abs_f64x4(a)
    }
    #[inline(always)]
    fn if_less(self, x: Self::V, y: Self::V, a: Self::V, b: Self::V) -> Self::V {
        self.select_f64x4(self.cmp_lt_f64x4(x, y), a, b)
    }
    #[inline(always)]
    fn round(self, a: Self::V) -> Self::V {
        self.round_f64x4(a)
    }
    #[inline(always)]
    fn exp2(self, k: Self::V) -> Self::V {
        // Adding 1.5 * 2^52 leaves the integer in the low bits of the mantissa.
        let shifted = self.add_f64x4(k, self.splat_f64x4(6_755_399_441_055_744.0 + 1023.0));
        pulp::cast(self.shl_const_i64x4::<52>(pulp::cast(shifted)))
    }
}

/// The arithmetic of a processor we know nothing about; compilers turn it into what there is.
#[derive(Clone, Copy)]
struct Plain;

#[inline(always)]
fn each(f: impl Fn(usize) -> f64) -> Quad {
    [f(0), f(1), f(2), f(3)]
}

impl Lanes for Plain {
    type V = Quad;

    #[inline(always)]
    fn splat(self, x: f64) -> Quad {
        [x; WIDTH]
    }
    #[inline(always)]
    fn load(self, x: &Quad) -> Quad {
        *x
    }
    #[inline(always)]
    fn store(self, v: Quad) -> Quad {
        v
    }
    #[inline(always)]
    fn add(self, a: Quad, b: Quad) -> Quad {
        each(|i| a[i] + b[i])
    }
    #[inline(always)]
    fn sub(self, a: Quad, b: Quad) -> Quad {
        each(|i| a[i] - b[i])
    }
    #[inline(always)]
    fn mul(self, a: Quad, b: Quad) -> Quad {
        each(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn div(self, a: Quad, b: Quad) -> Quad {
        each(|i| a[i] / b[i])
    }
    #[inline(always)]
    fn fma(self, a: Quad, b: Quad, c: Quad) -> Quad {
        each(|i| a[i].mul_add(b[i], c[i]))
    }
    #[inline(always)]
    fn fnma(self, a: Quad, b: Quad, c: Quad) -> Quad {
        each(|i| (-a[i]).mul_add(b[i], c[i]))
    }
    #[inline(always)]
    fn max(self, a: Quad, b: Quad) -> Quad {
        each(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn min(self, a: Quad, b: Quad) -> Quad {
        each(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn abs(self, a: Quad) -> Quad {
        each(|i| a[i].abs())
    }
    #[inline(always)]
    fn if_less(self, x: Quad, y: Quad, a: Quad, b: Quad) -> Quad {
        each(|i| if x[i] < y[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn round(self, a: Quad) -> Quad {
        each(|i| a[i].round_ties_even())
    }
    #[inline(always)]
    fn exp2(self, k: Quad) -> Quad {
        each(|i| f64::from_bits((k[i] as i64 + 1023).cast_unsigned() << 52))
    }
}

/// The sum of a vector's numbers.
#[inline(always)]
pub(crate) fn sum<L: Lanes>(l: L, v: L::V) -> f64 {
    let [a, b, c, d] = l.store(v);
    (a + c) + (b + d)
}

/// The inner product of two padded vectors.
#[inline(always)]
pub(crate) fn dot<L: Lanes>(l: L, a: &[Quad], b: &[Quad]) -> f64 {
    let mut acc = [l.splat(0.0); 4];
    let (a4, a1) = a.as_chunks::<4>();
    let (b4, b1) = b[..a.len()].as_chunks::<4>();
    for (x, y) in a4.iter().zip(b4) {
        for u in 0..4 {
            acc[u] = l.fma(l.load(&x[u]), l.load(&y[u]), acc[u]);
        }
    }
    for (u, (x, y)) in a1.iter().zip(b1).enumerate() {
        acc[u] = l.fma(l.load(x), l.load(y), acc[u]);
    }
    sum(l, l.add(l.add(acc[0], acc[1]), l.add(acc[2], acc[3])))
}

/// `y += a * x` for padded vectors.
#[inline(always)]
pub(crate) fn axpy<L: Lanes>(l: L, a: f64, x: &[Quad], y: &mut [Quad]) {
    let a = l.splat(a);
    for (x, y) in x.iter().zip(y) {
        *y = l.store(l.fma(a, l.load(x), l.load(y)));
    }
}

/// Reads from every cache line of a row that will be needed soon, so that it is there by then.
#[inline(always)]
pub(crate) fn touch(row: &[Quad]) {
    for quad in row.iter().step_by(64 / size_of::<Quad>()) {
        std::hint::black_box(quad[0]);
    }
}

/// `e` to the power of each number, to a few units in the last place; arguments beyond ±708 give
/// the smallest or largest number that is neither zero nor infinite.
#[inline(always)]
pub(crate) fn exp<L: Lanes>(l: L, x: L::V) -> L::V {
    let x = l.max(l.min(x, l.splat(708.0)), l.splat(-708.0));
    let k = l.round(l.mul(x, l.splat(std::f64::consts::LOG2_E)));
    let r = l.fnma(k, l.splat(6.931_471_803_691_238e-1), x);
    let r = l.fnma(k, l.splat(1.908_214_929_270_587_7e-10), r);
    // Taylor to the 13th power in Estrin's scheme: |r| <= ln 2 / 2, so the rest is below 2^-57.
    let c = |i: usize| l.splat(INVERSE_FACTORIALS[i]);
    let r2 = l.mul(r, r);
    let r4 = l.mul(r2, r2);
    let r8 = l.mul(r4, r4);
    let pair = |i: usize| l.fma(c(i + 1), r, c(i));
    let p0 = l.fma(pair(2), r2, pair(0));
    let p4 = l.fma(pair(6), r2, pair(4));
    let p8 = l.fma(pair(10), r2, pair(8));
    let high = l.fma(pair(12), r4, p8);
    let p = l.fma(high, r8, l.fma(p4, r4, p0));
    l.mul(p, l.exp2(k))
}

const INVERSE_FACTORIALS: [f64; 14] = {
    let mut table = [1.0; 14];
    let mut i = 1;
    while i < 14 {
        table[i] = table[i - 1] / i as f64;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    struct Exp(Quad);
    impl Kernel for Exp {
        type Output = (Quad, f64);
        #[inline(always)]
        fn run<L: Lanes>(self, l: L) -> (Quad, f64) {
            (l.store(exp(l, l.load(&self.0))), dot(l, &[self.0; 7], &[[1.0, 2.0, 3.0, 4.0]; 7]))
        }
    }

    #[test]
    fn exponentials_are_those_of_the_standard_library() {
        for i in -7000..7000 {
            let x = f64::from(i) * 0.1 + 1e-3;
            for got in [dispatch(Exp([x; 4])).0[1], Exp([x; 4]).run(Plain).0[2]] {
                assert!((got / x.exp() - 1.0).abs() < 2e-15, "{x}: {got}");
            }
        }
        assert!(dispatch(Exp([1e9, -1e9, f64::MAX, f64::MIN])).0.iter().all(|e| e.is_finite()));
    }

    #[test]
    fn every_processor_gives_the_same_bits() {
        for i in -500..500 {
            let x = [f64::from(i) * 1.37, 0.1 * f64::from(i), 1.0 / (f64::from(i) + 0.3), -7e-9];
            let ((a, s), (b, t)) = (dispatch(Exp(x)), Exp(x).run(Plain));
            assert_eq!((a.map(f64::to_bits), s.to_bits()), (b.map(f64::to_bits), t.to_bits()));
        }
    }

    #[test]
    fn inner_products_have_no_forgotten_tail() {
        assert_eq!(dispatch(Exp([1.0, 10.0, 100.0, 1000.0])).1, 7.0 * 4321.0);
        assert_eq!(Exp([1.0, 10.0, 100.0, 1000.0]).run(Plain).1, 7.0 * 4321.0);
    }
}
