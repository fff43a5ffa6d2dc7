//! Dropping columns that are constant in the training rows.

use super::FittedSelection;
use crate::{Features, FitContext, FitError};

/// Keeps the columns with at least two distinct values; fails if there is none.
pub(crate) fn varying_columns(x: &Features, ctx: &FitContext) -> Result<FittedSelection, FitError> {
    let mut kept = Vec::new();
    for j in 0..x.n_cols() {
        ctx.check_deadline()?;
        let column = x.column(j);
        if column.iter().any(|v| v != &column[0]) {
            kept.push(j);
        }
    }
    if kept.is_empty() {
        return Err(FitError::NoFeatures { component: "variance threshold" });
    }
    Ok(FittedSelection::new(x.n_cols(), kept))
}
