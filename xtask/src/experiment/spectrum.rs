//! Singular values of the error matrix and of the tensor's modes (paper, Figure 5).

use ndarray::Axis;
use pitchpipe_surrogate::Pca;
use pitchpipe_surrogate::tensor::unfold;

use super::csv::{Csv, short};
use super::replays::{N_ESTIMATORS, slice_columns};
use super::{Context, completed};

/// The rank that the 0.74 % missing entries are completed at.
const RANK: usize = 25;

pub(super) fn singular_values(context: &Context) -> Result<Csv, String> {
    let said = |e: pitchpipe_surrogate::SurrogateError| e.to_string();
    let errors = completed(&context.paper, RANK)?;
    let m = errors.nrows();
    let shape = vec![m, errors.ncols() / N_ESTIMATORS, N_ESTIMATORS];
    let tensor = errors.clone().into_shape_with_order(shape).map_err(|e| e.to_string())?;
    let estimators = unfold(tensor.view(), 2).map_err(said)?;
    let slice = errors.select(Axis(1), &slice_columns());
    let mut csv = Csv::new(
        "published tensor, 215 datasets, missing entries completed by EM-Tucker at rank 25",
        &["matrix", "k", "ratio_to_first", "energy_held"],
    );
    for (name, matrix) in [
        ("datasets (215 x 23424)", errors.view()),
        ("estimators (183 x 27520)", estimators.view()),
        ("Oboe's slice (215 x 183)", slice.view()),
    ] {
        let values = Pca::fit(matrix, 1).map_err(said)?.singular_values;
        let total: f64 = values.iter().map(|s| s * s).sum();
        let mut held = 0.0;
        for (k, s) in values.iter().enumerate() {
            held += s * s;
            csv.push(&[&name, &(k + 1), &short(s / values[0]), &short(held / total)]);
        }
    }
    Ok(csv)
}
