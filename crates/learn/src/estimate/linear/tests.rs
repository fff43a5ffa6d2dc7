//! What holds for the solutions of all linear solvers, and for their families.

use std::sync::Arc;
use std::time::Instant;

use pitchpipe_table::Labels;
use rand::Rng;

use crate::estimate::{LinearSvm, LogisticRegression, Penalty, Perceptron, Solver};
use crate::{Classifier, Estimator, Features, FitContext, FitError, Stream};

use super::loss::{Logistic, SquaredHinge};
use super::rows::Rows;
use super::{dual, newton, one_vs_rest, saga, sparse};

/// Overlapping classes in standard normal columns, the first `n_classes` of which shift with the class.
fn draw(n: usize, p: usize, n_classes: usize, scale: f64) -> (Features, Labels) {
    let mut rng = Stream::new(7).rng();
    let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let codes: Vec<u32> = (0..n).map(|i| (i % n_classes) as u32).collect();
    let mut columns = Vec::with_capacity(n * p);
    for j in 0..p {
        for &code in &codes {
            let noise: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            let shift = if code as usize == j % n_classes { 1.0 } else { 0.0 };
            columns.push((noise + shift) * scale);
        }
    }
    (Features::from_columns(n, p, columns), Labels::from_codes(codes, n_classes))
}

/// The loss's gradient at `w` (intercept last) by plain loops: `derivative` of target and decision.
fn gradient(x: &Features, y: &Labels, w: &[f64], derivative: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let (n, p) = (x.n_rows(), x.n_cols());
    let mut gradient = vec![0.0; p + 1];
    for i in 0..n {
        let z = (0..p).map(|j| w[j] * x.column(j)[i]).sum::<f64>() + w[p];
        let target = if y.codes()[i] == 1 { 1.0 } else { -1.0 };
        let slope = derivative(target, z);
        (0..p).for_each(|j| gradient[j] += slope * x.column(j)[i]);
        gradient[p] += slope;
    }
    gradient
}

fn logistic_slope(y: f64, z: f64) -> f64 {
    -y / (1.0 + (y * z).exp())
}

fn rows(x: &Features, scaled: bool) -> Rows {
    let ctx = FitContext::unhurried();
    if scaled { Rows::scaled(x, true, &ctx, "test") } else { Rows::raw(x, true, &ctx, "test") }
        .unwrap()
}

#[test]
fn the_gradient_vanishes_at_the_l2_optimum() {
    let ctx = FitContext::unhurried();
    // The last is solved by conjugate gradients, with more columns than rows.
    for (n, p, scale) in [(60, 1, 1.0), (203, 7, 1.0), (100, 20, 300.0), (50, 700, 1.0)] {
        let (x, y) = draw(n, p, 2, scale);
        let shared = newton::Shared::new(Arc::new(rows(&x, true)), &ctx).unwrap();
        let targets = one_vs_rest(&y, 0, shared.rows().n_padded());
        for c in [0.25, 4.0] {
            let w = shared.solve::<Logistic>(&targets, c, &ctx).unwrap();
            let slopes = gradient(&x, &y, &w, logistic_slope);
            let start = gradient(&x, &y, &vec![0.0; p + 1], logistic_slope);
            let norm = |g: &[f64]| g.iter().map(|g| g * g).sum::<f64>().sqrt();
            let total: Vec<f64> = slopes.iter().zip(&w).map(|(g, w)| w + c * g).collect();
            // The library stops at 1e-4 / 2.
            assert!(norm(&total) <= 1e-6 * c * norm(&start), "{n} x {p}, c {c}: {}", norm(&total));
        }
    }
}

#[test]
fn subgradients_hold_at_the_l1_optimum() {
    let ctx = FitContext::unhurried();
    for (n, p, scale) in [(60, 1, 1.0), (203, 7, 1.0), (100, 20, 300.0), (50, 400, 1.0)] {
        let (x, y) = draw(n, p, 2, scale);
        let shared = sparse::Shared::new(rows(&x, true), &ctx).unwrap();
        let targets = one_vs_rest(&y, 0, shared.rows().n_padded());
        for c in [0.25, 4.0] {
            let w = shared.solve(&targets, c, &ctx).unwrap();
            let slopes = gradient(&x, &y, &w, logistic_slope);
            for (j, (&w, g)) in w.iter().zip(&slopes).enumerate() {
                let violation = match w {
                    0.0 => (c * g.abs() - 1.0).max(0.0),
                    w => (c * g + w.signum()).abs(),
                };
                let at_start = gradient(&x, &y, &vec![0.0; p + 1], logistic_slope)[j].abs();
                let bound = 1e-5 * (1.0 + c * at_start);
                assert!(violation <= bound, "{n} x {p}, c {c}, column {j}: {violation}");
            }
            assert!(p < 20 || w.contains(&0.0), "the penalty leaves columns out");
        }
    }
}

