//! Splits that part no group, with classes spread as evenly as whole groups allow.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Fold, Folds, rare_classes, shuffle};
use crate::Labels;

/// A group's rows and how many of them are of each class, the classes it has.
struct Group {
    rows: Vec<usize>,
    counts: Vec<(usize, usize)>,
}

/// Folds of whole groups; none where there is one group only.
pub(super) fn folds(labels: &Labels, groups: &[u32], n_folds: usize, seed: u64) -> Folds {
    assert!(n_folds >= 2, "cross-validation asks for at least two folds");
    let groups = groups_of(labels, groups, seed);
    let n_folds = n_folds.min(groups.len());
    if n_folds < 2 {
        return Folds { folds: Vec::new(), rare_classes: Vec::new() };
    }
    let fold_of = deal(labels, &groups, &vec![1.0 / n_folds as f64; n_folds]);
    let folds = (0..n_folds).map(|k| {
        let (test, train) = (0..labels.len()).partition(|&row| fold_of[row] == k);
        Fold { train, test }
    });
    Folds { folds: folds.collect(), rare_classes: rare_classes(labels, n_folds) }
}

/// A share of the rows, in whole groups; at least one, unless there is no other.
pub(super) fn holdout(labels: &Labels, groups: &[u32], test_share: f64, seed: u64) -> Fold {
    assert!((0.0..=1.0).contains(&test_share), "a share lies between 0 and 1");
    let groups = groups_of(labels, groups, seed);
    if groups.len() < 2 || test_share == 0.0 {
        return Fold { train: (0..labels.len()).collect(), test: Vec::new() };
    }
    // A side that is to have nothing at all would cost infinitely much.
    let share = test_share.clamp(1e-6, 1.0 - 1e-6);
    let side_of = deal(labels, &groups, &[share, 1.0 - share]);
    let (test, train) = (0..labels.len()).partition(|&row| side_of[row] == 0);
    Fold { train, test }
}

/// The groups, the largest first; the seed decides between those of one size.
fn groups_of(labels: &Labels, of_row: &[u32], seed: u64) -> Vec<Group> {
    assert_eq!(of_row.len(), labels.len(), "a group for each row");
    let mut rows: Vec<usize> = (0..of_row.len()).collect();
    rows.sort_by_key(|&row| (of_row[row], labels.codes()[row]));
    let group = |rows: &[usize]| {
        let same_class = |a: &usize, b: &usize| labels.codes()[*a] == labels.codes()[*b];
        let counts = rows.chunk_by(same_class);
        let counts = counts.map(|c| (labels.codes()[c[0]] as usize, c.len())).collect();
        Group { rows: rows.to_vec(), counts }
    };
    let groups: Vec<Group> = rows.chunk_by(|a, b| of_row[*a] == of_row[*b]).map(group).collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    shuffle(&mut order, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &group)| place[group] = at);
    let mut placed: Vec<(usize, Group)> = place.into_iter().zip(groups).collect();
    placed.sort_by_key(|(at, group)| (usize::MAX - group.rows.len(), *at));
    placed.into_iter().map(|(_, group)| group).collect()
}

/// Deals groups to sides that are to have these shares of every class; gives the side of each row.
///
/// Each group goes where it adds least to the sum over sides and classes of `(share of the class)^2 / (share wanted)`,
/// which is lowest where all have what they should.
fn deal(labels: &Labels, groups: &[Group], wanted: &[f64]) -> Vec<usize> {
    let totals = labels.counts();
    let n_classes = labels.n_classes();
    let mut dealt = vec![0; wanted.len() * n_classes];
    let mut n_groups = vec![0; wanted.len()];
    let mut side_of = vec![0; labels.len()];
    for (at, group) in groups.iter().enumerate() {
        let added = |side: usize| {
            let of_class = |&(class, n): &(usize, usize)| {
                let before = dealt[side * n_classes + class] as f64;
                let total = totals[class] as f64;
                (n as f64 * (2.0 * before + n as f64)) / (total * total)
            };
            group.counts.iter().map(of_class).sum::<f64>() / wanted[side]
        };
        let n_empty = n_groups.iter().filter(|n| **n == 0).count();
        // The last groups go to sides that would otherwise have none.
        let is_open = |side: &usize| groups.len() - at > n_empty || n_groups[*side] == 0;
        let side = (0..wanted.len()).filter(is_open).min_by(|&a, &b| added(a).total_cmp(&added(b)));
        let side = side.expect("as many groups are left as there are empty sides, at least");
        n_groups[side] += 1;
        group.counts.iter().for_each(|&(class, n)| dealt[side * n_classes + class] += n);
        group.rows.iter().for_each(|&row| side_of[row] = side);
    }
    side_of
}
