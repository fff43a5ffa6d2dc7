//! Laws of tensors and completions, on small random ones.

use ndarray::{Array2, ArrayD, IxDyn};
use pitchpipe_surrogate::complete::{
    EmOptions, Kfmc, choose_ranks, complete, complete_matrix, complete_tucker,
    complete_tucker_generally,
};
use pitchpipe_surrogate::tensor::{fold, gram, mode_product, relative_error, unfold};
use pitchpipe_surrogate::tucker::DegreesOfFreedom;
use pitchpipe_surrogate::{PartialTensor, SurrogateError, Tucker};
use proptest::prelude::*;

/// A repeatable number between 0 and 1.
fn noise(seed: u64, at: usize) -> f64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (at as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z = (z ^ (z >> 27)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64
}

fn random(shape: &[usize], seed: u64) -> ArrayD<f64> {
    let n: usize = shape.iter().product();
    ArrayD::from_shape_vec(IxDyn(shape), (0..n).map(|i| noise(seed, i)).collect()).unwrap()
}

/// A tensor of the given ranks.
fn low_rank(shape: &[usize], ranks: &[usize], seed: u64) -> ArrayD<f64> {
    let mut tensor = random(ranks, seed);
    for (mode, (&side, &rank)) in shape.iter().zip(ranks).enumerate() {
        let factor = random(&[side, rank], seed + 1 + mode as u64);
        let factor = factor.into_dimensionality().unwrap();
        tensor = mode_product(tensor.view(), mode, factor.view()).unwrap();
    }
    let scale = tensor.iter().fold(0.0_f64, |a, &b| a.max(b.abs()));
    tensor / scale
}

fn partial(tensor: &ArrayD<f64>, missing: f64, seed: u64) -> PartialTensor<f64> {
    let whole = ArrayD::from_elem(tensor.raw_dim(), true);
    PartialTensor::new(tensor.clone(), whole).unwrap().hold_out(missing, seed).0
}

fn closeness(a: &ArrayD<f64>, b: &ArrayD<f64>) -> f64 {
    (a - b).iter().fold(0.0, |most, d| d.abs().max(most))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn folding_undoes_unfolding(shape in prop::collection::vec(1_usize..5, 2..6), seed in 0_u64..99) {
        let tensor = random(&shape, seed);
        for mode in 0..shape.len() {
            let unfolded = unfold(tensor.view(), mode).unwrap();
            prop_assert_eq!(unfolded.nrows(), shape[mode]);
            let folded = fold(unfolded.view(), mode, &shape).unwrap();
            prop_assert_eq!(&folded, &tensor);
        }
    }

    #[test]
    fn a_mode_product_multiplies_the_unfolding(side in 1_usize..5, seed in 0_u64..99) {
        let tensor = random(&[3, 4, 2], seed);
        let matrix: Array2<f64> = random(&[side, 4], seed + 1).into_dimensionality().unwrap();
        let product = mode_product(tensor.view(), 1, matrix.view()).unwrap();
        let want = matrix.dot(&unfold(tensor.view(), 1).unwrap());
        let got = unfold(product.view(), 1).unwrap();
        prop_assert!((&got - &want).iter().all(|d| d.abs() < 1e-12));
    }

    #[test]
    fn the_trace_of_every_gram_matrix_is_the_squared_norm(seed in 0_u64..99) {
        let tensor = random(&[3, 4, 2, 5], seed);
        let norm = tensor.mapv(|v| v * v).sum();
        for mode in 0..4 {
            let gram = gram(tensor.view(), mode).unwrap();
            prop_assert!((gram.diag().sum() - norm).abs() < 1e-9 * norm);
        }
    }

    #[test]
    fn tucker_of_full_rank_reproduces(shape in prop::collection::vec(1_usize..5, 2..5), seed in 0_u64..99) {
        let tensor = random(&shape, seed);
        // A side longer than all others together has no more independent slices than they allow.
        let ranks: Vec<usize> = (0..shape.len())
            .map(|k| {
                let others: usize = shape.iter().product::<usize>() / shape[k];
                shape[k].min(others)
            })
            .collect();
        let tucker = Tucker::fit(tensor.view(), &ranks, 1).unwrap();
        prop_assert!(closeness(&tucker.reconstruct().unwrap(), &tensor) < 1e-9);
    }

    #[test]
    fn more_sweeps_never_fit_worse(seed in 0_u64..99) {
        let tensor = random(&[6, 3, 5, 4], seed);
        let mut last = f64::INFINITY;
        for sweeps in 0..4 {
            let fit = Tucker::fit(tensor.view(), &[2, 2, 3, 2], sweeps).unwrap();
            let off = (&fit.reconstruct().unwrap() - &tensor).mapv(|v| v * v).sum();
            prop_assert!(off <= last + 1e-9);
            last = off;
        }
    }

    #[test]
    fn plain_completion_spares_observed_entries_and_never_fits_them_worse(
        seed in 0_u64..99,
        missing in 0.05_f64..0.5,
        rank in 1_usize..4,
    ) {
        let tensor = low_rank(&[9, 2, 3, 7], &[3, 2, 3, 3], seed) + &(random(&[9, 2, 3, 7], seed + 9) * 0.05);
        let observed = partial(&tensor, missing, seed);
        let options = EmOptions { tolerance: 0.0, max_rounds: 30, ..EmOptions::plain() };
        let by_tucker = complete_tucker(&observed, &[rank, 2, 3, rank], &options).unwrap();
        let by_general = complete_tucker(&observed, &[rank, 2, 2, rank], &options).unwrap();
        let by_matrix = complete_matrix(&observed, rank, &options).unwrap();
        for (values, progress) in [
            (by_tucker.values, by_tucker.progress),
            (by_general.values, by_general.progress),
            (by_matrix.values, by_matrix.progress),
        ] {
            for at in 0..values.len() {
                prop_assert!(values[at].is_finite());
                prop_assert!(!observed.mask()[at] || values[at] == observed.values()[at]);
            }
            for pair in progress.residuals.windows(2) {
                prop_assert!(pair[1] <= pair[0]);
            }
        }
    }

    #[test]
    fn the_shortcut_equals_the_general_iteration(seed in 0_u64..99, shrinkage in prop::sample::select(vec![0.0, 0.8])) {
        let tensor = random(&[8, 3, 6], seed);
        let observed = partial(&tensor, 0.2, seed);
        let options = EmOptions { shrinkage, max_rounds: 6, settled: 0.0, tolerance: 0.0 };
        let short = complete_tucker(&observed, &[3, 3, 2], &options).unwrap();
        let general = complete_tucker_generally(&observed, &[3, 3, 2], &options).unwrap();
        for (a, b) in short.values.iter().zip(&general.values) {
            prop_assert!((a - b).abs() < 1e-8, "{a} {b}");
        }
        let (a, b) = (short.tucker.reconstruct().unwrap(), general.tucker.reconstruct().unwrap());
        prop_assert!(closeness(&a, &b) < 1e-8);
    }
}

#[test]
fn a_low_rank_tensor_is_recovered_from_half_of_it() {
    let tensor = low_rank(&[20, 2, 4, 15], &[2, 2, 4, 2], 5);
    let observed = partial(&tensor, 0.5, 5);
    let options = EmOptions { tolerance: 1e-7, ..EmOptions::plain() };
    let completed = complete_tucker(&observed, &[2, 2, 4, 2], &options).unwrap();
    let values = ArrayD::from_shape_vec(tensor.raw_dim(), completed.values).unwrap();
    let all = ArrayD::from_elem(tensor.raw_dim(), true);
    let error = relative_error(tensor.view(), values.view(), all.view()).unwrap().unwrap();
    assert!(error < 1e-6, "{error}");
}

#[test]
fn shrinkage_saves_a_rank_chosen_too_large() {
    let tensor =
        low_rank(&[40, 2, 3, 30], &[2, 2, 3, 2], 8) + &((random(&[40, 2, 3, 30], 80) - 0.5) * 0.1);
    let whole = partial(&tensor, 0.0, 1);
    let (observed, held) = whole.hold_out(0.5, 3);
    let ranks = [12, 2, 3, 12];
    let plain = complete_tucker(&observed, &ranks, &EmOptions::plain()).unwrap();
    let shrunk = complete_tucker(&observed, &ranks, &EmOptions::shrunk()).unwrap();
    let error = |values: &[f64]| whole.relative_error_at(values, &held);
    assert!(error(&shrunk.values) < 0.8 * error(&plain.values));
}

#[test]
fn the_rank_is_chosen_by_what_was_held_out() {
    let tensor =
        low_rank(&[30, 2, 2, 20], &[3, 2, 2, 3], 11) + &((random(&[30, 2, 2, 20], 7) - 0.5) * 0.05);
    let observed = partial(&tensor, 0.3, 2);
    let candidates: Vec<_> =
        [1, 3, 15].iter().map(|&r| (vec![r, 2, 2, r], EmOptions::plain())).collect();
    let choice = choose_ranks(&observed, &candidates, 4).unwrap();
    assert_eq!(choice.ranks, [3, 2, 2, 3]);
    let (completion, choice) = complete(&observed, 4).unwrap();
    assert!(choice.error < 0.02, "{choice:?}");
    assert!(completion.values.iter().all(|v| v.is_finite()));
}

#[test]
fn the_same_on_any_number_of_threads() {
    let tensor = low_rank(&[37, 2, 3, 29], &[4, 2, 3, 4], 3);
    let observed = partial(&tensor, 0.4, 3);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let tucker = complete_tucker(&observed, &[4, 2, 3, 4], &EmOptions::shrunk()).unwrap();
            let matrix = complete_matrix(&observed, 4, &EmOptions::plain()).unwrap();
            let kernel =
                Kfmc { passes: 2, batch: 50, ..Kfmc::new(20) }.complete(&observed).unwrap();
            (tucker.values, matrix.values, kernel.values)
        })
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn kernel_completion_beats_the_additive_fill_and_predicts_rows_and_columns() {
    let tensor = low_rank(&[24, 2, 2, 40], &[3, 2, 2, 3], 21);
    let whole = partial(&tensor, 0.0, 1);
    let (observed, held) = whole.hold_out(0.3, 6);
    let additive = pitchpipe_surrogate::complete::Additive::fit(&observed).filled(&observed);
    let kernel = Kfmc { batch: 40, passes: 6, ..Kfmc::new(24) }.complete(&observed).unwrap();
    let (before, after) =
        (whole.relative_error_at(&additive, &held), whole.relative_error_at(&kernel.values, &held));
    assert!(after < 0.5 * before, "{after} {before}");
    for at in 0..kernel.values.len() {
        assert!(!observed.mask()[at] || kernel.values[at] == observed.values()[at]);
    }
    // The row of a known dataset, seen in part, and the column of a known pipeline, seen in part.
    let row = &tensor.as_slice().unwrap()[..160];
    for step in [4, 16] {
        let seen: Vec<usize> = (0..160).step_by(step).collect();
        let errors: Vec<f64> = seen.iter().map(|&j| row[j]).collect();
        let predicted = kernel.model.predict_dataset(&seen, &errors, 1e-3).unwrap();
        let off: f64 = predicted.iter().zip(row).map(|(p, t)| (p - t).powi(2)).sum();
        assert!(off / row.iter().map(|t| t * t).sum::<f64>() < 0.05, "{step}");
    }
    let column: Vec<f64> = (0..24).map(|i| tensor.as_slice().unwrap()[i * 160 + 5]).collect();
    let seen: Vec<usize> = (0..24).step_by(2).collect();
    let errors: Vec<f64> = seen.iter().map(|&i| column[i]).collect();
    let new = kernel.model.predict_pipeline(&seen, &errors).unwrap();
    assert_eq!(new.code.len(), 24);
    let off: f64 = new.errors.iter().zip(&column).map(|(p, t)| (p - t).powi(2)).sum();
    assert!(off / column.iter().map(|t| t * t).sum::<f64>() < 0.05);
}