#[test]
fn newton_and_the_dual_find_one_svm() {
    let ctx = FitContext::unhurried();
    let (x, y) = draw(120, 6, 2, 1.0);
    let raw = rows(&x, false);
    let targets = one_vs_rest(&y, 0, raw.n_padded());
    let c = 0.5;
    let shared = dual::Shared::new(raw, &[c], &ctx).unwrap();
    assert!(shared.passes_suffice(c) && !shared.passes_suffice(100.0));
    let newton = shared.solve(&targets, c, Stream::new(1), &ctx).unwrap();
    let slopes = gradient(&x, &y, &newton, |y, z| -2.0 * y * (1.0 - y * z).max(0.0));
    for (w, g) in newton.iter().zip(&slopes) {
        assert!((w + c * g).abs() < 1e-8);
    }
    let descent = shared.descend(&targets, c, Stream::new(1), &ctx).unwrap();
    for (a, b) in newton.iter().zip(&descent) {
        assert!((a - b).abs() < 1e-4, "{newton:?} {descent:?}");
    }
}

#[test]
fn the_squared_hinge_is_its_own_quadratic() {
    // Separable, so that rows leave the active set on the way.
    let (x, y) = draw(90, 40, 2, 3.0);
    let ctx = FitContext::unhurried();
    let shared = newton::Shared::new(Arc::new(rows(&x, true)), &ctx).unwrap();
    let targets = one_vs_rest(&y, 0, shared.rows().n_padded());
    let w = shared.solve::<SquaredHinge>(&targets, 16.0, &ctx).unwrap();
    let slopes = gradient(&x, &y, &w, |y, z| -2.0 * y * (1.0 - y * z).max(0.0));
    let worst = w.iter().zip(&slopes).map(|(w, g)| (w + 16.0 * g).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-6, "{worst}");
}

#[test]
fn saga_comes_to_rest_near_the_optimum() {
    let (x, y) = draw(300, 5, 2, 1.0);
    let ctx = FitContext::unhurried();
    let plain = Rows::raw(&x, false, &ctx, "test").unwrap();
    let strength = 1.0 / 300.0;
    let settings = [
        saga::Penalties { alpha: strength, beta: 0.0 },
        saga::Penalties { alpha: 0.0, beta: strength },
    ];
    let walks = saga::walk(&plain, &y, &settings, &ctx, "test").unwrap();
    for (walk, is_l1) in walks.iter().zip([false, true]) {
        let (weights, intercept) = &walk.outputs[0];
        let w: Vec<f64> = weights.iter().copied().chain([*intercept]).collect();
        let slopes = gradient(&x, &y, &w, logistic_slope);
        for j in 0..5 {
            let penalty = if is_l1 { w[j].signum() } else { w[j] };
            assert!((slopes[j] + penalty).abs() < 0.2, "column {j}: {}", slopes[j] + penalty);
        }
        // The intercept is free.
        assert!(slopes[5].abs() < 0.2);
        assert!(walk.epochs < 100);
    }
}

/// Every member of a family is what it is alone, bit for bit.
fn check_family<E: Estimator>(members: &[E], x: &Features, y: &Labels) {
    let ctx = FitContext::unhurried();
    let family = E::evaluate_family(members, x, y, x, true, &ctx);
    let mut marginal = 0.0;
    for (member, result) in members.iter().zip(family) {
        let result = result.unwrap();
        let alone = member.fit(x, y, &ctx).unwrap().predict(x, &ctx).unwrap();
        assert_eq!(alone, result.prediction);
        assert!(result.alone_secs.is_finite());
        marginal += result.marginal_secs;
    }
    assert!(marginal.is_finite());
}

