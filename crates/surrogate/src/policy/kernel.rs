//! KernelOboe: designs on the leading directions of the codes, predictions by the regression on codes.

use ndarray::{Array2, ArrayView2};

use crate::embedding::{Pca, energy_rank};
use crate::error::SurrogateError;
use crate::policy::{PaperLoop, PaperSettings, Rounds, Vectors};

/// Ridge of the regression on codes (ALGORITHMS §8b).
pub const KERNEL_RIDGE: f64 = 1e-2;

/// The largest rank that a design with codes may grow to.
const MOST_RANK: usize = 40;

/// The rank at first: this share of the codes' energy, as the paper's 97 % rule has it.
const ENERGY: f64 = 0.97;

/// Errors of all pipelines by the regression on codes, given pipelines, their errors and the ridge.
pub type Regress = Box<dyn Fn(&[usize], &[f64], f64) -> Result<Vec<f64>, SurrogateError> + Send>;

/// What KernelOboe is made from.
pub struct KernelSetup<'a> {
    /// The code of each pipeline, atoms x pipelines.
    pub codes: ArrayView2<'a, f32>,
    /// The regression on them.
    pub regress: Regress,
    /// Predicted seconds, `None` where a pipeline cannot be run.
    pub secs: &'a [Option<f64>],
    /// All the time there is.
    pub budget_secs: f64,
    /// A pipeline to run first.
    pub baseline: Option<usize>,
    /// How the loop is run.
    pub settings: PaperSettings,
}

/// The paper's loop on the codes of KFMC.
pub fn kernel_oboe(setup: KernelSetup<'_>) -> Result<PaperLoop, SurrogateError> {
    let KernelSetup { codes, regress, secs, budget_secs, baseline, settings } = setup;
    let (n_atoms, n) = codes.dim();
    let pca = Pca::fit(codes, MOST_RANK.min(n_atoms).min(n))?;
    let rank = energy_rank(&pca.singular_values, ENERGY).min(pca.pipelines.nrows());
    // Each direction as long as its singular value says.
    let s = &pca.singular_values;
    let y =
        Array2::from_shape_fn(pca.pipelines.dim(), |(i, j)| (s[i] * pca.pipelines[(i, j)]) as f32);
    let vectors = Vectors::nested(y, rank)?;
    let rounds = Rounds::Doubling;
    let policy = PaperLoop::with(vectors, secs, budget_secs, rounds, baseline, settings)?;
    Ok(policy.predicting(Box::new(move |seen: &[(usize, f64)]| {
        let (pipelines, errors): (Vec<usize>, Vec<f64>) = seen.iter().copied().unzip();
        regress(&pipelines, &errors, KERNEL_RIDGE)
    })))
}
