//! What pipelines are expected to take with more classes than any table had that runtimes were learnt from.

use pitchpipe_learn::SearchSpace;

use crate::surrogate::{Surrogate, TableSize};

/// The most classes of the tables that runtimes were learnt from: beyond, a polynomial says anything.
pub(super) const MOST_SEEN: usize = 20;

/// Seconds that one probability takes to be made, put together and judged.
const PROBABILITY_SECS: f64 = 4e-8;

/// The most of the budget that all probabilities of one pipeline may take.
const PROBABILITY_SHARE: f64 = 0.05;

/// The most rows that a search of so many seconds of one core to a thread has time for: with many classes each has as many probabilities, and of those of a
/// pipeline that was done just in time all are still to be judged.
pub(super) fn most_rows(n_classes: usize, budget_secs: f64) -> usize {
    if n_classes <= MOST_SEEN {
        return usize::MAX;
    }
    let n_rows = PROBABILITY_SHARE * budget_secs / (PROBABILITY_SECS * n_classes as f64);
    (n_rows as usize).max(n_classes)
}

/// Predicted seconds of all pipelines of a space, cross-validated on a table of this size. What is done for each class takes as many times as
/// long as there are more of them; everything else has more probabilities to give.
pub(super) fn predicted_secs(
    surrogate: &Surrogate,
    space: &SearchSpace,
    size: TableSize,
) -> Vec<f64> {
    let n_classes = size.n_classes.unwrap_or(0);
    if n_classes <= MOST_SEEN {
        return surrogate.runtimes().predict_secs(&size);
    }
    let seen = TableSize { n_classes: Some(MOST_SEEN), ..size };
    let mut secs = surrogate.runtimes().predict_secs(&seen);
    let times = n_classes as f64 / MOST_SEEN as f64;
    let probabilities = (size.n_rows * n_classes) as f64 * PROBABILITY_SECS;
    for (id, secs) in space.ids().zip(&mut secs) {
        if space.kind(id).character().fits_each_class {
            *secs *= times;
        }
        *secs += probabilities;
    }
    secs
}

#[cfg(test)]
mod tests {
    use pitchpipe_learn::estimate::EstimatorKind;

    use super::*;

    #[test]
    fn many_classes_leave_time_for_fewer_rows() {
        assert_eq!(most_rows(10, 1.0), usize::MAX);
        assert!((3_500..4_500).contains(&most_rows(1_000, 3.2)));
        // One of each class at least.
        assert_eq!(most_rows(1_000, 0.1), 1_000);
        assert!(most_rows(1_000, 60.0) > 70_000);
    }

    #[test]
    fn what_is_fitted_class_by_class_takes_longer_with_more_of_them() {
        let surrogate = Surrogate::embedded();
        let space = surrogate.space();
        let secs = |n_classes: usize| {
            let n_classes = Some(n_classes);
            let size = TableSize {
                n_rows: 20_000,
                n_features: 10,
                n_encoded: 10,
                n_classes,
                largest_scale: None,
            };
            predicted_secs(&surrogate, space, size)
        };
        let (few, many, more) = (secs(20), secs(200), secs(1_000));
        assert_eq!(few.len(), space.n_pipelines());
        for id in space.ids() {
            let at = id.index();
            assert!(few[at] < many[at] && many[at] < more[at], "{at}");
            let grew = more[at] / many[at];
            match space.kind(id) {
                kind if kind.character().fits_each_class => assert!((4.9..5.1).contains(&grew)),
                EstimatorKind::Knn => assert!(grew < 5.0),
                _ => {}
            }
        }
    }
}
