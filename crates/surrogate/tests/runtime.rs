//! Runtime prediction: few samples, bad input, and the correction from runs.

use ndarray::Array2;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::runtime::{DatasetSize, RuntimeCorrection, RuntimeForm, RuntimeModel};

fn sizes(m: usize) -> Vec<DatasetSize> {
    (0..m)
        .map(|i| DatasetSize {
            n_rows: 200.0 + 90.0 * i as f64,
            n_features: 3.0 + (7 * i % 40) as f64,
            n_classes: None,
        })
        .collect()
}

/// Seconds of 6 pipelines in two families: a power of the size each, the machine's speed varying.
fn record(sizes: &[DatasetSize]) -> Array2<f32> {
    Array2::from_shape_fn((sizes.len(), 6), |(i, j)| {
        let s = &sizes[i];
        let machine = (0.3 * (5.0 * i as f64).sin()).exp();
        (machine * 1e-4 * (1.0 + j as f64) * s.n_rows * s.n_features.powf(0.5)) as f32
    })
}

const FAMILIES: [usize; 6] = [0, 0, 0, 1, 1, 1];

#[test]
fn powers_of_the_size_are_predicted_within_the_machine_s_variation() {
    let sizes = sizes(40);
    let secs = record(&sizes);
    let model = RuntimeModel::fit(RuntimeForm::LogLog, &sizes, secs.view(), &FAMILIES).unwrap();
    for (i, size) in sizes.iter().enumerate() {
        for (j, t) in model.predict_secs(size).unwrap().into_iter().enumerate() {
            assert!((t / f64::from(secs[(i, j)])).ln().abs() < 0.5);
        }
    }
}

#[test]
fn a_pipeline_never_run_takes_its_family_s_prediction() {
    let sizes = sizes(40);
    let mut secs = record(&sizes);
    secs.column_mut(1).fill(-1.0);
    secs.column_mut(2).fill(f32::NAN);
    let model = RuntimeModel::fit(RuntimeForm::LogLog, &sizes, secs.view(), &FAMILIES).unwrap();
    let predicted = model.predict_secs(&sizes[10]).unwrap();
    for j in [1, 2] {
        assert!((predicted[j] / predicted[0]).ln().abs() < 0.05);
    }
    // A whole family without a run leans on everything else.
    (3..6).for_each(|j| secs.column_mut(j).fill(0.0));
    let model = RuntimeModel::fit(RuntimeForm::LogLog, &sizes, secs.view(), &FAMILIES).unwrap();
    assert!(model.predict_secs(&sizes[10]).unwrap().iter().all(|t| t.is_finite() && *t > 0.0));
}

#[test]
fn one_dataset_is_enough_for_a_finite_prediction_far_away() {
    let sizes = sizes(1);
    for form in [RuntimeForm::PaperSeconds, RuntimeForm::PaperLogSeconds, RuntimeForm::LogLog] {
        let model = RuntimeModel::fit(form, &sizes, record(&sizes).view(), &FAMILIES).unwrap();
        let far = DatasetSize { n_rows: 1e7, n_features: 1e4, n_classes: None };
        assert!(model.predict_secs(&far).unwrap().iter().all(|t| (0.005..=120.0).contains(t)));
    }
}

#[test]
fn runs_seen_rescale_all_predictions_to_the_machine() {
    let sizes = sizes(40);
    let secs = record(&sizes);
    let model = RuntimeModel::fit(RuntimeForm::LogLog, &sizes, secs.view(), &FAMILIES).unwrap();
    let correction = RuntimeCorrection::fit(&model, &sizes, secs.view()).unwrap();
    let new = DatasetSize { n_rows: 1500.0, n_features: 16.0, n_classes: None };
    let predicted = model.predict_secs(&new).unwrap();
    let mut corrected = correction.start(predicted.clone()).unwrap();
    corrected
        .observe(&[0, 1, 4], &[1.5 * predicted[0], 1.5 * predicted[1], 1.5 * predicted[4]])
        .unwrap();
    for j in 0..6 {
        let ratio = corrected.secs(j) / predicted[j];
        assert!((1.3..1.6).contains(&ratio), "{j}: {ratio}");
    }
}

#[test]
fn classes_count_where_all_are_known() {
    let sizes: Vec<DatasetSize> = (0..60)
        .map(|i| DatasetSize {
            n_rows: 300.0 + 50.0 * (i % 20) as f64,
            n_features: 10.0 + (3 * i % 17) as f64,
            n_classes: Some(2.0 + (i % 5) as f64),
        })
        .collect();
    let secs = Array2::from_shape_fn((60, 1), |(i, _)| {
        (1e-4 * sizes[i].n_rows * sizes[i].n_classes.unwrap()) as f32
    });
    let model = RuntimeModel::fit(RuntimeForm::LogLog, &sizes, secs.view(), &[0]).unwrap();
    let at = |c| {
        let size = DatasetSize { n_rows: 600.0, n_features: 12.0, n_classes: Some(c) };
        model.predict_secs(&size).unwrap()[0]
    };
    assert!((at(6.0) / at(2.0) - 3.0).abs() < 0.2);
}

#[test]
fn bad_input_is_a_typed_error() {
    let (sizes, form) = (sizes(5), RuntimeForm::LogLog);
    let secs = record(&sizes);
    let fit = |sizes: &[DatasetSize], families: &[usize]| {
        RuntimeModel::fit(form, sizes, secs.view(), families)
    };
    assert!(matches!(fit(&sizes[..4], &FAMILIES), Err(SurrogateError::Size { .. })));
    assert!(matches!(fit(&sizes, &FAMILIES[..5]), Err(SurrogateError::Size { .. })));
    let mut zero = sizes.clone();
    zero[2].n_features = 0.0;
    assert!(matches!(fit(&zero, &FAMILIES), Err(SurrogateError::NotPositive { at: 2, .. })));
    let nothing = Array2::from_elem((5, 6), -1.0);
    let unrecorded = RuntimeModel::fit(form, &sizes, nothing.view(), &FAMILIES);
    assert!(matches!(unrecorded, Err(SurrogateError::Empty { .. })));
    let model = fit(&sizes, &FAMILIES).unwrap();
    let correction = RuntimeCorrection::fit(&model, &sizes, secs.view()).unwrap();
    assert!(matches!(correction.start(vec![1.0; 5]), Err(SurrogateError::Size { .. })));
    let mut corrected = correction.start(vec![1.0; 6]).unwrap();
    assert!(matches!(corrected.observe(&[0], &[0.0]), Err(SurrogateError::NotPositive { .. })));
    assert!(matches!(corrected.observe(&[9], &[1.0]), Err(SurrogateError::OutOfRange { .. })));
}
