//! Rows that are not independent, and what that means for a split.

use super::{Fold, Folds, grouped, holdout, ordered, stratified_folds};
use crate::Labels;

/// Which rows hang together. Where it is not said, every score flatters: a model is measured on rows that it has all
/// but seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Dependence {
    /// None do: any row may train while any other tests.
    #[default]
    Independent,
    /// The group of each row; rows of a group are on one side of every split.
    Groups(Vec<u32>),
    /// The place of each row in time; rows that test are later than all that train.
    Order(Vec<u32>),
}

impl Dependence {
    /// Rows in the order of `times`, which are no NaN; equal times are one instant.
    pub fn in_order_of(times: &[f64]) -> Self {
        let mut distinct = times.to_vec();
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        let place = |time: &f64| distinct.partition_point(|t| t < time) as u32;
        Self::Order(times.iter().map(place).collect())
    }

    /// Whether rows hang together at all.
    pub fn is_some(&self) -> bool {
        *self != Self::Independent
    }

    /// Whether a split by it leaves something on both sides: with one group or one instant it does not.
    pub fn can_split(&self) -> bool {
        match self {
            Self::Independent => true,
            Self::Groups(units) | Self::Order(units) => units.iter().any(|u| *u != units[0]),
        }
    }

    /// The folds of a cross-validation: see [`stratified_folds`]. With groups, classes are spread as evenly as whole
    /// groups allow, and there are no more folds than groups. In order, the earlier half of the rows trains only, and
    /// each fold tests a stretch of the later half after training on all that comes before it. There are none where
    /// [`Dependence::can_split`] is false.
    ///
    /// # Panics
    /// If `n_folds` is below two, or if there is not one place or group per label.
    pub fn folds(&self, labels: &Labels, n_folds: usize, seed: u64) -> Folds {
        match self {
            Self::Independent => stratified_folds(labels, n_folds, seed),
            Self::Groups(groups) => grouped::folds(labels, groups, n_folds, seed),
            Self::Order(places) => ordered::folds(labels, places, n_folds),
        }
    }

    /// A share of the rows to measure on, the rest to learn from: see [`holdout`]. With groups these are whole ones, and
    /// the share is met as nearly as they allow; in order they are the last.
    ///
    /// # Panics
    /// If `test_share` is not between 0 and 1, or if there is not one place or group per label.
    pub fn holdout(&self, labels: &Labels, test_share: f64, seed: u64) -> Fold {
        match self {
            Self::Independent => holdout(labels, test_share, seed),
            Self::Groups(groups) => grouped::holdout(labels, groups, test_share, seed),
            Self::Order(places) => ordered::holdout(places, test_share),
        }
    }

    /// That of these rows and of others after them, which have no group or place in common with them: all of them are
    /// later, where rows are in order.
    pub fn concat(&self, others: &Self) -> Self {
        let joined = |units: &[u32], others: &[u32]| {
            let next = units.iter().max().map_or(0, |most| most + 1);
            units.iter().copied().chain(others.iter().map(|unit| next + unit)).collect()
        };
        match (self, others) {
            (Self::Groups(a), Self::Groups(b)) => Self::Groups(joined(a, b)),
            (Self::Order(a), Self::Order(b)) => Self::Order(joined(a, b)),
            _ => Self::Independent,
        }
    }

