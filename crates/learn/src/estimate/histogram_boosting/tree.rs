//! A fitted tree: which way rows go, and what their leaves add to a score.

use serde::{Deserialize, Serialize};

use super::super::abreast::{Child, Planner, Question};
use super::bins::Binned;
use super::split::{BinSet, has};

/// Nodes before their children; what is negative among these is a leaf, counted from -1 downwards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The sets of bins that nodes on categories refer to, 256 bins to a part; where there are more, the parts follow.
    sets: Vec<[u64; 4]>,
    /// What each leaf adds, the learning rate included.
    values: Vec<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Node {
    pub(super) column: u32,
    pub(super) test: Test,
    pub(super) left: i32,
    pub(super) right: i32,
}

/// Which rows go left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Test {
    /// Those whose number is at most this, and those without one or not.
    AtMost { threshold: f64, missing_left: bool },
    /// Those whose category is in this set of bins, given by its first part.
    Among(u32),
}

impl Tree {
    /// Adds a node and gives its number.
    pub(super) fn push_node(&mut self, node: Node) -> i32 {
        self.nodes.push(node);
        self.nodes.len() as i32 - 1
    }

    /// Adds a set of bins and gives the number of its first part.
    pub(super) fn push_set(&mut self, set: &[[u64; 4]]) -> u32 {
        let first = self.sets.len() as u32;
        self.sets.extend_from_slice(set);
        first
    }

    pub(super) fn node_mut(&mut self, node: i32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    pub(super) fn set_values(&mut self, values: Vec<f32>) {
        self.values = values;
    }

    /// The leaf of a training row, given which bins each node sends left.
    pub(super) fn leaf_of(&self, binned: &Binned, left_bins: &[BinSet], row: usize) -> usize {
        let mut at = if self.nodes.is_empty() { -1 } else { 0 };
        while at >= 0 {
            let node = &self.nodes[at as usize];
            let bin = binned.column(node.column as usize).of(row);
            at = if has(&left_bins[at as usize], bin) { node.left } else { node.right };
        }
        !at as usize
    }

    /// Adds what each row's leaf holds to its score. Rows are as [`super::model`] lays them out: categories by bin.
    #[inline]
    pub(super) fn add_to<'s>(
        &self,
        rows: &[f64],
        n_cols: usize,
        scores: impl Iterator<Item = &'s mut f64>,
    ) {
        if self.nodes.is_empty() {
            let value = f64::from(self.values[0]);
            scores.for_each(|score| *score += value);
            return;
        }
        for (row, score) in rows.chunks_exact(n_cols).zip(scores) {
            let mut at = 0;
            while at >= 0 {
                let node = &self.nodes[at as usize];
                let value = row[node.column as usize];
                let is_left = match node.test {
                    Test::AtMost { threshold, missing_left } => {
                        value <= threshold || (missing_left && value.is_nan())
                    }
                    Test::Among(set) => has(&self.sets[set as usize..], value as usize),
                };
                at = if is_left { node.left } else { node.right };
            }
            *score += f64::from(self.values[!at as usize]);
        }
    }

    /// Adds it to a plan, for an output; `n_bins` are those of a column of categories.
    pub(super) fn plan<'t>(
        &'t self,
        planner: &mut Planner<'t>,
        output: usize,
        n_bins: impl Fn(usize) -> usize,
    ) -> Option<()> {
        let question = |column: u32, test: Test| match test {
            Test::AtMost { threshold, missing_left } => {
                Question::AtMost { column, threshold, or_missing: missing_left }
            }
            Test::Among(set) => {
                let parts = &self.sets[set as usize..];
                let n_parts = n_bins(column as usize).div_ceil(256).min(parts.len());
                Question::Among { column, set: &parts[..n_parts] }
            }
        };
        let child = |child: i32| match child {
            0.. => Child::Branch(child as usize),
            _ => Child::Leaf(!child as usize),
        };
        let node =
            |node: &Node| (question(node.column, node.test), child(node.left), child(node.right));
        let values = self.values.iter().map(|&value| f64::from(value));
        planner.push(output, self.nodes.iter().map(node), values)
    }

    /// Whether every walk ends in a leaf, given so many columns; `is_category` says which of these hold bins.
    pub(super) fn is_sound(&self, n_cols: usize, is_category: impl Fn(usize) -> bool) -> bool {
        let is_child = |own: usize, child: i32| match child {
            0.. => child as usize > own && (child as usize) < self.nodes.len(),
            _ => (!child as usize) < self.values.len(),
        };
        let is_node = |(own, node): (usize, &Node)| {
            let column = node.column as usize;
            let is_test = || match node.test {
                Test::AtMost { threshold, .. } => !threshold.is_nan() && !is_category(column),
                Test::Among(set) => (set as usize) < self.sets.len() && is_category(column),
            };
            column < n_cols && is_test() && is_child(own, node.left) && is_child(own, node.right)
        };
        !self.values.is_empty()
            && self.values.iter().all(|v| v.is_finite())
            && self.nodes.iter().enumerate().all(is_node)
    }
}
