//! The log loss: scores of the training rows, and its derivatives as whole numbers.
//!
//! Sums of whole numbers do not depend on their order, so that a fit is the same on any number of threads, and
//! a histogram less one of its parts is exactly the other part.

use pitchpipe_table::Labels;

use super::super::from_scores::{logistic, softmax};

/// A gradient is at most one.
const GRADIENT_BITS: u32 = 30;
/// A second derivative is at most a quarter; in so many bits it is below `2^29`.
const MOST_HESSIAN_BITS: u32 = 31;

/// First and second derivative of one row's loss, in units of [`Units`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pair {
    pub(super) gradient: i32,
    pub(super) hessian: u32,
}

/// A sum over rows: gradients, then hessians in the upper bits and the number of rows in the lower.
pub(super) type Sums = [i64; 2];

/// What one in a [`Pair`] stands for, and how [`Sums`] are packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    gradient: f64,
    hessian: f64,
    hessian_bits: u32,
    /// How many of the lower bits count rows.
    pub(super) count_bits: u32,
}

impl Units {
    /// Units in which sums over so many rows do not overflow.
    pub(super) fn of_rows(n_rows: usize) -> Self {
        let count_bits = usize::BITS - n_rows.leading_zeros();
        // n rows of at most a quarter are below 2^(count_bits - 2), and must stay below 2^(63 - count_bits).
        let hessian_bits = (65u32.saturating_sub(2 * count_bits)).clamp(1, MOST_HESSIAN_BITS);
        Self {
            gradient: (f64::from(GRADIENT_BITS)).exp2().recip(),
            hessian: f64::from(hessian_bits).exp2().recip(),
            hessian_bits,
            count_bits,
        }
    }

    fn pair(self, gradient: f64, hessian: f64) -> Pair {
        Pair {
            gradient: (gradient * f64::from(1u32 << GRADIENT_BITS)).round_ties_even() as i32,
            hessian: (hessian * f64::from(1u32 << self.hessian_bits) + 0.5) as u32,
        }
    }

    #[inline(always)]
    pub(super) fn count(self, sums: Sums) -> u64 {
        sums[1] as u64 & ((1 << self.count_bits) - 1)
    }

    #[inline(always)]
    pub(super) fn gradient(self, sums: Sums) -> f64 {
        sums[0] as f64 * self.gradient
    }

    #[inline(always)]
    pub(super) fn hessian(self, sums: Sums) -> f64 {
        (sums[1] >> self.count_bits) as f64 * self.hessian
    }
}

/// Scores and derivatives while boosting, output after output: one output for two classes, K for K.
pub(super) struct Objective<'a> {
    y: &'a [u32],
    n_rows: usize,
    start: Vec<f64>,
    scores: Vec<f64>,
    pairs: Vec<Pair>,
    pub(super) units: Units,
}

impl<'a> Objective<'a> {
    /// Starts from the log odds of the classes' shares (their logarithms, for three and more).
    pub(super) fn new(y: &'a Labels) -> Self {
        let n_rows = y.len();
        let shares: Vec<f64> = y.counts().iter().map(|&n| n as f64 / n_rows as f64).collect();
        let start: Vec<f64> = match shares[..] {
            [first, second] => vec![(second / first).ln()],
            _ => shares.iter().map(|share| share.ln()).collect(),
        };
        let scores: Vec<f64> =
            start.iter().flat_map(|&score| std::iter::repeat_n(score, n_rows)).collect();
        let pairs = vec![Pair::default(); scores.len()];
        Self { y: y.codes(), n_rows, start, scores, pairs, units: Units::of_rows(n_rows) }
    }

    /// The scores before the first round.
    pub(super) fn start(&self) -> &[f64] {
        &self.start
    }

    pub(super) fn pairs(&self, output: usize) -> &[Pair] {
        &self.pairs[output * self.n_rows..(output + 1) * self.n_rows]
    }

    pub(super) fn scores_mut(&mut self, output: usize) -> &mut [f64] {
        &mut self.scores[output * self.n_rows..(output + 1) * self.n_rows]
    }

    /// The derivatives at the present scores.
    pub(super) fn update(&mut self) {
        let units = self.units;
        let n_outputs = self.start.len();
        if n_outputs == 1 {
            for ((pair, &score), &class) in self.pairs.iter_mut().zip(&self.scores).zip(self.y) {
                let p = logistic(score);
                *pair = units.pair(p - f64::from(class), p * (1.0 - p));
            }
            return;
        }
        let mut row_scores = vec![0.0; n_outputs];
        for (row, &class) in self.y.iter().enumerate() {
            for (k, score) in row_scores.iter_mut().enumerate() {
                *score = self.scores[k * self.n_rows + row];
            }
            softmax(&mut row_scores);
            for (k, &p) in row_scores.iter().enumerate() {
                let truth = f64::from(u8::from(class as usize == k));
                self.pairs[k * self.n_rows + row] = units.pair(p - truth, p * (1.0 - p));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_hold_as_many_rows_as_there_are() {
        for n_rows in [1usize, 2, 1000, 1 << 20, 20_000_000] {
            let units = Units::of_rows(n_rows);
            let Pair { gradient, hessian } = units.pair(-1.0, 0.25);
            let one = [i64::from(gradient), (i64::from(hessian) << units.count_bits) + 1];
            let all = one.map(|part| part.checked_mul(n_rows as i64).expect("no overflow"));
            assert_eq!(units.count(all), n_rows as u64);
            assert!((units.gradient(all) + n_rows as f64).abs() < 1e-9 * n_rows as f64);
            assert!((units.hessian(all) - 0.25 * n_rows as f64).abs() < 1e-4 * n_rows as f64);
        }
    }

    #[test]
    fn derivatives_are_those_of_the_log_loss() {
        let two = Labels::from_codes([0, 1, 1, 1], 2);
        let mut objective = Objective::new(&two);
        objective.update();
        let units = objective.units;
        // At the start every row's probability is the share, .75.
        assert_eq!(objective.pairs(0)[0], units.pair(0.75, 0.1875));
        assert_eq!(objective.pairs(0)[1], units.pair(-0.25, 0.1875));
        let three = Labels::from_codes([0, 1, 2, 2], 3);
        let mut objective = Objective::new(&three);
        objective.update();
        let gradient = |k: usize| f64::from(objective.pairs(k)[2].gradient) * units.gradient;
        for (k, expected) in [0.25, 0.25, -0.5].into_iter().enumerate() {
            assert!((gradient(k) - expected).abs() < 1e-8, "{k}");
        }
    }
}
