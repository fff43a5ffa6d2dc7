use pitchpipe_table::{Column, Dataset, Labels, MISSING_CODE};
use proptest::prelude::*;

use super::*;

const NAN: f64 = f64::NAN;

fn table(columns: Vec<Column>) -> Dataset {
    let n = match &columns[0] {
        Column::Numeric(v) => v.len(),
        Column::Categorical { codes, .. } => codes.len(),
    };
    Dataset::new(columns, Labels::from_codes(vec![0; n], 1))
}

const FIRST_ROWS: [usize; 6] = [0, 1, 2, 3, 4, 5];

fn raw(table: &Dataset) -> RawFeatures<'_> {
    RawFeatures::of_rows(table.frame(), &FIRST_ROWS[..table.n_rows()])
}

fn fills(imputer: Imputer, x: &RawFeatures<'_>) -> Vec<Option<f64>> {
    imputer.fit(x, &FitContext::unhurried()).unwrap().fills
}

#[test]
fn each_imputer_takes_its_statistic_of_the_values_present() {
    let x = table(vec![Column::numeric(vec![4.0, NAN, 1.0, 1.0, 8.0, 4.0])]);
    let x = raw(&x);
    assert_eq!(fills(Imputer::Constant, &x), [Some(0.0)]);
    assert_eq!(fills(Imputer::Mean, &x), [Some(3.6)]);
    assert_eq!(fills(Imputer::Median, &x), [Some(4.0)]);
    assert_eq!(fills(Imputer::MostFrequent, &x), [Some(1.0)], "the smaller of two modes");
}

#[test]
fn codes_of_categories_are_imputed_as_numbers() {
    let codes = vec![0, 3, MISSING_CODE, 3];
    let x = table(vec![Column::categorical(codes, 4)]);
    let x = raw(&x);
    assert_eq!(fills(Imputer::Mean, &x), [Some(2.0)]);
    let fitted = Imputer::Mean.fit(&x, &FitContext::unhurried()).unwrap();
    let imputed = fitted.transform(&x, &FitContext::unhurried()).unwrap();
    assert_eq!(imputed.features.columns(), [0.0, 3.0, 2.0, 3.0]);
    assert_eq!(imputed.categorical, [true]);
}

#[test]
fn categories_are_filled_by_their_mode_where_that_is_asked_for() {
    let columns = || {
        vec![
            Column::categorical(vec![0, 3, MISSING_CODE, 3], 4),
            Column::numeric(vec![0.0, 3.0, NAN, 6.0]),
        ]
    };
    let x = table(columns());
    let x = raw(&x);
    assert_eq!(fills(Imputer::Mean, &x), [Some(2.0), Some(3.0)]);
    for (imputer, filled) in Imputer::FILLING.into_iter().zip([0.0, 3.0, 3.0, 0.0]) {
        let by_mode = imputer.with_categories_by_mode();
        let category = if imputer == Imputer::Constant { 0.0 } else { 3.0 };
        assert_eq!(fills(by_mode, &x), [Some(category), Some(filled)], "{by_mode}");
    }
}

#[test]
fn an_empty_column_is_dropped_except_by_constant() {
    let ctx = FitContext::unhurried();
    let x = table(vec![Column::numeric(vec![NAN; 2]), Column::numeric(vec![1.0, NAN])]);
    let x = raw(&x);
    let mean = Imputer::Mean.fit(&x, &ctx).unwrap().transform(&x, &ctx).unwrap();
    assert_eq!((mean.features.n_cols(), mean.features.columns()), (1, &[1.0, 1.0][..]));
    let constant = Imputer::Constant.fit(&x, &ctx).unwrap().transform(&x, &ctx).unwrap();
    assert_eq!(constant.features.columns(), [0.0, 0.0, 1.0, 0.0]);
    let nothing = table(vec![Column::numeric(vec![NAN; 2])]);
    let nothing = raw(&nothing);
    let err = Imputer::Median.fit(&nothing, &ctx).unwrap_err();
    assert_eq!(err, FitError::NoFeatures { component: "imputer" });
}

#[test]
fn other_columns_than_it_was_fitted_on_are_an_error() {
    let ctx = FitContext::unhurried();
    let fitted = Imputer::Mean.fit(&raw(&table(vec![Column::numeric(vec![1.0])])), &ctx).unwrap();
    let wider = table(vec![Column::numeric(vec![1.0]); 2]);
    let wider = raw(&wider);
    let err = fitted.transform(&wider, &ctx).unwrap_err();
    assert_eq!(err, FitError::OtherColumns { expected: 1, got: 2 });
}

proptest! {
    #[test]
    fn statistics_lie_between_the_extremes_even_of_huge_numbers(
        values in prop::collection::vec(-f64::MAX..f64::MAX, 1..40)
    ) {
        let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
        // Rounding may step just outside; the width is halved so that it cannot overflow.
        let slack = (high / 2.0 - low / 2.0) * 1e-12 + low.abs().max(high.abs()) * 1e-15;
        for statistic in
            [statistic::mean(&values), statistic::median(&mut values.clone()), statistic::most_frequent(&mut values.clone())]
        {
            prop_assert!(statistic >= low - slack && statistic <= high + slack);
        }
    }
}
