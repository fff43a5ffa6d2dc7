//! Grows a tree leaf by leaf: the one whose split gains most comes first.

use rayon::prelude::*;

use super::Growth;
use super::bins::{Binned, ColumnBins, Meaning};
use super::histogram::{Layout, LeafRows, Rows, build, subtract};
use super::split::{BinSet, LEAST_HESSIAN, Rules, Split, has};
use super::tree::{Node, Test, Tree};
use super::words::{Sums, Units, Word};
use crate::work_time::Owner;
use crate::{FitContext, FitError};

/// From so many rows on, parting them and fetching their derivatives are spread over threads.
const PARALLEL_ROWS: usize = 1 << 15;

/// Scores that are moved at once: leaf after leaf, they stay in a fast cache.
const SCORES_AT_ONCE: usize = 1 << 14;

/// What growing needs, kept from tree to tree.
pub(super) struct Grower<'a> {
    binned: &'a Binned,
    rules: Rules,
    max_leaves: usize,
    growth: Growth,
    ctx: &'a FitContext,
    /// The rows of the tree, those of each leaf together and ascending.
    rows: Vec<u32>,
    spare_rows: Vec<u32>,
    /// The derivatives of a leaf's rows, in their order.
    words: Vec<Word>,
    spare_histograms: Vec<Vec<Sums>>,
}

/// A leaf while the tree grows.
struct Leaf {
    /// Where its rows lie.
    start: usize,
    end: usize,
    sums: Sums,
    histogram: Vec<Sums>,
    split: Option<Split>,
    depth: u32,
    /// The node above and whether this is its left child; `None` for the root.
    parent: Option<(i32, bool)>,
}

/// A grown tree, whose rows the grower still holds.
pub(super) struct Grown {
    pub(super) tree: Tree,
    /// The bins that each node sends left.
    left_bins: Vec<BinSet>,
    /// Where each leaf's rows lie and what it adds.
    leaves: Vec<(usize, usize, f32)>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(
        binned: &'a Binned,
        rules: Rules,
        max_leaves: usize,
        growth: Growth,
        ctx: &'a FitContext,
    ) -> Self {
        Self {
            binned,
            rules,
            max_leaves,
            growth,
            ctx,
            rows: Vec::new(),
            spare_rows: Vec::new(),
            words: Vec::new(),
            spare_histograms: Vec::new(),
        }
    }

    /// Grows a tree on some rows, all of them where `rows` is `None`.
    pub(super) fn grow(
        &mut self,
        layout: &Layout,
        rows: Option<&[u32]>,
        (units, words): (Units, &[Word]),
        learning_rate: f64,
    ) -> Result<Grown, FitError> {
        self.rules.units = units;
        let n_rows = self.binned.n_rows;
        self.rows.clear();
        match rows {
            None => self.rows.extend(0..n_rows as u32),
            Some(rows) => self.rows.extend_from_slice(rows),
        }
        let n = self.rows.len();
        let mut tree = Tree::default();
        let mut left_bins = Vec::new();
        let mut leaves = vec![self.root(layout, rows.is_none(), words)?];
        while leaves.len() < self.max_leaves {
            let Some(at) = best_leaf(&leaves, self.growth) else { break };
            let split = leaves[at].split.take().expect("the best leaf has a split");
            let node = self.push_node(&mut tree, &leaves, at, &split);
            left_bins.push(split.left_bins.clone());
            let middle = self.part_rows(leaves[at].start, leaves[at].end, &split);
            let parent = &mut leaves[at];
            parent.depth += 1;
            let (end, total, depth) = (parent.end, parent.sums, parent.depth);
            let histogram = std::mem::take(&mut parent.histogram);
            (parent.end, parent.sums, parent.parent) = (middle, split.left, Some((node, true)));
            let right = Leaf {
                start: middle,
                end,
                sums: [total[0] - split.left[0], total[1] - split.left[1]],
                histogram: Vec::new(),
                split: None,
                depth,
                parent: Some((node, false)),
            };
            leaves.push(right);
            if leaves.len() < self.max_leaves {
                let last = leaves.len() - 1;
                let (before, after) = leaves.split_at_mut(last);
                self.find_splits(layout, words, histogram, &mut before[at], &mut after[0])?;
            } else {
                self.spare_histograms.push(histogram);
            }
        }
        debug_assert_eq!(leaves.iter().map(|leaf| leaf.end - leaf.start).sum::<usize>(), n);
        let values: Vec<f32> = leaves.iter().map(|leaf| self.value(leaf, learning_rate)).collect();
        tree.set_values(values.clone());
        let spans = leaves.iter().zip(&values).map(|(leaf, &value)| (leaf.start, leaf.end, value));
        let spans = spans.collect();
        self.spare_histograms.extend(leaves.into_iter().map(|leaf| leaf.histogram));
        self.spare_histograms.retain(|histogram| !histogram.is_empty());
        Ok(Grown { tree, left_bins, leaves: spans })
    }

