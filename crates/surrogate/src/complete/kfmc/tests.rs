//! Gradients against central differences, in double precision.

use faer::Mat;
use proptest::prelude::*;

use super::batch::{Shared, Work};
use super::dictionary::Dictionary;
use super::*;
use crate::algebra::spd_inverse;

const B: usize = 5;
const S2: f64 = 9.0;
const BETA: f64 = 0.01;

fn random(seed: u64, n: usize) -> Vec<f64> {
    (0..n).map(|i| crate::tensor::hash(seed, i as u64) as f64 / u64::MAX as f64 * 2.0).collect()
}

/// `1/2 ||phi(x) - phi(D) Z||^2 + beta/2 ||Z||^2`, with Z given or minimised out. Plain loops.
fn objective(m: usize, x: &[f64], d: &[f64], codes: Option<&[f64]>) -> f64 {
    let r = d.len() / m;
    let kernel = |a: &[f64], b: &[f64]| {
        let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        (-distance / (2.0 * S2)).exp()
    };
    let atom = |i: usize| &d[i * m..(i + 1) * m];
    let k_dd = Mat::from_fn(r, r, |i, j| kernel(atom(i), atom(j)));
    let regular = Mat::from_fn(r, r, |i, j| k_dd[(i, j)] + if i == j { BETA } else { 0.0 });
    let inverse = spd_inverse(&regular).unwrap();
    let mut total = 0.0;
    for (j, column) in x.chunks(m).enumerate() {
        let k: Vec<f64> = (0..r).map(|i| kernel(atom(i), column)).collect();
        let solved: Vec<f64> =
            (0..r).map(|i| (0..r).map(|l| inverse[(i, l)] * k[l]).sum()).collect();
        let z = codes.map_or(&solved[..], |codes| &codes[j * r..(j + 1) * r]);
        total += 0.5;
        for i in 0..r {
            total -= z[i] * k[i];
            total += 0.5 * BETA * z[i] * z[i];
            total += (0..r).map(|l| 0.5 * z[i] * k_dd[(i, l)] * z[l]).sum::<f64>();
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// With fewer rows and atoms than a SIMD group has lanes, and with more.
    #[test]
    fn both_gradients_equal_central_differences(seed in 0..1000_u64, large in any::<bool>()) {
        let (m, r) = if large { (19, 18) } else { (7, 4) };
        let (x, d) = (random(seed, B * m), random(seed + 1000, r * m));
        let dictionary = Dictionary::new(m, S2, d.clone());
        let shared = Shared::new(&dictionary, BETA).unwrap();
        let all: Vec<usize> = (0..B).collect();
        let mut work = Work::gather(&all, &x, &vec![true; B * m], m, r);
        let by_column = work.gradient(&dictionary, &shared);
        let codes = work.codes.clone();
        prop_assert!(work.totals.iter().all(|&w| w > 0.0), "C is positive definite");
        for (at, &g) in by_column.iter().enumerate() {
            for codes in [None, Some(&codes[..])] {
                let want = difference(at, &x, |x| objective(m, x, &d, codes));
                prop_assert!((g - want).abs() < 1e-8, "x {at}: {g} {want}");
            }
        }
        let (by_atom, bound) = dictionary.gradient(&shared, &[work.sums(&dictionary)]);
        prop_assert!(bound > 0.0);
        for (at, &g) in by_atom.iter().enumerate() {
            for codes in [None, Some(&codes[..])] {
                let want = difference(at, &d, |d| objective(m, &x, d, codes));
                prop_assert!((g - want).abs() < 1e-8, "D {at}: {g} {want}");
            }
        }
    }
}

#[test]
fn moving_the_missing_entries_lowers_the_objective_and_spares_the_others() {
    let (m, r) = (19, 18);
    let (x, d) = (random(3, B * m), random(4, r * m));
    let dictionary = Dictionary::new(m, S2, d.clone());
    let shared = Shared::new(&dictionary, BETA).unwrap();
    let missing: Vec<bool> = (0..B * m).map(|at| at % 3 == 0).collect();
    let all: Vec<usize> = (0..B).collect();
    let mut last = objective(m, &x, &d, None);
    let mut work = Work::gather(&all, &x, &missing, m, r);
    let settings = Kfmc { momentum: 0.0, ..Kfmc::new(r) };
    for _ in 0..20 {
        work.iterate(&dictionary, &shared, &settings, 1);
        let now = objective(m, &work.x, &d, None);
        assert!(now <= last + 1e-12, "{now} {last}");
        last = now;
    }
    for at in 0..B * m {
        assert_eq!(missing[at], work.x[at] != x[at], "{at}");
    }
}
