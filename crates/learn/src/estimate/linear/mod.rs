//! What the linear estimators share: SIMD arithmetic, padded rows, decision values, and the solvers.

pub(crate) mod calibrate;
pub(crate) mod calibrated;
pub(crate) mod dual;
pub(crate) mod family;
pub(crate) mod gram;
pub(crate) mod lanes;
pub(crate) mod loss;
pub(crate) mod model;
pub(crate) mod newton;
pub(crate) mod rows;
pub(crate) mod saga;
pub(crate) mod shuffle;
pub(crate) mod sparse;
#[cfg(test)]
mod tests;

use pitchpipe_table::Labels;

use lanes::{Quad, WIDTH};

/// How many two-class problems one-vs-rest makes: one for two classes, else one a class.
pub(crate) fn n_problems(n_classes: usize) -> usize {
    if n_classes == 2 { 1 } else { n_classes }
}

/// The targets of one-vs-rest problem `k`: 1 for its class, -1 for the rest, 0 for padding rows.
pub(crate) fn one_vs_rest(y: &Labels, k: usize, n_padded: usize) -> Vec<Quad> {
    // Two classes make one problem, in which the second class is the positive one.
    let positive = if y.n_classes() == 2 { 1 } else { k as u32 };
    let mut targets = vec![[0.0; WIDTH]; n_padded / WIDTH];
    for (t, &code) in targets.as_flattened_mut().iter_mut().zip(y.codes()) {
        *t = if code == positive { 1.0 } else { -1.0 };
    }
    targets
}
