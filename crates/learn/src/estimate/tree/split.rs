//! The search for the best split of one node of a classification tree.

use super::columns::{Columns, PositionSlice, Sorted};
use super::order::Sorter;
use super::sample::{FeatureSampler, NodeRng};
use super::score::{EQUAL, Payload, Scorer, halfway, round_down};
use crate::{FitContext, FitError, Stream};

/// How a node's thresholds are found.
#[derive(Clone, Copy)]
pub(crate) enum Splitter<'a> {
    /// The best threshold of each feature.
    Best(&'a Sorted),
    /// One threshold drawn between each feature's least and greatest value.
    Random(&'a Columns),
}

/// A node's rows and what they bring.
#[derive(Clone, Copy)]
pub(crate) struct NodeRows<'a> {
    pub(crate) rows: &'a [u32],
    pub(crate) payload: &'a [Payload],
    /// The weights by class.
    pub(crate) counts: &'a [u32],
    /// The key of everything random in this node.
    pub(crate) stream: Stream,
}

/// Where a node is split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    pub(crate) feature: usize,
    pub(crate) threshold: f32,
}

/// A split that may turn out the best; only then are its values fetched.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f64,
    feature: usize,
    threshold: Threshold,
}

#[derive(Clone, Copy, Debug)]
enum Threshold {
    At(f32),
    /// Half-way between the values at two positions.
    Between([usize; 2]),
}

/// Searches node after node, keeping its memory.
pub(crate) struct Search<'a> {
    splitter: Splitter<'a>,
    n_cols: usize,
    max_features: usize,
    ctx: &'a FitContext,
    arch: pulp::Arch,
    scorer: Scorer,
    sorter: Sorter<Payload>,
    sampler: FeatureSampler,
    batch: Vec<usize>,
    positions: Vec<u32>,
    values: Vec<f32>,
    left_counts: Vec<u32>,
    /// Features known to be constant on the way from the root to this node, and the order in which
    /// they were found, to forget them on the way back.
    is_constant: Vec<bool>,
    constants: Vec<u32>,
    unchecked_work: usize,
}

/// Work between two looks at the clock, in rows times features: well under a millisecond.
const WORK_PER_CHECK: usize = 1 << 16;

/// So many cells are fetched before any is looked at: a small node's rows are far apart in memory,
/// and the processor waits for all of them at once rather than feature by feature.
const CELLS_AT_ONCE: usize = 1 << 9;