    /// Moves the scores of all training rows along, those the tree was not grown on as well.
    pub(super) fn move_scores(&self, grown: &Grown, scores: &mut [f64]) {
        let move_part = |(at, scores): (usize, &mut [f64])| {
            let (first, n) = (at * SCORES_AT_ONCE, scores.len());
            for &(start, end, value) in &grown.leaves {
                let (rows, value) = (&self.rows[start..end], f64::from(value));
                // Rows are ascending within a leaf.
                let from = rows.partition_point(|&row| (row as usize) < first);
                let here = rows[from..].iter().map(|&row| row as usize - first);
                here.take_while(|&row| row < n).for_each(|row| scores[row] += value);
            }
        };
        if is_parallel(self.rows.len()) {
            let owner = Owner::here();
            let parts = scores.par_chunks_mut(SCORES_AT_ONCE).enumerate();
            parts.for_each(|part| owner.part(|| move_part(part)));
        } else {
            scores.chunks_mut(SCORES_AT_ONCE).enumerate().for_each(move_part);
        }
        if self.rows.len() == scores.len() {
            return;
        }
        let mut is_sampled = vec![false; scores.len()];
        self.rows.iter().for_each(|&row| is_sampled[row as usize] = true);
        for (row, score) in scores.iter_mut().enumerate().filter(|(row, _)| !is_sampled[*row]) {
            let leaf = grown.tree.leaf_of(self.binned, &grown.left_bins, row);
            *score += f64::from(grown.leaves[leaf].2);
        }
    }

    fn root(&mut self, layout: &Layout, is_whole: bool, words: &[Word]) -> Result<Leaf, FitError> {
        let n = self.rows.len();
        let units = self.rules.units;
        let mut histogram = self.spare(layout);
        let leaf = if is_whole {
            LeafRows { rows: Rows::From(0), words }
        } else {
            gather(&mut self.words, &self.rows, words);
            LeafRows { rows: Rows::These(&self.rows), words: &self.words }
        };
        build(self.binned, layout, leaf, units, &mut histogram, self.ctx)?;
        let sums = units.sums(leaf.words);
        let split = self.best_split(layout, &histogram, sums);
        Ok(Leaf { start: 0, end: n, sums, histogram, split, depth: 0, parent: None })
    }

    /// Sums the smaller child's rows by bin, takes the larger one's sums from their parent's, and looks for the best
    /// split of both.
    fn find_splits(
        &mut self,
        layout: &Layout,
        words: &[Word],
        mut parent: Vec<Sums>,
        left: &mut Leaf,
        right: &mut Leaf,
    ) -> Result<(), FitError> {
        if !self.rules.may_split(left.sums) && !self.rules.may_split(right.sums) {
            self.spare_histograms.push(parent);
            return Ok(());
        }
        let is_left_smaller = left.end - left.start < right.end - right.start;
        let (small, large) = if is_left_smaller { (left, right) } else { (right, left) };
        let rows = &self.rows[small.start..small.end];
        gather(&mut self.words, rows, words);
        let mut histogram = self.spare_histograms.pop().unwrap_or_default();
        histogram.resize(layout.n_bins(), [0; 2]);
        let leaf = LeafRows { rows: Rows::These(rows), words: &self.words };
        build(self.binned, layout, leaf, self.rules.units, &mut histogram, self.ctx)?;
        subtract(&mut parent, &histogram);
        let split_small = || self.best_split(layout, &histogram, small.sums);
        let split_large = || self.best_split(layout, &parent, large.sums);
        (small.split, large.split) = if layout.is_parallel(layout.n_bins()) {
            let owner = Owner::here();
            rayon::join(|| owner.part(split_small), || owner.part(split_large))
        } else {
            (split_small(), split_large())
        };
        (small.histogram, large.histogram) = (histogram, parent);
        Ok(())
    }

    fn best_split(&self, layout: &Layout, histogram: &[Sums], sums: Sums) -> Option<Split> {
        if !self.rules.may_split(sums) {
            return None;
        }
        self.rules.best_split(self.binned, layout, histogram, sums)
    }

    fn spare(&mut self, layout: &Layout) -> Vec<Sums> {
        let mut histogram = self.spare_histograms.pop().unwrap_or_default();
        histogram.resize(layout.n_bins(), [0; 2]);
        histogram
    }

    fn push_node(&self, tree: &mut Tree, leaves: &[Leaf], at: usize, split: &Split) -> i32 {
        let column = &self.binned.columns[split.column];
        let test = match (&column.meaning, split.last_left) {
            (Meaning::Numbers(edges), Some(last)) => Test::AtMost {
                // All numbers may go left, and the missing cells right.
                threshold: edges.upper(last),
                missing_left: has(&split.left_bins, column.n_values),
            },
            _ => Test::Among(tree.push_set(&split.left_bins)),
        };
        // The left child keeps its leaf's number, the right one gets the next.
        let (left, right) = (!(at as i32), !(leaves.len() as i32));
        let node = tree.push_node(Node { column: split.column as u32, test, left, right });
        if let Some((parent, is_left)) = leaves[at].parent {
            let parent = tree.node_mut(parent);
            *(if is_left { &mut parent.left } else { &mut parent.right }) = node;
        }
        node
    }

