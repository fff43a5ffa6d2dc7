use proptest::prelude::*;

use super::*;

fn imputed(n_rows: usize, columns: &[(&[f64], bool)]) -> Imputed {
    let values: Vec<f64> = columns.iter().flat_map(|(values, _)| values.iter().copied()).collect();
    Imputed {
        features: Arc::new(Features::from_columns(n_rows, columns.len(), values)),
        categorical: columns.iter().map(|&(_, categorical)| categorical).collect(),
    }
}

#[test]
fn one_hot_columns_come_first_and_an_unseen_category_is_all_zeros() {
    let ctx = FitContext::unhurried();
    let train = imputed(3, &[(&[7.0, 8.0, 9.0], false), (&[2.0, 0.0, 1.25], true)]);
    let fitted = Encoder::OneHot.fit(&train, &ctx).unwrap();
    let new = imputed(3, &[(&[1.0, 2.0, 3.0], false), (&[1.25, 5.0, 2.0], true)]);
    let encoded = fitted.transform(&new, &ctx).unwrap();
    assert_eq!(encoded.n_cols(), 4);
    assert_eq!(encoded.row(0), [0.0, 1.0, 0.0, 1.0], "the mean of codes is a category");
    assert_eq!(encoded.row(1), [0.0, 0.0, 0.0, 2.0], "unseen");
    assert_eq!(encoded.row(2), [0.0, 0.0, 1.0, 3.0]);
}

#[test]
fn the_rarest_of_very_many_categories_have_no_column() {
    let ctx = FitContext::unhurried();
    // 400 categories, the last 100 of them twice.
    let codes: Vec<f64> = (0..400).chain(300..400).map(f64::from).collect();
    let x = imputed(500, &[(&codes, true)]);
    let encoded = Encoder::OneHot.fit(&x, &ctx).unwrap().transform(&x, &ctx).unwrap();
    assert_eq!(encoded.n_cols(), 256);
    let ones = |row: usize| encoded.row(row).iter().sum::<f64>();
    assert_eq!([0, 155, 156, 299, 300, 399].map(ones), [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn codes_stay_in_place_without_an_encoder() {
    let ctx = FitContext::unhurried();
    let x = imputed(2, &[(&[3.0, 4.0], true), (&[0.5, 0.25], false)]);
    let encoded = Encoder::None.fit(&x, &ctx).unwrap().transform(&x, &ctx).unwrap();
    assert_eq!(encoded, x.features);
}

#[test]
fn too_much_is_refused_before_it_is_allocated() {
    let codes: Vec<f64> = (0..10_000).map(f64::from).collect();
    let x = imputed(10_000, &[(&codes, true)]);
    let ctx = FitContext::unhurried().with_memory_limit(Some(1 << 20));
    let err = Encoder::OneHot.fit(&x, &ctx).unwrap().transform(&x, &ctx).unwrap_err();
    assert!(matches!(err, FitError::OutOfMemory { needed: 20_480_000, .. }), "{err}");
}

proptest! {
    #[test]
    fn every_training_row_has_exactly_one_category(
        values in prop::collection::vec(prop_oneof![
            (0u32..2000).prop_map(f64::from), 0.0..9.0f64, Just(70_000.0), Just(-0.0)
        ], 1..60)
    ) {
        let ctx = FitContext::unhurried();
        let x = imputed(values.len(), &[(&values, true)]);
        let encoded = Encoder::OneHot.fit(&x, &ctx).unwrap().transform(&x, &ctx).unwrap();
        for row in 0..values.len() {
            prop_assert_eq!(encoded.row(row).iter().sum::<f64>(), 1.0);
        }
    }
}
