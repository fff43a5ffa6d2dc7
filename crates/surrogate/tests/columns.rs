//! Columns that were not trained on: kin, what was measured, and what one run of a kind says of others.

use std::sync::Arc;

use ndarray::Array2;
use pitchpipe_surrogate::bayes::{Prior, PriorSettings, Scale};
use pitchpipe_surrogate::columns::{NewColumn, NewColumns, embed_columns};

const N_DATASETS: usize = 40;

/// An error as three properties of the dataset make it, which pipelines weigh by their position.
fn error(dataset: usize, position: f64) -> f64 {
    let property = |k: f64| (k * (dataset as f64 + 1.0)).sin();
    0.3 + 0.1 * position.cos()
        + 0.08 * property(1.3)
        + 0.1 * (0.9 * position).cos() * property(2.1)
        + 0.05 * position.sin() * property(0.7)
}

fn trained() -> (Prior, Array2<f32>) {
    let rows = Array2::from_shape_fn((N_DATASETS, 30), |(d, j)| error(d, j as f64 / 10.0) as f32);
    let prior = Prior::fit(rows.view(), Scale::Plain, &PriorSettings::plain(3)).unwrap();
    let scores = prior.embed(rows.view()).unwrap();
    (prior, scores)
}

/// Three columns beyond those trained on, two of which were measured on the first `n` datasets.
fn new_columns(n: usize) -> NewColumns {
    let column = |j: usize| NewColumn {
        kin: 0,
        kind: 0,
        setting: j / 2,
        measured: (0..if j == 1 { 0 } else { n })
            .map(|d| (d, error(d, 3.2 + j as f64 / 10.0) + 0.05))
            .collect(),
    };
    NewColumns { kin: vec![vec![(28, 1.0), (29, 2.0)]], columns: (0..3).map(column).collect() }
}

/// The mean error of the prior's means on all datasets, given their embeddings.
fn mean_error(prior: &Prior, scores: &Array2<f32>, j: usize) -> f64 {
    let factor = prior.factor();
    let predicted = |d: usize| {
        let along = factor.column(30 + j).dot(&scores.column(d));
        prior.mean()[30 + j] + f64::from(along)
    };
    let truth = |d: usize| error(d, 3.2 + j as f64 / 10.0) + 0.05;
    (0..N_DATASETS).map(|d| (predicted(d) - truth(d)).abs()).sum::<f64>() / N_DATASETS as f64
}

#[test]
fn a_column_of_which_nothing_was_measured_is_its_kin() {
    let (prior, scores) = trained();
    let (wider, embedded) = prior.with_columns(scores.view(), &new_columns(0)).unwrap();
    assert_eq!((wider.n_pipelines(), wider.rank()), (33, 4));
    assert_eq!(embedded.dim(), (4, N_DATASETS));
    let kin = (prior.mean()[28] + 2.0 * prior.mean()[29]) / 3.0;
    assert!((wider.mean()[30] - kin).abs() < 1e-6);
    // And it is far less certain than what was trained on.
    assert!(wider.noise()[31] > 3.0 * prior.noise()[29]);
    let posterior = Arc::new(wider).posterior();
    assert!(posterior.variance()[31] > posterior.variance()[29]);
}

#[test]
fn a_column_approaches_what_was_measured_of_it_and_of_its_kind() {
    let (prior, scores) = trained();
    let mut last = [f64::INFINITY; 3];
    for n in [0, 8, N_DATASETS] {
        let (wider, embedded) = prior.with_columns(scores.view(), &new_columns(n)).unwrap();
        // Without the direction of the kind, which knows the datasets that were measured.
        let mut alone = embedded.clone();
        alone.row_mut(3).fill(0.0);
        let errors = [0, 1, 2].map(|j| mean_error(&wider, &alone, j));
        assert!(errors.iter().zip(&last).all(|(now, before)| now < before), "{n}: {errors:?}");
        last = errors;
    }
    assert!(last.iter().all(|&e| e < 0.02), "{last:?}");
}

#[test]
fn one_run_of_a_new_kind_tells_of_the_others() {
    let (prior, scores) = trained();
    let (wider, _) = prior.with_columns(scores.view(), &new_columns(2)).unwrap();
    let mut posterior = Arc::new(wider).posterior();
    let before = posterior.mean()[31];
    posterior.observe(&[30], &[before + 0.3]).unwrap();
    assert!(posterior.mean()[31] > before + 0.05);
}

#[test]
fn known_columns_stay_as_they_are() {
    let (prior, scores) = trained();
    let (wider, embedded) = prior.with_columns(scores.view(), &new_columns(5)).unwrap();
    assert_eq!(wider.mean()[..30], prior.mean()[..]);
    assert_eq!(wider.noise()[..30], prior.noise()[..]);
    let (old, new) = (prior.factor(), wider.factor());
    for j in 0..30 {
        assert!((0..3).all(|i| old[(i, j)] == new[(i, j)]) && new[(3, j)] == 0.0);
    }
    assert!((0..3).all(|i| embedded.row(i) == scores.row(i)));
}

#[test]
fn an_embedding_takes_in_a_column_of_its_own_span() {
    let y = Array2::from_shape_fn((2, 20), |(i, j)| ((i + 1) as f32 * 0.3 * j as f32).cos());
    let x = Array2::from_shape_fn((2, 30), |(i, d)| ((i + 2) as f32 * 0.7 * d as f32).sin());
    let truth = |d: usize| f64::from(0.6 * x[(0, d)] - 0.9 * x[(1, d)]);
    let column =
        NewColumn { measured: (0..30).map(|d| (d, truth(d))).collect(), ..NewColumn::default() };
    let new = NewColumns { kin: vec![vec![(3, 1.0)]], columns: vec![column] };
    let wider = embed_columns(y.view(), x.view(), &new).unwrap();
    assert_eq!(wider.dim(), (2, 21));
    assert!((wider[(0, 20)] - 0.6).abs() < 0.05 && (wider[(1, 20)] + 0.9).abs() < 0.05, "{wider}");
}

#[test]
fn what_does_not_fit_is_a_typed_error() {
    let (prior, scores) = trained();
    let refused = |change: fn(&mut NewColumns)| {
        let mut new = new_columns(3);
        change(&mut new);
        prior.with_columns(scores.view(), &new).unwrap_err().to_string()
    };
    assert_eq!(refused(|new| new.kin[0].clear()), "list of kin is empty");
    assert_eq!(refused(|new| new.kin[0][0].0 = 30), "kin 30 is beyond the 30 there are");
    assert_eq!(refused(|new| new.columns[1].kin = 1), "list of kin 1 is beyond the 1 there are");
    assert_eq!(
        refused(|new| new.columns[0].measured[1].0 = 99),
        "dataset 99 is beyond the 40 there are"
    );
    assert_eq!(
        refused(|new| new.columns[0].measured[1].1 = f64::NAN),
        "measured values holds NaN at position 1"
    );
}
