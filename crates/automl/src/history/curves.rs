//! Curves of predictions: confusion, ROC, precision and recall, calibration, and where the rule draws its line.

use pitchpipe_table::{ConfusionMatrix, Decision, Labels};
use serde::{Deserialize, Serialize};

use super::rounded;
use crate::scores::OutOfFold;

/// A curve has no more points than this, and fewer where there are many classes.
const MOST_POINTS: usize = 200;
const POINTS_OF_ALL: usize = 600;
const LEAST_POINTS: usize = 30;

/// Of so many classes curves are kept, the most common ones.
const MOST_CURVES: usize = 20;

const N_BINS: usize = 10;
const DECIMALS: i32 = 5;

/// What can be drawn of some predictions whose classes are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// How many rows they are of.
    pub n_rows: usize,
    /// How often each class was taken for which: a row for each true class; none of more classes than
    /// [`ConfusionMatrix::MOST_IN_FULL`].
    pub confusion: Vec<Vec<usize>>,
    /// One class against the others; of two classes the second only.
    pub classes: Vec<ClassCurves>,
    /// Whether probabilities are what they say: of the second of two classes, or else of the most probable class.
    pub calibration: Vec<CalibrationBin>,
    /// With two classes, the probability from which the second is decided on, where the rule has one.
    pub threshold: Option<f64>,
}

/// One class against the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassCurves {
    /// The class's code.
    pub class: usize,
    /// How many rows are of it.
    pub n_rows: usize,
    /// Share of other rows taken for it, and share of its rows found.
    pub roc: Vec<(f64, f64)>,
    /// The area under it.
    pub roc_auc: f64,
    /// Share of its rows found, and share of rows taken for it that are.
    pub precision_recall: Vec<(f64, f64)>,
    /// The mean precision over recall.
    pub average_precision: f64,
}

/// Rows with similar probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationBin {
    /// Their mean probability.
    pub predicted: f64,
    /// The share that it came true for.
    pub observed: f64,
    /// How many they are.
    pub n_rows: usize,
}

impl Curves {
    /// The curves of predictions that a rule decided on.
    pub fn of(predicted: &OutOfFold, decision: Decision, priors: &[f64]) -> Self {
        let OutOfFold { truth, labels, probabilities } = predicted;
        let n_classes = truth.n_classes();
        let counts = truth.counts();
        let mut shown: Vec<usize> = match n_classes {
            2 => vec![1],
            _ => (0..n_classes).collect(),
        };
        // A class without rows, or without others, has no curve.
        shown.retain(|&k| counts[k] > 0 && counts[k] < truth.len());
        shown.sort_by_key(|&k| std::cmp::Reverse(counts[k]));
        shown.truncate(MOST_CURVES);
        shown.sort_unstable();
        let most = (POINTS_OF_ALL / shown.len().max(1)).clamp(LEAST_POINTS, MOST_POINTS);
        let scored = |class: usize| -> Vec<(f64, bool)> {
            let codes = truth.codes().iter().map(|&c| c as usize == class);
            probabilities.chunks_exact(n_classes).map(|p| p[class]).zip(codes).collect()
        };
        let calibrated = match n_classes {
            2 => scored(1),
            _ => most_probable(truth, probabilities),
        };
        Self {
            n_rows: truth.len(),
            confusion: ConfusionMatrix::new(truth, labels).rows().unwrap_or_default(),
            classes: shown.into_iter().map(|k| ClassCurves::of(k, scored(k), most)).collect(),
            calibration: calibration(calibrated),
            threshold: threshold(decision, priors),
        }
    }
}

/// The second of two classes is decided on from this probability.
fn threshold(decision: Decision, priors: &[f64]) -> Option<f64> {
    match (decision, priors) {
        (Decision::Accuracy, [_, _]) => Some(0.5),
        (Decision::BalancedAccuracy | Decision::BalancedError, [_, second]) => Some(*second),
        _ => None,
    }
}

/// Each row's largest probability, and whether that class is the true one.
fn most_probable(truth: &Labels, probabilities: &[f64]) -> Vec<(f64, bool)> {
    let rows = probabilities.chunks_exact(truth.n_classes()).zip(truth.codes());
    rows.map(|(row, &code)| {
        let best = (1..row.len()).fold(0, |best, k| if row[k] > row[best] { k } else { best });
        (row[best], best == code as usize)
    })
    .collect()
}

