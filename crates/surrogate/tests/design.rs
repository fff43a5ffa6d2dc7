//! Designs against exhaustive search and direct formulas.

use ndarray::Array2;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::design::{
    DesignVectors, Scalarization, by_size, by_time, design_blocks, from_prior_by_time,
    random_by_time, relax,
};
use pitchpipe_surrogate::search::{Action, Actions};
use proptest::prelude::*;

fn vectors(k: usize, n: usize, seed: f64) -> Array2<f32> {
    Array2::from_shape_fn((k, n), |(i, j)| {
        ((12.9898 * (i as f64 + seed) + 78.233 * (j as f64 + 0.37 * seed)).sin() * 43_758.545_3)
            .fract() as f32
    })
}

fn times(n: usize, seed: f64) -> Vec<f64> {
    (0..n).map(|j| 0.05 + (3.7 * (j as f64 + seed)).sin().abs()).collect()
}

/// log det(ridge I + Σ y yᵀ) over a set, by elimination; -inf where singular.
fn log_det(y: &Array2<f32>, set: &[usize], ridge: f64) -> f64 {
    let k = y.nrows();
    let mut x: Vec<Vec<f64>> = (0..k)
        .map(|a| {
            (0..k)
                .map(|b| {
                    let sum: f64 =
                        set.iter().map(|&j| f64::from(y[(a, j)]) * f64::from(y[(b, j)])).sum();
                    sum + if a == b { ridge } else { 0.0 }
                })
                .collect()
        })
        .collect();
    let mut total = 0.0;
    for i in 0..k {
        if x[i][i] <= 1e-14 {
            return f64::NEG_INFINITY;
        }
        total += x[i][i].ln();
        for a in i + 1..k {
            let f = x[a][i] / x[i][i];
            for b in i..k {
                x[a][b] -= f * x[i][b];
            }
        }
    }
    total
}

