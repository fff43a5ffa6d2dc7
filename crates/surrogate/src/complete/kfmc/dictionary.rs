//! The dictionary: kernels with it, and its gradient step.

use pulp::{Simd, WithSimd};
use rand::RngExt;

use super::batch::{Shared, Sums};
use crate::Scalar;
use crate::algebra::{add_product, gram_lower, mirror_lower, multiply, rows, rows_mut};
use crate::scalar::{LANES, padded};

/// Rounds of the power method for the step size; the bound is damped anyway.
const POWER_ROUNDS: usize = 12;

/// D, its momentum and the kernel's width.
#[derive(Clone, Debug)]
pub(super) struct Dictionary<T> {
    pub(super) m: usize,
    pub(super) r: usize,
    /// Squared width of the kernel.
    pub(super) s2: f64,
    /// Atoms as rows: r x m.
    pub(super) atoms: Vec<T>,
    /// Half the squared norm of each atom; every kernel asks for them.
    half_squares: Vec<T>,
    velocity: Vec<T>,
}

impl<T: Scalar> Dictionary<T> {
    /// Distinct random columns.
    pub(super) fn of_columns(
        columns: &[T],
        m: usize,
        n: usize,
        r: usize,
        s2: f64,
        rng: &mut impl RngExt,
    ) -> Self {
        let picked = rand::seq::index::sample(rng, n, r);
        let atoms: Vec<T> =
            picked.iter().flat_map(|j| &columns[j * m..(j + 1) * m]).copied().collect();
        Self::new(m, s2, atoms)
    }

    pub(super) fn new(m: usize, s2: f64, atoms: Vec<T>) -> Self {
        let (r, velocity) = (atoms.len() / m, vec![T::zero(); atoms.len()]);
        let half_squares = half_squares(m, &atoms);
        Self { m, r, s2, atoms, half_squares, velocity }
    }

    /// Kernels of some columns (b x m) with every atom: b x r.
    pub(super) fn kernel(&self, x: &[T], out: &mut [T]) {
        let (m, r) = (self.m, self.r);
        let b = x.len() / m;
        multiply(rows_mut(out, b, r), rows(x, b, m), rows(&self.atoms, r, m).transpose());
        let x = half_squares(m, x);
        let scale = T::of(1.0 / self.s2);
        pulp::Arch::new().dispatch(KernelPass { dots: out, x: &x, d: &self.half_squares, scale });
    }

    /// Kernels of the atoms with each other: r x r, symmetric to the last bit.
    pub(super) fn own_kernel(&self) -> Vec<T> {
        let (m, r) = (self.m, self.r);
        let mut out = vec![T::zero(); r * r];
        gram_lower(rows_mut(&mut out, r, r), rows(&self.atoms, r, m));
        let (squares, scale) = (&self.half_squares, T::of(1.0 / self.s2));
        pulp::Arch::new().dispatch(KernelPass { dots: &mut out, x: squares, d: squares, scale });
        mirror_lower(rows_mut(&mut out, r, r));
        (0..r).for_each(|i| out[i * r + i] = T::one());
        out
    }

    /// The gradient with respect to the atoms, r x m, and the bound of its curvature.
    ///
    /// `grad_D = (x T1^T - D diag(c1)) / s2 + 2/s2 (D T2 - D diag(c2))` with `T1 = -(Z . K)` and
    /// `T2 = 1/2 (Z Z^T) . K_DD`.
    pub(super) fn gradient(&self, shared: &Shared<T>, parts: &[Sums<T>]) -> (Vec<T>, f64) {
        let (m, r) = (self.m, self.r);
        let mut pulled = vec![T::zero(); r * m];
        let mut c1 = vec![0.0; r];
        for part in parts {
            pulled.iter_mut().zip(&part.pulled).for_each(|(sum, p)| *sum -= *p);
            c1.iter_mut().zip(&part.weights).for_each(|(sum, w)| *sum -= w);
        }
        // 2 T2, of which the rest is made in place.
        let mut mixing = code_products(shared, parts, r);
        let sums = mixing.chunks(r).map(|row| row.iter().map(|v| v.wide()).sum::<f64>());
        let c2: Vec<f64> = sums.map(|sum| 0.5 * sum).collect();
        let own: Vec<f64> = (0..r).map(|i| mixing[i * r + i].wide()).collect();
        let less = |mixing: &mut [T], diagonal: &dyn Fn(usize) -> f64| {
            (0..r).for_each(|i| mixing[i * r + i] = T::of(own[i] - diagonal(i)));
        };
        less(&mut mixing, &|i| c1[i] + 2.0 * c2[i].abs());
        let bound = spectral_norm(&mixing, r) / self.s2;
        less(&mut mixing, &|i| c1[i] + 2.0 * c2[i]);
        // pulled = -(x (Z . K)^T)^T so far; the rest is a product with the atoms.
        add_product(rows_mut(&mut pulled, r, m), rows(&mixing, r, r), rows(&self.atoms, r, m));
        let scale = T::of(1.0 / self.s2);
        pulled.iter_mut().for_each(|g| *g *= scale);
        (pulled, bound)
    }

