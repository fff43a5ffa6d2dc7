//! Splits: which rows train and which test, with each class spread evenly.
//!
//! A split depends on the labels, the seed and nothing else, so that two pipelines compared on one
//! dataset see the same folds. The shuffle is our own few lines: folds must not move when a random number
//! library changes how it draws.

mod dependence;
mod grouped;
mod ordered;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub use dependence::Dependence;

use crate::Labels;

/// Rows to learn from and rows to measure on, each in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Rows to learn from.
    pub train: Vec<usize>,
    /// Rows to measure on.
    pub test: Vec<usize>,
}

/// A class with fewer members than there are folds: some folds are measured without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RareClass {
    /// The class.
    pub class: u32,
    /// How many rows it has.
    pub n_rows: usize,
}

/// The folds of a cross-validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    /// The folds; each row is in the test rows of exactly one. Where rows are in order, the earliest are in none.
    pub folds: Vec<Fold>,
    /// Classes that are missing from the test rows of some folds. One that has a single row is also
    /// missing from the training rows of the fold that tests it.
    pub rare_classes: Vec<RareClass>,
}

impl Folds {
    /// How many folds there are.
    pub fn len(&self) -> usize {
        self.folds.len()
    }

    /// Whether there are no folds: for no rows, or where these cannot be split.
    pub fn is_empty(&self) -> bool {
        self.folds.is_empty()
    }

    /// The folds in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Fold> {
        self.folds.iter()
    }
}

