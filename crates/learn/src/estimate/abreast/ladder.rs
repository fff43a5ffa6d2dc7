//! How many thresholds a number exceeds: found from where it lies between the first and the last, without a branch where few lie
//! close together.

/// Equal steps, for each threshold, between the first threshold and the last.
const STEPS_EACH: usize = 4;
const MOST_STEPS: usize = 1 << 12;

/// Thresholds of a step that are compared without a branch.
const COMPARED: usize = 2;

/// Distinct thresholds, ascending.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    /// Followed by infinities, which no number exceeds.
    thresholds: Vec<f64>,
    n: usize,
    first: f64,
    steps_a_unit: f64,
    /// How many thresholds lie in earlier steps, by step. A number of a later step exceeds those of all earlier ones, since rounding
    /// keeps numbers in order; so nothing here depends on how steps are rounded.
    before: Vec<u32>,
}

impl Ladder {
    pub(super) fn of(mut thresholds: Vec<f64>) -> Self {
        let n = thresholds.len();
        let n_steps = (STEPS_EACH * n).clamp(1, MOST_STEPS);
        let (first, last) = (thresholds[0], thresholds[n - 1]);
        let steps_a_unit = n_steps as f64 / (last - first);
        // Thresholds may be equal, or too far apart for a difference.
        let steps_a_unit = if steps_a_unit.is_finite() { steps_a_unit } else { 0.0 };
        let mut ladder =
            Self { thresholds: Vec::new(), n, first, steps_a_unit, before: Vec::new() };
        ladder.before = vec![0; n_steps + 1];
        for &threshold in &thresholds {
            let step = ladder.step(threshold);
            ladder.before[step + 1] += 1;
        }
        for step in 0..n_steps {
            ladder.before[step + 1] += ladder.before[step];
        }
        thresholds.extend([f64::INFINITY; COMPARED]);
        ladder.thresholds = thresholds;
        ladder
    }

    /// How many thresholds there are.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    #[inline(always)]
    fn step(&self, number: f64) -> usize {
        let step = ((number - self.first) * self.steps_a_unit) as i32;
        (step.max(0) as usize).min(self.before.len() - 2)
    }

    /// How many thresholds a number exceeds; that of NaN means nothing.
    #[inline(always)]
    pub(super) fn below(&self, number: f64) -> usize {
        let step = self.step(number);
        let (from, to) = (self.before[step] as usize, self.before[step + 1] as usize);
        if to - from > COMPARED {
            return from + self.thresholds[from..to].partition_point(|&t| t < number);
        }
        let compared = &self.thresholds[from..from + COMPARED];
        from + compared.iter().map(|&t| usize::from(t < number)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_counts(thresholds: &[f64], numbers: &[f64]) {
        let ladder = Ladder::of(thresholds.to_vec());
        for &number in numbers.iter().chain(thresholds) {
            let expected = thresholds.iter().filter(|&&t| t < number).count();
            assert_eq!(ladder.below(number), expected, "{number:?} among {thresholds:?}");
        }
    }

    proptest! {
        #[test]
        fn counts_the_thresholds_below_any_number(
            mut thresholds in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, 1..60),
            numbers in prop::collection::vec(prop::num::f64::ANY, 40),
        ) {
            thresholds.iter_mut().for_each(|t| *t += 0.0);
            thresholds.sort_by(f64::total_cmp);
            thresholds.dedup();
            let numbers: Vec<f64> = numbers.into_iter().filter(|n| !n.is_nan()).collect();
            assert_counts(&thresholds, &numbers);
        }

        #[test]
        fn also_where_many_lie_close_together(
            mut thresholds in prop::collection::vec(-3.0..3.0_f64, 1..300),
            numbers in prop::collection::vec(-4.0..4.0_f64, 100),
            far in 0.0..1e9_f64,
        ) {
            thresholds.push(far + 5.0);
            thresholds.sort_by(f64::total_cmp);
            thresholds.dedup();
            assert_counts(&thresholds, &numbers);
        }
    }

    #[test]
    fn what_differs_by_infinity_or_by_nothing_is_counted_as_well() {
        assert_counts(&[-f64::MAX, 0.0, f64::MAX], &[f64::INFINITY, f64::NEG_INFINITY, 1.0]);
        assert_counts(&[1.0], &[f64::INFINITY, f64::NEG_INFINITY, 1.0, 2.0]);
        assert_counts(&[0.0, f64::from_bits(1)], &[f64::INFINITY, -1.0, 0.0, f64::from_bits(2)]);
    }
}
