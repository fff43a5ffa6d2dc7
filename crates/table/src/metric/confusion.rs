//! The confusion matrix: who is taken for whom.

use crate::Labels;

/// How often each true class was predicted as each class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfusionMatrix {
    n_classes: usize,
    counts: Vec<usize>,
}

impl ConfusionMatrix {
    /// Counts the rows of each (true class, predicted class).
    ///
    /// # Panics
    /// If the two differ in length or in number of classes.
    pub fn new(truth: &Labels, predicted: &Labels) -> Self {
        assert_eq!(truth.len(), predicted.len(), "one prediction per row");
        assert_eq!(truth.n_classes(), predicted.n_classes(), "predictions of the same classes");
        let n_classes = truth.n_classes();
        let mut counts = vec![0; n_classes * n_classes];
        for (&t, &p) in truth.codes().iter().zip(predicted.codes()) {
            counts[t as usize * n_classes + p as usize] += 1;
        }
        Self { n_classes, counts }
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// How many rows of class `truth` were predicted as class `predicted`.
    pub fn count(&self, truth: usize, predicted: usize) -> usize {
        self.counts[truth * self.n_classes + predicted]
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.counts.iter().sum()
    }

    /// How many rows are of the class.
    pub fn n_true(&self, class: usize) -> usize {
        (0..self.n_classes).map(|p| self.count(class, p)).sum()
    }

    /// How many rows were predicted as the class.
    pub fn n_predicted(&self, class: usize) -> usize {
        (0..self.n_classes).map(|t| self.count(t, class)).sum()
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
    }
}
