//! How good a split of classes is, and the best split along a sorted column.
//!
//! Weights are whole numbers (a bootstrap is held as counts), so sums are exact and the score of a
//! split follows from the one before it in constant time, whatever the number of classes.
//! Scores are comparable within a node only: terms common to all of its splits are left out.

use super::columns::SortedColumn;
use super::order::InOrder;
use super::settings::Criterion;

/// Values no further apart than this count as equal (scikit-learn's `FEATURE_THRESHOLD`).
pub(crate) const EQUAL: f32 = 1e-7;

/// A split along a sorted column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    /// The higher, the purer the two sides.
    pub(crate) score: f64,
    /// How many of the node's sorted rows go left.
    pub(crate) n_left: usize,
}

/// Finds the best cut of a node for one criterion and number of classes.
#[derive(Debug)]
pub(crate) struct Scorer {
    criterion: Criterion,
    n_classes: usize,
    left: Vec<u32>,
    right: Vec<u32>,
    /// `x ln x` of whole numbers, for the entropy.
    x_ln_x: Vec<f64>,
}

/// What a row brings to the sums: its weight and its class, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Payload(u32);

impl Payload {
    /// A bootstrap draws no row more often than this (one of 10^9 rows, 13 times).
    const MAX_WEIGHT: u32 = 0xff;

    #[inline(always)]
    pub(crate) fn new(weight: u32, class: u32) -> Self {
        assert!(weight <= Self::MAX_WEIGHT && class < 1 << 24, "weight and class fit one word");
        Self(class << 8 | weight)
    }

    #[inline(always)]
    pub(crate) fn weight(self) -> u32 {
        self.0 & Self::MAX_WEIGHT
    }

    #[inline(always)]
    pub(crate) fn class(self) -> usize {
        (self.0 >> 8) as usize
    }

    /// With two classes: the weight in the lower half, and in the upper half again if the class
    /// is the second, so that both sums are one.
    #[inline(always)]
    fn two_sums(self) -> u64 {
        let weight = u64::from(self.weight());
        weight | (weight * u64::from(self.0 >> 8)) << 32
    }
}

impl Scorer {
    /// A scorer of nodes whose weights sum to `total` at most.
    pub(crate) fn new(criterion: Criterion, n_classes: usize, total: usize) -> Self {
        let x_ln_x = match criterion {
            Criterion::Gini => Vec::new(),
            Criterion::Entropy => {
                let entry = |x: usize| if x == 0 { 0.0 } else { x as f64 * (x as f64).ln() };
                (0..=total).map(entry).collect()
            }
        };
        Self { criterion, n_classes, left: vec![0; n_classes], right: vec![0; n_classes], x_ln_x }
    }

    /// The best cut of a node's rows, given by their ascending positions in `column`; the first
    /// wins a draw. `counts` are the node's weights by class.
    #[inline(always)]
    pub(crate) fn best_cut(
        &mut self,
        sorted: InOrder<'_, Payload>,
        column: SortedColumn<'_>,
        counts: &[u32],
    ) -> Option<Cut> {
        self.left.fill(0);
        self.right.copy_from_slice(counts);
        let (left, right) = (&mut self.left[..], &mut self.right[..]);
        let total: u32 = counts.iter().sum();
        let (positions, payload) = (sorted.positions, |at: usize| sorted.slots[at]);
        match (self.criterion, self.n_classes) {
            (Criterion::Gini, 2) => {
                let (all, ones) = (i64::from(total), i64::from(counts[1]));
                best_cut(positions, column, payload, &mut TwoClassGini { all, ones, sums: 0 })
            }
            (Criterion::Entropy, 2) => {
                let table = &self.x_ln_x[..];
                let mut sums = TwoClassEntropy { table, all: total, ones: counts[1], sums: 0 };
                best_cut(positions, column, payload, &mut sums)
            }
            (Criterion::Gini, _) => {
                let squares = counts.iter().map(|&c| i64::from(c) * i64::from(c)).sum();
                let (weight, squares) = ([0, i64::from(total)], [0, squares]);
                best_cut(positions, column, payload, &mut Gini { left, right, weight, squares })
            }
            (Criterion::Entropy, _) => {
                let table = &self.x_ln_x[..];
                let sum = counts.iter().map(|&c| table[c as usize]).sum();
                let mut sums = Entropy { table, left, right, weight: [0, total], sum };
                best_cut(positions, column, payload, &mut sums)
            }
        }
    }

