//! A classification tree at rest: nodes, and the class counts where rows end.

use serde::{Deserialize, Serialize};

use super::super::abreast::{self, Cells, Child, Planner, Question};

/// One node; children lie side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Node {
    pub(crate) feature: u32,
    /// Rows with a value up to this one go left.
    pub(crate) threshold: f32,
    /// The left child, the right one is next to it; 0 if this is a leaf.
    pub(crate) left: u32,
}

impl Node {
    #[inline]
    pub(crate) fn is_leaf(self) -> bool {
        self.left == 0
    }

    /// The child that a row goes to; without meaning for a leaf.
    #[inline]
    pub(crate) fn child(self, row: &[f32]) -> usize {
        self.left as usize + usize::from(row[self.feature as usize] > self.threshold)
    }
}

/// Finds the leaf of each of `rows`, row-major with `n_cols` columns, and hands it to `visit`
/// together with the row's number.
///
/// Several rows walk side by side: while one waits for memory, the others move on.
#[inline]
pub(crate) fn find_leaves(
    nodes: &[Node],
    rows: &[f32],
    n_cols: usize,
    mut visit: impl FnMut(usize, usize),
) {
    const ABREAST: usize = 8;
    let n_rows = rows.len() / n_cols;
    let row = |i: usize| &rows[i * n_cols..(i + 1) * n_cols];
    let n_abreast = n_rows - n_rows % ABREAST;
    for first in (0..n_abreast).step_by(ABREAST) {
        let group: [&[f32]; ABREAST] = std::array::from_fn(|i| row(first + i));
        let mut at = [0usize; ABREAST];
        loop {
            let mut is_done = true;
            for i in 0..ABREAST {
                let node = nodes[at[i]];
                let child = node.child(group[i]);
                at[i] = if node.is_leaf() { at[i] } else { child };
                is_done &= node.is_leaf();
            }
            if is_done {
                break;
            }
        }
        at.into_iter().enumerate().for_each(|(i, leaf)| visit(first + i, leaf));
    }
    for i in n_abreast..n_rows {
        let mut at = 0;
        while !nodes[at].is_leaf() {
            at = nodes[at].child(row(i));
        }
        visit(i, at);
    }
}

/// Features in single precision, as trees compare them.
pub(crate) struct SinglePrecision;

impl Cells for SinglePrecision {
    fn number(&self, cell: f64) -> f64 {
        f64::from(cell as f32)
    }

    fn bin(&self, _: usize, _: f64) -> usize {
        0
    }

    fn n_bins(&self, _: usize) -> usize {
        1
    }
}

/// Adds a tree to a plan, for the outputs from this one on; `values` gives what a leaf holds. Gives nothing where it is too large.
pub(in super::super) fn plan(
    nodes: &[Node],
    planner: &mut Planner<'_>,
    output: usize,
    values: impl Fn(usize, &mut Vec<f64>),
) -> Option<()> {
    if nodes.len() >= 2 * abreast::MOST_LEAVES {
        return None;
    }
    let (mut n_branches, mut leaf_values) = (0, Vec::new());
    let mut n_leaves = 0;
    let mut number = |at: usize| {
        let counter = if nodes[at].is_leaf() { &mut n_leaves } else { &mut n_branches };
        *counter += 1;
        if nodes[at].is_leaf() { Child::Leaf(*counter - 1) } else { Child::Branch(*counter - 1) }
    };
    let child_at: Vec<Child> = (0..nodes.len()).map(&mut number).collect();
    for at in (0..nodes.len()).filter(|&at| nodes[at].is_leaf()) {
        values(at, &mut leaf_values);
    }
    let branches = nodes.iter().filter(|node| !node.is_leaf()).map(|node| {
        let (column, threshold) = (node.feature, f64::from(node.threshold));
        let question = Question::AtMost { column, threshold, or_missing: true };
        let left = node.left as usize;
        (question, child_at[left], child_at[left + 1])
    });
    planner.push(output, branches, leaf_values.into_iter())
}

/// Whether every walk from the root ends: children come after their parents, and exist.
pub(crate) fn are_sound(nodes: &[Node], n_cols: usize) -> bool {
    let is_sound = |(at, node): (usize, &Node)| {
        let left = node.left as usize;
        // A leaf's feature is looked at, though nothing comes of it.
        (node.feature as usize) < n_cols.max(1)
            && (left == 0 || left > at && left + 1 < nodes.len())
    };
    !nodes.is_empty() && nodes.iter().enumerate().all(is_sound)
}

/// The classes of one node: a range of the tree's list of nonzero counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Span {
    start: u32,
    len: u32,
}

/// A grown tree. Node 0 is the root.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    spans: Vec<Span>,
    classes: Vec<u32>,
    counts: Vec<u32>,
}

