//! The confusion matrix: who is taken for whom.

use crate::Labels;

/// How often each true class was predicted as each class. Only pairs that were met are kept, so that it takes no more room
/// than the rows, whatever the number of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfusionMatrix {
    /// The pairs of true and predicted class, ascending, with their rows.
    counts: Vec<((u32, u32), usize)>,
    n_true: Vec<usize>,
    n_predicted: Vec<usize>,
}

impl ConfusionMatrix {
    /// Of more classes than this the counts are not written out: they would be more than a million numbers.
    pub const MOST_IN_FULL: usize = 1_000;

    /// Counts the rows of each (true class, predicted class).
    ///
    /// # Panics
    /// If the two differ in length or in number of classes.
    pub fn new(truth: &Labels, predicted: &Labels) -> Self {
        assert_eq!(truth.len(), predicted.len(), "one prediction per row");
        assert_eq!(truth.n_classes(), predicted.n_classes(), "predictions of the same classes");
        let mut pairs: Vec<(u32, u32)> =
            truth.codes().iter().copied().zip(predicted.codes().iter().copied()).collect();
        pairs.sort_unstable();
        let counts = pairs.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect();
        Self { counts, n_true: truth.counts(), n_predicted: predicted.counts() }
    }

    /// The pairs that were met: true class, predicted class and how many rows, ascending by class.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        self.counts.iter().map(|&((truth, said), n)| (truth as usize, said as usize, n))
    }

    /// All counts, a row for each true class; `None` of more than [`ConfusionMatrix::MOST_IN_FULL`] classes.
    pub fn rows(&self) -> Option<Vec<Vec<usize>>> {
        let n = self.n_classes();
        if n > Self::MOST_IN_FULL {
            return None;
        }
        let mut rows = vec![vec![0; n]; n];
        self.pairs().for_each(|(truth, said, n)| rows[truth][said] = n);
        Some(rows)
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.n_true.len()
    }

    /// How many rows of class `truth` were predicted as class `predicted`.
    pub fn count(&self, truth: usize, predicted: usize) -> usize {
        let pair = (truth as u32, predicted as u32);
        self.counts.binary_search_by_key(&pair, |count| count.0).map_or(0, |at| self.counts[at].1)
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.n_true.iter().sum()
    }

    /// How many rows are of the class.
    pub fn n_true(&self, class: usize) -> usize {
        self.n_true[class]
    }

    /// How many rows were predicted as the class.
    pub fn n_predicted(&self, class: usize) -> usize {
        self.n_predicted[class]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> (Labels, Labels) {
        let truth = Labels::from_codes([0, 0, 0, 0, 0, 1, 1, 1, 2, 2], 4);
        let predicted = Labels::from_codes([0, 0, 0, 1, 2, 1, 1, 0, 2, 3], 4);
        (truth, predicted)
    }

    #[test]
    fn counts_by_hand() {
        let (truth, predicted) = case();
        let m = ConfusionMatrix::new(&truth, &predicted);
        let rows: Vec<Vec<usize>> =
            (0..4).map(|t| (0..4).map(|p| m.count(t, p)).collect()).collect();
        assert_eq!(rows, [[3, 1, 1, 0], [1, 2, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]);
        assert_eq!(m.rows().unwrap(), rows);
        assert_eq!((m.n_rows(), m.n_true(0), m.n_predicted(2)), (10, 5, 2));
        assert_eq!(m.pairs().next(), Some((0, 0, 3)));
    }

    #[test]
    fn a_hundred_thousand_classes_take_as_much_as_their_rows() {
        // Squared they would be 80 GB.
        let truth = Labels::from_codes(0..100_000, 100_000);
        let predicted = Labels::from_codes((0..100_000).map(|c| c / 2 * 2), 100_000);
        let m = ConfusionMatrix::new(&truth, &predicted);
        assert_eq!((m.count(3, 2), m.count(3, 3), m.n_predicted(2)), (1, 0, 2));
        assert_eq!((m.pairs().count(), m.rows()), (100_000, None));
    }
}
