//! The number types that tensors are stored in.

/// `f32`, which is what error rates are stored and multiplied in, or `f64`, in which the laws are
/// checked to the last digits.
pub trait Scalar: faer::traits::RealField + ndarray::NdFloat + std::iter::Sum + Default {
    /// The nearest number of this type.
    fn of(value: f64) -> Self;

    /// The same number in double precision.
    fn wide(self) -> f64;

    /// The exponential of a number that is at most zero, in a form that vectorises.
    fn fast_exp(self) -> Self;

    /// `yes` where `condition` holds, else `no`: by bits, which vectorises where a branch on a `bool` does
    /// not, and which hands either number on as it is.
    fn select(condition: bool, yes: Self, no: Self) -> Self;
}

impl Scalar for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn fast_exp(self) -> Self {
        f64::exp(self)
    }

    #[inline(always)]
    fn select(condition: bool, yes: Self, no: Self) -> Self {
        let keep = u64::from(condition).wrapping_neg();
        f64::from_bits((yes.to_bits() & keep) | (no.to_bits() & !keep))
    }
}

impl Scalar for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn fast_exp(self) -> Self {
        exp(self)
    }

    #[inline(always)]
    fn select(condition: bool, yes: Self, no: Self) -> Self {
        let keep = u32::from(condition).wrapping_neg();
        f32::from_bits((yes.to_bits() & keep) | (no.to_bits() & !keep))
    }
}

/// Entries that SIMD passes work on together: a multiple of every vector's width.
pub(crate) const LANES: usize = 16;

/// The last, shorter group of a pass, filled up so that it is worked on like the others.
#[inline(always)]
pub(crate) fn padded<V: Copy + Default>(rest: &[V]) -> [V; LANES] {
    let mut group = [V::default(); LANES];
    group[..rest.len()].copy_from_slice(rest);
    group
}

/// The exponential to two units in the last place, without branches, so that it vectorises.
///
/// `e^x = 2^n e^r` with `n` the nearest integer to `x / ln 2` and |r| <= ln 2 / 2.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let e = p * (r * r) + r + 1.0;
    // The low bits of `shifted` hold n; moved into the exponent they multiply by 2^n.
    f32::from_bits(e.to_bits().wrapping_add(shifted.to_bits() << 23))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_exponential_is_right_to_two_units_in_the_last_place() {
        let values: Vec<f32> = (0..200_000).map(|i| -86.0 + i as f32 * 8.5e-4).collect();
        let exact: Vec<f64> = values.iter().map(|&v| f64::from(v).exp()).collect();
        for (got, want) in values.iter().map(|v| v.fast_exp()).zip(exact) {
            assert!((f64::from(got) / want - 1.0).abs() < 2.5e-7, "{got} {want}");
        }
    }

    #[test]
    fn a_selection_keeps_every_bit() {
        for (a, b) in [(0.1_f32, -0.0), (f32::NAN, 1.0), (f32::MIN_POSITIVE / 3.0, f32::INFINITY)] {
            assert_eq!(f32::select(true, a, b).to_bits(), a.to_bits());
            assert_eq!(f32::select(false, a, b).to_bits(), b.to_bits());
            let (a, b) = (f64::from(a), f64::from(b));
            assert_eq!(f64::select(true, a, b).to_bits(), a.to_bits());
            assert_eq!(f64::select(false, a, b).to_bits(), b.to_bits());
        }
    }

    #[test]
    fn far_below_zero_it_is_all_but_zero() {
        let values = [-1e30_f32, -100.0, f32::NEG_INFINITY];
        assert!(values.iter().all(|v| (0.0..1e-37).contains(&v.fast_exp())));
    }
}
