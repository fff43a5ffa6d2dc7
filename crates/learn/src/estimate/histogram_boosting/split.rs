//! The best split of a leaf, looked for in its histogram.

use super::bins::{Binned, BinnedColumn, Meaning};
use super::histogram::Layout;
use super::words::{Sums, Units};

/// A child whose hessians sum to less is usually refused (scikit-learn's and LightGBM's bound), and a leaf says nothing.
pub(super) const LEAST_HESSIAN: f64 = 1e-3;

/// The same, as a setting's usual value.
pub(super) fn least_hessian() -> f64 {
    LEAST_HESSIAN
}

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

/// A set of bins: 256 of them to a part.
pub(super) type BinSet = Vec<[u64; 4]>;

#[inline(always)]
pub(super) fn has(set: &[[u64; 4]], bin: usize) -> bool {
    set.get(bin >> 8).is_some_and(|part| part[bin >> 6 & 3] >> (bin & 63) & 1 == 1)
}

fn insert(set: &mut [[u64; 4]], bin: usize) {
    set[bin >> 8][bin >> 6 & 3] |= 1 << (bin & 63);
}

/// What splits must keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) l2: f64,
    pub(super) min_rows: u64,
    /// What the hessians of a child sum to at least.
    pub(super) min_hessian: f64,
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
    /// This bin of a category goes left.
    Alone(usize),
    /// So many levels go left, from the one end of their order or the other.
    Levels(usize, bool),
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
        let is_heavy = (hl >= self.min_hessian) & (hr >= self.min_hessian);
        let (gl, gr) = (units.gradient(left), units.gradient(right));
        let (hl, hr) = (hl + l2, hr + l2);
        // gl^2 / hl + gr^2 / hr > best, without dividing.
        let (numerator, denominator) = (gl * gl * hr + gr * gr * hl, hl * hr);
        if is_heavy & (numerator > best.score * denominator) {
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
            let most = self.units.count(total).saturating_sub(self.min_rows);
            for (bin, sums) in values[..n].iter().enumerate() {
                // A bin without rows is the same split as before, which is not better than itself.
                left = [left[0] + sums[0], left[1] + sums[1]];
                let count = self.units.count(left);
                if count < self.min_rows {
                    continue;
                }
                if count > most {
                    break;
                }
                self.consider(total, left, self.l2, best, || Found::UpTo(bin, missing_left));
            }
        }
    }

    fn scan_levels(self, sums: &[Sums], total: Sums, best: &mut Best) {
        let n_met = sums.iter().filter(|sums| sums[1] != 0).count();
        if n_met <= FEW_LEVELS {
            for (bin, own) in sums.iter().enumerate().filter(|(_, sums)| sums[1] != 0) {
                self.consider(total, *own, self.l2, best, || Found::Alone(bin));
            }
            return;
        }
        let order = self.order_of_levels(sums);
        let most = MOST_ON_ONE_SIDE.min(n_met.div_ceil(2)).min(order.len());
        for from_end in [false, true] {
            let mut left = [0; 2];
            for n in 1..=most {
                let bin = if from_end { order[order.len() - n] } else { order[n - 1] }.1;
                left = [left[0] + sums[bin][0], left[1] + sums[bin][1]];
                let l2 = self.l2 + LEVELS_L2;
                self.consider(total, left, l2, best, || Found::Levels(n, from_end));
            }
        }
    }

    /// The levels with enough rows, by gradient over smoothed hessian. Only those that may be on one side are in order, at
    /// both ends: with thousands of levels to put all in order takes longer than summing rows.
    fn order_of_levels(self, sums: &[Sums]) -> Vec<(f64, usize)> {
        let slope = |own: Sums| self.units.gradient(own) / (self.units.hessian(own) + SMOOTHING);
        let mut order: Vec<(f64, usize)> = (0..sums.len())
            .filter(|&bin| self.units.count(sums[bin]) as f64 >= SMOOTHING)
            .map(|bin| (slope(sums[bin]), bin))
            .collect();
        let by_slope = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let n = order.len();
        if n > 4 * MOST_ON_ONE_SIDE {
            order.select_nth_unstable_by(MOST_ON_ONE_SIDE, by_slope);
            order[MOST_ON_ONE_SIDE..].select_nth_unstable_by(n - 2 * MOST_ON_ONE_SIDE, by_slope);
            order[..MOST_ON_ONE_SIDE].sort_unstable_by(by_slope);
            order[n - MOST_ON_ONE_SIDE..].sort_unstable_by(by_slope);
        } else {
            order.sort_unstable_by(by_slope);
        }
        order
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
        let mut set: BinSet = vec![[0; 4]; (column.n_values >> 8) + 1];
        match found {
            Found::UpTo(last, missing_left) => {
                (0..=last).for_each(|bin| insert(&mut set, bin));
                let missing = column.n_values;
                let goes_left = if is_met(missing) { missing_left } else { is_left_larger };
                if goes_left {
                    insert(&mut set, missing);
                }
                return (set, Some(last));
            }
            Found::Alone(bin) => insert(&mut set, bin),
            Found::Levels(n, from_end) => {
                let order = self.order_of_levels(sums);
                let chosen = if from_end { &order[order.len() - n..] } else { &order[..n] };
                chosen.iter().for_each(|&(_, bin)| insert(&mut set, bin));
            }
        }
        if is_left_larger {
            let unmet = (0..=column.n_values).filter(|&bin| !is_met(bin));
            unmet.for_each(|bin| insert(&mut set, bin));
        }
        (set, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn of_many_levels_the_ends_are_in_order() {
        let units = Units::new(100_000, 1.0, 0.25);
        let rules = Rules { l2: 0.0, min_rows: 1, min_hessian: 0.0, units };
        for n in [100, 129, 1000] {
            // A gradient in units, a hessian of a few, and fifty rows.
            let gradient = |i: u64| (Stream::new(5).child(i).key() % 40) as i64 - 20;
            let sums: Vec<Sums> =
                (0..n).map(|i| [gradient(i), (300 << units.count_bits()) + 50]).collect();
            let order = rules.order_of_levels(&sums);
            let mut whole = order.clone();
            whole.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let n = order.len();
            assert_eq!(order[..MOST_ON_ONE_SIDE], whole[..MOST_ON_ONE_SIDE], "{n}");
            assert_eq!(order[n - MOST_ON_ONE_SIDE..], whole[n - MOST_ON_ONE_SIDE..], "{n}");
        }
    }
}
