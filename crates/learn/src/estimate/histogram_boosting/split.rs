//! The best split of a leaf, looked for in its histogram.

use super::bins::{Binned, BinnedColumn, Meaning};
use super::histogram::Layout;
use super::objective::{Sums, Units};

/// A child whose hessians sum to less is refused (scikit-learn's and LightGBM's bound).
pub(super) const LEAST_HESSIAN: f64 = 1e-3;
/// A split must gain more than this, which rounding alone does not.
const LEAST_GAIN: f64 = 1e-7;
/// With at most so many levels in a leaf, each is tried against all others (LightGBM's `max_cat_to_onehot`).
const FEW_LEVELS: usize = 4;
/// Prior weight, in hessians, of a gradient of zero for each level, and the rows it needs (LightGBM's `cat_smooth`).
const SMOOTHING: f64 = 10.0;
/// Further L2 regularisation of splits between many levels (LightGBM's `cat_l2`).
const LEVELS_L2: f64 = 10.0;
/// How many levels may be on one side (LightGBM's `max_cat_threshold`).
const MOST_ON_ONE_SIDE: usize = 32;

/// A set of bins.
pub(super) type BinSet = [u64; 4];

#[inline(always)]
pub(super) fn has(set: &BinSet, bin: u8) -> bool {
    set[usize::from(bin >> 6)] >> (bin & 63) & 1 == 1
}

fn insert(set: &mut BinSet, bin: usize) {
    set[bin >> 6] |= 1 << (bin & 63);
}

/// What splits must keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) l2: f64,
    pub(super) min_rows: u64,
    pub(super) units: Units,
}

/// A way to part the rows of a leaf.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// How much the loss falls, twice and to second order.
    pub(super) gain: f64,
    pub(super) column: usize,
    /// The bins that go left, that of missing cells among them or not.
    pub(super) left_bins: BinSet,
    /// The last bin of numbers that goes left; `None` for categories.
    pub(super) last_left: Option<usize>,
    /// The sums of the rows that go left.
    pub(super) left: Sums,
}

/// The best found so far within one column: twice the fall of the loss, the parent's own part still in it.
struct Best {
    score: f64,
    left: Sums,
    found: Option<Found>,
}

enum Found {
    /// Numbers up to this bin go left; do missing cells?
    UpTo(usize, bool),
    /// These bins go left.
    Among(BinSet),
}

impl Rules {
    fn score(self, sums: Sums) -> f64 {
        let g = self.units.gradient(sums);
        g * g / (self.units.hessian(sums) + self.l2)
    }

    /// Whether a leaf of so many rows could be split at all.
    pub(super) fn may_split(self, sums: Sums) -> bool {
        self.units.count(sums) >= 2 * self.min_rows
    }

    /// Takes a split if it keeps to the rules and is better than the best.
    #[inline(always)]
    fn consider(
        self,
        total: Sums,
        left: Sums,
        l2: f64,
        best: &mut Best,
        found: impl FnOnce() -> Found,
    ) {
        let units = self.units;
        let right = [total[0] - left[0], total[1] - left[1]];
        if units.count(left) < self.min_rows || units.count(right) < self.min_rows {
            return;
        }
        let (hl, hr) = (units.hessian(left), units.hessian(right));
        if hl < LEAST_HESSIAN || hr < LEAST_HESSIAN {
            return;
        }
        let (gl, gr) = (units.gradient(left), units.gradient(right));
        let (hl, hr) = (hl + l2, hr + l2);
        // gl^2 / hl + gr^2 / hr > best, without dividing.
        let (numerator, denominator) = (gl * gl * hr + gr * gr * hl, hl * hr);
        if numerator > best.score * denominator {
            *best = Best { score: numerator / denominator, left, found: Some(found()) };
        }
    }

