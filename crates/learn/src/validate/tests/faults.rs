//! Components that break off by a fault of their own: counted and named, and the others go on.

use super::*;
use crate::estimate::{AdaBoost, EstimatorSpec};

/// No other test boosts at these rates.
const BREAKS_IN_FITTING: f64 = 41.0;
const BREAKS_IN_SCORING: f64 = 43.0;

/// Breaks off where a test of this file wants it.
pub(crate) fn break_off(at: &str, estimator: &EstimatorSpec) {
    let EstimatorSpec::AdaBoost(AdaBoost { learning_rate, .. }) = estimator else { return };
    let rate = if at == "fitting" { BREAKS_IN_FITTING } else { BREAKS_IN_SCORING };
    assert!(*learning_rate != rate, "a promise was broken in {at}");
}

fn stumps(learning_rate: f64) -> Pipeline {
    let estimator = AdaBoost { n_estimators: 5, learning_rate }.into();
    Pipeline { preparation: Preparation::default(), estimator }
}

#[test]
fn a_fault_fails_its_own_pipeline_and_the_others_finish() {
    let dataset = numeric_table(60, 3, 11);
    let pipelines = [
        stumps(BREAKS_IN_FITTING),
        stumps(1.0),
        stumps(BREAKS_IN_SCORING),
        "impute(mean) > one_hot > standardise > all_features > gaussian_nb".parse().unwrap(),
    ];
    for threads in [1, 2] {
        let validation = Validation { keep_models: true, ..keeping_predictions(threads) };
        let outcomes = validation.outcomes(&dataset, &pipelines).unwrap();
        let words = |i: usize| match &outcomes[i] {
            Outcome::Failed(err @ FitError::Internal { .. }) => err.to_string(),
            other => panic!("{other:?}"),
        };
        let fault = "broke off by a fault of its own: a promise was broken in";
        assert_eq!(words(0), format!("adaboost {fault} fitting"));
        assert_eq!(words(2), format!("scoring {fault} scoring"));
        for i in [1, 3] {
            assert!(matches!(&outcomes[i], Outcome::Finished(e) if e.models.len() == 3));
        }
    }
}