impl Tree {
    /// Adds a node without children or classes.
    pub(crate) fn push_node(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.spans.push(Span::default());
        self.nodes.len() - 1
    }

    /// Gives a node its class counts; zeros are not stored.
    pub(crate) fn set_counts(&mut self, node: usize, counts: &[u32]) {
        let start = self.classes.len();
        for (class, &count) in counts.iter().enumerate() {
            if count > 0 {
                self.classes.push(class as u32);
                self.counts.push(count);
            }
        }
        self.spans[node] = Span { start: start as u32, len: (self.classes.len() - start) as u32 };
    }

    /// Whether every walk ends at a node with classes that exist.
    pub(crate) fn is_sound(&self, n_cols: usize, n_classes: usize) -> bool {
        let n = self.classes.len();
        let is_sound =
            |span: &Span| span.start.checked_add(span.len).is_some_and(|end| end as usize <= n);
        are_sound(&self.nodes, n_cols)
            && self.spans.len() == self.nodes.len()
            && self.counts.len() == n
            && self.classes.iter().all(|&c| (c as usize) < n_classes)
            && self.spans.iter().all(is_sound)
    }

    /// Adds the class shares of `node` to `sums`, computed here: a tree may have many more leaves than there are rows.
    #[inline]
    pub(crate) fn add_shares_of(&self, node: usize, sums: &mut [f64]) {
        let span = self.spans[node];
        let range = span.start as usize..(span.start + span.len) as usize;
        let (classes, counts) = (&self.classes[range.clone()], &self.counts[range]);
        if let ([class], [_]) = (classes, counts) {
            sums[*class as usize] += 1.0;
            return;
        }
        let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
        for (&class, &count) in classes.iter().zip(counts) {
            sums[class as usize] += f64::from(count) / total;
        }
    }

    /// Adds it to a plan whose leaves hold the shares of so many classes.
    pub(in super::super) fn plan(&self, planner: &mut Planner<'_>, n_classes: usize) -> Option<()> {
        plan(&self.nodes, planner, 0, |leaf, values| {
            let first = values.len();
            values.resize(first + n_classes, 0.0);
            self.add_shares_of(leaf, &mut values[first..]);
        })
    }

    /// The shares of all stored classes, for [`Tree::add_shares`].
    pub(crate) fn shares(&self) -> Vec<f64> {
        let mut shares: Vec<f64> = self.counts.iter().map(|&c| f64::from(c)).collect();
        for span in &self.spans {
            let shares = &mut shares[span.start as usize..(span.start + span.len) as usize];
            let total: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= total);
        }
        shares
    }

    /// Adds the class shares of `node` to `sums`, as [`Tree::add_shares_of`] does.
    #[inline]
    pub(crate) fn add_shares(&self, node: usize, shares: &[f64], sums: &mut [f64]) {
        let span = self.spans[node];
        for at in span.start as usize..(span.start + span.len) as usize {
            sums[self.classes[at] as usize] += shares[at];
        }
    }

    /// The tree that growing with `min_rows` would have given: nodes of fewer rows become leaves.
    /// `sizes` are the rows of each node; every node must have its class counts.
    pub(crate) fn truncated(&self, sizes: &[u32], min_rows: u32) -> Self {
        let mut tree = Self::default();
        tree.push_node();
        let mut pending = vec![(0, 0)];
        while let Some((from, to)) = pending.pop() {
            let node = self.nodes[from];
            if node.is_leaf() || sizes[from] < min_rows {
                tree.copy_counts(to, self, from);
                continue;
            }
            let left = tree.push_node();
            let right = tree.push_node();
            tree.nodes[to] = Node { left: left as u32, ..node };
            pending.push((node.left as usize + 1, right));
            pending.push((node.left as usize, left));
        }
        tree.shrink();
        tree
    }

    /// Gives back what was set aside for more nodes: a forest has hundreds of trees and stays.
    pub(crate) fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
        self.spans.shrink_to_fit();
        self.classes.shrink_to_fit();
        self.counts.shrink_to_fit();
    }

    /// What it takes in memory.
    pub(crate) fn n_bytes(&self) -> u64 {
        let counts = size_of::<u32>() * (self.classes.len() + self.counts.len());
        let nodes = (size_of::<Node>() + size_of::<Span>()) * self.nodes.len();
        (counts + nodes) as u64
    }

    fn copy_counts(&mut self, to: usize, source: &Self, from: usize) {
        let span = source.spans[from];
        let range = span.start as usize..(span.start + span.len) as usize;
        self.spans[to] = Span { start: self.classes.len() as u32, len: span.len };
        self.classes.extend_from_slice(&source.classes[range.clone()]);
        self.counts.extend_from_slice(&source.counts[range]);
    }
}
