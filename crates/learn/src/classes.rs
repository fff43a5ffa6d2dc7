//! From the classes of a dataset to those that a model has met, and back.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::{FitError, Prediction, Probabilities};

/// The classes that the training rows have: estimators are given these alone, numbered without gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownClasses {
    n_classes: usize,
    /// The classes with training rows, ascending.
    known: Vec<u32>,
    /// Each class's share of the training rows.
    priors: Vec<f64>,
}

impl KnownClasses {
    pub(crate) fn of(y: &Labels) -> Self {
        let counts = y.counts();
        let known = (0..y.n_classes() as u32).filter(|&c| counts[c as usize] > 0).collect();
        let priors = counts.iter().map(|&n| n as f64 / y.len().max(1) as f64).collect();
        Self { n_classes: y.n_classes(), known, priors }
    }

    /// Whether it speaks of so many classes, each known one among them and none twice.
    pub(crate) fn is_sound(&self, n_classes: usize) -> bool {
        self.n_classes == n_classes
            && self.priors.len() == n_classes
            && self.priors.iter().all(|p| (0.0..=1.0).contains(p))
            && !self.known.is_empty()
            && self.known.is_sorted_by(|a, b| a < b)
            && self.known.iter().all(|&c| (c as usize) < n_classes)
    }

    /// How many classes have training rows.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Each class's share of the training rows.
    pub(crate) fn priors(&self) -> &[f64] {
        &self.priors
    }

    /// Labels in terms of the known classes.
    pub(crate) fn compact(&self, y: &Labels) -> Labels {
        if self.known.len() == self.n_classes {
            return y.clone();
        }
        let mut number = vec![0; self.n_classes];
        for (k, &class) in self.known.iter().enumerate() {
            number[class as usize] = k as u32;
        }
        Labels::from_codes(y.codes().iter().map(|&c| number[c as usize]), self.known.len())
    }

    /// A prediction in terms of all classes; one without training rows has probability zero.
    pub(crate) fn expand(&self, prediction: Prediction) -> Prediction {
        if self.known.len() == self.n_classes {
            return prediction;
        }
        let labels = prediction.labels.codes().iter().map(|&k| self.known[k as usize]);
        let labels = Labels::from_codes(labels, self.n_classes);
        let mut values = vec![0.0; prediction.probabilities.n_rows() * self.n_classes];
        for (i, row) in values.chunks_exact_mut(self.n_classes).enumerate() {
            for (&class, &p) in self.known.iter().zip(prediction.probabilities.row(i)) {
                row[class as usize] = p;
            }
        }
        Prediction { probabilities: Probabilities::from_rows(self.n_classes, values), labels }
    }

    /// The prediction with the classes' shares in rows whose numbers overflowed: a new row may lie any
    /// distance from those that were learnt from.
    pub(crate) fn mended(&self, prediction: Prediction) -> Prediction {
        if prediction.probabilities.values().iter().all(is_probability) {
            return prediction;
        }
        let mut values = prediction.probabilities.values().to_vec();
        for row in values.chunks_exact_mut(self.n_classes) {
            if !row.iter().all(is_probability) {
                row.copy_from_slice(&self.priors);
            }
        }
        let probabilities = Probabilities::from_rows(self.n_classes, values);
        Prediction { probabilities, labels: prediction.labels }
    }

    /// The prediction where there is nothing but one class to predict.
    pub(crate) fn only_class(&self, n_rows: usize) -> Prediction {
        let class = self.known[0];
        let mut values = vec![0.0; n_rows * self.n_classes];
        values.iter_mut().skip(class as usize).step_by(self.n_classes).for_each(|p| *p = 1.0);
        Prediction {
            probabilities: Probabilities::from_rows(self.n_classes, values),
            labels: Labels::from_codes(vec![class; n_rows], self.n_classes),
        }
    }
}

/// Turns away probabilities that are not numbers between zero and one.
pub(crate) fn check_numbers(
    prediction: &Prediction,
    component: &'static str,
) -> Result<(), FitError> {
    if prediction.probabilities.values().iter().all(is_probability) {
        Ok(())
    } else {
        Err(FitError::NotFinite { component })
    }
}

fn is_probability(p: &f64) -> bool {
    (0.0..=1.0 + 1e-9).contains(p)
}
