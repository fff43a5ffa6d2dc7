use rand::RngExt;

use super::*;
use crate::Stream;

/// Trees of any shape on four columns of numbers with gaps and two of categories, and a walk beside.
struct Made {
    trees: Vec<MadeTree>,
    width: usize,
}

struct MadeTree {
    nodes: Vec<(Asked, Child, Child)>,
    values: Vec<f64>,
}

enum Asked {
    AtMost(u32, f64, bool),
    Among(u32, Vec<[u64; 4]>),
}

impl Asked {
    fn question(&self) -> Question<'_> {
        match self {
            &Self::AtMost(column, threshold, or_missing) => {
                Question::AtMost { column, threshold, or_missing }
            }
            Self::Among(column, set) => Question::Among { column: *column, set },
        }
    }
}

const N_BINS: [usize; 2] = [9, 700];

struct AsTheyAre;

impl Cells for AsTheyAre {
    fn number(&self, cell: f64) -> f64 {
        cell
    }

    fn bin(&self, _: usize, cell: f64) -> usize {
        cell as usize
    }

    fn n_bins(&self, column: usize) -> usize {
        N_BINS[column - 4]
    }
}

fn rows(n: usize, seed: u64) -> Features {
    let mut rng = Stream::new(seed).rng();
    let mut cells = Vec::new();
    for _ in 0..4 * n {
        let value = f64::from(rng.random_range(-20..20));
        cells.push(match rng.random_range(0..20) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            _ => value,
        });
    }
    for n_bins in N_BINS {
        cells.extend((0..n).map(|_| rng.random_range(0..n_bins) as f64));
    }
    Features::from_columns(n, 6, cells)
}

impl Made {
    fn of(n_trees: usize, width: usize, seed: u64) -> Self {
        let mut rng = Stream::new(seed).rng();
        let trees = (0..n_trees).map(|at| {
            let n_leaves = match at {
                0 => 1,
                1 => MOST_LEAVES,
                _ => rng.random_range(1..=MOST_LEAVES),
            };
            // Leaves that are split one after the other; the first child takes the place of its parent's leaf.
            let mut children: Vec<[Option<Child>; 2]> = Vec::new();
            let mut open: Vec<(usize, usize)> = Vec::new();
            for node in 0..n_leaves - 1 {
                if !open.is_empty() {
                    let (parent, side) = open.swap_remove(rng.random_range(0..open.len()));
                    children[parent][side] = Some(Child::Branch(node));
                }
                children.push([None; 2]);
                open.extend([(node, 0), (node, 1)]);
            }
            for (leaf, (parent, side)) in open.into_iter().enumerate() {
                children[parent][side] = Some(Child::Leaf(leaf));
            }
            let nodes = children.into_iter().map(|[yes, no]| {
                let asked = match rng.random_range(0..6) {
                    column @ 0..4 => {
                        let threshold = f64::from(rng.random_range(-22..22)) / 2.0;
                        let threshold = if threshold == 0.0 { -0.0 } else { threshold };
                        Asked::AtMost(column, threshold, rng.random())
                    }
                    column => {
                        let n_parts = N_BINS[column as usize - 4].div_ceil(256);
                        Asked::Among(column, (0..n_parts).map(|_| rng.random()).collect())
                    }
                };
                (asked, yes.unwrap(), no.unwrap())
            });
            let nodes = nodes.collect();
            MadeTree { nodes, values: (0..n_leaves * width).map(|_| rng.random()).collect() }
        });
        Self { trees: trees.collect(), width }
    }

    fn plan(&self) -> Abreast {
        let mut planner = Planner::new(self.width);
        for (at, tree) in self.trees.iter().enumerate() {
            let output = if self.width == 1 { at % 3 } else { 0 };
            let nodes = tree.nodes.iter();
            let nodes: Vec<_> =
                nodes.map(|(asked, yes, no)| (asked.question(), *yes, *no)).collect();
            planner.push(output, nodes.into_iter(), tree.values.iter().copied()).expect("it fits");
        }
        planner.done(&AsTheyAre)
    }