#[test]
fn members_of_a_family_are_what_they_are_alone() {
    for n_classes in [2, 3] {
        let (x, y) = draw(150, 6, n_classes, 1.0);
        for (solver, penalty) in [
            (Solver::Liblinear, Penalty::L1),
            (Solver::Liblinear, Penalty::L2),
            (Solver::Saga, Penalty::L1),
            (Solver::Saga, Penalty::L2),
        ] {
            let member = |c| LogisticRegression { c, solver, penalty };
            check_family(&[0.25, 1.0, 4.0].map(member), &x, &y);
        }
        check_family(&[0.125, 1.0, 16.0].map(|c| LinearSvm { c }), &x, &y);
    }
}

/// Probabilities that are some, for training rows and for rows far away.
fn check_bad_input<E: Estimator>(estimator: &E, x: &Features, y: &Labels, what: &str) {
    let ctx = FitContext::unhurried();
    let model = match estimator.fit(x, y, &ctx) {
        Ok(model) => model,
        Err(FitError::NotFinite { .. }) => return,
        Err(error) => panic!("{what}: {error}"),
    };
    let far = Features::from_columns(2, x.n_cols(), [1e300, -1e300].repeat(x.n_cols()));
    for test in [x, &far] {
        let prediction = model.predict(test, &ctx).unwrap();
        for i in 0..test.n_rows() {
            let row = prediction.probabilities.row(i);
            assert!(row.iter().all(|p| (0.0..=1.0).contains(p)), "{} {what}: {row:?}", E::NAME);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{} {what}", E::NAME);
        }
    }
}

fn check_all_on_bad_input(x: &Features, y: &Labels, what: &str) {
    for solver in [Solver::Liblinear, Solver::Saga] {
        for penalty in [Penalty::L1, Penalty::L2] {
            check_bad_input(&LogisticRegression { c: 4.0, solver, penalty }, x, y, what);
        }
    }
    check_bad_input(&LinearSvm { c: 16.0 }, x, y, what);
    check_bad_input(&LinearSvm { c: 0.125 }, x, y, what);
    check_bad_input(&Perceptron {}, x, y, what);
}

#[test]
fn bad_input_gives_probabilities_or_an_error() {
    let two = Features::from_columns(2, 1, vec![1.0, 2.0]);
    check_all_on_bad_input(&two, &Labels::from_codes([0, 1], 2), "two rows");
    let constant = Features::from_columns(4, 2, vec![3.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
    check_all_on_bad_input(&constant, &Labels::from_codes([0, 1, 1, 1], 2), "constant");
    let (x, y) = draw(200, 3, 50, 1.0);
    check_all_on_bad_input(&x, &y, "fifty classes");
    for scale in [1e300, 1e150, 1e-300, 5e-324] {
        let (x, y) = draw(40, 3, 2, 1.0);
        let scaled = x.columns().iter().map(|v| v * scale).collect();
        check_all_on_bad_input(&Features::from_columns(40, 3, scaled), &y, "one huge scale");
        let mixed: Vec<f64> = x
            .columns()
            .iter()
            .enumerate()
            .map(|(i, v)| if i < 40 { v * scale } else { *v })
            .collect();
        check_all_on_bad_input(&Features::from_columns(40, 3, mixed), &y, "a huge column");
    }
    let (x, y) = draw(40, 2, 2, 1.0);
    let collinear = x.columns().repeat(3);
    check_all_on_bad_input(&Features::from_columns(40, 6, collinear), &y, "collinear");
}

#[test]
fn a_deadline_that_has_passed_and_a_small_ceiling_are_heard() {
    let (x, y) = draw(30, 4, 2, 1.0);
    let late = FitContext::unhurried().with_deadline(Some(Instant::now()));
    let small = FitContext::unhurried().with_memory_limit(Some(100));
    for solver in [Solver::Liblinear, Solver::Saga] {
        for penalty in [Penalty::L1, Penalty::L2] {
            let estimator = LogisticRegression { c: 1.0, solver, penalty };
            assert_eq!(estimator.fit(&x, &y, &late).unwrap_err(), FitError::OutOfTime);
            let refused = estimator.fit(&x, &y, &small).unwrap_err();
            assert!(matches!(refused, FitError::OutOfMemory { .. }));
        }
    }
    assert_eq!(LinearSvm::default().fit(&x, &y, &late).unwrap_err(), FitError::OutOfTime);
    assert_eq!(Perceptron {}.fit(&x, &y, &late).unwrap_err(), FitError::OutOfTime);
}
