//! A linear model whose margins are no probabilities, and what makes such of them.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use super::calibrate::Calibration;
use super::model::{LinearModel, split_intercept};
use super::rows::Rows;
use crate::{Classifier, Features, FitContext, FitError, Prediction};

/// What fitting makes of a linear support vector machine or a perceptron.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedMargins {
    model: LinearModel,
    calibration: Calibration,
}

impl FittedMargins {
    /// Of the solution for each class, weights and intercept, calibrated on the rows that it was found on.
    pub(crate) fn new(
        name: &'static str,
        solutions: Vec<Vec<f64>>,
        rows: &Rows,
        x: &Features,
        y: &Labels,
    ) -> Result<Self, FitError> {
        let calibration = Calibration::fit(rows, y, &solutions);
        let outputs = solutions.into_iter().map(split_intercept).collect();
        let model = LinearModel::new(name, y.n_classes(), x.n_cols(), outputs)?;
        Ok(Self { model, calibration })
    }
}

impl Classifier for FittedMargins {
    fn n_classes(&self) -> usize {
        self.model.n_classes()
    }

    fn is_sound(&self, n_cols: usize) -> bool {
        self.model.is_sound(n_cols)
    }

    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        let decisions = self.model.decide(x, ctx)?;
        let labels = decisions.labels();
        Ok(Prediction { probabilities: self.calibration.probabilities(decisions), labels })
    }
}
