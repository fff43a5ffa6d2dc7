//! Gradients against central differences, in double precision.

use faer::Mat;

use super::batch::{Shared, Work};
use super::dictionary::Dictionary;
use super::*;
use crate::algebra::spd_inverse;

const M: usize = 7;
const B: usize = 5;
const R: usize = 4;
const S2: f64 = 9.0;
const BETA: f64 = 0.01;

fn random(seed: u64, n: usize) -> Vec<f64> {
    (0..n).map(|i| crate::tensor::hash(seed, i as u64) as f64 / u64::MAX as f64 * 2.0).collect()
}

/// `1/2 ||phi(x) - phi(D) Z||^2 + beta/2 ||Z||^2`, with Z given or minimised out. Plain loops.
fn objective(x: &[f64], d: &[f64], codes: Option<&[f64]>) -> f64 {
    let kernel = |a: &[f64], b: &[f64]| {
        let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        (-distance / (2.0 * S2)).exp()
    };
    let atom = |i: usize| &d[i * M..(i + 1) * M];
    let k_dd = Mat::from_fn(R, R, |i, j| kernel(atom(i), atom(j)));
    let regular = Mat::from_fn(R, R, |i, j| k_dd[(i, j)] + if i == j { BETA } else { 0.0 });
    let inverse = spd_inverse(&regular).unwrap();
    let mut total = 0.0;
    for (j, column) in x.chunks(M).enumerate() {
        let k: Vec<f64> = (0..R).map(|i| kernel(atom(i), column)).collect();
        let solved: Vec<f64> =
            (0..R).map(|i| (0..R).map(|l| inverse[(i, l)] * k[l]).sum()).collect();
        let z = codes.map_or(&solved[..], |codes| &codes[j * R..(j + 1) * R]);
        total += 0.5;
        for i in 0..R {
            total -= z[i] * k[i];
            total += 0.5 * BETA * z[i] * z[i];
            total += (0..R).map(|l| 0.5 * z[i] * k_dd[(i, l)] * z[l]).sum::<f64>();
        }
    }
    total
}

fn difference(at: usize, values: &[f64], f: impl Fn(&[f64]) -> f64) -> f64 {
    let step = 1e-5;
    let moved = |by: f64| {
        let mut moved = values.to_vec();
        moved[at] += by;
        f(&moved)
    };
    (moved(step) - moved(-step)) / (2.0 * step)
}

#[test]
fn both_gradients_equal_central_differences() {
    let (x, d) = (random(1, B * M), random(2, R * M));
    let dictionary = Dictionary::new(M, S2, d.clone());
    let shared = Shared::new(&dictionary, BETA).unwrap();
    let all: Vec<usize> = (0..B).collect();
    let mut work = Work::gather(&all, &x, &[true; B * M], M, R);
    let by_column = work.gradient(&dictionary, &shared);
    let codes = work.codes.clone();
    assert!(work.totals.iter().all(|&w| w > 0.0), "C is positive definite");
    for (at, &g) in by_column.iter().enumerate() {
        for codes in [None, Some(&codes[..])] {
            let want = difference(at, &x, |x| objective(x, &d, codes));
            assert!((g - want).abs() < 1e-8, "x {at}: {g} {want}");
        }
    }
    let (by_atom, bound) = dictionary.gradient(&shared, &[work.sums(&dictionary)]);
    assert!(bound > 0.0);
    for (at, &g) in by_atom.iter().enumerate() {
        for codes in [None, Some(&codes[..])] {
            let want = difference(at, &d, |d| objective(&x, d, codes));
            assert!((g - want).abs() < 1e-8, "D {at}: {g} {want}");
        }
    }
}

#[test]
fn moving_the_missing_entries_lowers_the_objective_and_spares_the_others() {
    let (x, d) = (random(3, B * M), random(4, R * M));
    let dictionary = Dictionary::new(M, S2, d.clone());
    let shared = Shared::new(&dictionary, BETA).unwrap();
    let missing: Vec<bool> = (0..B * M).map(|at| at % 3 == 0).collect();
    let all: Vec<usize> = (0..B).collect();
    let mut last = objective(&x, &d, None);
    let mut work = Work::gather(&all, &x, &missing, M, R);
    let settings = Kfmc { momentum: 0.0, ..Kfmc::new(R) };
    for _ in 0..20 {
        work.iterate(&dictionary, &shared, &settings, 1);
        let now = objective(&work.x, &d, None);
        assert!(now <= last + 1e-12, "{now} {last}");
        last = now;
    }
    for at in 0..B * M {
        assert_eq!(missing[at], work.x[at] != x[at], "{at}");
    }
}