impl ClassCurves {
    fn of(class: usize, mut scored: Vec<(f64, bool)>, most: usize) -> Self {
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let n_positive = scored.iter().filter(|s| s.1).count();
        let (positive, negative) = (n_positive as f64, (scored.len() - n_positive) as f64);
        let (mut tp, mut fp) = (0.0, 0.0);
        let (mut roc, mut precision_recall) = (vec![(0.0, 0.0)], Vec::new());
        let (mut area, mut average_precision) = (0.0, 0.0);
        for drawn in scored.chunk_by(|a, b| a.0 == b.0) {
            let p = drawn.iter().filter(|s| s.1).count() as f64;
            let n = drawn.len() as f64 - p;
            area += n * (tp + p / 2.0);
            tp += p;
            fp += n;
            average_precision += p / positive * tp / (tp + fp);
            roc.push((fp / negative, tp / positive));
            precision_recall.push((tp / positive, tp / (tp + fp)));
        }
        Self {
            class,
            n_rows: n_positive,
            roc: thinned(&roc, most),
            roc_auc: area / (positive * negative),
            precision_recall: thinned(&precision_recall, most),
            average_precision,
        }
    }
}

/// At most so many of a curve's points, about equally far apart along it; both ends stay.
fn thinned(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let short = |&(x, y): &(f64, f64)| (rounded(x, DECIMALS), rounded(y, DECIMALS));
    if points.len() <= most {
        return points.iter().map(short).collect();
    }
    let far = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() + (a.1 - b.1).abs();
    let length: f64 = points.windows(2).map(|w| far(w[0], w[1])).sum();
    let stride = length / (most - 2) as f64;
    let (mut kept, mut gone, mut next) = (vec![short(&points[0])], 0.0, stride);
    for pair in points[..points.len() - 1].windows(2) {
        gone += far(pair[0], pair[1]);
        if gone >= next && kept.len() < most - 1 {
            kept.push(short(&pair[1]));
            next = gone + stride;
        }
    }
    kept.push(short(&points[points.len() - 1]));
    kept
}

/// Bins of about equally many rows.
fn calibration(mut scored: Vec<(f64, bool)>) -> Vec<CalibrationBin> {
    scored.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let n = scored.len();
    let bins = (0..N_BINS).map(|b| &scored[b * n / N_BINS..(b + 1) * n / N_BINS]);
    bins.filter(|bin| !bin.is_empty())
        .map(|bin| {
            let n_rows = bin.len();
            let mean = |sum: f64| rounded(sum / n_rows as f64, DECIMALS);
            CalibrationBin {
                predicted: mean(bin.iter().map(|s| s.0).sum()),
                observed: mean(bin.iter().filter(|s| s.1).count() as f64),
                n_rows,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predicted(n: u32) -> OutOfFold {
        // Probabilities that are right on average, from rows spread over the whole range.
        let p1 = |i: u32| f64::from(i) / f64::from(n);
        let truth = Labels::from_codes((0..n).map(|i| u32::from(i * 7919 % n < i)), 2);
        let probabilities: Vec<f64> = (0..n).flat_map(|i| [1.0 - p1(i), p1(i)]).collect();
        let labels = Decision::Accuracy.decide(&truth, &probabilities, &[0.5, 0.5]);
        OutOfFold { truth, labels, probabilities }
    }

    #[test]
    fn areas_are_those_of_the_scores_and_curves_are_short() {
        let predicted = predicted(5_000);
        let curves = Curves::of(&predicted, Decision::Accuracy, &[0.5, 0.5]);
        let scores = predicted.scores();
        let class = &curves.classes[0];
        assert!((class.roc_auc - scores.roc_auc.unwrap()).abs() < 1e-12);
        assert!(class.roc.len() <= MOST_POINTS && class.roc.len() > MOST_POINTS / 2);
        assert!(class.precision_recall.len() <= MOST_POINTS);
        assert_eq!((class.roc[0], *class.roc.last().unwrap()), ((0.0, 0.0), (1.0, 1.0)));
        let right = curves.confusion[0][0] + curves.confusion[1][1];
        assert!((right as f64 / 5_000.0 - scores.accuracy).abs() < 1e-12);
    }

    #[test]
    fn honest_probabilities_lie_on_the_diagonal() {
        let curves = Curves::of(&predicted(5_000), Decision::Accuracy, &[0.5, 0.5]);
        assert_eq!(curves.calibration.len(), N_BINS);
        for bin in curves.calibration {
            assert!((bin.predicted - bin.observed).abs() < 0.06, "{bin:?}");
        }
    }

    #[test]
    fn the_threshold_is_where_the_rule_changes_its_mind() {
        let priors = [0.9, 0.1];
        for rule in [Decision::Accuracy, Decision::BalancedAccuracy, Decision::BalancedError] {
            let at = threshold(rule, &priors).unwrap();
            let decide = |p: f64| {
                rule.decide(&Labels::from_codes([0], 2), &[1.0 - p, p], &priors).codes()[0]
            };
            assert_eq!((decide(at - 0.01), decide(at + 0.01)), (0, 1), "{rule:?}");
        }
        assert_eq!(threshold(Decision::Native, &priors), None);
        assert_eq!(threshold(Decision::Accuracy, &[0.5, 0.3, 0.2]), None);
    }
}