    /// The best split of a leaf among the columns of the layout; the earlier one wins a draw.
    pub(super) fn best_split(
        self,
        binned: &Binned,
        layout: &Layout,
        histogram: &[Sums],
        total: Sums,
    ) -> Option<Split> {
        let own = self.score(total);
        let mut score = own + LEAST_GAIN;
        let mut split = None;
        for (at, &j) in layout.columns.iter().enumerate() {
            let column = &binned.columns[j];
            let sums = layout.column(histogram, at);
            let mut best = Best { score, left: [0; 2], found: None };
            match column.meaning {
                Meaning::Numbers(_) => self.scan_numbers(column, sums, total, &mut best),
                Meaning::Categories(_) => self.scan_levels(sums, total, &mut best),
            }
            if let Some(found) = best.found {
                score = best.score;
                split = Some((j, found, best.left));
            }
        }
        let (j, found, left) = split?;
        let (left_bins, last_left) =
            self.left_bins(&binned.columns[j], layout, histogram, j, found, left, total);
        Some(Split { gain: score - own, column: j, left_bins, last_left, left })
    }

    fn scan_numbers(self, column: &BinnedColumn, sums: &[Sums], total: Sums, best: &mut Best) {
        let (values, missing) = sums.split_at(column.n_values);
        let missing = missing.first().copied().unwrap_or_default();
        let has_missing = missing[1] != 0;
        for missing_left in [false, true] {
            if missing_left && !has_missing {
                break;
            }
            let mut left = if missing_left { missing } else { [0; 2] };
            // The last bin may part all numbers from the missing cells, if these go right.
            let n = values.len() - usize::from(missing_left || !has_missing);
            for (bin, sums) in values[..n].iter().enumerate() {
                if sums[1] == 0 {
                    continue; // No row: the same split as before.
                }
                left = [left[0] + sums[0], left[1] + sums[1]];
                self.consider(total, left, self.l2, best, || Found::UpTo(bin, missing_left));
            }
        }
    }

    fn scan_levels(self, sums: &[Sums], total: Sums, best: &mut Best) {
        let met: Vec<usize> = (0..sums.len()).filter(|&bin| sums[bin][1] != 0).collect();
        if met.len() <= FEW_LEVELS {
            for &bin in &met {
                let mut set = [0; 4];
                insert(&mut set, bin);
                self.consider(total, sums[bin], self.l2, best, || Found::Among(set));
            }
            return;
        }
        let slope = |bin: usize| {
            self.units.gradient(sums[bin]) / (self.units.hessian(sums[bin]) + SMOOTHING)
        };
        let mut order: Vec<(f64, usize)> = met
            .iter()
            .filter(|&&bin| self.units.count(sums[bin]) as f64 >= SMOOTHING)
            .map(|&bin| (slope(bin), bin))
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let most = MOST_ON_ONE_SIDE.min(met.len().div_ceil(2));
        let mut scan = |order: &mut dyn Iterator<Item = usize>| {
            let (mut left, mut set) = ([0; 2], [0; 4]);
            for bin in order.take(most) {
                left = [left[0] + sums[bin][0], left[1] + sums[bin][1]];
                insert(&mut set, bin);
                self.consider(total, left, self.l2 + LEVELS_L2, best, || Found::Among(set));
            }
        };
        scan(&mut order.iter().map(|&(_, bin)| bin));
        scan(&mut order.iter().rev().map(|&(_, bin)| bin));
    }

    /// The bins that go left. What no row of the leaf has goes with the larger child.
    #[expect(clippy::too_many_arguments, reason = "one split in its parts")]
    fn left_bins(
        self,
        column: &BinnedColumn,
        layout: &Layout,
        histogram: &[Sums],
        j: usize,
        found: Found,
        left: Sums,
        total: Sums,
    ) -> (BinSet, Option<usize>) {
        let is_left_larger = 2 * self.units.count(left) > self.units.count(total);
        let at = layout.columns.binary_search(&j).expect("a split is on a column of the tree");
        let sums = layout.column(histogram, at);
        let is_met = |bin: usize| sums.get(bin).is_some_and(|sums| sums[1] != 0);
        match found {
            Found::UpTo(last, missing_left) => {
                let mut set = [0; 4];
                (0..=last).for_each(|bin| insert(&mut set, bin));
                let missing = column.n_values;
                let goes_left = if is_met(missing) { missing_left } else { is_left_larger };
                if goes_left {
                    insert(&mut set, missing);
                }
                (set, Some(last))
            }
            Found::Among(mut set) => {
                if is_left_larger {
                    let unmet = (0..=column.n_values).filter(|&bin| !is_met(bin));
                    unmet.for_each(|bin| insert(&mut set, bin));
                }
                (set, None)
            }
        }
    }
}