#[test]
fn nested_embeddings_of_a_tucker_completion_reproduce_it() {
    let tensor = low_rank(&[10, 2, 3, 8], &[3, 2, 3, 2], 4);
    let tucker = Tucker::fit(tensor.view(), &[3, 2, 3, 2], 3).unwrap();
    let (x, y) = tucker.embeddings().unwrap();
    let back = x.t().dot(&y);
    let want = unfold(tensor.view(), 0).unwrap();
    assert!((&back - &want).iter().all(|d| d.abs() < 1e-6));
    let gram = y.dot(&y.t());
    assert!((&gram - &Array2::<f64>::eye(gram.nrows())).iter().all(|d| d.abs() < 1e-6));
}

#[test]
fn bad_input_is_a_typed_error_and_gaps_have_a_fallback() {
    let tensor = random(&[4, 2, 5], 1);
    let whole = |t: &ArrayD<f64>| ArrayD::from_elem(t.raw_dim(), true);
    let mut bad = tensor.clone();
    bad[[1, 0, 0]] = f64::INFINITY;
    let err = PartialTensor::new(bad.clone(), whole(&bad)).unwrap_err();
    assert!(matches!(err, SurrogateError::NotFinite { at: 10, .. }));
    let mut mask = whole(&bad);
    mask[[1, 0, 0]] = false; // an unobserved entry may hold anything
    let observed = PartialTensor::new(bad, mask.clone()).unwrap();
    let fine = complete_tucker(&observed, &[2, 2, 2], &EmOptions::shrunk()).unwrap();
    assert!(fine.values.iter().all(|v| v.is_finite()));

    for k in 0..5 {
        mask[[2, 0, k]] = false;
        mask[[2, 1, k]] = false;
    }
    let err = PartialTensor::new(tensor.clone(), mask).unwrap_err();
    assert_eq!(err, SurrogateError::Unobserved { axis: 0, index: 2 });

    let mut mask = whole(&tensor);
    (0..4).for_each(|i| mask[[i, 1, 3]] = false); // a pipeline never seen
    let observed = PartialTensor::new(tensor.clone(), mask).unwrap();
    for options in [EmOptions::plain(), EmOptions::shrunk()] {
        let matrix = complete_matrix(&observed, 2, &options).unwrap();
        let tucker = complete_tucker(&observed, &[2, 2, 2], &options).unwrap();
        assert!(matrix.values.iter().chain(&tucker.values).all(|v| v.is_finite()));
    }
    let kernel = Kfmc { passes: 1, ..Kfmc::new(4) }.complete(&observed).unwrap();
    assert!(kernel.values.iter().all(|v| v.is_finite()));

    let rank =
        |ranks: &[usize]| complete_tucker(&observed, ranks, &EmOptions::plain()).unwrap_err();
    assert!(matches!(rank(&[5, 2, 2]), SurrogateError::Rank { axis: 0, rank: 5, side: 4 }));
    assert!(matches!(rank(&[2, 0, 2]), SurrogateError::Rank { axis: 1, .. }));
    assert!(matches!(rank(&[2, 2]), SurrogateError::Size { .. }));
    let zero = complete_matrix(&observed, 0, &EmOptions::plain());
    assert!(matches!(zero, Err(SurrogateError::Rank { .. })));
    let many = Kfmc::new(11).complete(&observed);
    assert!(matches!(many, Err(SurrogateError::Rank { axis: 1, .. })));
    let negative = Kfmc { beta: -1.0, ..Kfmc::new(2) }.complete(&observed);
    assert!(matches!(negative, Err(SurrogateError::Setting { name: "beta", .. })));
    let empty = PartialTensor::new(random(&[0, 3], 1), ArrayD::from_elem(IxDyn(&[0, 3]), true));
    assert!(matches!(empty, Err(SurrogateError::Empty { .. })));
    let none = kernel.model.predict_dataset(&[], &[], 0.1);
    assert!(matches!(none, Err(SurrogateError::Empty { .. })));
    let beyond = kernel.model.predict_dataset(&[10], &[0.5], 0.1);
    assert!(matches!(beyond, Err(SurrogateError::OutOfRange { index: 10, size: 10, .. })));
}

