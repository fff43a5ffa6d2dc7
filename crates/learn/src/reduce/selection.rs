//! Some of the columns, in their order.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Features, FitContext, FitError};

/// The columns that stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedSelection {
    n_cols: usize,
    kept: Vec<usize>,
}

impl FittedSelection {
    /// Keeps the given columns, which ascend, of `n_cols`.
    pub(super) fn new(n_cols: usize, kept: Vec<usize>) -> Self {
        debug_assert!(kept.is_sorted() && kept.last().is_none_or(|&last| last < n_cols));
        Self { n_cols, kept }
    }

    /// Whether it keeps some of so many columns.
    pub(super) fn is_of(&self, n_cols: usize) -> bool {
        self.n_cols == n_cols
            && self.kept.len() <= n_cols
            && self.kept.iter().all(|&column| column < n_cols)
    }

    /// The columns that stay, ascending.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    pub(crate) fn transform(
        &self,
        x: &Arc<Features>,
        ctx: &FitContext,
    ) -> Result<Arc<Features>, FitError> {
        if x.n_cols() != self.n_cols {
            return Err(FitError::OtherColumns { expected: self.n_cols, got: x.n_cols() });
        }
        if self.kept.len() == self.n_cols {
            return Ok(Arc::clone(x));
        }
        ctx.check_memory("column selection", (self.kept.len() * x.n_rows() * 8) as u64)?;
        let mut values = Vec::with_capacity(self.kept.len() * x.n_rows());
        for &j in &self.kept {
            ctx.check_deadline()?;
            values.extend_from_slice(x.column(j));
        }
        Ok(Arc::new(Features::from_columns(x.n_rows(), self.kept.len(), values)))
    }
}
