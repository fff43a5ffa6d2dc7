//! Gradients of the log loss for many rows at once: an exponential function that the compiler can spread over lanes.

use crate::{FitContext, FitError};

/// Rows whose exponentials are held at once.
const ROWS: usize = 256;

/// `e^x` within a few units in the last place for numbers between -700 and 700, which all are brought to.
#[inline(always)]
fn exp(x: f64) -> f64 {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Adding it rounds to a whole number, which is then in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = x.clamp(-700.0, 700.0);
    let shifted = x * LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // Taylor's series: |r| is at most .35, and the first term left out is below 1e-16.
    let mut sum = 1.0 / 479_001_600.0;
    for term in [
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        sum = sum * r + term;
    }
    let power = (shifted.to_bits() << 52).wrapping_add(1023 << 52);
    sum * f64::from_bits(power)
}

/// For two classes: the probability of the second less whether it is that.
pub(super) fn gradients_of_two(scores: &[f64], classes: &[u32], gradients: &mut [f32]) {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for ((gradient, &score), &class) in gradients.iter_mut().zip(scores).zip(classes) {
                let p = 1.0 / (1.0 + exp(-score));
                *gradient = (p - f64::from(class)) as f32;
            }
        },
    );
}

/// For more classes, output after output: the probability of each less whether it is that.
pub(super) fn gradients_of_many(
    scores: &[f64],
    classes: &[u32],
    gradients: &mut [f32],
    ctx: &FitContext,
) -> Result<(), FitError> {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            let n_rows = classes.len();
            let n_outputs = scores.len() / n_rows.max(1);
            let mut powers = vec![0.0; ROWS * n_outputs];
            let (mut largest, mut sums) = ([0.0; ROWS], [0.0; ROWS]);
            for (block, classes) in classes.chunks(ROWS).enumerate() {
                // With thousands of classes all rows take seconds.
                ctx.check_deadline()?;
                let (first, n) = (block * ROWS, classes.len());
                let part = |k: usize| k * n_rows + first..k * n_rows + first + n;
                largest.fill(f64::MIN);
                for k in 0..n_outputs {
                    for (largest, &score) in largest.iter_mut().zip(&scores[part(k)]) {
                        *largest = if score > *largest { score } else { *largest };
                    }
                }
                sums.fill(0.0);
                for (k, powers) in powers.chunks_exact_mut(ROWS).enumerate() {
                    let rows = scores[part(k)].iter().zip(&largest).zip(&mut sums);
                    for (power, ((&score, &largest), sum)) in powers.iter_mut().zip(rows) {
                        *power = exp(score - largest);
                        *sum += *power;
                    }
                }
                sums.iter_mut().for_each(|sum| *sum = 1.0 / *sum);
                for (k, powers) in powers.chunks_exact(ROWS).enumerate() {
                    let rows = powers.iter().zip(&sums).zip(classes);
                    for (gradient, ((&power, &share), &class)) in
                        gradients[part(k)].iter_mut().zip(rows)
                    {
                        let truth = if class as usize == k { 1.0 } else { 0.0 };
                        *gradient = (power * share - truth) as f32;
                    }
                }
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_standard_library() {
        for i in -7000..7000 {
            let x = f64::from(i) * 0.09973;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-14, "{x}");
        }
        assert!(exp(1e9).is_finite() && exp(-1e9) > 0.0 && exp(0.0) == 1.0);
    }
}
