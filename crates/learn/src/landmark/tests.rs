use super::*;
use pitchpipe_table::Column;

fn value(features: &[MetaFeature], name: &str) -> Option<f64> {
    features.iter().find(|(n, _)| *n == name).expect("a landmark").1
}

/// Two classes, apart along the first column; the second is noise of many values.
fn separable(n: usize) -> Dataset {
    let class = |i: usize| (i % 2) as u32;
    let first = (0..n).map(|i| f64::from(class(i)) * 10.0 + (i * 7 % 11) as f64 / 11.0).collect();
    let second = (0..n).map(|i| (i * 13 % 37) as f64).collect();
    let columns = vec![Column::Numeric(first), Column::Numeric(second)];
    Dataset::new(columns, Labels::from_codes((0..n).map(class), 2))
}

#[test]
fn simple_models_find_what_is_simple() {
    let found = landmarks(&separable(120), 0, &FitContext::unhurried()).unwrap();
    for name in ["landmark_lda", "landmark_decision_tree", "landmark_decision_node", "landmark_1nn"]
    {
        assert_eq!(value(&found, name), Some(1.0), "{name}");
    }
    let random = value(&found, "landmark_random_node").unwrap();
    assert!((0.3..=1.0).contains(&random), "{random}");
    // Two standardised columns, hardly correlated: both are needed for 95 % of the variance.
    let fraction = value(&found, "pca_fraction_of_components_for_95_percent_variance");
    assert_eq!(fraction, Some(1.0));
}

#[test]
fn the_first_component_has_the_moments_of_the_column_it_is() {
    // One column: its component is the column itself. Of 0, 0, 0, 4: skewness 2/sqrt(3), kurtosis -2/3.
    let column = Column::Numeric((0..40).map(|i| if i % 4 == 3 { 4.0 } else { 0.0 }).collect());
    let dataset = Dataset::new(vec![column], Labels::from_codes((0..40).map(|i| i / 20), 2));
    let found = landmarks(&dataset, 0, &FitContext::unhurried()).unwrap();
    let skewness = value(&found, "pca_skewness_first_pc").unwrap();
    let kurtosis = value(&found, "pca_kurtosis_first_pc").unwrap();
    assert!((skewness - 2.0 / 3.0_f64.sqrt()).abs() < 1e-9, "{skewness}");
    assert!((kurtosis + 2.0 / 3.0).abs() < 1e-9, "{kurtosis}");
}

#[test]
fn poor_tables_lack_landmarks_rather_than_fail() {
    let ctx = FitContext::unhurried();
    let constant = Dataset::new(
        vec![Column::numeric(vec![1.0; 30])],
        Labels::from_codes((0..30).map(|i| i % 3), 3),
    );
    let found = landmarks(&constant, 0, &ctx).unwrap();
    assert_eq!(value(&found, "pca_kurtosis_first_pc"), None);
    assert!(value(&found, "landmark_decision_node").is_some_and(|a| a <= 0.5));
    let one_class = Dataset::new(
        vec![Column::Numeric((0..30).map(f64::from).collect())],
        Labels::from_codes([0; 30], 1),
    );
    assert_eq!(value(&landmarks(&one_class, 0, &ctx).unwrap(), "landmark_1nn"), Some(1.0));
    let unread = Dataset::new(
        vec![Column::numeric(vec![f64::NAN; 30])],
        Labels::from_codes((0..30).map(|i| i % 2), 2),
    );
    assert_eq!(value(&landmarks(&unread, 0, &ctx).unwrap(), "landmark_lda"), None);
}

#[test]
fn wide_tables_and_late_ones() {
    let (n, p) = (24, 90);
    let column =
        |j: usize| Column::Numeric((0..n).map(|i| ((i * 31 + j * 17) % 29) as f64).collect());
    let dataset = Dataset::new(
        (0..p).map(column).collect(),
        Labels::from_codes((0..n as u32).map(|i| i % 2), 2),
    );
    let found = landmarks(&dataset, 0, &FitContext::unhurried()).unwrap();
    assert!(found.iter().all(|(_, v)| v.is_some_and(f64::is_finite)), "{found:?}");
    let late = FitContext::unhurried().with_deadline(Some(std::time::Instant::now()));
    assert_eq!(landmarks(&dataset, 0, &late).unwrap_err(), FitError::OutOfTime);
}