    /// Puts the rows that go left before those that go right, both in order; gives where the latter begin.
    fn part_rows(&mut self, start: usize, end: usize, split: &Split) -> usize {
        let left_bins = &split.left_bins;
        let binned = self.binned;
        match binned.column(split.column) {
            ColumnBins::Narrow(words, shift) => {
                let goes_left: [bool; 256] = std::array::from_fn(|bin| has(left_bins, bin));
                let is_left = |row: usize| goes_left[(words[row] >> shift) as u8 as usize];
                self.part_rows_by(start, end, is_left)
            }
            ColumnBins::Wide(bins) => {
                self.part_rows_by(start, end, |row| has(left_bins, usize::from(bins[row])))
            }
        }
    }

    fn part_rows_by(
        &mut self,
        start: usize,
        end: usize,
        is_left: impl Fn(usize) -> bool + Sync,
    ) -> usize {
        let n = end - start;
        self.spare_rows.resize(self.spare_rows.len().max(n), 0);
        let (rows, spare) = (&mut self.rows[start..end], &mut self.spare_rows[..n]);
        let size = if is_parallel(n) { n.div_ceil(rayon::current_num_threads()) } else { n.max(1) };
        let n_lefts: Vec<usize> = if size < n {
            let owner = Owner::here();
            let parts = rows.par_chunks_mut(size).zip(spare.par_chunks_mut(size));
            let part = |(rows, spare): (&mut [u32], &mut [u32])| {
                owner.part(|| part(rows, spare, &is_left))
            };
            parts.map(part).collect()
        } else {
            vec![part(rows, spare, &is_left)]
        };
        // Those that go left lie at the front of each part, the others in its spare rows.
        let mut n_left = 0;
        for (k, &own) in n_lefts.iter().enumerate() {
            if k * size > n_left {
                rows.copy_within(k * size..k * size + own, n_left);
            }
            n_left += own;
        }
        let mut at = n_left;
        for (k, &own) in n_lefts.iter().enumerate() {
            let n_right = size.min(n - k * size) - own;
            rows[at..at + n_right].copy_from_slice(&spare[k * size..k * size + n_right]);
            at += n_right;
        }
        start + n_left
    }

    /// A Newton step, shortened by the learning rate.
    fn value(&self, leaf: &Leaf, learning_rate: f64) -> f32 {
        let units = self.rules.units;
        let hessian = units.hessian(leaf.sums) + self.rules.l2;
        if hessian < LEAST_HESSIAN {
            return 0.0;
        }
        (-learning_rate * units.gradient(leaf.sums) / hessian) as f32
    }
}

/// The leaf to split next: the one whose split gains most, if asked for of the least deep ones; the earlier one wins a draw.
fn best_leaf(leaves: &[Leaf], growth: Growth) -> Option<usize> {
    let mut best: Option<(usize, u32, f64)> = None;
    for (at, leaf) in leaves.iter().enumerate() {
        let Some(split) = &leaf.split else { continue };
        let depth = if growth == Growth::ByDepth { leaf.depth } else { 0 };
        let is_better =
            |&(_, of, gain): &(usize, u32, f64)| depth < of || (depth == of && split.gain > gain);
        if best.as_ref().is_none_or(is_better) {
            best = Some((at, depth, split.gain));
        }
    }
    best.map(|(at, ..)| at)
}

/// Whether work on so many rows, one after the other, is worth spreading over threads.
fn is_parallel(n_rows: usize) -> bool {
    n_rows >= PARALLEL_ROWS && rayon::current_num_threads() > 1
}

/// Puts the rows that go left first, and the others to `spare`, both in order; gives how many go left.
fn part(rows: &mut [u32], spare: &mut [u32], is_left: impl Fn(usize) -> bool) -> usize {
    let (mut n_left, mut n_right) = (0, 0);
    for at in 0..rows.len() {
        let row = rows[at];
        let is_left = is_left(row as usize);
        // Both are written and one is kept: cheaper than guessing which.
        rows[n_left] = row;
        spare[n_right] = row;
        n_left += usize::from(is_left);
        n_right += usize::from(!is_left);
    }
    n_left
}

fn gather(to: &mut Vec<Word>, rows: &[u32], words: &[Word]) {
    if !is_parallel(rows.len()) {
        to.clear();
        to.extend(rows.iter().map(|&row| words[row as usize]));
        return;
    }
    to.resize(rows.len(), 0);
    let size = rows.len().div_ceil(rayon::current_num_threads());
    let owner = Owner::here();
    let copy = |(to, rows): (&mut [Word], &[u32])| {
        to.iter_mut().zip(rows).for_each(|(to, &row)| *to = words[row as usize]);
    };
    let parts = to.par_chunks_mut(size).zip(rows.par_chunks(size));
    parts.for_each(|part| owner.part(|| copy(part)));
}
