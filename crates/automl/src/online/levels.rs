//! How many rows to search with: few at first on a large table, and more as time goes by.
//!
//! The sample doubles with the time target: a level that has so many rows lasts until half as much time is
//! gone as at the end of the next.

use std::time::Duration;

/// A stretch of the search on so many rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Level {
    pub(crate) n_rows: usize,
    /// When it ends, counted from the start of the budget; the last one ends with it.
    pub(crate) until: Duration,
}

/// The least that a sample has.
const LEAST_ROWS: usize = 2_000;

/// A level's typical pipeline takes at most this share of the time there is.
const FIRST_SHARE: f64 = 1.0 / 12.0;
const LAST_SHARE: f64 = 1.0 / 4.0;

/// The share of the time after which the last level has begun.
const LAST_BEGINS: f64 = 0.5;

/// The levels of a search on `n_rows` rows between `begun` and `budget`, where a typical pipeline takes
/// `typical_secs` on so many rows.
pub(crate) fn levels(
    n_rows: usize,
    begun: Duration,
    budget: Duration,
    typical_secs: impl Fn(usize) -> f64,
) -> Vec<Level> {
    let left = budget.saturating_sub(begun);
    let largest_within = |share: f64| {
        let limit = left.as_secs_f64() * share;
        let mut n = n_rows;
        while n > LEAST_ROWS && typical_secs(n) > limit {
            n = (n / 2).max(LEAST_ROWS);
        }
        n
    };
    let (mut first, last) = (largest_within(FIRST_SHARE), largest_within(LAST_SHARE));
    let mut sizes = vec![first];
    while first < last {
        first = first.saturating_mul(2).min(last);
        sizes.push(first);
    }
    let n = sizes.len();
    let end = |i: usize| {
        if i + 1 == n {
            budget
        } else {
            begun + left.mul_f64(LAST_BEGINS * 0.5f64.powi((n - 2 - i) as i32))
        }
    };
    sizes.iter().enumerate().map(|(i, &n_rows)| Level { n_rows, until: end(i) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_small_table_is_searched_whole() {
        let levels = levels(800, SECOND, 20 * SECOND, |n| n as f64);
        assert_eq!(levels, [Level { n_rows: 800, until: 20 * SECOND }]);
    }

    #[test]
    fn rows_double_as_the_time_does() {
        let levels = levels(1_000_000, 20 * SECOND, 60 * SECOND, |n| n as f64 * 1e-4);
        assert!(
            levels.windows(2).all(|w| w[1].n_rows == 2 * w[0].n_rows && w[0].until < w[1].until)
        );
        assert_eq!(levels.last().unwrap().until, 60 * SECOND);
        assert!(levels[0].n_rows as f64 * 1e-4 <= 40.0 / 12.0);
        assert!(levels.last().unwrap().n_rows as f64 * 1e-4 <= 10.0);
        assert!(levels.len() > 1);
    }

    #[test]
    fn no_time_means_the_smallest_sample() {
        let levels = levels(1_000_000, 5 * SECOND, 4 * SECOND, |n| n as f64);
        assert_eq!(levels.len(), 1);
        assert_eq!(levels[0].n_rows, LEAST_ROWS);
    }
}