#[test]
fn constant_and_zero_tensors_complete_to_numbers() {
    for level in [0.0, 0.5] {
        let tensor = ArrayD::from_elem(IxDyn(&[6, 2, 4]), level);
        let observed = partial(&tensor, 0.3, 1);
        for options in [EmOptions::plain(), EmOptions::shrunk()] {
            let tucker = complete_tucker(&observed, &[3, 2, 2], &options).unwrap();
            assert!(tucker.values.iter().all(|v| (v - level).abs() < 1e-3));
        }
        let kernel = Kfmc { passes: 1, ..Kfmc::new(3) }.complete(&observed).unwrap();
        assert!(kernel.values.iter().all(|v| (v - level).abs() < 1e-3));
    }
}

#[test]
fn a_tensor_needs_fewer_numbers_than_its_unfolding_or_its_slices() {
    let counts = DegreesOfFreedom::of(3, 10, 2).unwrap();
    assert_eq!(counts, DegreesOfFreedom { tucker: 56, unfolded: 216, slices: 360 });
    for (order, side, rank) in [(3, 5, 1), (4, 6, 3), (6, 9, 8)] {
        let c = DegreesOfFreedom::of(order, side, rank).unwrap();
        assert!(c.tucker < c.unfolded && c.unfolded < c.slices);
    }
    assert_eq!(DegreesOfFreedom::of(3, 2, 3), None);
}