    /// The score of sending `left` of `counts` left; both sides must have weight.
    pub(crate) fn score(&self, left: &[u32], counts: &[u32]) -> f64 {
        match (self.criterion, self.n_classes) {
            (Criterion::Gini, 2) => quotient(two_class_gini(
                i64::from(counts[0] + counts[1]),
                i64::from(counts[1]),
                i64::from(left[0] + left[1]),
                i64::from(left[1]),
            )),
            (Criterion::Entropy, 2) => two_class_entropy(
                &self.x_ln_x,
                counts[0] + counts[1],
                counts[1],
                left[0] + left[1],
                left[1],
            ),
            (Criterion::Gini, _) => {
                let (mut weight, mut squares) = ([0u64; 2], [0u64; 2]);
                for (&l, &all) in left.iter().zip(counts) {
                    for (side, count) in [u64::from(l), u64::from(all - l)].into_iter().enumerate()
                    {
                        weight[side] += count;
                        squares[side] += count * count;
                    }
                }
                let [left_squares, right_squares] = squares.map(|s| s as f64);
                let [left, right] = weight.map(|w| w as f64);
                quotient(gini(left_squares, right_squares, left, right))
            }
            (Criterion::Entropy, _) => {
                let (mut weight, mut sum) = ([0u32; 2], 0.0);
                for (&l, &all) in left.iter().zip(counts) {
                    weight[0] += l;
                    weight[1] += all - l;
                    sum += self.x_ln_x[l as usize] + self.x_ln_x[(all - l) as usize];
                }
                sum - self.x_ln_x[weight[0] as usize] - self.x_ln_x[weight[1] as usize]
            }
        }
    }
}

#[inline(always)]
pub(crate) fn quotient((numerator, denominator): (f64, f64)) -> f64 {
    numerator / denominator
}

/// The sums of a split's two sides while rows move from right to left.
pub(crate) trait Sums<P> {
    /// Moves one row.
    fn add(&mut self, row: P);
    /// The score of the split as it is now: a numerator and a positive denominator, as products
    /// compare fractions faster than divisions.
    fn score(&self) -> (f64, f64);
}

/// Moves rows to the left side one by one, and scores wherever the value changes. `payload` gives
/// what the row at a position brings.
#[inline(always)]
pub(crate) fn best_cut<P>(
    positions: &[u32],
    column: SortedColumn<'_>,
    payload: impl Fn(usize) -> P,
    sums: &mut impl Sums<P>,
) -> Option<Cut> {
    let (mut best, mut n_left) = ((f64::NEG_INFINITY, 1.0), 0);
    let (&first, rest) = positions.split_first()?;
    let mut at = first as usize;
    for (passed, &next) in rest.iter().enumerate() {
        let next = next as usize;
        sums.add(payload(at));
        if column.differ(at, next) {
            let score = sums.score();
            if score.0 * best.1 > best.0 * score.1 {
                (best, n_left) = (score, passed + 1);
            }
        }
        at = next;
    }
    (n_left > 0).then_some(Cut { score: best.0 / best.1, n_left })
}

/// Two classes: the sums of weights and of the second class's weights travel in one word.
struct TwoClassGini {
    all: i64,
    ones: i64,
    sums: u64,
}

impl Sums<Payload> for TwoClassGini {
    #[inline(always)]
    fn add(&mut self, row: Payload) {
        self.sums += row.two_sums();
    }

    #[inline(always)]
    fn score(&self) -> (f64, f64) {
        let (left, left_ones) = ((self.sums & 0xffff_ffff) as i64, (self.sums >> 32) as i64);
        two_class_gini(self.all, self.ones, left, left_ones)
    }
}

struct TwoClassEntropy<'a> {
    table: &'a [f64],
    all: u32,
    ones: u32,
    sums: u64,
}

impl Sums<Payload> for TwoClassEntropy<'_> {
    #[inline(always)]
    fn add(&mut self, row: Payload) {
        self.sums += row.two_sums();
    }

    #[inline(always)]
    fn score(&self) -> (f64, f64) {
        let (left, left_ones) = (self.sums as u32, (self.sums >> 32) as u32);
        (two_class_entropy(self.table, self.all, self.ones, left, left_ones), 1.0)
    }
}

struct Gini<'a> {
    left: &'a mut [u32],
    right: &'a mut [u32],
    weight: [i64; 2],
    squares: [i64; 2],
}

impl Sums<Payload> for Gini<'_> {
    #[inline(always)]
    fn add(&mut self, row: Payload) {
        let (weight, class) = (row.weight(), row.class());
        let (left, right) = (self.left[class], self.right[class]);
        let moved = i64::from(weight);
        self.squares[0] += moved * (2 * i64::from(left) + moved);
        self.squares[1] -= moved * (2 * i64::from(right) - moved);
        self.left[class] = left + weight;
        self.right[class] = right - weight;
        self.weight[0] += moved;
        self.weight[1] -= moved;
    }

    #[inline(always)]
    fn score(&self) -> (f64, f64) {
        let [left_squares, right_squares] = self.squares.map(|s| s as f64);
        let [left, right] = self.weight.map(|w| w as f64);
        gini(left_squares, right_squares, left, right)
    }
}

