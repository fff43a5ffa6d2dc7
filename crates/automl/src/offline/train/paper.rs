//! Training what the paper's systems need as the paper has it: Tucker embeddings of the tensor that EM-Tucker
//! completed, and of the one that KFMC completed.

use ndarray::{Array2, Axis};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::complete::Kfmc;
use pitchpipe_surrogate::design::deviations;

use super::complete::error_rates;
use super::{KERNEL_PASSES, Stack, TrainMethod, Training};
use crate::surrogate::{
    Embedding, ErrorKind, PaperEmbedding, PaperParts, PaperRuntimes, Surrogate,
};

/// The paper's number of atoms, where there are as many datasets.
const PAPER_ATOMS: usize = 215;

impl Training {
    /// Trains them alone, for a surrogate that has everything else: `stack` has what that was trained on.
    pub fn paper_alone(&self, stack: &Stack, of: &Surrogate) -> Result<PaperParts, SurrogateError> {
        let stack = stack.of_paper();
        let native = self.complete(&stack)?.native;
        self.paper_parts(&stack, Some(&native), of.oboe())
    }

    /// Of completed errors, where there are any.
    pub(super) fn paper_parts(
        &self,
        stack: &Stack,
        native: Option<&Array2<f32>>,
        oboe: Option<&Embedding>,
    ) -> Result<PaperParts, SurrogateError> {
        let has = |method| self.methods.contains(&method);
        let n_estimators = stack.space.estimators().len();
        let mut parts = PaperParts::default();
        if let Some(native) = native {
            if has(TrainMethod::Tensor) {
                parts.tensor = Some(PaperEmbedding::fit(native.view(), n_estimators)?);
            }
            if has(TrainMethod::Kernel) {
                let completed = self.by_kernel(stack, native)?;
                parts.kernel = Some(PaperEmbedding::fit(completed.view(), n_estimators)?);
            }
            if let Some(oboe) = oboe {
                let n = native.ncols();
                let columns: Vec<usize> =
                    oboe.pipelines.iter().map(|&j| j as usize).filter(|&j| j < n).collect();
                parts.oboe_deviations = Some(of_slice(&native.select(Axis(1), &columns), oboe));
            }
        }
        parts.runtimes = Some(paper_runtimes(stack)?);
        Ok(parts)
    }

    /// The errors completed by KFMC, from those completed by EM-Tucker.
    pub(super) fn by_kernel(
        &self,
        stack: &Stack,
        start: &Array2<f32>,
    ) -> Result<Array2<f32>, SurrogateError> {
        let observed = stack.tensor(ErrorKind::Native)?;
        let atoms = self.rank.unwrap_or(PAPER_ATOMS).clamp(1, stack.rows.len());
        let kfmc = Kfmc { passes: KERNEL_PASSES, seed: self.seed, ..Kfmc::new(atoms) };
        let both = observed.values().iter().zip(observed.mask()).zip(start);
        let start = both.map(|((&v, &seen), &f)| if seen { v } else { f }).collect();
        Ok(error_rates(kfmc.complete_from(&observed, start)?.values, stack.rows.len()))
    }
}

/// Seconds in the paper's form.
pub(super) fn paper_runtimes(stack: &Stack) -> Result<PaperRuntimes, SurrogateError> {
    let (_, sizes, secs) = stack.runtimes();
    PaperRuntimes::fit(&stack.space, &sizes, secs.view())
}

/// How far Oboe's estimators are from their prediction at its first rank, by their completed errors. Pipelines of other blocks
/// are not among them.
pub(super) fn of_slice(errors: &Array2<f32>, oboe: &Embedding) -> Vec<f32> {
    let y = oboe.y.view().split_at(Axis(0), oboe.initial_rank).0;
    let y = y.split_at(Axis(1), errors.ncols()).0;
    deviations(errors.view(), y).into_iter().map(|d| d as f32).collect()
}