    fn walk(&self, x: &Features, n_outputs: usize) -> Vec<f64> {
        let mut sums = vec![0.25; x.n_rows() * n_outputs];
        for (at, tree) in self.trees.iter().enumerate() {
            let output = if self.width == 1 { at % 3 } else { 0 };
            for (row, sums) in sums.chunks_exact_mut(n_outputs).enumerate() {
                let mut child =
                    if tree.nodes.is_empty() { Child::Leaf(0) } else { Child::Branch(0) };
                let leaf = loop {
                    let node = match child {
                        Child::Leaf(leaf) => break leaf,
                        Child::Branch(node) => node,
                    };
                    let (asked, yes, no) = &tree.nodes[node];
                    let cell = |column: u32| x.column(column as usize)[row];
                    let is_so = match asked {
                        &Asked::AtMost(column, threshold, or_missing) => {
                            cell(column) <= threshold || or_missing && cell(column).is_nan()
                        }
                        Asked::Among(column, set) => {
                            let bin = cell(*column) as usize;
                            set[bin / 256][bin / 64 % 4] >> (bin % 64) & 1 == 1
                        }
                    };
                    child = if is_so { *yes } else { *no };
                };
                let own = &tree.values[leaf * self.width..][..self.width];
                sums[output..].iter_mut().zip(own).for_each(|(sum, value)| *sum += value);
            }
        }
        sums
    }
}

#[test]
fn blocks_come_to_the_sums_of_a_walk_to_the_last_bit() {
    for (width, n_outputs) in [(1, 3), (3, 3)] {
        for n_rows in [1, 63, 64, BLOCK, 2 * BLOCK + 77] {
            let (x, made) = (rows(n_rows, n_rows as u64), Made::of(12, width, n_rows as u64 + 9));
            let mut sums = vec![0.25; n_rows * n_outputs];
            let ctx = FitContext::unhurried();
            made.plan().add(&x, &AsTheyAre, n_outputs, &mut sums, &ctx).unwrap();
            assert_eq!(sums, made.walk(&x, n_outputs), "{width} {n_rows}");
        }
    }
}

#[test]
fn questions_that_many_trees_ask_are_answered_once() {
    let mut planner = Planner::new(1);
    for threshold in [0.5, -0.0, 0.5, 0.0] {
        let question = Question::AtMost { column: 0, threshold, or_missing: false };
        let node = (question, Child::Leaf(0), Child::Leaf(1));
        planner.push(0, std::iter::once(node), [1.0, 2.0].into_iter()).expect("it fits");
    }
    assert_eq!(planner.done(&AsTheyAre).questions.len(), 2);
}

#[test]
fn a_deadline_ends_it() {
    let ctx = FitContext::unhurried().with_deadline(Some(std::time::Instant::now()));
    let (plan, x) = (Made::of(3, 1, 1).plan(), rows(5, 1));
    let err = plan.add(&x, &AsTheyAre, 3, &mut [0.0; 15], &ctx).unwrap_err();
    assert_eq!(err, FitError::OutOfTime);
}

#[test]
fn what_is_too_large_or_no_tree_is_left_to_walks() {
    let question = Question::AtMost { column: 0, threshold: 0.5, or_missing: false };
    let push = |nodes: Vec<(Child, Child)>, n_leaves: usize| {
        let nodes = nodes.into_iter().map(|(yes, no)| (question, yes, no));
        Planner::new(1).push(0, nodes, (0..n_leaves).map(|_| 0.0)).is_some()
    };
    use Child::{Branch, Leaf};
    assert!(push(vec![(Branch(1), Leaf(0)), (Leaf(1), Leaf(2))], 3));
    assert!(!push(vec![(Branch(1), Leaf(0)), (Leaf(0), Leaf(2))], 3), "a leaf of two parents");
    assert!(!push(vec![(Branch(1), Leaf(0)), (Leaf(1), Leaf(3))], 3), "no such leaf");
    assert!(!push(vec![(Leaf(0), Leaf(1))], 3) && !push(Vec::new(), 0));
    let chain = |n: usize| (1..n).map(|i| (Branch(i), Leaf(i - 1))).chain([(Leaf(n - 1), Leaf(n))]);
    assert!(push(chain(MOST_LEAVES - 1).collect(), MOST_LEAVES));
    assert!(!push(chain(MOST_LEAVES).collect(), MOST_LEAVES + 1));
}