struct Entropy<'a> {
    table: &'a [f64],
    left: &'a mut [u32],
    right: &'a mut [u32],
    weight: [u32; 2],
    sum: f64,
}

impl Sums<Payload> for Entropy<'_> {
    #[inline(always)]
    fn add(&mut self, row: Payload) {
        let (weight, class) = (row.weight(), row.class());
        let (left, right) = (self.left[class], self.right[class]);
        let at = |x: u32| self.table[x as usize];
        self.sum += (at(left + weight) - at(left)) - (at(right) - at(right - weight));
        self.left[class] = left + weight;
        self.right[class] = right - weight;
        self.weight[0] += weight;
        self.weight[1] -= weight;
    }

    #[inline(always)]
    fn score(&self) -> (f64, f64) {
        let sides = self.table[self.weight[0] as usize] + self.table[self.weight[1] as usize];
        (self.sum - sides, 1.0)
    }
}

/// What is left of the weighted Gini impurity once the node's own terms are taken away: the
/// squared class weights over the side's weight, summed over both sides.
#[inline(always)]
pub(crate) fn gini(left_squares: f64, right_squares: f64, left: f64, right: f64) -> (f64, f64) {
    (left_squares * right + right_squares * left, left * right)
}

/// For two classes the Gini improvement is the squared difference of the sides' shares.
#[inline(always)]
fn two_class_gini(all: i64, ones: i64, left: i64, left_ones: i64) -> (f64, f64) {
    let difference = (all * left_ones - left * ones) as f64;
    (difference * difference, (left * (all - left)) as f64)
}

#[inline(always)]
fn two_class_entropy(table: &[f64], all: u32, ones: u32, left: u32, left_ones: u32) -> f64 {
    let at = |x: u32| table[x as usize];
    let (right, right_ones) = (all - left, ones - left_ones);
    (at(left_ones) + at(left - left_ones) - at(left))
        + (at(right_ones) + at(right - right_ones) - at(right))
}

/// The largest `f32` not above the middle of two: rows compare with it exactly as they would
/// with scikit-learn's double-precision threshold.
#[inline(always)]
pub(crate) fn halfway(below: f32, above: f32) -> f32 {
    round_down(f64::from(below) / 2.0 + f64::from(above) / 2.0)
}

/// The largest `f32` not above `threshold`.
#[inline(always)]
pub(crate) fn round_down(threshold: f64) -> f32 {
    let rounded = threshold as f32;
    if f64::from(rounded) > threshold { rounded.next_down() } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, FitContext};

    /// The best cut found by scoring every cut from its class counts.
    fn by_hand(scorer: &Scorer, classes: &[u32], weights: &[u32], counts: &[u32]) -> (f64, usize) {
        let mut left = vec![0; counts.len()];
        let mut best = (f64::NEG_INFINITY, 0);
        for i in 0..classes.len() - 1 {
            left[classes[i] as usize] += weights[i];
            let score = scorer.score(&left, counts);
            if score > best.0 + 1e-12 {
                best = (score, i + 1);
            }
        }
        best
    }

    #[test]
    fn the_scan_finds_what_scoring_every_cut_finds() {
        for (criterion, n_classes) in [
            (Criterion::Gini, 2),
            (Criterion::Gini, 5),
            (Criterion::Entropy, 2),
            (Criterion::Entropy, 5),
        ] {
            let n = 40;
            let classes: Vec<u32> =
                (0..n).map(|i| (i * i / 7 + i / 13) as u32 % n_classes as u32).collect();
            let weights: Vec<u32> = (0..n as u32).map(|i| 1 + i % 3).collect();
            let x = Features::from_columns(n, 1, (0..n).map(|i| i as f64).collect());
            let columns = x.tree_sorted("tree", &FitContext::unhurried()).unwrap();
            let mut counts = vec![0; n_classes];
            let slots: Vec<Payload> = (0..n)
                .map(|i| {
                    counts[classes[i] as usize] += weights[i];
                    Payload::new(weights[i], classes[i])
                })
                .collect();
            let mut scorer = Scorer::new(criterion, n_classes, 3 * n);
            let positions: Vec<u32> = (0..n as u32).collect();
            let sorted = InOrder { positions: &positions, slots: &slots };
            let cut = scorer.best_cut(sorted, columns.column(0), &counts).unwrap();
            let (score, n_left) = by_hand(&scorer, &classes, &weights, &counts);
            assert_eq!(cut.n_left, n_left, "{criterion:?} {n_classes}");
            assert!((cut.score - score).abs() < 1e-9);
        }
    }

    #[test]
    fn thresholds_round_towards_the_left_side() {
        let (below, above) = (1.0f32, 1.0f32.next_up());
        assert_eq!(halfway(below, above), below);
        assert_eq!(halfway(1.0, 2.0), 1.5);
        assert_eq!(halfway(f32::MAX, f32::MAX), f32::MAX);
    }
}