impl<'a> Search<'a> {
    pub(crate) fn new(
        splitter: Splitter<'a>,
        scorer: Scorer,
        max_features: usize,
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
            ctx,
            arch: pulp::Arch::new(),
            scorer,
            sorter: Sorter::new(n_rows),
            sampler: FeatureSampler::new(n_cols),
            batch: Vec::new(),
            positions: vec![0; n_rows.max(CELLS_AT_ONCE)],
            values: vec![0.0; n_rows.max(CELLS_AT_ONCE)],
            left_counts: vec![0; n_classes],
            is_constant: vec![false; n_cols],
            constants: Vec::new(),
            unchecked_work: 0,
        }
    }

    /// How many features are known to be constant here.
    pub(crate) fn n_constants(&self) -> usize {
        self.constants.len()
    }

    /// Back to where only so many features were known to be constant.
    pub(crate) fn forget_constants(&mut self, n_known: usize) {
        for feature in self.constants.drain(n_known..) {
            self.is_constant[feature as usize] = false;
        }
    }

    /// The best split over the features drawn for this node, and how many were examined.
    pub(crate) fn best_split(
        &mut self,
        node: NodeRows<'_>,
    ) -> Result<(Option<Split>, usize), FitError> {
        self.arch.dispatch(BestSplit { search: self, node })
    }

    /// As in scikit-learn, constant features count as drawn, but drawing goes on while all were
    /// constant.
    #[inline(always)]
    fn search(&mut self, node: NodeRows<'_>) -> Result<(Option<Split>, usize), FitError> {
        let mut rng = NodeRng::new(node.stream);
        let in_turn = self.max_features >= self.n_cols;
        let at_once = (CELLS_AT_ONCE / node.rows.len()).max(1);
        let (mut best, mut drawn, mut examined): (Option<Candidate>, _, _) = (None, 0, 0);
        while drawn < self.max_features || examined == 0 {
            let wanted = self.max_features.saturating_sub(drawn).clamp(1, at_once);
            let before = drawn;
            self.draw_batch(wanted, in_turn, &mut drawn, &mut rng);
            if drawn == before {
                break;
            }
            self.check_deadline(self.batch.len() * node.rows.len())?;
            self.fetch(node.rows);
            for slot in 0..self.batch.len() {
                let feature = self.batch[slot];
                let Some(found) = self.split_on(feature, slot, node) else {
                    self.is_constant[feature] = true;
                    self.constants.push(feature as u32);
                    continue;
                };
                examined += 1;
                if let Some(split) = found
                    && best.as_ref().is_none_or(|best| wins(&split, best, in_turn, node.stream))
                {
                    best = Some(split);
                }
            }
        }
        self.sampler.reset();
        Ok((best.map(|best| self.settle(best)), examined))
    }

    #[inline(always)]
    fn settle(&self, best: Candidate) -> Split {
        let threshold = match (best.threshold, self.splitter) {
            (Threshold::Between([below, above]), Splitter::Best(sorted)) => {
                let values = sorted.column(best.feature).values;
                halfway(values[below], values[above])
            }
            (Threshold::Between(_), Splitter::Random(_)) => {
                unreachable!("only sorted columns are cut between positions")
            }
            (Threshold::At(threshold), _) => threshold,
        };
        Split { feature: best.feature, threshold }
    }

    /// Draws up to `wanted` features; those not known to be constant make the batch.
    #[inline(always)]
    fn draw_batch(&mut self, wanted: usize, in_turn: bool, drawn: &mut usize, rng: &mut NodeRng) {
        self.batch.clear();
        for _ in 0..wanted {
            let feature = match in_turn {
                true => (*drawn < self.n_cols).then_some(*drawn),
                false => self.sampler.draw(rng),
            };
            let Some(feature) = feature else { break };
            *drawn += 1;
            if !self.is_constant[feature] {
                self.batch.push(feature);
            }
        }
    }

    #[inline(always)]
    fn check_deadline(&mut self, work: usize) -> Result<(), FitError> {
        self.unchecked_work += work;
        if self.unchecked_work >= WORK_PER_CHECK {
            self.unchecked_work = 0;
            self.ctx.check_deadline()?;
        }
        Ok(())
    }

    /// Fetches the batch's cells of the node's rows.
    #[inline(always)]
    fn fetch(&mut self, rows: &[u32]) {
        let n = rows.len();
        for (slot, &feature) in self.batch.iter().enumerate() {
            let range = slot * n..(slot + 1) * n;
            match self.splitter {
                Splitter::Best(sorted) => {
                    let to = &mut self.positions[range];
                    match sorted.column(feature).position {
                        PositionSlice::Short(from) => gather(rows, from, to, u32::from),
                        PositionSlice::Long(from) => gather(rows, from, to, |at| at),
                    }
                }
                Splitter::Random(columns) => {
                    gather(rows, columns.column(feature), &mut self.values[range], |v| v);
                }
            }
        }
    }

    /// The best split on one feature of the batch. The outer `None` says that it is constant here;
    /// the inner one that its values differ, but none from the next.
    #[inline(always)]
    fn split_on(
        &mut self,
        feature: usize,
        slot: usize,
        node: NodeRows<'_>,
    ) -> Option<Option<Candidate>> {
        let range = slot * node.rows.len()..(slot + 1) * node.rows.len();
        match self.splitter {
            Splitter::Best(sorted) => {
                let column = sorted.column(feature);
                let in_order = self.sorter.sort(&self.positions[range], node.payload);
                let position = |i: usize| in_order.positions[i] as usize;
                let (first, last) = (position(0), position(node.rows.len() - 1));
                if first == last || !column.differ(first, last) {
                    return None;
                }
                let cut = self.scorer.best_cut(in_order, column, node.counts);
                Some(cut.map(|cut| {
                    let between = [position(cut.n_left - 1), position(cut.n_left)];
                    Candidate { score: cut.score, feature, threshold: Threshold::Between(between) }
                }))
            }
            Splitter::Random(_) => {
                let values = &self.values[range];
                let threshold = draw_threshold(values, node.stream.child(feature as u64))?;
                count_left(values, threshold, node.payload, &mut self.left_counts);
                let score = self.scorer.score(&self.left_counts, node.counts);
                Some(Some(Candidate { score, feature, threshold: Threshold::At(threshold) }))
            }
        }
    }
}