    /// One step down the gradient, with momentum.
    pub(super) fn update(
        &mut self,
        shared: &Shared<T>,
        parts: &[Sums<T>],
        momentum: f64,
        damping: f64,
    ) {
        let (gradient, bound) = self.gradient(shared, parts);
        let (rate, momentum) = (T::of(1.0 / (damping * bound).max(1e-12)), T::of(momentum));
        for ((d, v), g) in self.atoms.iter_mut().zip(&mut self.velocity).zip(gradient) {
            *v = momentum * *v + rate * g;
            *d -= *v;
        }
        self.half_squares = half_squares(self.m, &self.atoms);
    }
}

fn half_squares<T: Scalar>(m: usize, rows: &[T]) -> Vec<T> {
    pulp::Arch::new().dispatch(HalfSquares { m, rows })
}

/// Half the squared norm of each row.
struct HalfSquares<'a, T> {
    m: usize,
    rows: &'a [T],
}

impl<T: Scalar> WithSimd for HalfSquares<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<T> {
        let mut out = Vec::with_capacity(self.rows.len() / self.m);
        for row in self.rows.chunks(self.m) {
            let mut lanes = [T::zero(); LANES];
            let (groups, rest) = row.as_chunks::<LANES>();
            for group in groups {
                for l in 0..LANES {
                    lanes[l] += group[l] * group[l];
                }
            }
            for (l, v) in rest.iter().enumerate() {
                lanes[l] += *v * *v;
            }
            out.push(T::of(0.5) * lanes.iter().copied().sum::<T>());
        }
        out
    }
}

/// `(Z Z^T) . K_DD`, from the lower halves of the chunks' products of codes.
fn code_products<T: Scalar>(shared: &Shared<T>, parts: &[Sums<T>], r: usize) -> Vec<T> {
    let mut out = vec![T::zero(); r * r];
    for i in 0..r {
        let lower = i * r..i * r + i + 1;
        let row = &mut out[lower.clone()];
        for part in parts {
            row.iter_mut().zip(&part.codes[lower.clone()]).for_each(|(sum, c)| *sum += *c);
        }
        row.iter_mut().zip(&shared.kernel[lower]).for_each(|(sum, k)| *sum *= *k);
    }
    mirror_lower(rows_mut(&mut out, r, r));
    out
}

/// The largest absolute eigenvalue of a symmetric n x n matrix, by the power method.
fn spectral_norm<T: Scalar>(a: &[T], n: usize) -> f64 {
    let length = |v: &[T]| v.iter().map(|x| x.wide() * x.wide()).sum::<f64>().sqrt();
    let mut v: Vec<T> = (0..n).map(|i| T::of(1.0 + 0.1 * (i % 7) as f64)).collect();
    let mut norm = 0.0;
    for _ in 0..POWER_ROUNDS {
        let next = pulp::Arch::new().dispatch(Times { a, v: &v });
        let (before, after) = (length(&v), length(&next));
        if before == 0.0 || after == 0.0 {
            return 0.0;
        }
        norm = after / before;
        let scale = T::of(1.0 / after);
        v = next.iter().map(|x| *x * scale).collect();
    }
    norm
}

/// A square matrix times a vector.
struct Times<'a, T> {
    a: &'a [T],
    v: &'a [T],
}

impl<T: Scalar> WithSimd for Times<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<T> {
        let (v, v_rest) = self.v.as_chunks::<LANES>();
        let v_rest: [T; LANES] = padded(v_rest);
        let mut out = Vec::with_capacity(self.v.len());
        for row in self.a.chunks(self.v.len()) {
            let mut lanes = [T::zero(); LANES];
            let (groups, rest) = row.as_chunks::<LANES>();
            for (a, v) in groups.iter().zip(v).chain([(&padded(rest), &v_rest)]) {
                for l in 0..LANES {
                    lanes[l] += a[l] * v[l];
                }
            }
            out.push(lanes.iter().copied().sum());
        }
        out
    }
}

/// `exp((x.d - |x|^2/2 - |d|^2/2) / s2)`.
struct KernelPass<'a, T> {
    dots: &'a mut [T],
    x: &'a [T],
    d: &'a [T],
    scale: T,
}

impl<T: Scalar> WithSimd for KernelPass<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let scale = self.scale;
        let (d, d_rest) = self.d.as_chunks::<LANES>();
        let d_rest: [T; LANES] = padded(d_rest);
        for (row, &x) in self.dots.chunks_mut(self.d.len()).zip(self.x) {
            let (k, k_rest) = row.as_chunks_mut::<LANES>();
            for (k, d) in k.iter_mut().zip(d) {
                kernel_group(k, d, x, scale);
            }
            let mut last = padded(k_rest);
            kernel_group(&mut last, &d_rest, x, scale);
            k_rest.copy_from_slice(&last[..k_rest.len()]);
        }
    }
}

#[inline(always)]
fn kernel_group<T: Scalar>(k: &mut [T; LANES], d: &[T; LANES], x: T, scale: T) {
    for l in 0..LANES {
        let exponent = (k[l] - x - d[l]) * scale;
        // Rounding may put a point at a negative distance from itself.
        k[l] = (if exponent < T::zero() { exponent } else { T::zero() }).fast_exp();
    }
}
