//! Regression trees for boosting: Friedman's improvement, no deeper than asked.
//!
//! With all features at every split, a whole level is done feature by feature: one walk along the
//! sorted column deals its positions out to the level's nodes, still in order, so nothing is ever
//! sorted again. With a few features for each split, nodes go one by one as in a forest.

use super::columns::{PositionSlice, Sorted, SortedColumn};
use super::order::{InOrder, Sorter};
use super::partition::partition;
use super::sample::{FeatureSampler, NodeRng};
use super::score::{EQUAL, Sums, best_cut, halfway};
use super::store::Node;
use super::stump::PURE;
use crate::{FitContext, FitError, Stream};

/// A leaf of a grown tree, and where its rows are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub(crate) node: usize,
    start: usize,
    end: usize,
}

/// Grows regression trees on ever new targets of the same rows.
pub(crate) struct Regressor<'a> {
    sorted: &'a Sorted,
    max_depth: usize,
    max_features: usize,
    ctx: &'a FitContext,
    /// Features that are not constant over all rows.
    varying: Vec<usize>,
    rows: Vec<u32>,
    scratch: Vec<u32>,
    sorter: Sorter<f64>,
    node_target: Vec<f64>,
    positions: Vec<u32>,
    sampler: FeatureSampler,
    dealer: Dealer,
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    unchecked_work: usize,
}

/// A node that may be split.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: usize,
    start: usize,
    end: usize,
    depth: usize,
    stream: Stream,
    sum: f64,
}

#[derive(Clone, Copy, Debug)]
struct Split {
    score: f64,
    feature: usize,
    threshold: f32,
}

const WORK_PER_CHECK: usize = 1 << 16;

impl<'a> Regressor<'a> {
    pub(crate) fn new(
        sorted: &'a Sorted,
        max_depth: usize,
        max_features: usize,
        ctx: &'a FitContext,
    ) -> Self {
        let varies = |&feature: &usize| {
            let values = sorted.column(feature).values;
            values[values.len() - 1] > values[0] + EQUAL
        };
        Self {
            sorted,
            max_depth,
            max_features,
            ctx,
            varying: (0..sorted.n_cols).filter(varies).collect(),
            rows: Vec::new(),
            scratch: Vec::new(),
            sorter: Sorter::new(sorted.n_rows),
            node_target: Vec::new(),
            positions: Vec::new(),
            sampler: FeatureSampler::new(sorted.n_cols),
            dealer: Dealer::new(sorted.n_rows),
            nodes: Vec::new(),
            leaves: Vec::new(),
            unchecked_work: 0,
        }
    }

    /// Grows a tree; its leaves are then at [`Regressor::leaves`].
    pub(crate) fn grow(&mut self, target: &[f64], stream: Stream) -> Result<Vec<Node>, FitError> {
        self.rows.clear();
        self.rows.extend(0..target.len() as u32);
        self.leaves.clear();
        self.nodes.clear();
        self.nodes.push(Node::default());
        let root = self.open(0, 0, target.len(), 0, stream, target);
        if self.max_features >= self.sorted.n_cols {
            self.grow_by_level(root.into_iter().collect(), target)?;
        } else {
            self.grow_by_node(root.into_iter().collect(), target)?;
        }
        Ok(std::mem::take(&mut self.nodes))
    }

