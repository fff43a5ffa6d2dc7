//! A pipeline: one component per step, fitted and asked as a whole.

use std::sync::Arc;

use pitchpipe_table::{Dataset, Frame, Labels};
use serde::{Deserialize, Serialize};

use crate::classes::KnownClasses;
use crate::estimate::{EstimatorSpec, FittedEstimator};
use crate::{
    Classifier, Features, FitContext, FitError, FittedPreparation, Prediction, Preparation,
    Probabilities, RawFeatures,
};

/// New rows are predicted so many at a time, which bounds the memory that one-hot columns take.
const ROWS_AT_ONCE: usize = 1 << 15;

/// One component per step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The steps before the estimator.
    pub preparation: Preparation,
    /// The estimator.
    pub estimator: EstimatorSpec,
}

/// A fitted [`Pipeline`]: only [`Pipeline::fit`] and cross-validation make one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FittedPipeline {
    preparation: FittedPreparation,
    classes: KnownClasses,
    name: String,
    /// `None` where all training rows were of one class, which is then predicted.
    estimator: Option<FittedEstimator>,
}

impl Pipeline {
    /// Refuses steps that do not go together: gaps and categories as they are, and what has no answer for them.
    pub fn check(&self) -> Result<(), FitError> {
        self.preparation.check()?;
        if self.preparation.keeps_gaps() && !self.estimator.kind().character().takes_gaps {
            return Err(FitError::Gaps { component: self.estimator.name() });
        }
        Ok(())
    }

    /// Fits on all rows of a dataset.
    pub fn fit(&self, dataset: &Dataset, ctx: &FitContext) -> Result<FittedPipeline, FitError> {
        let rows: Vec<usize> = (0..dataset.n_rows()).collect();
        self.fit_rows(dataset, &rows, ctx)
    }

    /// Fits on some rows of a dataset.
    pub fn fit_rows(
        &self,
        dataset: &Dataset,
        rows: &[usize],
        ctx: &FitContext,
    ) -> Result<FittedPipeline, FitError> {
        if rows.is_empty() {
            return Err(FitError::TooFewRows { component: "pipeline", needed: 1, got: 0 });
        }
        self.check()?;
        let y = dataset.labels().select(rows);
        let classes = KnownClasses::of(&y);
        let raw = RawFeatures::of_rows(dataset.frame(), rows);
        let (preparation, x) = self.preparation.fit(&raw, &y, ctx)?;
        let estimator = if classes.len() > 1 {
            Some(self.estimator.fit(&x, &classes.compact(&y), ctx)?)
        } else if self.estimator.kind().character().refuses_one_class {
            return Err(FitError::OneClass { component: self.estimator.name() });
        } else {
            None
        };
        Ok(FittedPipeline::new(preparation, classes, self, estimator))
    }
}

impl FittedPipeline {
    pub(crate) fn new(
        preparation: FittedPreparation,
        classes: KnownClasses,
        pipeline: &Pipeline,
        estimator: Option<FittedEstimator>,
    ) -> Self {
        Self { preparation, classes, name: pipeline.to_string(), estimator }
    }

    /// Whether its parts fit together and go with rows of these columns, categories marked, and so many classes. A fit always
    /// gives a sound one; one that was read from a file is asked before it predicts.
    pub fn is_sound(&self, categorical: &[bool], n_classes: usize) -> bool {
        if !self.classes.is_sound(n_classes) || !self.preparation.imputer.reads(categorical) {
            return false;
        }
        match (&self.estimator, self.preparation.n_cols(categorical.len())) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(estimator), Some(n)) => {
                n > 0 && estimator.n_classes() == self.classes.len() && estimator.is_sound(n)
            }
        }
    }

    /// The settings it was fitted with, as text.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Each class's share of the rows it was fitted on.
    pub fn priors(&self) -> &[f64] {
        self.classes.priors()
    }

    /// Predicts all rows of a frame.
    pub fn predict(&self, frame: &Frame, ctx: &FitContext) -> Result<Prediction, FitError> {
        let rows: Vec<usize> = (0..frame.n_rows()).collect();
        self.predict_rows(frame, &rows, ctx)
    }

    /// Predicts some rows of a frame.
    pub fn predict_rows(
        &self,
        frame: &Frame,
        rows: &[usize],
        ctx: &FitContext,
    ) -> Result<Prediction, FitError> {
        let n_classes = self.priors().len();
        let (mut values, mut codes) = (Vec::new(), Vec::new());
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let part = self.predict_prepared(&*self.prepare(frame, rows, ctx)?, ctx)?;
            values.extend_from_slice(part.probabilities.values());
            codes.extend_from_slice(part.labels.codes());
        }
        Ok(Prediction {
            probabilities: Probabilities::from_rows(n_classes, values),
            labels: Labels::from_codes(codes, n_classes),
        })
    }

    /// Whether the steps before the estimator are the same, so that what one of them prepares serves both.
    pub fn prepares_as(&self, other: &Self) -> bool {
        self.preparation == other.preparation
    }

    /// Some rows of a frame as its estimator takes them.
    pub fn prepare(
        &self,
        frame: &Frame,
        rows: &[usize],
        ctx: &FitContext,
    ) -> Result<Arc<Features>, FitError> {
        self.preparation.transform(&RawFeatures::of_rows(frame, rows), ctx)
    }

    /// Predicts rows that it, or one that [prepares as](Self::prepares_as) it does, has prepared.
    pub fn predict_prepared(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        let Some(estimator) = &self.estimator else {
            return Ok(self.classes.only_class(x.n_rows()));
        };
        let prediction = self.classes.expand(estimator.predict(x, ctx)?);
        Ok(self.classes.mended(prediction))
    }
}
