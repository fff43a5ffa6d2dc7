//! A stump: one split, by Gini impurity, of rows with fractional weights.

use super::columns::Sorted;
use super::score::{Sums, best_cut, gini, halfway, quotient};
use crate::{FitContext, FitError, Stream};

/// A node this pure is not split (scikit-learn's `EPSILON`).
pub(crate) const PURE: f64 = f64::EPSILON;

/// Where a stump splits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StumpSplit {
    pub(crate) feature: usize,
    pub(crate) threshold: f32,
    score: f64,
}

/// Finds stumps for ever new weights of the same rows.
pub(crate) struct StumpFinder<'a> {
    sorted: &'a Sorted,
    classes: &'a [u32],
    n_classes: usize,
    clock: WorkClock<'a>,
    everyone: Vec<u32>,
    weighted: Vec<u32>,
    payload: Vec<(f64, u32)>,
    pairs: Vec<[f64; 2]>,
    left: Vec<f64>,
}

const WORK_PER_CHECK: usize = 1 << 16;

/// Looks at the time whenever so much work is done, in the middle of a column, too: with many classes one takes long.
struct WorkClock<'a> {
    ctx: &'a FitContext,
    unchecked: usize,
    is_over: Result<(), FitError>,
}

impl WorkClock<'_> {
    #[inline]
    fn spend(&mut self, work: usize) {
        self.unchecked += work;
        if self.unchecked >= WORK_PER_CHECK && self.is_over.is_ok() {
            self.unchecked = 0;
            self.is_over = self.ctx.check_deadline();
        }
    }
}

impl<'a> StumpFinder<'a> {
    pub(crate) fn new(
        sorted: &'a Sorted,
        classes: &'a [u32],
        n_classes: usize,
        ctx: &'a FitContext,
    ) -> Self {
        Self {
            sorted,
            classes,
            n_classes,
            clock: WorkClock { ctx, unchecked: 0, is_over: Ok(()) },
            everyone: (0..sorted.n_rows as u32).collect(),
            weighted: Vec::new(),
            payload: Vec::new(),
            pairs: Vec::new(),
            left: vec![0.0; n_classes],
        }
    }

    /// The best split, unless the rows are pure or cannot be told apart. Rows without weight are
    /// not there. Chance, keyed by `stream`, decides between features that split equally well.
    pub(crate) fn find(
        &mut self,
        weights: &[f64],
        stream: Stream,
    ) -> Result<Option<StumpSplit>, FitError> {
        let totals = self.load(weights);
        let all: f64 = totals.iter().sum();
        let squares: f64 = totals.iter().map(|t| t * t).sum();
        if 1.0 - squares / (all * all) <= PURE {
            return Ok(None);
        }
        let skips = weights.contains(&0.0);
        let mut best: Option<StumpSplit> = None;
        for feature in 0..self.sorted.n_cols {
            let split = self.split_on(feature, skips.then_some(weights), &totals, all);
            self.clock.is_over.clone()?;
            let rank = |feature: usize| stream.child(feature as u64).key();
            let wins = |split: &StumpSplit, best: &StumpSplit| {
                split.score > best.score
                    || (split.score == best.score && rank(split.feature) < rank(best.feature))
            };
            if let Some(split) = split
                && best.as_ref().is_none_or(|best| wins(&split, best))
            {
                best = Some(split);
            }
        }
        Ok(best)
    }

    /// Lays out the weights by row; gives the totals by class.
    fn load(&mut self, weights: &[f64]) -> Vec<f64> {
        let mut totals = vec![0.0; self.n_classes];
        for (&weight, &class) in weights.iter().zip(self.classes) {
            totals[class as usize] += weight;
        }
        let rows = weights.iter().zip(self.classes);
        if self.n_classes == 2 {
            self.pairs.clear();
            self.pairs.extend(rows.map(|(&w, &c)| if c == 0 { [w, 0.0] } else { [0.0, w] }));
        } else {
            self.payload.clear();
            self.payload.extend(rows.map(|(&w, &c)| (w, c)));
        }
        totals
    }

    fn split_on(
        &mut self,
        feature: usize,
        skipping: Option<&[f64]>,
        totals: &[f64],
        all: f64,
    ) -> Option<StumpSplit> {
        let column = self.sorted.column(feature);
        if let Some(weights) = skipping {
            let has_weight = |&at: &u32| weights[column.order[at as usize] as usize] > 0.0;
            self.weighted.clear();
            self.weighted.extend(self.everyone.iter().copied().filter(has_weight));
        }
        let positions = if skipping.is_some() { &self.weighted } else { &self.everyone };
        let row_at = |at: usize| column.order[at] as usize;
        let cut = if self.n_classes == 2 {
            self.clock.spend(positions.len());
            let mut sums = TwoSides { all, totals: [totals[0], totals[1]], left: [0.0; 2] };
            best_cut(positions, column, |at| self.pairs[row_at(at)], &mut sums)
        } else {
            self.left.fill(0.0);
            let (left, clock) = (&mut self.left[..], &mut self.clock);
            let mut sums = Sides { all, totals, left, left_weight: 0.0, clock };
            best_cut(positions, column, |at| self.payload[row_at(at)], &mut sums)
        }?;
        let value = |i: usize| column.values[positions[i] as usize];
        let threshold = halfway(value(cut.n_left - 1), value(cut.n_left));
        Some(StumpSplit { feature, threshold, score: cut.score })
    }
}

/// Two classes, each with a sum of its own.
struct TwoSides {
    all: f64,
    totals: [f64; 2],
    left: [f64; 2],
}

impl Sums<[f64; 2]> for TwoSides {
    #[inline]
    fn add(&mut self, row: [f64; 2]) {
        self.left[0] += row[0];
        self.left[1] += row[1];
    }

    #[inline]
    fn score(&self) -> (f64, f64) {
        let [a, b] = self.left;
        let (c, d) = (self.totals[0] - a, self.totals[1] - b);
        let left = a + b;
        score(a * a + b * b, c * c + d * d, left, self.all - left)
    }
}

/// Any number of classes. Sums of squares are taken afresh at every cut: carried along, their
/// rounding errors would drown the small weights that boosting leads to.
struct Sides<'a, 'c> {
    all: f64,
    totals: &'a [f64],
    left: &'a mut [f64],
    left_weight: f64,
    clock: &'a mut WorkClock<'c>,
}

impl Sums<(f64, u32)> for Sides<'_, '_> {
    #[inline]
    fn add(&mut self, (weight, class): (f64, u32)) {
        // A cut between this row and the next one looks at every class.
        self.clock.spend(self.totals.len());
        self.left[class as usize] += weight;
        self.left_weight += weight;
    }

    #[inline]
    fn score(&self) -> (f64, f64) {
        if self.clock.is_over.is_err() {
            return (f64::NEG_INFINITY, 1.0);
        }
        let (mut left_squares, mut right_squares) = (0.0, 0.0);
        for (&left, &total) in self.left.iter().zip(self.totals) {
            left_squares += left * left;
            right_squares += (total - left) * (total - left);
        }
        score(left_squares, right_squares, self.left_weight, self.all - self.left_weight)
    }
}

/// Rounding can leave the right side without weight; such a split is none. The quotient is taken
/// at once, since products of small weights may vanish.
#[inline]
fn score(left_squares: f64, right_squares: f64, left: f64, right: f64) -> (f64, f64) {
    if right > 0.0 {
        (quotient(gini(left_squares, right_squares, left, right)), 1.0)
    } else {
        (f64::NEG_INFINITY, 1.0)
    }
}
