//! Principal components: centred, not whitened, exact.

mod decompose;
pub(crate) mod lapack;
mod matrix;

use serde::{Deserialize, Serialize};

use crate::{Features, FitContext, FitError};
pub(crate) use decompose::{Decomposition, Factor};
use matrix::Centring;

/// Columns are projected in blocks of this many axes, the last one padded: a component is then the same
/// number, bit for bit, however many others are asked for.
const AXES_AT_ONCE: usize = 16;

/// The centre and the axes of the training rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedPca {
    centring: Centring,
    n_components: usize,
    /// One axis after the other, each as long as there are columns.
    axes: Vec<f64>,
}

impl FittedPca {
    /// Whether it was fitted on so many columns.
    pub(super) fn is_of(&self, n_cols: usize) -> bool {
        self.centring.n_cols() == n_cols
            && self.n_components.checked_mul(n_cols) == Some(self.axes.len())
    }

    /// How many components come out.
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// The first `n_components` of these.
    pub(crate) fn truncated(&self, n_components: usize) -> Self {
        let axes = self.axes[..n_components * self.centring.n_cols()].to_vec();
        Self { centring: self.centring.clone(), n_components, axes }
    }

    /// The coordinates of rows along the axes.
    pub(crate) fn transform(&self, x: &Features, ctx: &FitContext) -> Result<Features, FitError> {
        let (n, p) = (x.n_rows(), self.centring.n_cols());
        if x.n_cols() != p {
            return Err(FitError::OtherColumns { expected: p, got: x.n_cols() });
        }
        ctx.check_memory("pca", (n * self.n_components * 8) as u64)?;
        let mut scores = vec![0.0; n * self.n_components];
        matrix::project(x, &self.centring, &self.axes, &mut scores, ctx)?;
        Ok(Features::from_columns(n, self.n_components, scores))
    }
}
