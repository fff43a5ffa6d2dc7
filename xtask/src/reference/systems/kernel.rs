//! KernelOboe: designs on the codes of KFMC, predictions by regression on them, 10-fold over datasets.

use std::sync::Arc;

use ndarray::{ArrayD, Axis, IxDyn};
use pitchpipe_automl::offline::published::{AXES, N_PIPELINES};
use pitchpipe_automl::offline::train::KERNEL_ATOMS;
use pitchpipe_surrogate::complete::{KernelModel, Kfmc};
use pitchpipe_surrogate::policy::{KernelSetup, PaperSettings, Regress, kernel_oboe};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};
use rayon::prelude::*;

use super::super::recorded::{BASELINE, Recorded};
use super::{FOLDS, paper};

/// Passes from the completed rows (of which 8.65 % were missing).
const PASSES: usize = 2;

/// Regrets on the datasets `outs` of a fold, with errors as they are and with their means taken off.
pub(super) fn fold(
    recorded: &Recorded,
    observed: &PartialTensor<f32>,
    fold: usize,
    outs: &[usize],
) -> Result<Vec<Vec<Option<[f64; 4]>>>, SurrogateError> {
    if outs.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<usize> = (0..recorded.n_datasets()).filter(|i| i % FOLDS != fold).collect();
    let model = Arc::new(train(recorded, observed, &rows)?);
    let codes = model.codes();
    let completed = recorded.completed.select(Axis(0), &rows);
    let means: Vec<f64> =
        completed.columns().into_iter().map(|c| c.iter().map(|&e| f64::from(e)).sum()).collect();
    let means: Arc<[f64]> = means.iter().map(|sum| sum / rows.len() as f64).collect();
    let none: Arc<[f64]> = vec![0.0; N_PIPELINES].into();
    outs.par_iter()
        .map(|&out| {
            let row = recorded.recording.row(out);
            let secs = row.all_secs();
            let run = |offset: &Arc<[f64]>| {
                paper(&row, |budget_secs| {
                    let regress = regress(&model, offset);
                    let (codes, baseline) = (codes.t(), Some(BASELINE));
                    let (secs, settings) = (secs.as_slice(), PaperSettings::default());
                    let setup =
                        KernelSetup { codes, regress, secs, budget_secs, baseline, settings };
                    kernel_oboe(setup)
                })
            };
            Ok(vec![run(&none)?, run(&means)?])
        })
        .collect()
}

/// KFMC on some datasets, from their completed rows.
fn train(
    recorded: &Recorded,
    observed: &PartialTensor<f32>,
    rows: &[usize],
) -> Result<KernelModel<f32>, SurrogateError> {
    let shape: Vec<usize> = std::iter::once(rows.len()).chain(AXES).collect();
    let mut mask = Vec::with_capacity(rows.len() * N_PIPELINES);
    for &i in rows {
        mask.extend_from_slice(&observed.mask()[i * N_PIPELINES..(i + 1) * N_PIPELINES]);
    }
    let start = recorded.completed.select(Axis(0), rows).into_raw_vec_and_offset().0;
    let shaped = |what, e: ndarray::ShapeError| {
        let _ = e;
        SurrogateError::Size { what, wanted: rows.len() * N_PIPELINES, got: mask.len() }
    };
    let values = ArrayD::from_shape_vec(IxDyn(&shape), start.clone())
        .map_err(|e| shaped("completed rows", e))?;
    let seen = ArrayD::from_shape_vec(IxDyn(&shape), mask.clone())
        .map_err(|e| shaped("observed entries", e))?;
    let training = PartialTensor::new(values, seen)?;
    let settings = Kfmc { passes: PASSES, ..Kfmc::new(KERNEL_ATOMS.min(rows.len())) };
    Ok(settings.complete_from(&training, start)?.model)
}

/// §8(b) on errors less an offset, to which predictions are added.
fn regress(model: &Arc<KernelModel<f32>>, offset: &Arc<[f64]>) -> Regress {
    let (model, offset) = (Arc::clone(model), Arc::clone(offset));
    Box::new(move |pipelines, errors, ridge| {
        let less: Vec<f64> = pipelines.iter().zip(errors).map(|(&j, e)| e - offset[j]).collect();
        let mut predicted = model.predict_dataset(pipelines, &less, ridge)?;
        predicted.iter_mut().zip(offset.iter()).for_each(|(p, o)| *p += o);
        Ok(predicted)
    })
}
