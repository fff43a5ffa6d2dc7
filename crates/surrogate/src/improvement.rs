//! Expected improvement: by how much a Gaussian value is expected to fall below the best one seen.
//!
//! `EI = sd (z Φ(z) + φ(z))`, `z = (best - mean) / sd`. Asked of every pipeline at every decision, so it
//! is written without branches or calls, for the compiler to do eight pipelines at a time.

/// Standard deviations below this count as this: a pipeline already known improves on nothing.
const LEAST_SD: f64 = 1e-9;

/// Expected improvement on `best` of each of several Gaussians, into `out`.
pub(crate) fn improvements(best: f64, mean: &[f64], variance: &[f64], out: &mut [f64]) {
    pulp::Arch::new().dispatch(Improvements { best, mean, variance, out });
}

struct Improvements<'a> {
    best: f64,
    mean: &'a [f64],
    variance: &'a [f64],
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Improvements<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for ((out, &mean), &variance) in self.out.iter_mut().zip(self.mean).zip(self.variance) {
            *out = improvement(self.best, mean, variance);
        }
    }
}

/// Expected improvement on `best` of one Gaussian. Its relative error is below 1e-4 wherever the result
/// is at all a number above zero.
#[inline(always)]
pub(crate) fn improvement(best: f64, mean: f64, variance: f64) -> f64 {
    let sd = variance.sqrt().max(LEAST_SD);
    let z = (best - mean) / sd;
    let x = z.abs();
    // z Φ(z) + φ(z) = max(z, 0) + φ(x) (1 - x M(x)), with Mills' ratio M(x) = (1 - Φ(x)) / φ(x).
    sd * (z.max(0.0) + density(x) * (1.0 - x * mills_ratio(x)).max(0.0))
}

/// φ(x).
#[inline(always)]
fn density(x: f64) -> f64 {
    const ONE_BY_ROOT_TWO_PI: f64 = 0.398_942_280_401_432_7;
    ONE_BY_ROOT_TWO_PI * exp(-0.5 * x * x)
}

/// `(1 - Φ(x)) / φ(x)` for `x >= 0`, by the Chebyshev fit of erfc in `1 / (1 + x / 2)` (relative error
/// 1.2e-7).
#[inline(always)]
fn mills_ratio(x: f64) -> f64 {
    const ROOT_HALF_PI: f64 = 1.253_314_137_315_500_1;
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x * std::f64::consts::FRAC_1_SQRT_2);
    let mut p = FIT[9];
    for i in (0..9).rev() {
        p = p * t + FIT[i];
    }
    ROOT_HALF_PI * t * exp(p)
}

/// The exponential, to 1e-12, of arguments up to 700; 0 far below.
#[inline(always)]
fn exp(x: f64) -> f64 {
    // Adding this leaves the nearest integer in the low bits of the sum.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2: [f64; 2] = [0.693_145_751_953_125, 1.428_606_820_309_417_3e-6];
    let x = x.max(-708.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let f = x - n * LN_2[0] - n * LN_2[1];
    let mut p = 1.0 / 3_628_800.0;
    for c in [362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        p = p * f + 1.0 / c;
    }
    p * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52))
}

/// The quantile of the standard normal distribution at `p` in (0, 1), to 1e-9 relative (Acklam's fit).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let poly = |c: &[f64], x: f64| c.iter().fold(0.0, |s, c| s * x + c);
    let tail = |q: f64| poly(&C, q) / (poly(&D, q) * q + 1.0);
    if p < 0.02425 {
        tail((-2.0 * p.ln()).sqrt())
    } else if p > 1.0 - 0.02425 {
        -tail((-2.0 * (1.0 - p).ln()).sqrt())
    } else {
        let q = p - 0.5;
        let r = q * q;
        poly(&A, r) * q / (poly(&B, r) * r + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// z Φ(z) + φ(z) = ∫ Φ up to z, by Simpson's rule on φ twice: no closed form shared with the code.
    fn by_integration(z: f64) -> f64 {
        // E[max(0, z - Y)] for Y ~ N(0, 1): integrate (z - y) φ(y) over y < z.
        let (low, steps) = (z - 14.0, 40_000);
        let h = (z - low) / steps as f64;
        let f = |y: f64| (z - y) * (-0.5 * y * y).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let inner: f64 =
            (1..steps).map(|i| f(low + h * i as f64) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        (f(low) + inner + f(z)) * h / 3.0
    }

    #[test]
    fn expected_improvement_is_the_integral_it_stands_for() {
        for z in [-12.0, -8.0, -4.0, -2.0, -1.0, -0.3, 0.0, 0.2, 1.0, 3.0, 6.0] {
            let (got, want) = (improvement(0.3 * z, 0.0, 0.09) / 0.3, by_integration(z));
            assert!((got / want - 1.0).abs() < 1e-4, "z {z}: {got} against {want}");
        }
    }

    #[test]
    fn a_known_value_improves_on_nothing_unless_it_is_better() {
        assert_eq!(improvement(0.2, 0.3, 0.0), 0.0);
        assert!((improvement(0.3, 0.2, 0.0) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_exponential_is_the_library_s() {
        for i in -700..60 {
            let x = f64::from(i) * 1.01;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-11, "{x}");
        }
    }

    #[test]
    fn quantiles_undo_the_distribution() {
        for (p, z) in [(0.5, 0.0), (0.841_344_746_068_543, 1.0), (0.001_349_898_031_630_1, -3.0)] {
            assert!((normal_quantile(p) - z).abs() < 1e-7);
        }
    }
}