    /// The leaves of the tree grown last.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (Leaf, &[u32])> {
        self.leaves.iter().map(|&leaf| (leaf, &self.rows[leaf.start..leaf.end]))
    }

    /// The node if it may be split; otherwise it is listed as a leaf.
    fn open(
        &mut self,
        node: usize,
        start: usize,
        end: usize,
        depth: usize,
        stream: Stream,
        target: &[f64],
    ) -> Option<Open> {
        let n = (end - start) as f64;
        let (mut sum, mut squares) = (0.0, 0.0);
        if depth < self.max_depth && end - start >= 2 {
            for &row in &self.rows[start..end] {
                let value = target[row as usize];
                sum += value;
                squares += value * value;
            }
            let mean = sum / n;
            if squares / n - mean * mean > PURE {
                return Some(Open { node, start, end, depth, stream, sum });
            }
        }
        self.leaves.push(Leaf { node, start, end });
        None
    }

    /// Splits a node and opens its children.
    fn split(&mut self, at: Open, split: Option<Split>, target: &[f64], open: &mut Vec<Open>) {
        let Some(split) = split else {
            self.leaves.push(Leaf { node: at.node, start: at.start, end: at.end });
            return;
        };
        let column = self.sorted.column(split.feature);
        let rows = &mut self.rows[at.start..at.end];
        let goes_right = |row: u32| column.value_of(row) > split.threshold;
        let middle = at.start + partition(rows, &mut self.scratch, goes_right);
        let left = self.nodes.len();
        self.nodes.extend([Node::default(); 2]);
        self.nodes[at.node] =
            Node { feature: split.feature as u32, threshold: split.threshold, left: left as u32 };
        for (side, start, end) in [(0, at.start, middle), (1, middle, at.end)] {
            let stream = at.stream.child(side as u64);
            open.extend(self.open(left + side, start, end, at.depth + 1, stream, target));
        }
    }

    fn grow_by_level(&mut self, mut level: Vec<Open>, target: &[f64]) -> Result<(), FitError> {
        while !level.is_empty() {
            if level.len() > Dealer::MAX_NODES {
                return self.grow_by_node(level, target);
            }
            let splits = self.split_level(&level, target)?;
            let mut next = Vec::new();
            for (&at, split) in level.iter().zip(splits) {
                self.split(at, split, target, &mut next);
            }
            level = next;
        }
        Ok(())
    }

    /// The best split of every node of a level, over all features.
    fn split_level(
        &mut self,
        level: &[Open],
        target: &[f64],
    ) -> Result<Vec<Option<Split>>, FitError> {
        let mut best: Vec<Option<Split>> = vec![None; level.len()];
        self.dealer.seat(level.iter().map(|at| &self.rows[at.start..at.end]));
        for i in 0..self.varying.len() {
            let feature = self.varying[i];
            self.check_deadline(self.sorted.n_rows)?;
            let column = self.sorted.column(feature);
            self.dealer.deal(column.order);
            for (seat, at) in level.iter().enumerate() {
                let hand = self.dealer.hand(seat);
                let target = |position: usize| target[column.order[position] as usize];
                let split = best_split(hand, column, feature, at, target);
                if let Some(split) = split
                    && best[seat].is_none_or(|best| wins(&split, &best, at.stream))
                {
                    best[seat] = Some(split);
                }
            }
        }
        Ok(best)
    }

    fn grow_by_node(&mut self, mut open: Vec<Open>, target: &[f64]) -> Result<(), FitError> {
        while let Some(at) = open.pop() {
            let split = self.split_by_draw(&at, target)?;
            self.split(at, split, target, &mut open);
        }
        Ok(())
    }

    /// The best split over a few features; drawing goes on while all of them are constant.
    fn split_by_draw(&mut self, at: &Open, target: &[f64]) -> Result<Option<Split>, FitError> {
        let mut rng = NodeRng::new(at.stream);
        self.node_target.clear();
        let rows = &self.rows[at.start..at.end];
        self.node_target.extend(rows.iter().map(|&row| target[row as usize]));
        let (mut best, mut drawn, mut varying): (Option<Split>, _, _) = (None, 0, 0);
        while drawn < self.max_features || varying == 0 {
            let Some(feature) = self.sampler.draw(&mut rng) else { break };
            drawn += 1;
            self.check_deadline(at.end - at.start)?;
            let column = self.sorted.column(feature);
            let rows = &self.rows[at.start..at.end];
            self.positions.clear();
            match column.position {
                PositionSlice::Short(from) => {
                    self.positions.extend(rows.iter().map(|&row| u32::from(from[row as usize])));
                }
                PositionSlice::Long(from) => {
                    self.positions.extend(rows.iter().map(|&row| from[row as usize]));
                }
            }
            let InOrder { positions, slots } = self.sorter.sort(&self.positions, &self.node_target);
            let value = |i: usize| column.values[positions[i] as usize];
            if value(positions.len() - 1) <= value(0) + EQUAL {
                continue;
            }
            varying += 1;
            let target = |position: usize| slots[position];
            if let Some(split) = best_split(positions, column, feature, at, target)
                && best.is_none_or(|best| split.score > best.score)
            {
                best = Some(split);
            }
        }
        self.sampler.reset();
        Ok(best)
    }

    fn check_deadline(&mut self, work: usize) -> Result<(), FitError> {
        self.unchecked_work += work;
        if self.unchecked_work >= WORK_PER_CHECK {
            self.unchecked_work = 0;
            self.ctx.check_deadline()?;
        }
        Ok(())
    }
}

