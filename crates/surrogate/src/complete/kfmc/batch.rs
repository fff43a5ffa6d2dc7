//! One chunk of columns: their missing entries move while the dictionary stays.

use faer::Mat;
use pulp::{Simd, WithSimd};

use super::Kfmc;
use super::dictionary::Dictionary;
use crate::algebra::{gram_lower, multiply, rows, rows_mut, spd_inverse};
use crate::scalar::{LANES, padded};
use crate::{Scalar, SurrogateError};

/// A chunk has settled when no entry moves by more than this.
const SETTLED: f64 = 1e-5;
/// Keeps a vanishing weight from being divided by.
const TINY: f64 = 1e-12;

/// What every chunk of a batch needs: `K_DD` and `C = (K_DD + beta I)^-1`, r x r.
pub(super) struct Shared<T> {
    pub(super) kernel: Vec<T>,
    pub(super) inverse: Vec<T>,
}

impl<T: Scalar> Shared<T> {
    pub(super) fn new(dictionary: &Dictionary<T>, beta: f64) -> Result<Self, SurrogateError> {
        let r = dictionary.r;
        let kernel = dictionary.own_kernel();
        // Symmetric, so that columns may be read as rows.
        let regular = Mat::from_fn(r, r, |i, j| {
            kernel[j * r + i] + if i == j { T::of(beta) } else { T::zero() }
        });
        let inverse = spd_inverse(&regular)
            .ok_or(SurrogateError::NotConverged { what: "the inverse of the kernel matrix" })?;
        let inverse = (0..r).flat_map(|j| inverse.col_as_slice(j)).copied().collect();
        Ok(Self { kernel, inverse })
    }
}

/// A chunk's contributions to the dictionary's gradient.
pub(super) struct Sums<T> {
    /// `(Z . K) x^T`: r x m.
    pub(super) pulled: Vec<T>,
    /// Row sums of `Z . K`.
    pub(super) weights: Vec<f64>,
    /// `Z Z^T`: r x r, of which the lower half counts.
    pub(super) codes: Vec<T>,
}

/// Buffers of a chunk of b columns, one row each.
pub(super) struct Work<T> {
    m: usize,
    r: usize,
    /// The columns: b x m.
    pub(super) x: Vec<T>,
    missing: Vec<bool>,
    velocity: Vec<T>,
    /// Z: b x r.
    pub(super) codes: Vec<T>,
    /// K, then Z . K in its place: b x r.
    weights: Vec<T>,
    /// Column sums w of Z . K: one per column.
    pub(super) totals: Vec<T>,
    /// D (Z . K): b x m.
    target: Vec<T>,
}

impl<T: Scalar> Work<T> {
    pub(super) fn gather(
        chunk: &[usize],
        columns: &[T],
        missing: &[bool],
        m: usize,
        r: usize,
    ) -> Self {
        let b = chunk.len();
        let zeros = |n: usize| vec![T::zero(); n];
        Self {
            m,
            r,
            x: gather(chunk, columns, m),
            missing: gather(chunk, missing, m),
            velocity: zeros(b * m),
            codes: zeros(b * r),
            weights: zeros(b * r),
            totals: zeros(b),
            target: zeros(b * m),
        }
    }

    /// The inner loop: a damped mean shift of the missing entries towards the code-weighted atoms.
    pub(super) fn move_columns(&mut self, d: &Dictionary<T>, shared: &Shared<T>, settings: &Kfmc) {
        self.iterate(d, shared, settings, settings.inner_iterations);
        self.encode(d, shared);
    }

    /// Moves at most `rounds` times.
    pub(super) fn iterate(
        &mut self,
        d: &Dictionary<T>,
        shared: &Shared<T>,
        settings: &Kfmc,
        rounds: usize,
    ) {
        for _ in 0..rounds {
            self.encode(d, shared);
            self.aim(d);
            let pass = MovePass {
                m: self.m,
                x: &mut self.x,
                velocity: &mut self.velocity,
                target: &self.target,
                totals: &self.totals,
                missing: &self.missing,
                momentum: T::of(settings.momentum),
                rate: T::of(1.0 / settings.damping),
            };
            if pulp::Arch::new().dispatch(pass).wide() < SETTLED {
                break;
            }
        }
    }

    /// `K`, `Z = C K`, `W = Z . K` and its column sums.
    pub(super) fn encode(&mut self, d: &Dictionary<T>, shared: &Shared<T>) {
        let (b, r) = (self.totals.len(), self.r);
        d.kernel(&self.x, &mut self.weights);
        multiply(
            rows_mut(&mut self.codes, b, r),
            rows(&self.weights, b, r),
            rows(&shared.inverse, r, r),
        );
        let pass = WeightPass {
            r,
            codes: &self.codes,
            weights: &mut self.weights,
            totals: &mut self.totals,
        };
        pulp::Arch::new().dispatch(pass);
    }

    /// `D W`: where the columns are drawn to, times their weights.
    fn aim(&mut self, d: &Dictionary<T>) {
        let (b, m, r) = (self.totals.len(), self.m, self.r);
        multiply(rows_mut(&mut self.target, b, m), rows(&self.weights, b, r), rows(&d.atoms, r, m));
    }