impl<'a> IntoIterator for &'a Folds {
    type Item = &'a Fold;
    type IntoIter = std::slice::Iter<'a, Fold>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Stratified k-fold: the counts of a class in any two test folds differ by at most one, and so do the
/// sizes of the folds.
///
/// With fewer rows than folds there are as many folds as rows. Classes with fewer rows than folds are
/// dealt out as far as they go and named in [`Folds::rare_classes`].
///
/// # Panics
/// If `n_folds` is below two.
///
/// ```
/// use pitchpipe_table::{Labels, stratified_folds};
///
/// let labels = Labels::from_codes([0, 0, 0, 1, 1, 1], 2);
/// let folds = stratified_folds(&labels, 3, 42);
/// for fold in &folds {
///     assert_eq!(labels.select(&fold.test).counts(), [1, 1]);
/// }
/// ```
pub fn stratified_folds(labels: &Labels, n_folds: usize, seed: u64) -> Folds {
    assert!(n_folds >= 2, "cross-validation asks for at least two folds");
    let n_folds = n_folds.min(labels.len());
    // Dealing all classes from one pack keeps both the classes and the folds level.
    let pack = shuffled_classes(labels, seed).into_iter().flatten();
    let mut fold_of = vec![0; labels.len()];
    for (turn, row) in pack.enumerate() {
        fold_of[row] = turn % n_folds;
    }
    let folds = (0..n_folds).map(|k| {
        let (test, train) = (0..labels.len()).partition(|&row| fold_of[row] == k);
        Fold { train, test }
    });
    Folds { folds: folds.collect(), rare_classes: rare_classes(labels, n_folds) }
}

/// Stratified hold-out: `test_share` of the rows to measure on, the rest to learn from.
///
/// Each class gives its share, rounded up or down so that the total is right; but a class never gives
/// its last row, since one that cannot be learnt cannot be measured either.
///
/// # Panics
/// If `test_share` is not between 0 and 1.
pub fn holdout(labels: &Labels, test_share: f64, seed: u64) -> Fold {
    assert!((0.0..=1.0).contains(&test_share), "a share lies between 0 and 1");
    let counts = labels.counts();
    let n_test = (labels.len() as f64 * test_share).round() as usize;
    let quotas: Vec<Quota> =
        counts.iter().map(|&n| Quota::new(n, 0, n.saturating_sub(1))).collect();
    take(labels, &apportion(&quotas, n_test), seed)
}

/// A stratified sample of `n_rows` rows, in ascending order; all rows where there are no more than that.
///
/// Classes keep their proportions, and every class present keeps at least one row where `n_rows` allows.
pub fn stratified_subsample(labels: &Labels, n_rows: usize, seed: u64) -> Vec<usize> {
    let counts = labels.counts();
    let n_present = counts.iter().filter(|&&n| n > 0).count();
    let least = usize::from(n_rows >= n_present);
    let quotas: Vec<Quota> = counts.iter().map(|&n| Quota::new(n, least.min(n), n)).collect();
    take(labels, &apportion(&quotas, n_rows), seed).test
}

/// What a class may give: of `n` rows at least `least` and at most `most`.
struct Quota {
    n: usize,
    least: usize,
    most: usize,
}

impl Quota {
    fn new(n: usize, least: usize, most: usize) -> Self {
        Self { n, least, most }
    }
}

/// How many rows each class gives to a total of `wanted`: proportionally, by largest remainder, within
/// the quotas (which come before the total).
fn apportion(quotas: &[Quota], wanted: usize) -> Vec<usize> {
    let n_rows: usize = quotas.iter().map(|q| q.n).sum();
    let ideal = |q: &Quota| q.n as f64 * wanted as f64 / n_rows.max(1) as f64;
    let mut given: Vec<usize> =
        quotas.iter().map(|q| (ideal(q) as usize).clamp(q.least, q.most)).collect();
    let total: usize = given.iter().sum();
    let is_short = total < wanted;
    let is_open =
        |k: usize, n: usize| if is_short { n < quotas[k].most } else { n > quotas[k].least };
    // How far a class lies on the wrong side of its share.
    let debt = |k: usize, n: usize| {
        let debt = ideal(&quotas[k]) - n as f64;
        Debt { of: if is_short { debt } else { -debt }, class: k }
    };
    let open = given.iter().enumerate().filter(|&(k, &n)| is_open(k, n));
    let mut debts: BinaryHeap<Debt> = open.map(|(k, &n)| debt(k, n)).collect();
    for _ in 0..total.abs_diff(wanted) {
        let Some(Debt { class: k, .. }) = debts.pop() else { break };
        given[k] = if is_short { given[k] + 1 } else { given[k] - 1 };
        if is_open(k, given[k]) {
            debts.push(debt(k, given[k]));
        }
    }
    given
}

/// Whose turn it is: the class that is furthest from its share; the earlier one in a draw.
struct Debt {
    of: f64,
    class: usize,
}

impl Ord for Debt {
    fn cmp(&self, other: &Self) -> Ordering {
        self.of.total_cmp(&other.of).then(other.class.cmp(&self.class))
    }
}

impl PartialOrd for Debt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Debt {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Debt {}

/// Takes the given number of rows of each class to test, the rest to train.
fn take(labels: &Labels, given: &[usize], seed: u64) -> Fold {
    let mut is_taken = vec![false; labels.len()];
    for (rows, &n) in shuffled_classes(labels, seed).iter().zip(given) {
        rows[..n].iter().for_each(|&row| is_taken[row] = true);
    }
    let (test, train) = (0..labels.len()).partition(|&row| is_taken[row]);
    Fold { train, test }
}

/// The rows of each class in an order drawn from the seed and the class.
fn shuffled_classes(labels: &Labels, seed: u64) -> Vec<Vec<usize>> {
    let mut classes = vec![Vec::new(); labels.n_classes()];
    for (row, &code) in labels.codes().iter().enumerate() {
        classes[code as usize].push(row);
    }
    for (class, rows) in classes.iter_mut().enumerate() {
        // Multiplying by an odd constant keeps the streams of neighbouring classes apart.
        let key = seed ^ (class as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        shuffle(rows, &mut Xoshiro256PlusPlus::seed_from_u64(key));
    }
    classes
}

/// Fisher and Yates's shuffle.
fn shuffle(rows: &mut [usize], rng: &mut Xoshiro256PlusPlus) {
    for last in (1..rows.len()).rev() {
        let drawn = (u128::from(rng.next_u64()) * (last as u128 + 1)) >> 64;
        rows.swap(last, drawn as usize);
    }
}

fn rare_classes(labels: &Labels, n_folds: usize) -> Vec<RareClass> {
    let counts = labels.counts().into_iter().zip(0..);
    let rare = counts.filter(|&(n, _)| n > 0 && n < n_folds);
    rare.map(|(n_rows, class)| RareClass { class, n_rows }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(n_classes: usize) -> impl Strategy<Value = Labels> {
        prop::collection::vec(0..n_classes as u32, 1..200)
            .prop_map(move |codes| Labels::from_codes(codes, n_classes))
    }

    /// What [`apportion`] did before it had a heap: all classes are looked at for each row.
    fn apportioned_one_by_one(quotas: &[Quota], wanted: usize) -> Vec<usize> {
        let n_rows: usize = quotas.iter().map(|q| q.n).sum();
        let ideal = |q: &Quota| q.n as f64 * wanted as f64 / n_rows.max(1) as f64;
        let mut given: Vec<usize> =
            quotas.iter().map(|q| (ideal(q) as usize).clamp(q.least, q.most)).collect();
        loop {
            let total: usize = given.iter().sum();
            let debt = |&k: &usize| ideal(&quotas[k]) - given[k] as f64;
            let classes = 0..quotas.len();
            let (k, more) = match total.cmp(&wanted) {
                Ordering::Equal => return given,
                Ordering::Less => {
                    let open = classes.filter(|&k| given[k] < quotas[k].most);
                    (open.min_by(|a, b| debt(b).total_cmp(&debt(a))), true)
                }
                Ordering::Greater => {
                    let open = classes.filter(|&k| given[k] > quotas[k].least);
                    (open.min_by(|a, b| debt(a).total_cmp(&debt(b))), false)
                }
            };
            let Some(k) = k else { return given };
            given[k] = if more { given[k] + 1 } else { given[k] - 1 };
        }
    }

    proptest! {
        #[test]
        fn rows_are_apportioned_as_one_by_one(
            classes in prop::collection::vec((0_usize..40, 0_usize..3, 0_usize..3), 1..60),
            share in 0.0_f64..1.2,
        ) {
            let quota = |&(n, least, spared): &(usize, usize, usize)| {
                let most = n.saturating_sub(spared);
                Quota::new(n, least.min(most), most)
            };
            let quotas: Vec<Quota> = classes.iter().map(quota).collect();
            let wanted = (share * quotas.iter().map(|q| q.n).sum::<usize>() as f64) as usize;
            prop_assert_eq!(apportion(&quotas, wanted), apportioned_one_by_one(&quotas, wanted));
        }

        #[test]
        fn each_row_is_tested_once_and_classes_are_level(
            labels in labels(4), n_folds in 2_usize..12, seed: u64,
        ) {
            let folds = stratified_folds(&labels, n_folds, seed);
            prop_assert_eq!(folds.len(), n_folds.min(labels.len()));
            let mut tested: Vec<usize> = folds.iter().flat_map(|f| f.test.clone()).collect();
            tested.sort_unstable();
            prop_assert_eq!(tested, (0..labels.len()).collect::<Vec<_>>());
            for fold in &folds {
                let mut rows = [fold.train.clone(), fold.test.clone()].concat();
                rows.sort_unstable();
                prop_assert_eq!(rows, (0..labels.len()).collect::<Vec<_>>());
            }
            let counts: Vec<_> = folds.iter().map(|f| labels.select(&f.test).counts()).collect();
            for class in 0..4 {
                let of_class = || counts.iter().map(|c| c[class]);
                prop_assert!(of_class().max().unwrap() - of_class().min().unwrap() <= 1);
            }
            let sizes = || folds.iter().map(|f| f.test.len());
            prop_assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
        }

        #[test]
        fn a_holdout_is_proportional_and_leaves_each_class_a_row(
            labels in labels(3), share in 0.0_f64..1.0, seed: u64,
        ) {
            let fold = holdout(&labels, share, seed);
            prop_assert_eq!(fold.train.len() + fold.test.len(), labels.len());
            let (all, train) = (labels.counts(), labels.select(&fold.train).counts());
            for class in 0..3 {
                prop_assert!(all[class] == 0 || train[class] > 0);
                let given = (all[class] - train[class]) as f64;
                prop_assert!(given <= all[class] as f64 * share + 2.0);
            }
            let wanted = (labels.len() as f64 * share).round() as usize;
            let possible: usize = all.iter().map(|n| n.saturating_sub(1)).sum();
            prop_assert_eq!(fold.test.len(), wanted.min(possible));
        }

        #[test]
        fn a_subsample_has_its_size_and_every_class(labels in labels(5), n in 0_usize..220, seed: u64) {
            let rows = stratified_subsample(&labels, n, seed);
            prop_assert!(rows.is_sorted());
            prop_assert_eq!(rows.len(), n.min(labels.len()));
            let (all, kept) = (labels.counts(), labels.select(&rows).counts());
            let present = all.iter().filter(|&&n| n > 0).count();
            if n >= present {
                prop_assert_eq!(kept.iter().filter(|&&n| n > 0).count(), present);
            }
        }
    }

    #[test]
    fn rare_classes_are_reported() {
        let labels = Labels::from_codes([0, 0, 0, 0, 0, 1, 1, 2], 4);
        let folds = stratified_folds(&labels, 3, 1);
        let expected = [RareClass { class: 1, n_rows: 2 }, RareClass { class: 2, n_rows: 1 }];
        assert_eq!(folds.rare_classes, expected);
    }

    #[test]
    fn the_seed_decides_the_folds() {
        let labels = Labels::from_codes((0..100).map(|i| i % 2), 2);
        let of = |seed| stratified_folds(&labels, 5, seed);
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }

    #[test]
    fn folds_do_not_move_between_versions() {
        let labels = Labels::from_codes([0, 1, 0, 1, 0, 1, 0, 1, 0], 2);
        let tests: Vec<_> =
            stratified_folds(&labels, 3, 0).folds.into_iter().map(|f| f.test).collect();
        assert_eq!(tests, [[3, 4, 8], [0, 2, 5], [1, 6, 7]]);
    }

    #[test]
    fn a_subsample_keeps_proportions() {
        let labels = Labels::from_codes((0..1000).map(|i| u32::from(i % 10 == 0)), 2);
        assert_eq!(labels.select(&stratified_subsample(&labels, 200, 7)).counts(), [180, 20]);
        assert_eq!(labels.select(&holdout(&labels, 0.3, 7).test).counts(), [270, 30]);
    }

    #[test]
    fn no_rows_make_no_folds() {
        let none = Labels::from_codes([], 2);
        assert!(stratified_folds(&none, 3, 0).is_empty());
        assert!(stratified_subsample(&none, 3, 0).is_empty());
    }
}
