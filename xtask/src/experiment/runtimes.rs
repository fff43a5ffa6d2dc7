//! Predicted runtimes, in the paper's form and in ours (paper, Table 1 and Figure 22).

use ndarray::{Array2, Axis};
use pitchpipe_surrogate::runtime::{DatasetSize, RuntimeForm, RuntimeModel};

use super::Context;
use super::csv::{Csv, short};
use super::replays::{N_ESTIMATORS, SLICE};
use crate::reference::recorded::{KINDS, kind, sizes};

/// The prefixes that stand for all 128, as in `cargo xtask reference --only runtimes`.
const PREFIXES: [usize; 6] = [34, 53, 102, 117, 121, 125];

/// Forms by name.
const FORMS: [(&str, RuntimeForm); 3] = [
    ("paper: degree 3 in (n p log n) of seconds", RuntimeForm::PaperSeconds),
    ("degree 3 in (n p log n) of log seconds", RuntimeForm::PaperLogSeconds),
    ("ours: degree 2 in (log n log p) of log seconds", RuntimeForm::LogLog),
];

/// One prediction on a left-out dataset: the estimator's kind, seconds measured and predicted.
type Prediction = (usize, f64, f64);

/// Datasets of known size with the seconds of some prefixes.
fn sized(context: &Context, prefixes: &[usize]) -> (Vec<DatasetSize>, Array2<f32>) {
    let all = sizes(&context.paper);
    let rows: Vec<usize> = (0..all.len()).filter(|&i| all[i].is_some()).collect();
    let known = rows.iter().filter_map(|&i| all[i]).collect();
    let secs = Array2::from_shape_fn((rows.len(), prefixes.len() * N_ESTIMATORS), |(i, c)| {
        let pipeline = prefixes[c / N_ESTIMATORS] * N_ESTIMATORS + c % N_ESTIMATORS;
        context.paper.runtimes_secs[(rows[i], pipeline)]
    });
    (known, secs)
}

/// Ten-fold over datasets.
fn predictions(
    form: RuntimeForm,
    sizes: &[DatasetSize],
    secs: &Array2<f32>,
) -> Result<Vec<Prediction>, String> {
    let kinds: Vec<usize> = (0..secs.ncols()).map(|j| kind(j % N_ESTIMATORS)).collect();
    let mut found = Vec::new();
    for fold in 0..10 {
        let train: Vec<usize> = (0..sizes.len()).filter(|i| i % 10 != fold).collect();
        let train_sizes: Vec<DatasetSize> = train.iter().map(|&i| sizes[i]).collect();
        let known = secs.select(Axis(0), &train);
        let model = RuntimeModel::fit(form, &train_sizes, known.view(), &kinds)
            .map_err(|e| e.to_string())?;
        for test in (fold..sizes.len()).step_by(10) {
            let predicted = model.predict_secs(&sizes[test]).map_err(|e| e.to_string())?;
            for (j, predicted) in predicted.into_iter().enumerate() {
                let taken = f64::from(secs[(test, j)]);
                if taken > 0.0 {
                    found.push((kinds[j], taken, predicted));
                }
            }
        }
    }
    Ok(found)
}

/// Shares within a factor of 2 and 4, by kind of estimator and form.
pub(super) fn table(context: &Context) -> Result<Csv, String> {
    let prefixes = if context.quick { &PREFIXES[..1] } else { &PREFIXES[..] };
    let (sizes, secs) = sized(context, prefixes);
    let mut csv = Csv::new(
        format!(
            "published tensor, {} of the 215 datasets have a known size, {} preprocessing prefixes x 183 estimators, ten folds of datasets",
            sizes.len(),
            prefixes.len()
        ),
        &["form", "kind", "percent_within_2", "percent_within_4", "runs"],
    );
    for (name, form) in FORMS {
        let found = predictions(form, &sizes, &secs)?;
        let names = std::iter::once("all").chain(KINDS.iter().map(|k| k.0));
        for (at, of) in names.enumerate() {
            let own: Vec<f64> = found
                .iter()
                .filter(|p| at == 0 || p.0 == at - 1)
                .map(|&(_, taken, predicted)| (predicted / taken).max(taken / predicted))
                .collect();
            let within = |factor: f64| {
                100.0 * own.iter().filter(|&&f| f <= factor).count() as f64 / own.len() as f64
            };
            let (two, four) = (format!("{:.1}", within(2.0)), format!("{:.1}", within(4.0)));
            csv.push(&[&name, &of, &two, &four, &own.len()]);
        }
    }
    Ok(csv)
}

/// Points of the eleven panels: every so many of each kind on Oboe's slice.
pub(super) fn panels(context: &Context) -> Result<Csv, String> {
    const A_PANEL: usize = 150;
    let (sizes, secs) = sized(context, &[SLICE]);
    let mut csv = Csv::new(
        format!(
            "published tensor, {} datasets of known size, Oboe's 183 estimators, ten folds; about {A_PANEL} runs a kind",
            sizes.len()
        ),
        &["form", "kind", "measured_s", "predicted_s"],
    );
    for (name, form) in [FORMS[0], FORMS[2]] {
        let found = predictions(form, &sizes, &secs)?;
        for (at, (of, _, _)) in KINDS.iter().enumerate() {
            let own: Vec<&Prediction> = found.iter().filter(|p| p.0 == at).collect();
            for (_, taken, predicted) in own.iter().step_by(own.len().div_ceil(A_PANEL)) {
                csv.push(&[&name, of, &short(*taken), &short(*predicted)]);
            }
        }
    }
    Ok(csv)
}
