//! EM-Tucker (paper, Algorithm EM-Tucker): one sweep of HOOI per round of EM, warm from the last.
//!
//! More sweeps a round gain nothing. Where all modes but the first and the last have full rank, which
//! is how the paper uses it, the shortcut of [`two_modes`](super::two_modes) does the same much faster.

use ndarray::{ArrayD, IxDyn};

use super::em::{self, EmOptions, Model, Progress, Shrinkage};
use super::fill::Additive;
use super::refill::{Filled, Measured, Product};
use super::two_modes::TwoModes;
use crate::tucker::{Hooi, Tucker, check_ranks, scale_mode, shaped};
use crate::{PartialTensor, Scalar, SurrogateError};

/// A completed tensor.
#[derive(Clone, Debug)]
pub struct TuckerCompletion<T> {
    /// Observed entries as they were, the others predicted; flat in C order.
    pub values: Vec<T>,
    /// The decomposition that predicts them.
    pub tucker: Tucker<T>,
    /// How it went.
    pub progress: Progress,
}

/// Completes a tensor with a Tucker decomposition of the given ranks, from the additive fill.
pub fn complete_tucker<T: Scalar>(
    observed: &PartialTensor<T>,
    ranks: &[usize],
    options: &EmOptions,
) -> Result<TuckerCompletion<T>, SurrogateError> {
    options.check()?;
    check_ranks(observed.shape(), ranks)?;
    run(observed, ranks, options, Additive::fit(observed).filled(observed))
}

/// The same from a given filling, such as the completion at another rank.
pub fn complete_tucker_from<T: Scalar>(
    observed: &PartialTensor<T>,
    ranks: &[usize],
    options: &EmOptions,
    start: Vec<T>,
) -> Result<TuckerCompletion<T>, SurrogateError> {
    options.check()?;
    check_ranks(observed.shape(), ranks)?;
    super::check_filling(observed, &start)?;
    run(observed, ranks, options, start)
}

fn run<T: Scalar>(
    observed: &PartialTensor<T>,
    ranks: &[usize],
    options: &EmOptions,
    start: Vec<T>,
) -> Result<TuckerCompletion<T>, SurrogateError> {
    let shape = observed.shape();
    let inner = 1..shape.len() - 1;
    if shape.len() > 2 && ranks[inner.clone()] == shape[inner] {
        let mut model = TwoModes::new(shape, ranks, &start)?;
        let (values, progress) = em::run(observed, start, &mut model, options)?;
        return Ok(TuckerCompletion { values, tucker: model.into_tucker(shape), progress });
    }
    run_generally(observed, ranks, options, start)
}

/// The same by the general iteration over all modes, even where the shortcut would do: slower, and there to
/// hold the shortcut against.
pub fn complete_tucker_generally<T: Scalar>(
    observed: &PartialTensor<T>,
    ranks: &[usize],
    options: &EmOptions,
) -> Result<TuckerCompletion<T>, SurrogateError> {
    options.check()?;
    check_ranks(observed.shape(), ranks)?;
    run_generally(observed, ranks, options, Additive::fit(observed).filled(observed))
}

fn run_generally<T: Scalar>(
    observed: &PartialTensor<T>,
    ranks: &[usize],
    options: &EmOptions,
    start: Vec<T>,
) -> Result<TuckerCompletion<T>, SurrogateError> {
    let mut model = AllModes::new(observed.shape(), ranks, &start)?;
    let (values, progress) = em::run(observed, start, &mut model, options)?;
    let tucker = Tucker { core: model.core, factors: model.hooi.factors };
    Ok(TuckerCompletion { values, tucker, progress })
}

/// Any ranks in all modes.
pub(super) struct AllModes<T> {
    shape: Vec<usize>,
    ranks: Vec<usize>,
    pub(super) hooi: Hooi<T>,
    pub(super) core: ArrayD<T>,
    kept: Vec<f64>,
    left: Vec<T>,
    right: Vec<T>,
}

impl<T: Scalar> AllModes<T> {
    pub(super) fn new(
        shape: &[usize],
        ranks: &[usize],
        start: &[T],
    ) -> Result<Self, SurrogateError> {
        let start = shaped(shape, start.to_vec());
        Ok(Self {
            shape: shape.to_vec(),
            ranks: ranks.to_vec(),
            hooi: Hooi::new(start.view(), ranks)?,
            core: ArrayD::zeros(IxDyn(ranks)),
            kept: Vec::new(),
            left: Vec::new(),
            right: Vec::new(),
        })
    }
}

impl<T: Scalar> Model<T> for AllModes<T> {
    fn fit(&mut self, values: &[T], shrinkage: Shrinkage) -> Result<(), SurrogateError> {
        let tensor = ndarray::ArrayViewD::from_shape(IxDyn(&self.shape), values)
            .expect("the shape is the tensor's own");
        self.hooi.sweep(tensor.view())?;
        self.core = self.hooi.project(tensor, None)?;
        self.kept = self.ranks.iter().map(|&r| r as f64).collect();
        for (mode, energies) in self.hooi.energies.iter().enumerate() {
            let columns = values.len() / self.shape[mode];
            let kept: Vec<f64> = energies.iter().map(|&e| shrinkage.kept(e, columns)).collect();
            if !kept.is_empty() {
                scale_mode(&mut self.core, mode, &kept);
                self.kept[mode] = kept.iter().sum();
            }
        }
        let tucker = Tucker { core: self.core.clone(), factors: self.hooi.factors.clone() };
        self.right = tucker.pipeline_factors()?.into_iter().collect();
        self.left = tucker.factors[0].iter().copied().collect();
        Ok(())
    }

    fn refill(&mut self, filled: &mut Filled<'_, T>, momentum: f64) -> Measured {
        let product = Product { left: &self.left, right: &self.right, rank: self.ranks[0] };
        filled.refill(&product, momentum, &mut [], |_, _| {})
    }

    fn degrees_of_freedom(&self) -> f64 {
        let reduced = |(&kept, (&rank, &side)): (&f64, (&usize, &usize))| {
            if rank == side { 0.0 } else { kept * (side - rank) as f64 }
        };
        let sides = self.ranks.iter().zip(&self.shape);
        self.kept.iter().product::<f64>() + self.kept.iter().zip(sides).map(reduced).sum::<f64>()
    }
}
