//! The empirical-Bayes predictor against direct Gaussian conditioning.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::{Prior, PriorRows, PriorSettings, Scale, Separable};
use proptest::prelude::*;

/// Rows of low rank plus noise, by a fixed recurrence of sines.
fn rows(m: usize, n: usize, seed: f64) -> Array2<f32> {
    Array2::from_shape_fn((m, n), |(i, j)| {
        let (i, j) = (i as f64 + seed, j as f64);
        let level = 0.3 + 0.1 * (1.7 * i).sin();
        let shape =
            0.08 * (0.9 * i).cos() * (0.31 * j).sin() + 0.05 * (2.3 * i).sin() * (0.17 * j).cos();
        (level + shape + 0.02 * (12.9898 * i + 78.233 * j).sin()) as f32
    })
}

fn small_prior(seed: f64) -> Arc<Prior> {
    let settings = PriorSettings::plain(6);
    Arc::new(Prior::fit(rows(12, 40, seed).view(), Scale::Plain, &settings).unwrap())
}

/// Mean and variance of every pipeline by conditioning the full n x n Gaussian, with Gauss-Jordan.
fn condition(prior: &Prior, at: &[usize], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let factor = prior.factor();
    let covariance = |i: usize, j: usize| -> f64 {
        (0..factor.nrows()).map(|r| f64::from(factor[(r, i)]) * f64::from(factor[(r, j)])).sum()
    };
    let b = at.len();
    let mut system: Vec<Vec<f64>> = (0..b)
        .map(|i| {
            let mut row: Vec<f64> = (0..b).map(|j| covariance(at[i], at[j])).collect();
            row[i] += prior.noise()[at[i]];
            row.extend((0..b).map(|j| f64::from(u8::from(i == j))));
            row
        })
        .collect();
    for i in 0..b {
        let pivot = system[i][i];
        system[i].iter_mut().for_each(|v| *v /= pivot);
        for other in (0..b).filter(|&o| o != i) {
            let factor = system[other][i];
            let row = system[i].clone();
            system[other].iter_mut().zip(&row).for_each(|(v, r)| *v -= factor * r);
        }
    }
    let inverse = |i: usize, j: usize| system[i][b + j];
    (0..prior.n_pipelines())
        .map(|p| {
            let cross: Vec<f64> = at.iter().map(|&s| covariance(p, s)).collect();
            let (mut mean, mut variance) = (prior.mean()[p], covariance(p, p));
            for i in 0..b {
                for j in 0..b {
                    mean += cross[i] * inverse(i, j) * (values[j] - prior.mean()[at[j]]);
                    variance -= cross[i] * inverse(i, j) * cross[j];
                }
            }
            (mean, variance)
        })
        .unzip()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn one_at_a_time_in_blocks_and_direct_conditioning_agree(
        seed in 0.0..50.0f64,
        mut at in prop::collection::vec(0usize..40, 1..30),
        shift in -0.2..0.2f64,
    ) {
        at.sort_unstable();
        at.dedup();
        let prior = small_prior(seed);
        let values: Vec<f64> = at.iter().map(|&j| prior.mean()[j] + shift * (j as f64).cos()).collect();
        let mut together = prior.posterior();
        together.observe(&at, &values).unwrap();
        let mut singly = prior.posterior();
        for (&j, &v) in at.iter().zip(&values) {
            singly.observe(&[j], &[v]).unwrap();
        }
        let (mean, variance) = condition(&prior, &at, &values);
        for j in 0..prior.n_pipelines() {
            prop_assert!((together.mean()[j] - singly.mean()[j]).abs() < 1e-10);
            prop_assert!((together.variance()[j] - singly.variance()[j]).abs() < 1e-10);
            prop_assert!((together.mean()[j] - mean[j]).abs() < 1e-8);
            prop_assert!((together.variance()[j] - variance[j]).abs() < 1e-8);
        }
    }
}

#[test]
fn nothing_observed_is_the_mean() {
    let prior = small_prior(1.0);
    let mut posterior = prior.posterior();
    posterior.observe(&[], &[]).unwrap();
    assert_eq!(posterior.mean(), prior.mean());
    assert_eq!(posterior.n_observed(), 0);
}

#[test]
fn an_endless_prior_gives_least_squares_on_what_the_mean_leaves() {
    // Two directions with huge variances, constant noise, three observations: the least squares fit.
    let y = |j: usize| [1.0, j as f64 - 2.0];
    let factor = Array2::from_shape_fn((2, 6), |(i, j)| (100.0 * y(j)[i]) as f32);
    let mean: Vec<f64> = (0..6).map(|j| 0.1 * j as f64).collect();
    let prior = Arc::new(
        Prior::from_parts(Scale::Plain, mean.clone(), factor.view(), vec![0.01; 6]).unwrap(),
    );
    let (at, residual) = ([0, 2, 5], [0.3, -0.1, 0.4]);
    let values: Vec<f64> = at.iter().zip(residual).map(|(&j, r)| mean[j] + r).collect();
    let mut posterior = prior.posterior();
    posterior.observe(&at, &values).unwrap();
    // Normal equations of a straight line through (-2, .3), (0, -.1), (3, .4).
    let (sx, sxx, sy, sxy, n) = (1.0, 13.0, 0.6, 0.6, 3.0);
    let slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    let level = (sy - slope * sx) / n;
    for j in 0..6 {
        let want = mean[j] + level + slope * y(j)[1];
        assert!((posterior.mean()[j] - want).abs() < 1e-5, "{j}");
    }
}

