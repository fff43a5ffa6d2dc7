//! Trees that are asked about hundreds of rows at once, with a bit for each row instead of a walk.
//!
//! Every question that some tree asks is answered once for a block of rows, by the set of rows of which it is true
//! (`questions.rs`). A tree then parts the block from its root to its leaves with two operations on words a node, and the number
//! of each row's leaf is put together from the sets that its leaves end up with, bit by bit. Nothing branches on what a row
//! holds, which is what a walk loses its time with. The idea of answers as bits is QuickScorer's (Lucchese et al., 2015), where
//! the bits are leaves.
//!
//! What the leaves of a row hold is added in the order of trees, so that sums are those of a walk to the last bit.

mod cached;
mod ladder;
mod numbers;
mod questions;
#[cfg(test)]
mod tests;

use crate::{Features, FitContext, FitError};
pub(super) use cached::Cached;
use questions::{Asker, Questions};
pub(super) use questions::{Cells, Question};

/// Words of a set of rows.
const WORDS: usize = 4;

/// Rows that are asked about at once.
const BLOCK: usize = 64 * WORDS;

/// Fewer rows walk: what is done for a block pays for many.
pub(super) const WORTHWHILE: usize = 128;

/// With more leaves a tree's nodes are many and most of them see few rows: there a walk is as fast.
pub(super) const MOST_LEAVES: usize = 256;

/// The most numbers that a leaf holds.
pub(super) const MOST_VALUES: usize = 16;

/// A set of rows of a block.
type Rows = [u64; WORDS];

/// A node that asks, given where its children are among the sets of a tree: inner nodes come first, in order, leaves from
/// [`MOST_LEAVES`] on.
#[derive(Clone, Copy, Debug)]
struct Branch {
    question: u32,
    yes: u16,
    no: u16,
}

/// One tree.
#[derive(Clone, Copy, Debug)]
struct Planned {
    /// The first output that its leaves are added to.
    output: usize,
    n_branches: usize,
    n_leaves: usize,
}

/// Trees laid out for blocks of rows.
#[derive(Clone, Debug)]
pub(super) struct Abreast {
    questions: Questions,
    trees: Vec<Planned>,
    /// The nodes of all trees, parents before children.
    branches: Vec<Branch>,
    /// So many numbers a leaf.
    width: usize,
    values: Vec<f64>,
}

/// Takes trees in.
pub(super) struct Planner<'t> {
    asker: Asker<'t>,
    plan: Abreast,
}

/// A child of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Child {
    /// Another node that asks, by its number among these.
    Branch(usize),
    /// A leaf, by its number among leaves.
    Leaf(usize),
}

impl Child {
    /// Its place among the sets of a tree of so many nodes.
    fn place(self, n_branches: usize) -> Option<u16> {
        let place = match self {
            Self::Branch(at) => (at < n_branches).then_some(at),
            Self::Leaf(at) => (at <= n_branches).then_some(MOST_LEAVES + at),
        };
        place.map(|place| place as u16)
    }
}

impl<'t> Planner<'t> {
    /// For trees whose leaves hold so many numbers.
    pub(super) fn new(width: usize) -> Self {
        let (questions, trees, branches, values) = Default::default();
        let plan = Abreast { questions, trees, branches, width, values };
        Self { asker: Asker::default(), plan }
    }

