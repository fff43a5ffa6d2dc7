//! Growing a classification tree, node by node, depth first.
//!
//! Everything random in a node is keyed by the node's path from the root, so that a tree grown
//! with a larger `min_samples_split` is this tree cut short.

use super::partition::partition;
use super::score::{Payload, Scorer};
use super::settings::Criterion;
use super::split::{NodeRows, Search, Split, Splitter};
use super::store::{Node, Tree};
use crate::{FitContext, FitError, Stream};

/// What all trees of a forest have in common, and the memory that they use one after the other.
pub(crate) struct Grower<'a> {
    splitter: Splitter<'a>,
    classes: &'a [u32],
    search: Search<'a>,
    payload: Vec<Payload>,
    rows: Vec<u32>,
    scratch: Vec<u32>,
    /// The payloads of the node's rows, in their order.
    node_payload: Vec<Payload>,
    counts: Vec<u32>,
}

/// A tree, and what its truncations and their costs follow from.
pub(crate) struct Grown {
    pub(crate) tree: Tree,
    /// How many distinct rows each node has.
    pub(crate) sizes: Vec<u32>,
    /// What splitting each node took, in rows times features; 0 for leaves.
    pub(crate) work: Vec<f32>,
}

/// A node still to be looked at.
struct Pending {
    node: usize,
    start: usize,
    end: usize,
    stream: Stream,
    n_constants: usize,
}

/// What splitting a node takes, in rows times features. Each feature and each node costs as much
/// as some rows; how many was measured on forests of 100 x 4 to 6,666 x 100.
fn split_work(splitter: Splitter<'_>, n_rows: usize, n_features: usize) -> f32 {
    let (per_feature, per_node) = match splitter {
        Splitter::Best(_) => (22.0, 25.0),
        Splitter::Random(_) => (34.0, 90.0),
    };
    (n_rows as f32 + per_feature) * n_features as f32 + per_node
}

impl<'a> Grower<'a> {
    pub(crate) fn new(
        splitter: Splitter<'a>,
        criterion: Criterion,
        max_features: usize,
        classes: &'a [u32],
        n_classes: usize,
        ctx: &'a FitContext,
    ) -> Self {
        let scorer = Scorer::new(criterion, n_classes, classes.len());
        Self {
            splitter,
            classes,
            search: Search::new(splitter, scorer, max_features, n_classes, ctx),
            payload: Vec::new(),
            rows: Vec::new(),
            scratch: Vec::new(),
            node_payload: Vec::new(),
            counts: vec![0; n_classes],
        }
    }

    /// Grows a tree on the rows of nonzero weight; `keep_inner` gives inner nodes their class
    /// counts, too, so that the tree can be truncated.
    pub(crate) fn grow(
        &mut self,
        weights: Option<&[u32]>,
        min_rows: u32,
        stream: Stream,
        keep_inner: bool,
    ) -> Result<Grown, FitError> {
        self.load(weights);
        let mut grown = Grown { tree: Tree::default(), sizes: Vec::new(), work: Vec::new() };
        grown.push_node();
        let root = Pending { node: 0, start: 0, end: self.rows.len(), stream, n_constants: 0 };
        let mut pending = vec![root];
        while let Some(at) = pending.pop() {
            self.visit(at, min_rows, keep_inner, &mut grown, &mut pending)?;
        }
        self.search.forget_constants(0);
        Ok(grown)
    }

    /// Lays out rows and payloads for one tree.
    fn load(&mut self, weights: Option<&[u32]>) {
        let weight = |row: usize| weights.map_or(1, |w| w[row]);
        self.rows.clear();
        self.payload.clear();
        for (row, &class) in self.classes.iter().enumerate() {
            self.payload.push(Payload::new(weight(row), class));
            if weight(row) > 0 {
                self.rows.push(row as u32);
            }
        }
    }

    fn visit(
        &mut self,
        at: Pending,
        min_rows: u32,
        keep_inner: bool,
        grown: &mut Grown,
        pending: &mut Vec<Pending>,
    ) -> Result<(), FitError> {
        let n_node = at.end - at.start;
        grown.sizes[at.node] = n_node as u32;
        let n_present = self.count_classes(at.start, at.end);
        let split = if (n_node as u32) < min_rows || n_present < 2 {
            None
        } else {
            self.search.forget_constants(at.n_constants);
            let node = NodeRows {
                rows: &self.rows[at.start..at.end],
                payload: &self.node_payload,
                counts: &self.counts,
                stream: at.stream,
            };
            let (split, examined) = self.search.best_split(node)?;
            grown.work[at.node] = split_work(self.splitter, n_node, examined);
            split
        };
        if keep_inner || split.is_none() {
            grown.tree.set_counts(at.node, &self.counts);
        }
        if let Some(split) = split {
            let middle = self.divide(at.start, at.end, &split);
            let left = grown.push_node();
            let right = grown.push_node();
            grown.tree.nodes[at.node] = Node {
                feature: split.feature as u32,
                threshold: split.threshold,
                left: left as u32,
            };
            let n_constants = self.search.n_constants();
            let child = |node, start, end, side| Pending {
                node,
                start,
                end,
                stream: at.stream.child(side),
                n_constants,
            };
            pending.push(child(right, middle, at.end, 1));
            pending.push(child(left, at.start, middle, 0));
        }
        Ok(())
    }

    /// Fills `counts`; says how many classes there are.
    fn count_classes(&mut self, start: usize, end: usize) -> usize {
        self.counts.fill(0);
        self.node_payload.clear();
        let payload = self.rows[start..end].iter().map(|&row| self.payload[row as usize]);
        self.node_payload.extend(payload);
        for row in &self.node_payload {
            self.counts[row.class()] += row.weight();
        }
        self.counts.iter().filter(|&&count| count > 0).count()
    }

    /// Divides the node's rows; says where the right side starts.
    fn divide(&mut self, start: usize, end: usize, split: &Split) -> usize {
        let rows = &mut self.rows[start..end];
        let n_left = match self.splitter {
            Splitter::Best(sorted) => {
                let column = sorted.column(split.feature);
                let goes_right = |row: u32| column.value_of(row) > split.threshold;
                partition(rows, &mut self.scratch, goes_right)
            }
            Splitter::Random(columns) => {
                let column = columns.column(split.feature);
                let goes_right = |row: u32| column[row as usize] > split.threshold;
                partition(rows, &mut self.scratch, goes_right)
            }
        };
        start + n_left
    }
}

impl Grown {
    fn push_node(&mut self) -> usize {
        self.sizes.push(0);
        self.work.push(0.0);
        self.tree.push_node()
    }
}
