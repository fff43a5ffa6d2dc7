use super::*;
use crate::Stream;

/// Classes in rings around the origin: not linearly separable.
fn rings(n: usize, n_classes: u32, seed: u64) -> (Features, Labels) {
    let mut rng = Stream::new(seed).rng();
    let (mut a, mut b, mut y) = (vec![], vec![], vec![]);
    for _ in 0..n {
        let (u, v) = (2.0 * rng.random::<f64>() - 1.0, 2.0 * rng.random::<f64>() - 1.0);
        y.push((((u * u + v * v) * f64::from(n_classes)) as u32).min(n_classes - 1));
        a.push(u);
        b.push(v);
    }
    a.extend(b);
    (Features::from_columns(n, 2, a), Labels::from_codes(y, n_classes as usize))
}

fn share_right(model: &FittedMlp, x: &Features, y: &Labels) -> f64 {
    let answer = model.predict(x, &FitContext::unhurried()).unwrap();
    let right = answer.labels.codes().iter().zip(y.codes()).filter(|(a, b)| a == b).count();
    right as f64 / y.len() as f64
}

#[test]
fn learns_rings_with_both_solvers_for_two_classes_and_more() {
    for solver in [MlpSolver::Adam, MlpSolver::Sgd] {
        for n_classes in [2, 3] {
            let (x, y) = rings(700, n_classes, 1);
            let mlp = Mlp { learning_rate_init: 0.01, solver, alpha: 1e-4 };
            let model = mlp.fit(&x, &y, &FitContext::unhurried()).unwrap();
            let got = share_right(&model, &x, &y);
            assert!(got > 0.9, "{solver:?} {n_classes}: {got}");
        }
    }
}

/// The loss in double precision, for the gradient to be checked against.
fn slow_loss(shape: Shape, weights: &[f64], rows: &[f32], classes: &[u32]) -> f64 {
    let w = |i: usize| weights[i];
    let mut loss = 0.0;
    for (row, &class) in rows.chunks_exact(shape.inputs).zip(classes) {
        let hidden: Vec<f64> = (0..shape.hidden_width)
            .map(|h| {
                let sum: f64 = (0..shape.inputs)
                    .map(|j| f64::from(row[j]) * w(j * shape.hidden_width + h))
                    .sum();
                sum.max(0.0)
            })
            .collect();
        let output = |k: usize| {
            let start = shape.output_start() + k * shape.hidden_width;
            w(shape.bias_start() + k)
                + hidden.iter().enumerate().map(|(h, a)| a * w(start + h)).sum::<f64>()
        };
        let outputs: Vec<f64> = (0..shape.outputs).map(output).collect();
        loss += if shape.outputs == 1 {
            let sign = if class == 1 { -1.0 } else { 1.0 };
            (sign * outputs[0]).exp().ln_1p()
        } else {
            outputs.iter().map(|v| v.exp()).sum::<f64>().ln() - outputs[class as usize]
        };
    }
    loss
}

#[test]
fn the_gradient_is_the_slope_of_the_loss() {
    for n_classes in [2, 3, 9] {
        let (n, n_cols) = (71, 5);
        let shape = Shape::of(n_cols, n_classes);
        let mut rng = Stream::new(3).rng();
        let weights = glorot(shape, &mut rng);
        let mut rows: Vec<f32> = (0..n * shape.inputs).map(|_| rng.random::<f32>() - 0.5).collect();
        rows.iter_mut().skip(n_cols).step_by(shape.inputs).for_each(|v| *v = 1.0);
        let classes: Vec<u32> = (0..n as u32).map(|i| i % n_classes as u32).collect();
        let mut gradient = vec![0.0; shape.n_weights()];
        let mut scratch = Scratch::new(shape);
        let loss = pulp::Arch::new().dispatch(Backward {
            shape,
            weights: &weights,
            rows: &rows,
            classes: &classes,
            gradient: &mut gradient,
            scratch: &mut scratch,
        });
        let mut weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        let slow = slow_loss(shape, &weights, &rows, &classes);
        assert!((loss / slow - 1.0).abs() < 1e-5, "{n_classes}: {loss} {slow}");
        for i in (0..shape.bias_start() + shape.outputs).step_by(7) {
            let kept = weights[i];
            // So small a difference meets no corner of a rectifier.
            let mut at = |v: f64| {
                weights[i] = v;
                slow_loss(shape, &weights, &rows, &classes)
            };
            let slope = (at(kept + 1e-7) - at(kept - 1e-7)) / 2e-7;
            weights[i] = kept;
            let got = f64::from(gradient[i]) * n as f64;
            assert!((got - slope).abs() < 1e-4 * (1.0 + slope.abs()), "{i}: {got} {slope}");
        }
    }
}

#[test]
fn one_stream_gives_one_model() {
    let (x, y) = rings(150, 3, 5);
    let fit = |seed| {
        let ctx = FitContext::unhurried().with_stream(Stream::new(seed));
        Mlp::default().fit(&x, &y, &ctx).unwrap()
    };
    assert_eq!(fit(7), fit(7));
    assert_ne!(fit(7), fit(8));
}

#[test]
fn huge_numbers_are_an_error_in_training_and_an_answer_in_prediction() {
    let y = Labels::from_codes([0, 1, 0, 1], 2);
    let ctx = FitContext::unhurried();
    let huge = Features::from_columns(4, 1, vec![1e300, 0.0, -1e300, 1.0]);
    let refused = Mlp::default().fit(&huge, &y, &ctx).unwrap_err();
    assert_eq!(refused, FitError::NotFinite { component: "mlp" });
    for scale in [1.0, 1e15] {
        let x = Features::from_columns(4, 1, [1.0, 0.0, -1.0, 0.5].map(|v| v * scale).to_vec());
        for solver in [MlpSolver::Adam, MlpSolver::Sgd] {
            let mlp = Mlp { learning_rate_init: 0.01, solver, alpha: 1e-4 };
            match mlp.fit(&x, &y, &ctx) {
                Ok(model) => {
                    let answer = model.predict(&huge, &ctx).unwrap();
                    assert!(answer.probabilities.values().iter().all(|p| p.is_finite()));
                }
                Err(e) => assert_eq!(e, FitError::NotFinite { component: "mlp" }),
            }
        }
    }
}

#[test]
fn stops_at_the_deadline() {
    let (x, y) = rings(50, 2, 1);
    let late = FitContext::unhurried().with_deadline(Some(std::time::Instant::now()));
    assert_eq!(Mlp::default().fit(&x, &y, &late).unwrap_err(), FitError::OutOfTime);
}