    /// That of the given rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Self {
        let selected = |units: &[u32]| rows.iter().map(|&row| units[row]).collect();
        match self {
            Self::Independent => Self::Independent,
            Self::Groups(groups) => Self::Groups(selected(groups)),
            Self::Order(places) => Self::Order(selected(places)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Labels of three classes, and a group or an instant for each row.
    fn rows() -> impl Strategy<Value = (Labels, Vec<u32>)> {
        prop::collection::vec((0..3_u32, 0..40_u32), 2..150).prop_map(|rows| {
            let (codes, units): (Vec<u32>, Vec<u32>) = rows.into_iter().unzip();
            (Labels::from_codes(codes, 3), units)
        })
    }

    fn units(of: &[u32], rows: &[usize]) -> BTreeSet<u32> {
        rows.iter().map(|&row| of[row]).collect()
    }

    proptest! {
        #[test]
        fn a_group_is_on_one_side_and_each_row_is_tested_once(
            (labels, groups) in rows(), n_folds in 2_usize..8, seed: u64,
        ) {
            let n_groups = groups.iter().collect::<BTreeSet<_>>().len();
            let by = Dependence::Groups(groups.clone());
            let folds = by.folds(&labels, n_folds, seed);
            prop_assert_eq!(folds.len(), if by.can_split() { n_folds.min(n_groups) } else { 0 });
            let mut tested = Vec::new();
            for fold in &folds {
                prop_assert!(!fold.test.is_empty() && !fold.train.is_empty());
                prop_assert_eq!(fold.test.len() + fold.train.len(), labels.len());
                prop_assert!(units(&groups, &fold.test).is_disjoint(&units(&groups, &fold.train)));
                tested.extend(fold.test.clone());
            }
            tested.sort_unstable();
            let all = if by.can_split() { labels.len() } else { 0 };
            prop_assert_eq!(tested, (0..all).collect::<Vec<_>>());
        }

        #[test]
        fn what_trains_is_earlier_than_what_tests(
            (labels, places) in rows(), n_folds in 2_usize..8,
        ) {
            let by = Dependence::Order(places.clone());
            let folds = by.folds(&labels, n_folds, 0);
            prop_assert_eq!(folds.is_empty(), !by.can_split());
            let mut tested = BTreeSet::new();
            for fold in &folds {
                let first = fold.test.iter().map(|&r| places[r]).min().expect("a fold tests");
                let last = fold.test.iter().map(|&r| places[r]).max().expect("a fold tests");
                let earlier: Vec<usize> = (0..places.len()).filter(|&r| places[r] < first).collect();
                prop_assert!(!fold.train.is_empty());
                prop_assert_eq!(&fold.train, &earlier);
                let stretch: Vec<usize> =
                    (0..places.len()).filter(|&r| (first..=last).contains(&places[r])).collect();
                prop_assert_eq!(&fold.test, &stretch);
                prop_assert!(fold.test.iter().all(|&row| tested.insert(row)));
            }
            // The last rows are always tested.
            let last = places.iter().max().expect("there are rows");
            prop_assert!(folds.is_empty() || (0..places.len()).all(|r| places[r] < *last || tested.contains(&r)));
        }

        #[test]
        fn a_holdout_parts_no_group_and_keeps_both_sides(
            (labels, groups) in rows(), share in 0.05_f64..0.95, seed: u64,
        ) {
            let by = Dependence::Groups(groups.clone());
            let fold = by.holdout(&labels, share, seed);
            prop_assert_eq!(fold.test.len() + fold.train.len(), labels.len());
            prop_assert!(units(&groups, &fold.test).is_disjoint(&units(&groups, &fold.train)));
            prop_assert_eq!(!fold.test.is_empty() && !fold.train.is_empty(), by.can_split());
            let by = Dependence::Order(groups.clone());
            let fold = by.holdout(&labels, share, seed);
            prop_assert_eq!(fold.test.len() + fold.train.len(), labels.len());
            prop_assert_eq!(!fold.test.is_empty() && !fold.train.is_empty(), by.can_split());
            let (past, later) = (units(&groups, &fold.train), units(&groups, &fold.test));
            prop_assert!(past.last() < later.first() || later.is_empty());
        }
    }

    #[test]
    fn groups_spread_classes_as_evenly_as_they_allow() {
        // Sixty groups of two to four rows of one class each, a third of them of the rarer class.
        let (mut codes, mut groups) = (Vec::new(), Vec::new());
        for group in 0..60_u32 {
            for _ in 0..2 + group % 3 {
                codes.push(u32::from(group % 3 == 0));
                groups.push(group);
            }
        }
        let labels = Labels::from_codes(codes, 2);
        let by = Dependence::Groups(groups);
        for seed in 0..5 {
            let folds = by.folds(&labels, 4, seed);
            for fold in &folds {
                let counts = labels.select(&fold.test).counts();
                assert!((34..=36).contains(&counts[0]) && counts[1] == 10, "{counts:?}");
            }
            let held_out = labels.select(&by.holdout(&labels, 0.2, seed).test).counts();
            assert!((26..=30).contains(&held_out[0]) && held_out[1] == 8, "{held_out:?}");
        }
    }

    #[test]
    fn equal_times_are_one_instant() {
        let by = Dependence::in_order_of(&[3.0, -1.0, 3.0, 7.5]);
        assert_eq!(by, Dependence::Order(vec![1, 0, 1, 2]));
        assert_eq!(by.select(&[3, 0]), Dependence::Order(vec![2, 1]));
        let later = Dependence::Order(vec![1, 0]);
        assert_eq!(by.concat(&later), Dependence::Order(vec![1, 0, 1, 2, 4, 3]));
    }

    #[test]
    fn one_group_cannot_be_split() {
        let labels = Labels::from_codes([0, 1, 0], 2);
        for by in [Dependence::Groups(vec![5; 3]), Dependence::Order(vec![0; 3])] {
            assert!(!by.can_split());
            assert!(by.folds(&labels, 3, 0).is_empty());
            assert!(by.holdout(&labels, 0.5, 0).test.is_empty());
        }
    }
}
