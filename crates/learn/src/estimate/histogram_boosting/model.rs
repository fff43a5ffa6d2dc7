//! What a fit gives: trees, and how rows are laid out for them.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use super::super::abreast::{self, Abreast, Cached, Cells, Planner};
use super::super::from_scores::{logistic, softmax};
use super::HistogramBoosting;
use super::bins::{Binned, Meaning};
use super::levels::Levels;
use super::tree::Tree;
use crate::{Classifier, Features, FitContext, FitError, Prediction, Probabilities};

/// Rows that all trees are asked about before the next ones: they and a tree fit a fast cache.
const ROWS_AT_ONCE: usize = 256;

/// Fewer of these and trees are not laid out for blocks, which takes as long as so many rows' walks.
const WORTH_A_PLAN: usize = 512;

/// Trees that are laid out together.
const PLANNED_AT_ONCE: usize = 1024;

/// Only [`HistogramBoosting::fit`](crate::Estimator::fit) makes one, so it can always predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedHistogramBoosting {
    n_classes: usize,
    /// The score of each output before the first round: one output for two classes, K for K.
    start: Vec<f64>,
    /// The levels of each column that holds categories.
    levels: Vec<Option<Levels>>,
    /// Round after round, each with one tree an output.
    trees: Vec<Tree>,
    /// The trees for many rows at once.
    #[serde(skip)]
    plan: Cached,
}

/// Numbers as they are, categories by their bin.
struct Binning<'a>(&'a [Option<Levels>]);

impl Cells for Binning<'_> {
    fn number(&self, cell: f64) -> f64 {
        cell
    }

    fn bin(&self, column: usize, cell: f64) -> usize {
        self.0[column].as_ref().map_or(0, |levels| usize::from(levels.bin(cell)))
    }

    fn n_bins(&self, column: usize) -> usize {
        self.0[column].as_ref().map_or(1, |levels| usize::from(levels.missing()) + 1)
    }
}

/// Trees of so many outputs for many rows at once, unless they are too large.
fn plan(trees: &[Tree], levels: &[Option<Levels>], n_outputs: usize) -> Option<Abreast> {
    let (mut planner, cells) = (Planner::new(1), Binning(levels));
    for (at, tree) in trees.iter().enumerate() {
        tree.plan(&mut planner, at % n_outputs, |column| cells.n_bins(column))?;
    }
    Some(planner.done(&cells))
}

/// The levels of each column that holds categories.
pub(super) fn levels_of(binned: &Binned) -> Vec<Option<Levels>> {
    let levels = |meaning: &Meaning| match meaning {
        Meaning::Numbers(_) => None,
        Meaning::Categories(levels) => Some(levels.clone()),
    };
    binned.columns.iter().map(|column| levels(&column.meaning)).collect()
}

/// Scores of rows to be predicted, row-major, tree by tree.
pub(super) struct Scores<'a> {
    x: &'a Features,
    levels: &'a [Option<Levels>],
    n_outputs: usize,
    scores: Vec<f64>,
}

impl<'a> Scores<'a> {
    pub(super) fn new(x: &'a Features, levels: &'a [Option<Levels>], start: &[f64]) -> Self {
        Self { x, levels, n_outputs: start.len(), scores: start.repeat(x.n_rows()) }
    }

    /// Adds what trees say; the first is of the first output.
    pub(super) fn add(&mut self, trees: &[Tree], ctx: &FitContext) -> Result<(), FitError> {
        if self.x.n_rows() < WORTH_A_PLAN {
            return self.walk(trees, ctx);
        }
        // With a thousand classes there are a hundred thousand trees, and a deadline.
        let at_once = (PLANNED_AT_ONCE / self.n_outputs).max(1) * self.n_outputs;
        for trees in trees.chunks(at_once) {
            ctx.check_deadline()?;
            match plan(trees, self.levels, self.n_outputs) {
                Some(plan) => self.add_planned(&plan, ctx)?,
                None => self.walk(trees, ctx)?,
            }
        }
        Ok(())
    }