    /// Adds a tree whose leaves are added to the outputs from this one on: the questions of its nodes, each with the child of those
    /// rows of which it is true and that of the others, parents before children; and what its leaves hold. Gives nothing where it
    /// has too many leaves, or is no tree.
    pub(super) fn push(
        &mut self,
        output: usize,
        nodes: impl Iterator<Item = (Question<'t>, Child, Child)>,
        values: impl Iterator<Item = f64>,
    ) -> Option<()> {
        let Abreast { trees, branches, values: all_values, width, .. } = &mut self.plan;
        let (first, n_values) = (branches.len(), all_values.len());
        all_values.extend(values);
        let n_leaves = (all_values.len() - n_values) / *width;
        let n_branches = n_leaves.checked_sub(1).filter(|n| *n < MOST_LEAVES)?;
        let mut has_parent = [false; 2 * MOST_LEAVES];
        for (question, yes, no) in nodes {
            let places = [yes.place(n_branches)?, no.place(n_branches)?];
            if places.iter().any(|&p| std::mem::replace(&mut has_parent[usize::from(p)], true)) {
                return None;
            }
            let question = self.asker.ask(question);
            branches.push(Branch { question, yes: places[0], no: places[1] });
        }
        trees.push(Planned { output, n_branches, n_leaves });
        (branches.len() == first + n_branches).then_some(())
    }

    /// All trees, each question asked once.
    pub(super) fn done(self, cells: &impl Cells) -> Abreast {
        let (questions, number_of) = self.asker.done(cells);
        let mut plan = Abreast { questions, ..self.plan };
        for branch in &mut plan.branches {
            branch.question = number_of[branch.question as usize];
        }
        plan
    }
}

impl Abreast {
    /// Adds what the leaf of each row holds to its outputs, of which a row has `n_outputs`, tree by tree.
    pub(super) fn add(
        &self,
        x: &Features,
        cells: &impl Cells,
        n_outputs: usize,
        sums: &mut [f64],
        ctx: &FitContext,
    ) -> Result<(), FitError> {
        let (arch, mut block) = (pulp::Arch::new(), Block::new(self));
        for (at, sums) in sums.chunks_mut(BLOCK * n_outputs).enumerate() {
            ctx.check_deadline()?;
            let (first, n_rows) = (at * BLOCK, sums.len() / n_outputs);
            arch.dispatch(Add {
                plan: self,
                x,
                cells,
                first,
                n_rows,
                n_outputs,
                block: &mut block,
                sums,
            });
        }
        Ok(())
    }
}

/// The work on one block.
struct Add<'a, C> {
    plan: &'a Abreast,
    x: &'a Features,
    cells: &'a C,
    first: usize,
    n_rows: usize,
    n_outputs: usize,
    block: &'a mut Block,
    sums: &'a mut [f64],
}

impl<C: Cells> pulp::NullaryFnOnce for Add<'_, C> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { plan, x, cells, first, n_rows, n_outputs, block, sums } = self;
        plan.questions.answer(x, cells, first..first + n_rows, &mut block.answers);
        block.add(plan, n_outputs, sums);
    }
}

/// What is known of a block of rows.
struct Block {
    answers: Vec<Rows>,
    /// The rows that come to each node of a tree and, from [`MOST_LEAVES`] on, to each leaf.
    reach: Box<[Rows; 2 * MOST_LEAVES]>,
    leaf_of: Box<[u8; BLOCK]>,
}

impl Block {
    fn new(plan: &Abreast) -> Self {
        Self {
            answers: vec![[0; WORDS]; plan.questions.len()],
            reach: Box::new([[0; WORDS]; 2 * MOST_LEAVES]),
            leaf_of: Box::new([0; BLOCK]),
        }
    }

    #[inline(always)]
    fn add(&mut self, plan: &Abreast, n_outputs: usize, sums: &mut [f64]) {
        let (mut branches, mut values) = (&plan.branches[..], &plan.values[..]);
        for &Planned { output, n_branches, n_leaves } in &plan.trees {
            let (own, others) = branches.split_at(n_branches);
            let (own_values, other_values) = values.split_at(n_leaves * plan.width);
            (branches, values) = (others, other_values);
            self.part(own, n_leaves);
            numbers::of_leaves(&self.reach[MOST_LEAVES..], n_leaves, &mut self.leaf_of);
            let leaves = self.leaf_of.iter();
            if plan.width == 1 {
                let own = own_values;
                if n_outputs == 1 {
                    sums.iter_mut().zip(leaves).for_each(|(sum, &l)| *sum += own[usize::from(l)]);
                } else {
                    let sums = sums[output..].iter_mut().step_by(n_outputs);
                    sums.zip(leaves).for_each(|(sum, &leaf)| *sum += own[usize::from(leaf)]);
                }
                continue;
            }
            for (sums, &leaf) in sums.chunks_exact_mut(n_outputs).zip(leaves) {
                let own = &own_values[usize::from(leaf) * plan.width..][..plan.width];
                sums[output..].iter_mut().zip(own).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    /// Parts the rows among a tree's leaves.
    #[inline(always)]
    fn part(&mut self, branches: &[Branch], n_leaves: usize) {
        self.reach[0] = [u64::MAX; WORDS];
        for (at, branch) in branches.iter().enumerate() {
            let (here, yes) = (self.reach[at], self.answers[branch.question as usize]);
            self.reach[usize::from(branch.yes) % (2 * MOST_LEAVES)] =
                std::array::from_fn(|w| here[w] & yes[w]);
            self.reach[usize::from(branch.no) % (2 * MOST_LEAVES)] =
                std::array::from_fn(|w| here[w] & !yes[w]);
        }
        // Leaves are looked at eight at a time.
        let end = MOST_LEAVES + n_leaves;
        self.reach[end..end.next_multiple_of(numbers::TOGETHER)].fill([0; WORDS]);
    }
}
