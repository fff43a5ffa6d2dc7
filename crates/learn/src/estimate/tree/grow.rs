//! Growing a classification tree, node by node, depth first.
//!
//! Everything random in a node is keyed by the node's path from the root, so that a tree grown
//! with a larger `min_samples_split` is this tree cut short.

use super::columns::{Columns, Sorted};
use super::order::Sorter;
use super::partition::partition;
use super::sample::{FeatureSampler, NodeRng};
use super::score::{EQUAL, Scorer, halfway, payload, round_down};
use super::settings::Criterion;
use super::store::{Node, Tree};
use crate::{FitContext, FitError, Stream};

/// How a node's thresholds are found.
#[derive(Clone, Copy)]
pub(crate) enum Splitter<'a> {
    /// The best threshold of each feature.
    Best(&'a Sorted),
    /// One threshold drawn between each feature's least and greatest value.
    Random(&'a Columns),
}

/// What all trees of a forest have in common, and the memory that they use one after the other.
pub(crate) struct Grower<'a> {
    splitter: Splitter<'a>,
    n_cols: usize,
    max_features: usize,
    n_classes: usize,
    classes: &'a [u32],
    ctx: &'a FitContext,
    scorer: Scorer,
    sorter: Sorter,
    sampler: FeatureSampler,
    payload: Vec<u64>,
    rows: Vec<u32>,
    right_rows: Vec<u32>,
    values: Vec<f32>,
    counts: Vec<u32>,
    left_counts: Vec<u32>,
    /// Features known to be constant on the way from the root to this node, and the order in which
    /// they were found, to forget them on the way back.
    is_constant: Vec<bool>,
    constants: Vec<u32>,
    unchecked_work: usize,
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

/// The best split of a node so far.
struct Split {
    score: f64,
    feature: usize,
    threshold: f32,
}

/// Work between two looks at the clock, in rows times features: well under a millisecond.
const WORK_PER_CHECK: usize = 1 << 16;

/// What a node costs besides its rows, in rows times features (measured).
const NODE_WORK: f32 = 40.0;

impl<'a> Grower<'a> {
    pub(crate) fn new(
        splitter: Splitter<'a>,
        criterion: Criterion,
        max_features: usize,
        classes: &'a [u32],
        n_classes: usize,
        ctx: &'a FitContext,
    ) -> Self {
        let (n_rows, n_cols) = match splitter {
            Splitter::Best(sorted) => (sorted.n_rows, sorted.n_cols),
            Splitter::Random(columns) => (columns.n_rows, columns.n_cols),
        };
        Self {
            splitter,
            n_cols,
            max_features,
            n_classes,
            classes,
            ctx,
            scorer: Scorer::new(criterion, n_classes, n_rows),
            sorter: Sorter::new(n_rows),
            sampler: FeatureSampler::new(n_cols),
            payload: Vec::new(),
            rows: Vec::new(),
            right_rows: Vec::new(),
            values: vec![0.0; n_rows],
            counts: vec![0; n_classes],
            left_counts: vec![0; n_classes],
            is_constant: vec![false; n_cols],
            constants: Vec::new(),
            unchecked_work: 0,
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
        self.forget_constants(0);
        Ok(grown)
    }

    /// Lays out rows and payloads for one tree.
    fn load(&mut self, weights: Option<&[u32]>) {
        let weight = |row: usize| weights.map_or(1, |w| w[row]);
        self.rows.clear();
        self.payload.clear();
        for (row, &class) in self.classes.iter().enumerate() {
            self.payload.push(payload(weight(row), class, self.n_classes));
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
            self.forget_constants(at.n_constants);
            let (split, examined) = self.best_split(&at)?;
            grown.work[at.node] = (n_node * examined) as f32 + NODE_WORK;
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
            let n_constants = self.constants.len();
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
        if self.n_classes == 2 {
            let sums: u64 = self.rows[start..end].iter().map(|&r| self.payload[r as usize]).sum();
            let (all, ones) = (sums as u32, (sums >> 32) as u32);
            self.counts[0] = all - ones;
            self.counts[1] = ones;
        } else {
            for &row in &self.rows[start..end] {
                let row = self.payload[row as usize];
                self.counts[(row >> 32) as usize] += row as u32;
            }
        }
        self.counts.iter().filter(|&&count| count > 0).count()
    }

    fn forget_constants(&mut self, n_known: usize) {
        for feature in self.constants.drain(n_known..) {
            self.is_constant[feature as usize] = false;
        }
    }

    /// The best split over the features drawn for this node, and how many were examined.
    ///
    /// As in scikit-learn, constant features count as drawn, but drawing goes on while all were
    /// constant.
    fn best_split(&mut self, at: &Pending) -> Result<(Option<Split>, usize), FitError> {
        let mut rng = NodeRng::new(at.stream);
        let draws_all = self.max_features >= self.n_cols;
        let (mut best, mut drawn, mut examined): (Option<Split>, _, _) = (None, 0, 0);
        while drawn < self.max_features || examined == 0 {
            let feature = match draws_all {
                true => (drawn < self.n_cols).then_some(drawn),
                false => self.sampler.draw(&mut rng),
            };
            let Some(feature) = feature else { break };
            drawn += 1;
            if self.is_constant[feature] {
                continue;
            }
            self.check_deadline(at.end - at.start)?;
            let Some(found) = self.split_on(feature, at, &mut rng) else {
                self.is_constant[feature] = true;
                self.constants.push(feature as u32);
                continue;
            };
            examined += 1;
            if let Some(split) = found
                && best.as_ref().is_none_or(|b| wins(&split, b, draws_all, at.stream))
            {
                best = Some(split);
            }
        }
        self.sampler.reset();
        Ok((best, examined))
    }

    #[inline]
    fn check_deadline(&mut self, work: usize) -> Result<(), FitError> {
        self.unchecked_work += work;
        if self.unchecked_work >= WORK_PER_CHECK {
            self.unchecked_work = 0;
            self.ctx.check_deadline()?;
        }
        Ok(())
    }

    /// The best split on one feature. The outer `None` says that it is constant here; the inner
    /// one that its values differ, but none from the next.
    #[inline]
    fn split_on(
        &mut self,
        feature: usize,
        at: &Pending,
        rng: &mut NodeRng,
    ) -> Option<Option<Split>> {
        match self.splitter {
            Splitter::Best(sorted) => self.best_threshold(sorted, feature, at),
            Splitter::Random(columns) => self.random_threshold(columns, feature, at, rng).map(Some),
        }
    }

    fn best_threshold(
        &mut self,
        sorted: &Sorted,
        feature: usize,
        at: &Pending,
    ) -> Option<Option<Split>> {
        let column = sorted.column(feature);
        let positions = self.sorter.sort(&self.rows[at.start..at.end], column.position);
        let value = |i: usize| column.values[positions[i] as usize];
        if value(positions.len() - 1) <= value(0) + EQUAL {
            return None;
        }
        let cut = self.scorer.best_cut(positions, column, &self.payload, &self.counts);
        Some(cut.map(|cut| Split {
            score: cut.score,
            feature,
            threshold: halfway(value(cut.n_left - 1), value(cut.n_left)),
        }))
    }

    fn random_threshold(
        &mut self,
        columns: &Columns,
        feature: usize,
        at: &Pending,
        rng: &mut NodeRng,
    ) -> Option<Split> {
        let column = columns.column(feature);
        let rows = &self.rows[at.start..at.end];
        let values = &mut self.values[..rows.len()];
        let (mut least, mut greatest) = (f32::INFINITY, f32::NEG_INFINITY);
        for (value, &row) in values.iter_mut().zip(rows) {
            *value = column[row as usize];
            least = least.min(*value);
            greatest = greatest.max(*value);
        }
        if greatest <= least + EQUAL {
            return None;
        }
        let (low, high) = (f64::from(least), f64::from(greatest));
        let drawn = low + (high - low) * rng.unit();
        let threshold = if drawn >= high { least } else { round_down(drawn) };
        count_left(rows, values, threshold, &self.payload, &mut self.left_counts);
        let score = self.scorer.score(&self.left_counts, &self.counts);
        Some(Split { score, feature, threshold })
    }

    /// Divides the node's rows; says where the right side starts.
    fn divide(&mut self, start: usize, end: usize, split: &Split) -> usize {
        let rows = &mut self.rows[start..end];
        let n_left = match self.splitter {
            Splitter::Best(sorted) => {
                let column = sorted.column(split.feature);
                let goes_right = |row: u32| column.value_of(row) > split.threshold;
                partition(rows, &mut self.right_rows, goes_right)
            }
            Splitter::Random(columns) => {
                let column = columns.column(split.feature);
                let goes_right = |row: u32| column[row as usize] > split.threshold;
                partition(rows, &mut self.right_rows, goes_right)
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

/// Whether `split` takes the place of `best`. Where features come in random order the first wins
/// a draw; where all are looked at in turn, chance decides, as scikit-learn's shuffling does.
#[inline]
fn wins(split: &Split, best: &Split, in_turn: bool, stream: Stream) -> bool {
    let rank = |feature: usize| stream.named("draw").child(feature as u64).key();
    split.score > best.score
        || (in_turn && split.score == best.score && rank(split.feature) < rank(best.feature))
}

/// The class counts of the rows with a value up to `threshold`.
fn count_left(rows: &[u32], values: &[f32], threshold: f32, payload: &[u64], counts: &mut [u32]) {
    counts.fill(0);
    if counts.len() == 2 {
        let mut sums = 0u64;
        for (&row, &value) in rows.iter().zip(values) {
            sums += if value <= threshold { payload[row as usize] } else { 0 };
        }
        let (all, ones) = (sums as u32, (sums >> 32) as u32);
        (counts[0], counts[1]) = (all - ones, ones);
    } else {
        for (&row, &value) in rows.iter().zip(values) {
            let row = payload[row as usize];
            counts[(row >> 32) as usize] += if value <= threshold { row as u32 } else { 0 };
        }
    }
}