#[test]
fn leaving_a_row_out_is_fitting_the_others() {
    let all = rows(10, 64, 3.0);
    let settings = PriorSettings {
        rank: 5,
        separable: Some(Separable { inner: 8, share: 0.3, rank: 20 }),
        noise: 0.01,
    };
    let left_out = PriorRows::new(all.view(), Scale::Root).unwrap().without(4, &settings).unwrap();
    let kept: Vec<usize> = (0..10).filter(|&i| i != 4).collect();
    let others = all.select(ndarray::Axis(0), &kept);
    let direct = Prior::fit(others.view(), Scale::Root, &settings).unwrap();
    for j in 0..64 {
        assert!((left_out.mean()[j] - direct.mean()[j]).abs() < 1e-6);
        assert!((left_out.noise()[j] / direct.noise()[j] - 1.0).abs() < 1e-2);
    }
    let at = [3, 17, 40];
    let predict = |prior: Prior| {
        let mut posterior = Arc::new(prior).posterior();
        posterior.observe(&at, &[0.2, 0.3, 0.4]).unwrap();
        posterior.predict()
    };
    for (a, b) in predict(left_out).into_iter().zip(predict(direct)) {
        assert!((a - b).abs() < 1e-4);
    }
}

#[test]
fn a_separable_share_of_nothing_changes_nothing() {
    let all = rows(10, 64, 5.0);
    let plain = Prior::fit(all.view(), Scale::Root, &PriorSettings::plain(4)).unwrap();
    let blended = PriorSettings {
        rank: 4,
        separable: Some(Separable { inner: 16, share: 0.0, rank: 10 }),
        noise: 0.01,
    };
    let blended = Prior::fit(all.view(), Scale::Root, &blended).unwrap();
    for (a, b) in plain.noise().iter().zip(blended.noise()) {
        assert!((a / b - 1.0).abs() < 1e-2);
    }
}

#[test]
fn expected_observations_shrink_variances_and_leave_means() {
    let prior = small_prior(2.0);
    let mut posterior = prior.posterior();
    posterior.expect(&[1, 5, 9]).unwrap();
    let before = prior.posterior();
    for j in 0..prior.n_pipelines() {
        assert!((posterior.mean()[j] - before.mean()[j]).abs() < 1e-12);
        assert!(posterior.variance()[j] <= before.variance()[j]);
    }
}

#[test]
fn bad_input_is_a_typed_error() {
    let fit = |rows: ArrayView2<f32>| Prior::fit(rows, Scale::Root, &PriorSettings::plain(3));
    assert!(matches!(fit(Array2::zeros((0, 5)).view()), Err(SurrogateError::Empty { .. })));
    assert!(matches!(fit(Array2::zeros((1, 5)).view()), Err(SurrogateError::Empty { .. })));
    let mut holed = rows(5, 8, 0.0);
    holed[(2, 3)] = f32::NAN;
    assert!(matches!(fit(holed.view()), Err(SurrogateError::NotFinite { at: 19, .. })));
    let prior = small_prior(0.0);
    let mut posterior = prior.posterior();
    assert!(matches!(posterior.observe(&[40], &[0.1]), Err(SurrogateError::OutOfRange { .. })));
    assert!(matches!(posterior.observe(&[4], &[f64::NAN]), Err(SurrogateError::NotFinite { .. })));
    assert!(matches!(posterior.observe(&[4], &[]), Err(SurrogateError::Size { .. })));
    assert_eq!(posterior.mean(), prior.mean());
    let rows = PriorRows::new(rows(5, 8, 0.0).view(), Scale::Root).unwrap();
    assert!(matches!(
        rows.without(5, &PriorSettings::plain(3)),
        Err(SurrogateError::OutOfRange { .. })
    ));
    assert!(rows.fit(&[1.0, -1.0, 1.0, 1.0, 1.0], &PriorSettings::plain(3)).is_err());
    let separable = |inner, share| PriorSettings {
        rank: 3,
        separable: Some(Separable { inner, share, rank: 4 }),
        noise: 0.01,
    };
    assert!(matches!(rows.without(0, &separable(3, 0.5)), Err(SurrogateError::Setting { .. })));
    assert!(matches!(rows.without(0, &separable(4, 1.5)), Err(SurrogateError::Setting { .. })));
}

#[test]
fn rows_that_are_all_alike_still_predict() {
    let prior = Arc::new(
        Prior::fit(Array2::from_elem((4, 6), 0.25).view(), Scale::Root, &PriorSettings::plain(3))
            .unwrap(),
    );
    let mut posterior = prior.posterior();
    posterior.observe(&[2], &[0.5]).unwrap();
    assert!(posterior.predict().iter().all(|v| (v - 0.25).abs() < 1e-3));
}