/// The next greedy choice found by trying every candidate.
fn brute_force_next(
    y: &Array2<f32>,
    secs: &[f64],
    limit: f64,
    set: &[usize],
    ridge: f64,
) -> Option<(usize, f64)> {
    let used: f64 = set.iter().map(|&j| secs[j]).sum();
    let now = log_det(y, set, ridge);
    let mut best: Option<(usize, f64)> = None;
    for j in (0..secs.len()).filter(|j| !set.contains(j) && used + secs[*j] <= limit) {
        let with: Vec<usize> = set.iter().copied().chain([j]).collect();
        // det ratio - 1 is the payoff yᵀ X⁻¹ y.
        let value = ((log_det(y, &with, ridge) - now).exp() - 1.0) / secs[j];
        if best.is_none_or(|(_, most)| value > most) {
            best = Some((j, value));
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_greedy_step_is_the_best_there_is(seed in 0.0..100.0f64, limit in 1.0..6.0f64) {
        let (y, secs) = (vectors(3, 24, seed), times(24, seed));
        let design = by_time(&DesignVectors::new(y.view()).unwrap(), &secs, limit).unwrap();
        prop_assert!(design.secs <= limit);
        let n_valid = secs.iter().filter(|&&t| t <= limit / 6.0).count();
        if n_valid >= 3 {
            for step in 3..=design.pipelines.len() {
                let wanted = brute_force_next(&y, &secs, limit, &design.pipelines[..step], 0.0);
                match (wanted, design.pipelines.get(step)) {
                    (None, None) => {}
                    (Some((best, value)), Some(&got)) => {
                        let with: Vec<usize> = design.pipelines[..=step].to_vec();
                        let ratio = log_det(&y, &with, 0.0) - log_det(&y, &design.pipelines[..step], 0.0);
                        let ours = (ratio.exp() - 1.0) / secs[got];
                        prop_assert!(best == got || ours > value * (1.0 - 1e-6));
                    }
                    (wanted, got) => prop_assert!(false, "{wanted:?} against {got:?}"),
                }
            }
        }
    }

    #[test]
    fn every_step_from_the_prior_is_the_best_there_is(seed in 0.0..100.0f64, limit in 0.1..4.0f64) {
        let (y, secs) = (vectors(3, 16, seed), times(16, seed));
        let design = from_prior_by_time(&DesignVectors::new(y.view()).unwrap(), &secs, limit).unwrap();
        prop_assert!(design.secs <= limit);
        for step in 0..design.pipelines.len() {
            let (best, value) =
                brute_force_next(&y, &secs, limit, &design.pipelines[..step], 1.0).unwrap();
            let got = design.pipelines[step];
            let with: Vec<usize> = design.pipelines[..=step].to_vec();
            let ratio = log_det(&y, &with, 1.0) - log_det(&y, &design.pipelines[..step], 1.0);
            prop_assert!(best == got || (ratio.exp() - 1.0) / secs[got] > value * (1.0 - 1e-6));
        }
        prop_assert!(brute_force_next(&y, &secs, limit, &design.pipelines, 1.0).is_none());
    }

    #[test]
    fn every_block_is_the_best_there_is(seed in 0.0..100.0f64, limit in 0.1..6.0f64) {
        let (y, secs) = (vectors(4, 30, seed), times(30, seed));
        let list: Vec<Action> = (0..12)
            .map(|a| Action {
                members: if a < 6 { (3 * a..3 * a + 3).collect() } else { vec![12 + a] },
                cost_factor: if a % 3 == 0 { 2.0 } else { 1.0 },
            })
            .collect();
        let actions = Actions::new(30, list.clone()).unwrap();
        let cost = |a: usize| actions.cost_secs(a, &secs, |_| true).unwrap();
        let members = |set: &[usize]| -> Vec<usize> {
            set.iter().flat_map(|&a| list[a].members.clone()).collect()
        };
        let vectors = DesignVectors::new(y.view()).unwrap();
        let design = design_blocks(&vectors, &actions, &secs, limit).unwrap();
        prop_assert!(design.secs <= limit);
        for step in 0..design.actions.len() {
            let before = &design.actions[..step];
            let used: f64 = before.iter().map(|&a| cost(a)).sum();
            let gain = |a: usize| {
                let mut with = before.to_vec();
                with.push(a);
                (log_det(&y, &members(&with), 1.0) - log_det(&y, &members(before), 1.0)) / cost(a)
            };
            let best = (0..12)
                .filter(|a| !before.contains(a) && used + cost(*a) <= limit)
                .map(gain)
                .fold(0.0, f64::max);
            prop_assert!(gain(design.actions[step]) > best * (1.0 - 1e-6));
        }
    }

    #[test]
    fn the_relaxation_bounds_every_design_of_its_size(seed in 0.0..100.0f64) {
        let y = vectors(2, 7, seed);
        let relaxed = relax(y.view(), &[1.0; 7], 3.0, Scalarization::D).unwrap();
        prop_assert!(relaxed.shares.iter().all(|v| (0.0..=1.0).contains(v)));
        prop_assert!(relaxed.shares.iter().sum::<f64>() <= 3.0 + 1e-9);
        for a in 0..7 {
            for b in a + 1..7 {
                for c in b + 1..7 {
                    prop_assert!(log_det(&y, &[a, b, c], 0.0) <= relaxed.objective + relaxed.gap + 1e-9);
                }
            }
        }
        prop_assert_eq!(relaxed.round(&[1.0; 7], 3.0).pipelines.len(), 3);
    }
}

#[test]
fn too_few_fast_pipelines_mean_the_fastest_prefix() {
    let y = vectors(5, 30, 1.0);
    let secs = times(30, 2.0);
    let design = by_time(&DesignVectors::new(y.view()).unwrap(), &secs, 0.4).unwrap();
    let mut order: Vec<usize> = (0..30).collect();
    order.sort_by(|&a, &b| secs[a].total_cmp(&secs[b]));
    assert_eq!(design.pipelines, order[..design.pipelines.len()]);
    let next = secs[order[design.pipelines.len()]];
    assert!(design.secs <= 0.4 && design.secs + next > 0.4);
}

#[test]
fn by_size_takes_pivots_then_the_best_payoffs() {
    let y = vectors(4, 40, 7.0);
    let vectors = DesignVectors::new(y.view()).unwrap();
    let design = by_size(&vectors, 12).unwrap();
    assert_eq!(design.pipelines.len(), 12);
    let ones = vec![1.0; 40];
    for step in 4..12 {
        let (best, _) = brute_force_next(&y, &ones, 1e9, &design.pipelines[..step], 0.0).unwrap();
        assert_eq!(best, design.pipelines[step]);
    }
    assert_eq!(by_size(&vectors, 3).unwrap().pipelines, design.pipelines[..3]);
}

#[test]
fn vectors_that_span_less_than_their_dimension_still_give_a_design() {
    // The third coordinate is a copy of the first.
    let y = Array2::from_shape_fn((3, 20), |(i, j)| vectors(2, 20, 3.0)[(i % 2, j)]);
    let design = by_time(&DesignVectors::new(y.view()).unwrap(), &times(20, 1.0), 5.0).unwrap();
    assert!(design.pipelines.len() > 2 && design.secs <= 5.0);
    let zeros = DesignVectors::new(Array2::zeros((3, 20)).view()).unwrap();
    assert!(matches!(by_size(&zeros, 4), Err(SurrogateError::Empty { .. })));
    assert!(!by_time(&zeros, &times(20, 1.0), 5.0).unwrap().pipelines.is_empty());
    let singular = relax(y.view(), &times(20, 1.0), 5.0, Scalarization::A);
    assert!(matches!(singular, Err(SurrogateError::NotConverged { .. })));
}

#[test]
fn orthogonal_vectors_are_relaxed_evenly_whatever_the_criterion() {
    let y = Array2::from_shape_fn((3, 3), |(i, j)| if i == j { 1.0 } else { 0.0 });
    for criterion in [Scalarization::D, Scalarization::A, Scalarization::E] {
        let relaxed = relax(y.view(), &[1.0; 3], 1.5, criterion).unwrap();
        assert!(relaxed.shares.iter().all(|v| (v - 0.5).abs() < 0.02), "{criterion:?}");
        assert!(relaxed.gap < 0.01);
    }
}

#[test]
fn a_weighted_design_avoids_what_is_badly_predicted() {
    let y = vectors(2, 20, 9.0);
    let mut sigma = vec![1.0; 20];
    let plain = by_size(&DesignVectors::new(y.view()).unwrap(), 4).unwrap();
    plain.pipelines.iter().for_each(|&j| sigma[j] = 100.0);
    let weighted = by_size(&DesignVectors::weighted(y.view(), &sigma).unwrap(), 4).unwrap();
    assert!(weighted.pipelines.iter().all(|j| !plain.pipelines.contains(j)));
}

#[test]
fn a_random_design_fits_and_follows_its_seed() {
    let secs = times(50, 4.0);
    let design = random_by_time(&secs, 6.0, false, 1).unwrap();
    assert!(design.secs <= 6.0 && !design.pipelines.is_empty());
    assert_eq!(design, random_by_time(&secs, 6.0, false, 1).unwrap());
    assert_ne!(design, random_by_time(&secs, 6.0, false, 2).unwrap());
    let filled = random_by_time(&secs, 6.0, true, 1).unwrap();
    assert!(filled.pipelines.starts_with(&design.pipelines) && filled.secs <= 6.0);
    assert!(
        secs.iter()
            .enumerate()
            .all(|(j, t)| filled.pipelines.contains(&j) || filled.secs + t > 6.0)
    );
}

#[test]
fn bad_input_is_a_typed_error() {
    let y = vectors(2, 6, 0.0);
    let vectors = DesignVectors::new(y.view()).unwrap();
    let mut secs = times(6, 0.0);
    assert!(matches!(by_time(&vectors, &secs[..5], 1.0), Err(SurrogateError::Size { .. })));
    assert!(matches!(by_time(&vectors, &secs, f64::NAN), Err(SurrogateError::Setting { .. })));
    assert!(matches!(by_time(&vectors, &secs, -1.0), Err(SurrogateError::Setting { .. })));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        secs[3] = bad;
        let refused = |r: Result<(), SurrogateError>| {
            matches!(r, Err(SurrogateError::NotPositive { at: 3, .. }))
        };
        assert!(refused(by_time(&vectors, &secs, 1.0).map(|_| ())));
        assert!(refused(relax(y.view(), &secs, 1.0, Scalarization::D).map(|_| ())));
        assert!(refused(random_by_time(&secs, 1.0, false, 0).map(|_| ())));
    }
    let holed = Array2::from_elem((2, 3), f32::NAN);
    assert!(matches!(DesignVectors::new(holed.view()), Err(SurrogateError::NotFinite { .. })));
    assert!(matches!(
        DesignVectors::new(Array2::zeros((0, 3)).view()),
        Err(SurrogateError::Empty { .. })
    ));
}
