//! Estimators that draw nothing at random, or whose answer does not depend on it.

use pitchpipe_learn::FitContext;
use serde::Deserialize;
use serde_json::Value;

use crate::fit::fit_and_predict;
use crate::table::{Table, cases};

#[derive(Deserialize)]
struct Case {
    spec: Value,
    /// None where scikit-learn's own answer depends on its seed or on the order of equal distances.
    labels: Vec<Option<u32>>,
    probabilities: Option<Vec<f64>>,
}

/// How close a component's answers must be.
struct Tolerance {
    /// The share of labels that may differ; if not none, one row always may.
    other_labels: f64,
    /// The largest difference of a probability, if these are comparable.
    probability: Option<f64>,
}

fn compare(component: &str, tolerance: &Tolerance) {
    for (name, cases) in cases::<Case>(component) {
        let split = Table::read(&name).standardised(0);
        for case in cases {
            let place = format!("{component} on {name}, {}", case.spec);
            let ours = fit_and_predict(&case.spec, &split, &FitContext::unhurried())
                .unwrap_or_else(|e| panic!("{place}: {e}"));
            let k = ours.probabilities.n_classes();
            let (mut comparable, mut agree, mut off) = (0_u32, 0_u32, 0.0_f64);
            for (i, label) in case.labels.iter().enumerate() {
                let Some(label) = label else { continue };
                comparable += 1;
                agree += u32::from(ours.labels.codes()[i] == *label);
                if let Some(theirs) = &case.probabilities {
                    let pairs = ours.probabilities.row(i).iter().zip(&theirs[i * k..(i + 1) * k]);
                    off = pairs.fold(off, |m, (a, b)| m.max((a - b).abs()));
                }
            }
            assert!(
                comparable as usize * 2 > case.labels.len(),
                "{place}: too few rows to compare"
            );
            let allowed = (tolerance.other_labels * f64::from(comparable)).ceil() as u32;
            let differ = comparable - agree;
            assert!(differ <= allowed, "{place}: {differ} of {comparable} labels differ");
            if let Some(most) = tolerance.probability {
                assert!(case.probabilities.is_some(), "{place}: no probabilities recorded");
                assert!(off <= most, "{place}: a probability is off by {off:e}");
            }
        }
    }
}

#[test]
fn naive_bayes_is_scikit_learns() {
    // Rounding only, which exp() of sums over up to 64 features magnifies.
    compare("gaussian_nb", &Tolerance { other_labels: 0.0, probability: Some(1e-6) });
}

#[test]
fn neighbours_are_scikit_learns() {
    // Shares of votes are exact; rows with a draw at the last neighbour are not recorded.
    compare("knn", &Tolerance { other_labels: 0.0, probability: Some(1e-9) });
}

#[test]
fn single_trees_are_scikit_learns() {
    // Where ten seeds of theirs agree, no tie between splits was decisive.
    compare("decision_tree", &Tolerance { other_labels: 0.005, probability: None });
}

#[test]
fn liblinear_logistic_regressions_are_scikit_learns() {
    // Theirs are run to the optimum, and so are ours.
    compare("logistic_regression", &Tolerance { other_labels: 0.005, probability: Some(1e-5) });
}

#[test]
fn linear_svms_are_scikit_learns() {
    // As above; they have no probabilities.
    compare("linear_svm", &Tolerance { other_labels: 0.005, probability: None });
}

#[test]
fn boosted_stumps_are_scikit_learns() {
    // All features are looked at, and no tie was decisive; what is left is rounding. Only cases in which no row's weight
    // falls below the machine's epsilon: scikit-learn 1.2.2 lifts it to that, which ours does not.
    compare("adaboost", &Tolerance { other_labels: 0.0, probability: Some(1e-9) });
}

#[test]
fn boosted_regression_trees_are_scikit_learns() {
    // As above.
    compare("gradient_boosting", &Tolerance { other_labels: 0.0, probability: Some(1e-6) });
}

#[test]
fn boosted_histograms_err_like_scikit_learns() {
    // Not to the last bit: bins of columns with more than 255 values end elsewhere, gradients are of other
    // precision, and one split of nearly equal gain decides all that follow. What must agree is what comes of it.
    for (name, cases) in cases::<Case>("histogram_boosting") {
        let split = Table::read(&name).standardised(0);
        let truth = split.y_test.codes();
        for case in cases {
            let place = format!("histogram_boosting on {name}, {}", case.spec);
            let ours = fit_and_predict(&case.spec, &split, &FitContext::unhurried())
                .unwrap_or_else(|e| panic!("{place}: {e}"));
            let theirs = case.probabilities.expect("they have probabilities");
            let loss = |p: &[f64]| {
                let rows = p.chunks_exact(ours.probabilities.n_classes()).zip(truth);
                let losses = rows.map(|(row, &class)| -row[class as usize].max(1e-15).ln());
                losses.sum::<f64>() / truth.len() as f64
            };
            let (our_loss, their_loss) = (loss(ours.probabilities.values()), loss(&theirs));
            assert!((our_loss - their_loss).abs() < 0.03, "{place}: {our_loss}, not {their_loss}");
            let labels = ours.labels.codes().iter().zip(&case.labels);
            let n_others = labels.filter(|(ours, theirs)| theirs.is_some_and(|t| t != **ours));
            let (n_others, allowed) =
                (n_others.count(), (0.04 * truth.len() as f64).ceil() as usize);
            assert!(n_others <= allowed, "{place}: {n_others} of {} labels differ", truth.len());
        }
    }
}
