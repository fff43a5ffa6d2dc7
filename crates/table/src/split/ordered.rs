//! Splits in time: what tests is later than what trains.

use super::{Fold, Folds, rare_classes};
use crate::Labels;

/// The share of the rows, the earliest, that only trains: with fewer the first folds would learn from too little.
const ONLY_TRAINS: f64 = 0.5;

/// Folds of which each tests the stretch after all that it learns from; fewer where instants are few.
pub(super) fn folds(labels: &Labels, places: &[u32], n_folds: usize) -> Folds {
    assert!(n_folds >= 2, "cross-validation asks for at least two folds");
    assert_eq!(places.len(), labels.len(), "a place for each row");
    let starts = starts(places);
    let n_rows = places.len() as f64;
    let first = (n_rows * ONLY_TRAINS).round();
    // Where the stretches would begin, each brought to the instant that begins nearest.
    let mut bounds: Vec<usize> = (0..n_folds)
        .filter_map(|k| nearest(&starts, first + (n_rows - first) * k as f64 / n_folds as f64))
        .collect();
    bounds.dedup();
    let ends = bounds.iter().skip(1).copied().chain([places.len()]);
    let ends: Vec<usize> = ends.collect();
    let in_order = in_order(places);
    let fold = |(&begin, &end): (&usize, &usize)| Fold {
        train: ascending(&in_order[..begin]),
        test: ascending(&in_order[begin..end]),
    };
    let folds: Vec<Fold> = bounds.iter().zip(&ends).map(fold).collect();
    let rare_classes = rare_classes(labels, folds.len());
    Folds { folds, rare_classes }
}

/// The last rows, as near to the share as instants allow.
pub(super) fn holdout(places: &[u32], test_share: f64) -> Fold {
    assert!((0.0..=1.0).contains(&test_share), "a share lies between 0 and 1");
    let wanted = places.len() as f64 * (1.0 - test_share);
    let begin = match nearest(&starts(places), wanted) {
        Some(begin) if test_share > 0.0 => begin,
        _ => places.len(),
    };
    let in_order = in_order(places);
    Fold { train: ascending(&in_order[..begin]), test: ascending(&in_order[begin..]) }
}

/// Rows in the order of time.
fn in_order(places: &[u32]) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..places.len()).collect();
    rows.sort_by_key(|&row| places[row]);
    rows
}

/// How many rows are earlier than each instant but the first, ascending.
fn starts(places: &[u32]) -> Vec<usize> {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    (1..sorted.len()).filter(|&at| sorted[at] != sorted[at - 1]).collect()
}

fn nearest(starts: &[usize], wanted: f64) -> Option<usize> {
    let distance = |start: &usize| (*start as f64 - wanted).abs();
    starts.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn ascending(rows: &[usize]) -> Vec<usize> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_half_is_tested_stretch_by_stretch() {
        let places: Vec<u32> = (0..12).rev().collect();
        let folds = folds(&Labels::from_codes(vec![0; 12], 1), &places, 3);
        let tests: Vec<&[usize]> = folds.iter().map(|f| f.test.as_slice()).collect();
        assert_eq!(tests, [[4, 5], [2, 3], [0, 1]]);
        assert_eq!(folds.folds[1].train, (4..12).collect::<Vec<_>>());
        assert_eq!(holdout(&places, 0.25).test, [0, 1, 2]);
    }
}
