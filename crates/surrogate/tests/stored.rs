//! Models written and read back say the same; what cannot be a model is refused.

use ndarray::{Array2, ArrayD};
use pitchpipe_surrogate::PartialTensor;
use pitchpipe_surrogate::bayes::{Prior, PriorSettings, Scale};
use pitchpipe_surrogate::complete::{KernelModel, Kfmc};
use pitchpipe_surrogate::runtime::{DatasetSize, RuntimeCorrection, RuntimeForm, RuntimeModel};

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

fn runtime_model() -> (RuntimeModel, Vec<DatasetSize>, Array2<f32>) {
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
    (model, sizes, secs)
}

#[test]
fn a_kernel_model_reads_back_and_predicts_the_same() {
    let model = kernel_model();
    let bytes = postcard::to_stdvec(&model).unwrap();
    let again: KernelModel<f32> = postcard::from_bytes(&bytes).unwrap();
    let ask = |m: &KernelModel<f32>| m.predict_dataset(&[1, 7, 30], &[0.2, 0.5, 0.4], 0.1).unwrap();
    assert_eq!(ask(&model), ask(&again));
    let column = |m: &KernelModel<f32>| m.predict_pipeline(&[0, 4], &[0.3, 0.5]).unwrap().errors;
    assert_eq!(column(&model), column(&again));
    let text = serde_json::to_string(&model).unwrap();
    let again: KernelModel<f32> = serde_json::from_str(&text).unwrap();
    assert_eq!(ask(&model), ask(&again));
}

#[test]
fn runtime_models_and_corrections_read_back_the_same() {
    let (model, sizes, secs) = runtime_model();
    let again: RuntimeModel =
        serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
    let (before, after) =
        (model.predict_secs(&sizes[4]).unwrap(), again.predict_secs(&sizes[4]).unwrap());
    assert!(before.iter().zip(&after).all(|(a, b)| (a / b - 1.0).abs() < 1e-12));
    let exact: RuntimeModel = postcard::from_bytes(&postcard::to_stdvec(&model).unwrap()).unwrap();
    assert_eq!(model, exact);
    let correction = RuntimeCorrection::fit(&model, &sizes, secs.view()).unwrap();
    let bytes = postcard::to_stdvec(&correction).unwrap();
    assert_eq!(correction, postcard::from_bytes(&bytes).unwrap());
}

#[test]
fn a_prior_reads_back_the_same() {
    let prior = Prior::fit(rows(9, 50).view(), Scale::Root, &PriorSettings::plain(4)).unwrap();
    let again: Prior = postcard::from_bytes(&postcard::to_stdvec(&prior).unwrap()).unwrap();
    assert_eq!(prior, again);
}

/// Each change to a written model, made in its JSON, and what is said of it.
#[test]
fn what_cannot_be_a_model_is_refused() {
    let kernel = serde_json::to_value(kernel_model()).unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = kernel.clone();
        change(&mut changed);
        serde_json::from_value::<KernelModel<f32>>(changed).unwrap_err().to_string()
    };
    let shorter = |key: &'static str| {
        move |v: &mut serde_json::Value| {
            v[key].as_array_mut().unwrap().pop();
        }
    };
    assert_eq!(refused(&shorter("atoms")), "atoms has size 29 but 24 was expected");
    assert_eq!(refused(&shorter("codes")), "codes has size 199 but 195 was expected");
    assert_eq!(refused(&shorter("row_means")), "means of datasets has size 5 but 6 was expected");
    assert_eq!(
        refused(&|v| v["s2"] = 0.0.into()),
        "width of the kernel is 0, which is not positive and finite"
    );
    assert_eq!(refused(&|v| v["codes"] = [0; 0].into()), "kernel model is empty");

    let runtime = serde_json::to_value(runtime_model().0).unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = runtime.clone();
        change(&mut changed);
        serde_json::from_value::<RuntimeModel>(changed).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|v| v["terms"]["products"][1][0] = 9.into()),
        "variable 9 is beyond the 3 there are"
    );
    assert_eq!(
        refused(&|v| v["terms"]["scale"][1] = 0.0.into()),
        "scales of terms holds 0 at position 1, but it must be above zero"
    );
    assert!(
        refused(&|v| v["coefficients"][2] = [1.0].into())
            .starts_with("runtime coefficients has size 1")
    );

    let prior = Prior::fit(rows(9, 50).view(), Scale::Root, &PriorSettings::plain(4)).unwrap();
    let mut prior = serde_json::to_value(prior).unwrap();
    prior["rank"] = 5.into();
    let err = serde_json::from_value::<Prior>(prior).unwrap_err().to_string();
    assert_eq!(err, "factor of the prior has size 200 but 250 was expected");
}
