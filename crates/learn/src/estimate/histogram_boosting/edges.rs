//! Where the bins of a column of numbers end: at quantiles, half-way between two values.

use super::bins::MOST_VALUES;
use crate::Stream;

/// Edges are found among this many rows: more would not move them by anything that matters.
const MOST_SAMPLED: usize = 200_000;

/// The upper edge of each bin but the last, ascending. A value is in the first bin whose edge it does not exceed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edges(Vec<f64>);

impl Edges {
    /// At most so many bins for sorted values: one for each value where they are few, else about as many rows
    /// in each, where a value with many rows has a bin of its own.
    pub(super) fn of_sorted(sorted: &[f64], most: usize) -> Self {
        let runs: Vec<(f64, usize)> =
            sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
        if runs.len() <= most {
            return Self(runs.windows(2).map(|pair| half_way(pair[0].0, pair[1].0)).collect());
        }
        let mut edges = Vec::with_capacity(most - 1);
        let (mut rows_left, mut bins_left, mut in_bin) = (sorted.len(), most, 0);
        for (at, &(value, n)) in runs.iter().enumerate() {
            let wanted = rows_left as f64 / bins_left as f64;
            let is_full = n as f64 >= wanted || in_bin as f64 + n as f64 / 2.0 >= wanted;
            if in_bin > 0 && bins_left > 1 && is_full {
                edges.push(half_way(runs[at - 1].0, value));
                rows_left -= in_bin;
                bins_left -= 1;
                in_bin = 0;
            }
            in_bin += n;
        }
        Self(edges)
    }

    /// How many bins there are.
    pub(super) fn n_bins(&self) -> usize {
        self.0.len() + 1
    }

    /// The largest number that a bin and those before it may hold.
    pub(super) fn upper(&self, bin: usize) -> f64 {
        self.0.get(bin).copied().unwrap_or(f64::MAX)
    }

    pub(super) fn search(&self) -> Search {
        let mut padded = [f64::INFINITY; MOST_VALUES + 1];
        padded[..self.0.len()].copy_from_slice(&self.0);
        Search(padded)
    }
}

/// Edges laid out for finding a bin in eight comparisons without a branch.
pub(super) struct Search([f64; MOST_VALUES + 1]);

impl Search {
    /// The bin of a number; that of NaN means nothing.
    #[inline(always)]
    pub(super) fn bin(&self, value: f64) -> u8 {
        let mut at = 0usize;
        for step in [128, 64, 32, 16, 8, 4, 2, 1] {
            at += if self.0[(at + step - 1) & 255] < value { step } else { 0 };
        }
        at as u8
    }
}

/// A number between two others: not below `a`, and below `b`.
fn half_way(a: f64, b: f64) -> f64 {
    let middle = a / 2.0 + b / 2.0;
    if middle >= a && middle < b { middle } else { a }
}

/// The rows that edges are found among; `None` for all of them. One of each stretch, so that a table in some
/// order is seen from beginning to end.
pub(super) fn sampled_rows(n_rows: usize) -> Option<Vec<u32>> {
    if n_rows <= MOST_SAMPLED {
        return None;
    }
    let stretch = n_rows as f64 / MOST_SAMPLED as f64;
    let stream = Stream::new(0).named("bins");
    let row = |k: usize| {
        let within = stream.child(k as u64).key() as f64 / u64::MAX as f64;
        (((k as f64 + within) * stretch) as usize).min(n_rows - 1) as u32
    };
    Some((0..MOST_SAMPLED).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_first_bin_whose_edge_it_does_not_exceed() {
        let edges = Edges::of_sorted(&[-2.0, 0.0, 0.0, 1.0, 8.0], 255);
        assert_eq!(edges, Edges(vec![-1.0, 0.5, 4.5]));
        let search = edges.search();
        let bins = [-9.0, -1.0, -0.9, 0.5, 0.6, 4.5, 1e300].map(|v| search.bin(v));
        assert_eq!(bins, [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!((edges.upper(2), edges.upper(3)), (4.5, f64::MAX));
    }

    #[test]
    fn a_value_with_many_rows_has_its_own_bin() {
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        values.extend([500.0; 3000]);
        values.sort_by(f64::total_cmp);
        let edges = Edges::of_sorted(&values, 10);
        assert!(edges.n_bins() <= 10, "{edges:?}");
        assert!(edges.0.contains(&499.5) && edges.0.contains(&500.5), "{edges:?}");
    }

    #[test]
    fn neighbours_among_numbers_are_kept_apart() {
        let a = 1.0_f64;
        let b = f64::from_bits(a.to_bits() + 1);
        let huge = f64::MAX;
        for pair in [[a, b], [-huge, huge], [-b, -a]] {
            let search = Edges::of_sorted(&pair, 255).search();
            assert_eq!(pair.map(|v| search.bin(v)), [0, 1]);
        }
    }

    #[test]
    fn a_sample_has_rows_from_all_over_the_table() {
        assert_eq!(sampled_rows(200_000), None);
        let rows = sampled_rows(1_000_003).unwrap();
        assert_eq!(rows.len(), 200_000);
        assert!(rows.is_sorted() && rows[0] < 6 && rows[199_999] > 999_990);
    }
}