    /// Contributions to the dictionary's gradient; needs up-to-date codes.
    pub(super) fn sums(&self, d: &Dictionary<T>) -> Sums<T> {
        let (b, m, r) = (self.totals.len(), self.m, d.r);
        let mut pulled = vec![T::zero(); r * m];
        let weights = rows(&self.weights, b, r);
        multiply(rows_mut(&mut pulled, r, m), weights.transpose(), rows(&self.x, b, m));
        let mut codes = vec![T::zero(); r * r];
        let z = rows(&self.codes, b, r);
        gram_lower(rows_mut(&mut codes, r, r), z.transpose());
        let mut sums = vec![0.0; r];
        for row in self.weights.chunks(r) {
            sums.iter_mut().zip(row).for_each(|(s, w)| *s += w.wide());
        }
        Sums { pulled, weights: sums, codes }
    }

    /// The exact gradient with respect to the columns: `(x diag(w) - D W) / s2`.
    #[cfg(test)]
    pub(super) fn gradient(&mut self, d: &Dictionary<T>, shared: &Shared<T>) -> Vec<T> {
        self.encode(d, shared);
        self.aim(d);
        let entry =
            |(at, x): (usize, &T)| (*x * self.totals[at / self.m] - self.target[at]) / T::of(d.s2);
        self.x.iter().enumerate().map(entry).collect()
    }
}

/// Some columns of many, one after the other.
fn gather<V: Copy>(chunk: &[usize], columns: &[V], m: usize) -> Vec<V> {
    let mut out = Vec::with_capacity(chunk.len() * m);
    chunk.iter().for_each(|&j| out.extend_from_slice(&columns[j * m..(j + 1) * m]));
    out
}

struct WeightPass<'a, T> {
    r: usize,
    codes: &'a [T],
    /// K, of which the weights are made.
    weights: &'a mut [T],
    totals: &'a mut [T],
}

impl<T: Scalar> WithSimd for WeightPass<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let columns = self.weights.chunks_mut(self.r).zip(self.codes.chunks(self.r));
        for ((w, z), total) in columns.zip(self.totals) {
            let mut sums = [T::zero(); LANES];
            let mut group = |w: &mut [T; LANES], z: &[T; LANES]| {
                for l in 0..LANES {
                    w[l] *= z[l];
                    sums[l] += w[l];
                }
            };
            let (z, z_rest) = z.as_chunks::<LANES>();
            let (w, w_rest) = w.as_chunks_mut::<LANES>();
            w.iter_mut().zip(z).for_each(|(w, z)| group(w, z));
            let mut last = padded(w_rest);
            group(&mut last, &padded(z_rest));
            w_rest.copy_from_slice(&last[..w_rest.len()]);
            *total = sums.iter().copied().sum();
        }
    }
}

struct MovePass<'a, T> {
    m: usize,
    x: &'a mut [T],
    velocity: &'a mut [T],
    target: &'a [T],
    totals: &'a [T],
    missing: &'a [bool],
    momentum: T,
    rate: T,
}

impl<T: Scalar> WithSimd for MovePass<'_, T> {
    type Output = T;

    /// The largest move of an entry.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> T {
        let (m, momentum, rate) = (self.m, self.momentum, self.rate);
        let mut most = [T::zero(); LANES];
        let columns = self.x.chunks_mut(m).zip(self.velocity.chunks_mut(m));
        let columns = columns.zip(self.target.chunks(m)).zip(self.missing.chunks(m));
        for ((((x, v), t), missing), &total) in columns.zip(self.totals) {
            let inverse = T::one() / if total > T::of(TINY) { total } else { T::of(TINY) };
            let by = [inverse, momentum, rate];
            let (x, x_rest) = x.as_chunks_mut::<LANES>();
            let (v, v_rest) = v.as_chunks_mut::<LANES>();
            let (t, t_rest) = t.as_chunks::<LANES>();
            let (missing, missing_rest) = missing.as_chunks::<LANES>();
            for (((x, v), t), missing) in x.iter_mut().zip(v).zip(t).zip(missing) {
                move_group(x, v, t, missing, by, &mut most);
            }
            let (mut last, mut speed) = (padded(x_rest), padded(v_rest));
            let (t, missing) = (padded(t_rest), padded(missing_rest));
            move_group(&mut last, &mut speed, &t, &missing, by, &mut most);
            x_rest.copy_from_slice(&last[..x_rest.len()]);
            v_rest.copy_from_slice(&speed[..v_rest.len()]);
        }
        most.into_iter().fold(T::zero(), |a, b| if b > a { b } else { a })
    }
}

/// `v = momentum v + (x - t / w) rate`, `x -= v`, where entries are missing.
#[inline(always)]
fn move_group<T: Scalar>(
    x: &mut [T; LANES],
    v: &mut [T; LANES],
    t: &[T; LANES],
    missing: &[bool; LANES],
    [inverse, momentum, rate]: [T; 3],
    most: &mut [T; LANES],
) {
    let mut moved = [T::zero(); LANES];
    for l in 0..LANES {
        let step = (x[l] - t[l] * inverse) * rate;
        moved[l] = T::select(missing[l], momentum * v[l] + step, T::zero());
    }
    for l in 0..LANES {
        x[l] -= moved[l];
        let size = if moved[l] < T::zero() { -moved[l] } else { moved[l] };
        most[l] = if size > most[l] { size } else { most[l] };
    }
    *v = moved;
}
