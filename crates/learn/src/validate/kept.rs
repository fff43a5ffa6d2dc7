//! Prepared folds that stay from step to step: those of gaps and categories as they are, with their bins.
//!
//! A search runs boosting on histograms in many steps, and each would prepare its folds and bin them again.

use std::sync::Mutex;

use pitchpipe_table::Dataset;

use super::path::{Cost, Leaf};
use super::{Effort, Outcome, Validation, Work};
use crate::{FitError, Pipeline, Preparation};

/// The share of the memory ceiling that kept folds may take.
const MEMORY_SHARE: f64 = 0.1;

/// What a cell takes: a number and its bin.
const CELL_BYTES: f64 = 9.0;

/// Folds of one dataset, kept for the calls that follow.
pub struct KeptFolds<'a> {
    dataset: &'a Dataset,
    n_folds: usize,
    seed: u64,
    is_on: bool,
    leaves: Mutex<Vec<Option<Leaf>>>,
}

impl<'a> KeptFolds<'a> {
    /// None so far, for the calls of a validation on a dataset; where they would take too much of its memory none is kept.
    pub fn new(dataset: &'a Dataset, validation: &Validation) -> Self {
        let n_cells = dataset.n_rows() as f64 * dataset.columns().len() as f64;
        // Each fold has every row, to train or to test.
        let n_folds = validation.n_folds.min(validation.most_folds);
        let bytes = CELL_BYTES * n_cells * n_folds as f64;
        let is_on = validation.memory_limit.is_none_or(|most| bytes <= MEMORY_SHARE * most as f64);
        let Validation { n_folds, seed, .. } = *validation;
        Self { dataset, n_folds, seed, is_on, leaves: Mutex::default() }
    }

    /// Nothing is kept.
    pub(super) fn none(dataset: &'a Dataset) -> Self {
        let leaves = Mutex::default();
        Self { dataset, n_folds: 0, seed: 0, is_on: false, leaves }
    }

    /// Evaluates pipelines as [`Validation::evaluate`] does; what was prepared in earlier calls is not prepared again.
    pub fn evaluate(
        &self,
        validation: &Validation,
        pipelines: &[Pipeline],
        report: impl FnMut(usize, Outcome) + Send,
    ) -> Result<Effort, FitError> {
        validation.evaluate_kept(self, pipelines, report)
    }

    /// Evaluates what `work` asks for as [`Validation::run`] does; what was prepared before is not prepared again.
    pub fn run(&self, validation: &Validation, work: &dyn Work) -> Result<(), FitError> {
        validation.run_kept(self, work)
    }

    pub(super) fn dataset(&self) -> &'a Dataset {
        self.dataset
    }

    fn keeps(&self, validation: &Validation, preparation: Preparation) -> bool {
        let is_ours = (validation.n_folds, validation.seed) == (self.n_folds, self.seed);
        self.is_on && is_ours && preparation.keeps_gaps()
    }

    /// A fold prepared before; it costs nothing now, and alone what it did then.
    pub(super) fn find(
        &self,
        validation: &Validation,
        preparation: Preparation,
        fold: usize,
    ) -> Option<Leaf> {
        if !self.keeps(validation, preparation) {
            return None;
        }
        let leaves = self.leaves.lock().unwrap_or_else(|e| e.into_inner());
        let leaf = leaves.get(fold)?.clone()?;
        Some(Leaf { cost: Cost { spent_secs: 0.0, ..leaf.cost }, ..leaf })
    }

    /// Keeps a prepared fold.
    pub(super) fn keep(
        &self,
        validation: &Validation,
        preparation: Preparation,
        fold: usize,
        leaf: &Leaf,
    ) {
        if !self.keeps(validation, preparation) {
            return;
        }
        let mut leaves = self.leaves.lock().unwrap_or_else(|e| e.into_inner());
        if leaves.len() <= fold {
            leaves.resize(fold + 1, None);
        }
        leaves[fold] = Some(leaf.clone());
    }
}