    /// The same with trees that are laid out.
    fn add_planned(&mut self, plan: &Abreast, ctx: &FitContext) -> Result<(), FitError> {
        plan.add(self.x, &Binning(self.levels), self.n_outputs, &mut self.scores, ctx)
    }

    /// The same row by row.
    fn walk(&mut self, trees: &[Tree], ctx: &FitContext) -> Result<(), FitError> {
        let (n_cols, n_outputs) = (self.x.n_cols(), self.n_outputs);
        let mut rows = vec![0.0; ROWS_AT_ONCE.min(self.x.n_rows()) * n_cols];
        let blocks = self.scores.chunks_mut(ROWS_AT_ONCE * n_outputs);
        for (block, scores) in blocks.enumerate() {
            ctx.check_deadline()?;
            let first = block * ROWS_AT_ONCE;
            let rows = &mut rows[..scores.len() / n_outputs * n_cols];
            lay_out(self.x, self.levels, first, rows);
            for (at, tree) in trees.iter().enumerate() {
                let output = at % n_outputs;
                if output == 0 && at.is_multiple_of(64) {
                    ctx.check_deadline()?;
                }
                tree.add_to(rows, n_cols, scores.iter_mut().skip(output).step_by(n_outputs));
            }
        }
        Ok(())
    }

    /// The probabilities at the present scores.
    pub(super) fn prediction(&self) -> Prediction {
        if self.n_outputs == 1 {
            let values = self.scores.iter().map(|&s| logistic(s)).flat_map(|p| [1.0 - p, p]);
            return Prediction::most_probable(Probabilities::from_rows(2, values.collect()));
        }
        let mut values = self.scores.clone();
        values.chunks_exact_mut(self.n_outputs).for_each(softmax);
        Prediction::most_probable(Probabilities::from_rows(self.n_outputs, values))
    }
}

/// Rows of a matrix one after the other, categories by their bin.
fn lay_out(x: &Features, levels: &[Option<Levels>], first: usize, rows: &mut [f64]) {
    let n_cols = x.n_cols();
    let n_rows = rows.len() / n_cols;
    for (j, levels) in levels.iter().enumerate() {
        let column = &x.column(j)[first..first + n_rows];
        let cells = rows.iter_mut().skip(j).step_by(n_cols).zip(column);
        match levels {
            None => cells.for_each(|(cell, &value)| *cell = value),
            Some(levels) => cells.for_each(|(cell, &code)| *cell = f64::from(levels.bin(code))),
        }
    }
}

impl FittedHistogramBoosting {
    pub(super) fn new(
        y: &Labels,
        start: &[f64],
        levels: &[Option<Levels>],
        trees: &[Tree],
    ) -> Self {
        let (start, levels) = (start.to_vec(), levels.to_vec());
        Self {
            n_classes: y.n_classes(),
            start,
            levels,
            trees: trees.to_vec(),
            plan: Cached::default(),
        }
    }
}

impl Classifier for FittedHistogramBoosting {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn is_sound(&self, n_cols: usize) -> bool {
        let n_outputs = if self.n_classes == 2 { 1 } else { self.n_classes };
        let is_category = |j: usize| self.levels[j].is_some();
        self.start.len() == n_outputs
            && self.start.iter().all(|s| s.is_finite())
            && self.levels.len() == n_cols
            && self.trees.len().is_multiple_of(n_outputs)
            && self.trees.iter().all(|tree| tree.is_sound(n_cols, is_category))
    }

    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        if x.n_cols() != self.levels.len() {
            return Err(FitError::OtherColumns { expected: self.levels.len(), got: x.n_cols() });
        }
        ctx.check_memory(HistogramBoosting::COMPONENT, (8 * x.n_rows() * self.start.len()) as u64)?;
        let mut scores = Scores::new(x, &self.levels, &self.start);
        let make = || plan(&self.trees, &self.levels, self.start.len());
        let is_worth_it = x.n_rows() >= abreast::WORTHWHILE;
        match is_worth_it.then(|| self.plan.get_or_make(make)).flatten() {
            Some(plan) => scores.add_planned(plan, ctx)?,
            None => scores.walk(&self.trees, ctx)?,
        }
        Ok(scores.prediction())
    }
}
