//! Completion: what pipelines would have scored where they were not run.

mod by_row;
mod choose;
mod em;
mod fill;
mod kfmc;
mod matrix;
mod refill;
mod tucker;
mod two_modes;

use faer::{Mat, MatMut, MatRef};
use rayon::prelude::*;

use crate::algebra::multiply;
use crate::{PartialTensor, Scalar, SurrogateError};

pub use by_row::RowModel;
pub use choose::{Choice, HELD_OUT, choose_ranks, complete};
pub use em::{EmOptions, Progress};
pub use fill::Additive;
pub use kfmc::{KernelModel, KernelParts, Kfmc, KfmcCompletion, NewPipeline};
pub use matrix::{MatrixCompletion, complete_matrix};
pub use tucker::{
    TuckerCompletion, complete_tucker, complete_tucker_from, complete_tucker_generally,
};

/// Columns of a wide product computed together.
const COLUMN_BLOCK: usize = 1464;

/// `out = a b` with the columns of `b` shared among threads.
pub(crate) fn multiply_by_columns<T: Scalar>(
    out: MatMut<'_, T>,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
) {
    out.par_col_chunks_mut(COLUMN_BLOCK).enumerate().for_each(|(block, out)| {
        let width = out.ncols();
        multiply(out, a, b.subcols(block * COLUMN_BLOCK, width));
    });
}

/// Writes a matrix into a row-major buffer.
fn store<T: Scalar>(out: &mut [T], matrix: &Mat<f64>) {
    let k = matrix.ncols();
    for (at, v) in out.iter_mut().enumerate() {
        *v = T::of(matrix[(at / k, at % k)]);
    }
}

/// A filling must hold the observed values, and finite ones in between.
fn check_filling<T: Scalar>(
    observed: &PartialTensor<T>,
    filling: &[T],
) -> Result<(), SurrogateError> {
    let (wanted, got) = (observed.values().len(), filling.len());
    if wanted != got {
        return Err(SurrogateError::Size { what: "the filling", wanted, got });
    }
    let both = filling.iter().zip(observed.values()).zip(observed.mask());
    match both.into_iter().position(|((v, a), &seen)| !v.is_finite() || (seen && v != a)) {
        Some(at) => {
            let (what, value) = ("the filling", filling[at].wide());
            Err(SurrogateError::NotFinite { what, at, value })
        }
        None => Ok(()),
    }
}
