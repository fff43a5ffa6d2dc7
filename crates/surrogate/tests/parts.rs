//! Models taken apart and put together again say the same; parts that cannot be a model are refused.

use ndarray::{Array2, ArrayD};
use pitchpipe_surrogate::PartialTensor;
use pitchpipe_surrogate::bayes::{Prior, PriorSettings, Scale};
use pitchpipe_surrogate::complete::{KernelModel, KernelParts, Kfmc};
use pitchpipe_surrogate::runtime::{DatasetSize, RuntimeForm, RuntimeModel, RuntimeTerms};

fn rows(m: usize, n: usize) -> Array2<f32> {
    Array2::from_shape_fn((m, n), |(i, j)| {
        0.4 + 0.2 * ((i * i) as f32 * 0.7 + j as f32).sin() * (0.3 * j as f32).cos()
    })
}

fn kernel_model() -> KernelModel<f32> {
    let values = rows(6, 40).into_dyn();
    let mask = ArrayD::from_shape_fn(values.shape(), |at| (at[0] + 3 * at[1]) % 11 != 0);
    let observed = PartialTensor::new(values, mask).unwrap();
    Kfmc { batch: 10, passes: 2, ..Kfmc::new(5) }.complete(&observed).unwrap().model
}

fn runtime_model() -> (RuntimeModel, Vec<DatasetSize>) {
    let sizes: Vec<DatasetSize> = (1..20)
        .map(|i| DatasetSize {
            n_rows: 50.0 * f64::from(i),
            n_features: f64::from(3 + i % 5),
            // All equal: a term without spread.
            n_classes: Some(2.0),
        })
        .collect();
    let secs = Array2::from_shape_fn((19, 4), |(i, j)| {
        (sizes[i].n_rows as f32).powf(1.0 + 0.1 * j as f32) * 1e-3
    });
    let model = RuntimeModel::fit(RuntimeForm::LogLog, &sizes, secs.view(), &[0, 0, 1, 1]).unwrap();
    (model, sizes)
}

#[test]
fn a_kernel_model_put_together_again_predicts_the_same() {
    let model = kernel_model();
    let again = KernelModel::try_from(KernelParts::from(model.clone())).unwrap();
    let ask = |m: &KernelModel<f32>| m.predict_dataset(&[1, 7, 30], &[0.2, 0.5, 0.4], 0.1).unwrap();
    assert_eq!(ask(&model), ask(&again));
    let column = |m: &KernelModel<f32>| m.predict_pipeline(&[0, 4], &[0.3, 0.5]).unwrap().errors;
    assert_eq!(column(&model), column(&again));
}

#[test]
fn a_runtime_model_put_together_again_predicts_the_same() {
    let (model, sizes) = runtime_model();
    let (terms, coefficients) = model.to_parts();
    let again = RuntimeModel::from_parts(terms, coefficients.view()).unwrap();
    let (before, after) =
        (model.predict_secs(&sizes[4]).unwrap(), again.predict_secs(&sizes[4]).unwrap());
    assert!(before.iter().zip(&after).all(|(a, b)| (a / b - 1.0).abs() < 1e-5));
}

#[test]
fn parts_that_cannot_be_a_kernel_model_are_refused() {
    let refused = |change: fn(&mut KernelParts<f32>)| {
        let mut parts = KernelParts::from(kernel_model());
        change(&mut parts);
        KernelModel::try_from(parts).unwrap_err().to_string()
    };
    let message = refused(|p| p.atoms.truncate(p.atoms.len() - 1));
    assert_eq!(message, "atoms has size 29 but 24 was expected");
    let message = refused(|p| p.codes.truncate(p.codes.len() - 1));
    assert_eq!(message, "codes has size 199 but 195 was expected");
    let message = refused(|p| p.row_means.truncate(p.row_means.len() - 1));
    assert_eq!(message, "means of datasets has size 5 but 6 was expected");
    let message = refused(|p| p.s2 = 0.0);
    assert_eq!(message, "width of the kernel is 0, which is not positive and finite");
    assert_eq!(refused(|p| p.codes.clear()), "kernel model is empty");
}

#[test]
fn parts_that_cannot_be_a_runtime_model_are_refused() {
    let (terms, coefficients) = runtime_model().0.to_parts();
    let written = serde_json::to_value(&terms).unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = written.clone();
        change(&mut changed);
        let terms: RuntimeTerms = serde_json::from_value(changed).unwrap();
        RuntimeModel::from_parts(terms, coefficients.view()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|v| v["terms"]["products"][1][0] = 9.into()),
        "variable 9 is beyond the 3 there are"
    );
    assert_eq!(
        refused(&|v| v["terms"]["scale"][1] = 0.0.into()),
        "scales of terms holds 0 at position 1, but it must be above zero"
    );
    let narrow = Array2::<f32>::ones((4, 1));
    let message = RuntimeModel::from_parts(terms, narrow.view()).unwrap_err().to_string();
    assert_eq!(message, "runtime coefficients has size 1 but 10 was expected");
}

#[test]
fn parts_that_cannot_be_a_prior_are_refused() {
    let prior = Prior::fit(rows(9, 50).view(), Scale::Root, &PriorSettings::plain(4)).unwrap();
    let again = |factor: Array2<f32>, noise: f64| {
        let noise = vec![noise; prior.n_pipelines()];
        Prior::from_parts(Scale::Root, prior.mean().to_vec(), factor.view(), noise)
    };
    assert!(again(prior.factor(), 0.1).is_ok());
    let message = again(prior.factor(), 0.0).unwrap_err().to_string();
    assert_eq!(message, "noise holds 0 at position 0, but it must be above zero");
    let message = again(Array2::zeros((4, 49)), 0.1).unwrap_err().to_string();
    assert_eq!(message, "factor of the prior has size 49 but 50 was expected");
}
