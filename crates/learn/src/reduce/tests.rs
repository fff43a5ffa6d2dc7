use proptest::prelude::*;

use super::*;

fn features(n_rows: usize, columns: Vec<f64>) -> Arc<Features> {
    let n_cols = columns.len() / n_rows;
    Arc::new(Features::from_columns(n_rows, n_cols, columns))
}

/// Numbers without a pattern, the same every run.
fn noise(n: usize) -> Vec<f64> {
    let mut rng = crate::Stream::new(7).rng();
    (0..n)
        .map(|_| (rand::Rng::next_u64(&mut rng) >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
        .collect()
}

fn no_classes(n: usize) -> Labels {
    Labels::from_codes(vec![0; n], 2)
}

/// Sums of squares and products of scores: diagonal, descending, as large as the data's.
fn check_components(x: &Arc<Features>, n_raw: usize, share: Share) {
    let ctx = FitContext::unhurried();
    let fitted = Reducer::Pca(share).fit(x, &no_classes(x.n_rows()), n_raw, &ctx).unwrap();
    let scores = fitted.transform(x, &ctx).unwrap();
    let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let largest = product(scores.column(0), scores.column(0));
    let mut last = f64::INFINITY;
    for j in 0..scores.n_cols() {
        let own = product(scores.column(j), scores.column(j));
        assert!(own <= last * (1.0 + 1e-9) + 1e-9, "component {j} varies more than the one before");
        last = own;
        for k in 0..j {
            let cross = product(scores.column(j), scores.column(k));
            assert!(
                cross.abs() <= 1e-10 * largest,
                "components {j} and {k} are correlated: {cross}"
            );
        }
    }
}

#[test]
fn components_are_uncorrelated_tall_wide_and_collinear() {
    check_components(&features(300, noise(300 * 20)), 20, Share::ThreeQuarters);
    check_components(&features(20, noise(20 * 300)), 300, Share::ThreeQuarters);
    let mut collinear = noise(50 * 4);
    let copies = collinear.clone();
    collinear.extend(copies);
    check_components(&features(50, collinear), 8, Share::ThreeQuarters);
}

#[test]
fn a_column_far_smaller_than_the_others_keeps_its_digits() {
    // Two columns: the second component is the small column, which the Gram matrix cannot see.
    let mut columns = noise(200);
    let small: Vec<f64> = noise(400)[200..].iter().map(|v| v * 1e-9).collect();
    columns.extend(&small);
    let x = features(200, columns);
    let ctx = FitContext::unhurried();
    let fitted = Reducer::Pca(Share::Half).fit(&x, &no_classes(200), 4, &ctx).unwrap();
    let scores = fitted.transform(&x, &ctx).unwrap();
    let centre = |v: &[f64]| {
        let mean = v.iter().sum::<f64>() / v.len() as f64;
        v.iter().map(|v| v - mean).collect::<Vec<_>>()
    };
    // What the first axis takes of the small column is its regression on the large one.
    let (big, small) = (centre(x.column(0)), centre(x.column(1)));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let slope = dot(&big, &small) / dot(&big, &big);
    let rest: Vec<f64> = small.iter().zip(&big).map(|(s, b)| s - slope * b).collect();
    let agreement = dot(&rest, scores.column(1))
        / (dot(&rest, &rest) * dot(scores.column(1), scores.column(1))).sqrt();
    assert!(agreement.abs() > 1.0 - 1e-6, "{agreement}");
}

#[test]
fn fewer_components_are_the_first_of_more() {
    for (n, p) in [(120, 40), (40, 120)] {
        let x = features(n, noise(n * p));
        let ctx = FitContext::unhurried();
        let decomposition = pca::Decomposition::of(&x, &ctx).unwrap();
        let (more, more_scores) = decomposition.reducer(30, &ctx).unwrap();
        for fewer in [1, 10, 16, 17, 29] {
            let (alone, alone_scores) =
                pca::Decomposition::of(&x, &ctx).unwrap().reducer(fewer, &ctx).unwrap();
            assert_eq!(alone, more.truncated(fewer));
            assert_eq!(alone_scores.columns(), &more_scores.columns()[..fewer * n]);
            assert_eq!(
                alone.transform(&x, &ctx).unwrap(),
                alone_scores,
                "training rows as new rows"
            );
        }
    }
}

#[test]
fn a_share_of_no_feature_is_not_applicable() {
    let x = features(5, noise(15));
    let ctx = FitContext::unhurried();
    for reducer in [Reducer::Pca(Share::Quarter), Reducer::SelectKBest(Share::Quarter)] {
        let err = reducer.fit(&x, &no_classes(5), 3, &ctx).unwrap_err();
        assert!(matches!(err, FitError::NoFeatures { .. }));
    }
}

#[test]
fn the_columns_that_tell_classes_apart_are_kept_in_their_order() {
    let y = Labels::from_codes([0, 0, 0, 1, 1, 1], 3);
    let x = features(
        6,
        [
            [1.0, 2.0, 3.0, 11.0, 12.0, 13.0], // tells them apart
            [5.0; 6],                          // constant
            [1.0, 9.0, 4.0, 2.0, 8.0, 5.0],    // does not
            [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],    // perfectly
        ]
        .concat(),
    );
    let ctx = FitContext::unhurried();
    let scores = select_k_best::f_scores(&x, &y, &ctx).unwrap();
    assert!((scores[0] - 150.0).abs() < 1e-9);
    assert_eq!(scores[1], f64::MIN);
    assert_eq!(scores[3], f64::INFINITY);
    assert_eq!(select_k_best::best(&scores, 2).kept(), [0, 3]);
    assert_eq!(select_k_best::best(&[1.0, 2.0, 1.0], 2).kept(), [1, 2], "the later wins a draw");
}

#[test]
fn constant_columns_go_and_nothing_left_is_a_failure() {
    let ctx = FitContext::unhurried();
    let x = features(2, vec![1.0, 1.0, 2.0, 3.0]);
    let fitted = Reducer::VarianceThreshold.fit(&x, &no_classes(2), 2, &ctx).unwrap();
    assert_eq!(fitted.transform(&x, &ctx).unwrap().columns(), [2.0, 3.0]);
    let constant = features(2, vec![1.0, 1.0]);
    let err = Reducer::VarianceThreshold.fit(&constant, &no_classes(2), 1, &ctx).unwrap_err();
    assert_eq!(err.to_string(), "variance threshold leaves no feature");
}

#[test]
fn a_factorisation_that_cannot_be_done_in_time_is_refused() {
    let x = features(1500, noise(1500 * 1500));
    let soon = std::time::Instant::now() + std::time::Duration::from_millis(300);
    let ctx = FitContext::unhurried().with_deadline(Some(soon));
    let err = Reducer::Pca(Share::Half).fit(&x, &no_classes(1500), 1500, &ctx).unwrap_err();
    assert_eq!(err, FitError::OutOfTime);
    let ctx = FitContext::unhurried().with_memory_limit(Some(1 << 20));
    let err = Reducer::Pca(Share::Half).fit(&x, &no_classes(1500), 1500, &ctx).unwrap_err();
    assert!(matches!(err, FitError::OutOfMemory { component: "pca", .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn reducers_give_numbers_for_any_numbers(
        (n, values) in (2usize..9).prop_flat_map(|n| (Just(n), prop::collection::vec(
            any::<f64>().prop_filter("finite", |v| v.is_finite()), n * 5))),
        new in prop::collection::vec(any::<f64>().prop_filter("finite", |v| v.is_finite()), 5),
    ) {
        let ctx = FitContext::unhurried();
        let x = features(n, values);
        let y = Labels::from_codes((0..n as u32).map(|i| i % 2), 2);
        for reducer in Reducer::ALL {
            let Ok(fitted) = reducer.fit(&x, &y, 5, &ctx) else { continue };
            for rows in [&x, &features(1, new.clone())] {
                let out = fitted.transform(rows, &ctx).unwrap();
                prop_assert!(out.columns().iter().all(|v| v.is_finite()), "{:?}", reducer);
            }
        }
    }
}