/// [`Search::search`], compiled for the instructions that the processor has.
struct BestSplit<'s, 'a, 'n> {
    search: &'s mut Search<'a>,
    node: NodeRows<'n>,
}

impl pulp::NullaryFnOnce for BestSplit<'_, '_, '_> {
    type Output = Result<(Option<Split>, usize), FitError>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.search.search(self.node)
    }
}

/// Whether `split` takes the place of `best`. Where features come in random order the first wins
/// a draw; where all are looked at in turn, chance decides, as scikit-learn's shuffling does.
#[inline(always)]
fn wins(split: &Candidate, best: &Candidate, in_turn: bool, stream: Stream) -> bool {
    split.score > best.score
        || (in_turn && split.score == best.score && {
            let rank = |feature: usize| stream.named("draw").child(feature as u64).key();
            rank(split.feature) < rank(best.feature)
        })
}

#[inline(always)]
fn gather<F: Copy, T>(rows: &[u32], from: &[F], to: &mut [T], as_cell: impl Fn(F) -> T) {
    for (to, &row) in to.iter_mut().zip(rows) {
        *to = as_cell(from[row as usize]);
    }
}

/// A threshold between the least and the greatest value; none if they are equal.
#[inline(always)]
fn draw_threshold(values: &[f32], stream: Stream) -> Option<f32> {
    let (least, greatest) = range(values);
    if greatest <= least + EQUAL {
        return None;
    }
    let (low, high) = (f64::from(least), f64::from(greatest));
    let drawn = low + (high - low) * NodeRng::new(stream).unit();
    Some(if drawn >= high { least } else { round_down(drawn) })
}

/// The least and the greatest value, in lanes that do not wait for each other.
#[inline(always)]
fn range(values: &[f32]) -> (f32, f32) {
    const LANES: usize = 16;
    let least = |a: f32, b: f32| if b < a { b } else { a };
    let greatest = |a: f32, b: f32| if b > a { b } else { a };
    let (blocks, rest) = values.as_chunks::<LANES>();
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    if let Some((first, blocks)) = blocks.split_first() {
        let (mut lows, mut highs) = (*first, *first);
        for block in blocks {
            for lane in 0..LANES {
                lows[lane] = least(lows[lane], block[lane]);
                highs[lane] = greatest(highs[lane], block[lane]);
            }
        }
        low = lows.into_iter().fold(low, least);
        high = highs.into_iter().fold(high, greatest);
    }
    for &value in rest {
        low = least(low, value);
        high = greatest(high, value);
    }
    (low, high)
}

/// The class counts of the rows with a value up to `threshold`.
#[inline(always)]
fn count_left(values: &[f32], threshold: f32, payload: &[Payload], counts: &mut [u32]) {
    if let [zeros, ones] = counts {
        let (mut left, mut left_ones) = (0, 0);
        for (&value, row) in values.iter().zip(payload) {
            let weight = if value <= threshold { row.weight() } else { 0 };
            left += weight;
            left_ones += if row.class() == 1 { weight } else { 0 };
        }
        (*zeros, *ones) = (left - left_ones, left_ones);
        return;
    }
    counts.fill(0);
    for (&value, row) in values.iter().zip(payload) {
        counts[row.class()] += if value <= threshold { row.weight() } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_found_in_lanes_and_without() {
        for n in [1usize, 5, 16, 17, 100] {
            let values: Vec<f32> = (0..n).map(|i| ((i * 37) % n) as f32 - 3.0).collect();
            assert_eq!(range(&values), (-3.0, n as f32 - 4.0));
        }
    }
}