/// Chance, keyed by the node, decides between features that split equally well.
fn wins(split: &Split, best: &Split, stream: Stream) -> bool {
    let rank = |feature: usize| stream.named("draw").child(feature as u64).key();
    split.score > best.score
        || (split.score == best.score && rank(split.feature) < rank(best.feature))
}

#[inline(always)]
fn best_split(
    positions: &[u32],
    column: SortedColumn<'_>,
    feature: usize,
    at: &Open,
    target: impl Fn(usize) -> f64,
) -> Option<Split> {
    let n = positions.len() as f64;
    let mut sums = Friedman { n, sum: at.sum, n_left: 0.0, left: 0.0 };
    let cut = best_cut(positions, column, target, &mut sums)?;
    let value = |i: usize| column.values[positions[i] as usize];
    let threshold = halfway(value(cut.n_left - 1), value(cut.n_left));
    Some(Split { score: cut.score, feature, threshold })
}

/// Friedman's improvement: the squared difference of the two means, weighted.
struct Friedman {
    n: f64,
    sum: f64,
    n_left: f64,
    left: f64,
}

impl Sums<f64> for Friedman {
    #[inline(always)]
    fn add(&mut self, target: f64) {
        self.left += target;
        self.n_left += 1.0;
    }

    #[inline(always)]
    fn score(&self) -> (f64, f64) {
        let n_right = self.n - self.n_left;
        let difference = n_right * self.left - self.n_left * (self.sum - self.left);
        // Divided as scikit-learn does, so that what it rounds to a draw is one here.
        (difference * difference / (self.n_left * n_right), 1.0)
    }
}

/// Deals the positions of a sorted column out to the nodes of a level.
struct Dealer {
    /// The node of each row; rows of no node share the last, which nobody reads.
    seat: Vec<u8>,
    starts: Vec<usize>,
    cursors: Vec<usize>,
    dealt: Vec<u32>,
    is_one_for_all: bool,
}

impl Dealer {
    const MAX_NODES: usize = u8::MAX as usize;

    fn new(n_rows: usize) -> Self {
        Self {
            seat: vec![0; n_rows],
            starts: Vec::new(),
            cursors: Vec::new(),
            dealt: (0..n_rows as u32).collect(),
            is_one_for_all: true,
        }
    }

    /// Notes which rows are whose.
    fn seat<'r>(&mut self, nodes: impl ExactSizeIterator<Item = &'r [u32]>) {
        let n_nodes = nodes.len();
        assert!(n_nodes <= Self::MAX_NODES, "there is a seat for every node");
        self.seat.fill(n_nodes as u8);
        self.starts.clear();
        let mut filled = 0;
        for (seat, rows) in nodes.enumerate() {
            self.starts.push(filled);
            filled += rows.len();
            rows.iter().for_each(|&row| self.seat[row as usize] = seat as u8);
        }
        self.starts.push(filled);
        self.is_one_for_all = n_nodes == 1 && filled == self.seat.len();
        if self.is_one_for_all {
            self.dealt.iter_mut().enumerate().for_each(|(at, slot)| *slot = at as u32);
        }
    }

    fn deal(&mut self, order: &[u32]) {
        if self.is_one_for_all {
            return;
        }
        self.cursors.clear();
        self.cursors.extend_from_slice(&self.starts);
        for (at, &row) in order.iter().enumerate() {
            let cursor = &mut self.cursors[usize::from(self.seat[row as usize])];
            self.dealt[*cursor] = at as u32;
            *cursor += 1;
        }
    }

    fn hand(&self, seat: usize) -> &[u32] {
        &self.dealt[self.starts[seat]..self.starts[seat + 1]]
    }
}
