//! How good a model is on rows whose classes are known.

use pitchpipe_table::{
    Applied, ConfusionMatrix, Dataset, Dependence, Labels, Note, RawTable, Schema, Target,
};
use serde::{Serialize, Serializer};

use super::{Model, PredictError, Predictions};
use crate::scores::{Baseline, OutOfFold, Scores, Standing};

/// What a model is worth on some rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// How many rows were predicted.
    pub n_rows: usize,
    /// The scores by all metrics.
    pub scores: Scores,
    /// How far they may be from the truth, over draws of rows that have nothing to do with each other; `None` where there are
    /// too few.
    pub standard_errors: Option<Scores>,
    /// Always answering the most common class of the training table, on the same rows.
    pub baselines: Vec<Baseline>,
    /// Recall, precision and F1 of each class.
    pub classes: Vec<ClassScores>,
    /// How often each class was taken for which: a row for each true class, in the order of `classes`; `null` where
    /// there are more classes than [`ConfusionMatrix::MOST_IN_FULL`].
    #[serde(serialize_with = "as_rows")]
    pub confusion: ConfusionMatrix,
}

/// What a model is worth on the rows of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassScores {
    /// The class; its code where the model knows no names.
    pub class: String,
    /// How many rows are of it.
    pub n_rows: usize,
    /// The share of them that were found; `None` where there are none.
    pub recall: Option<f64>,
    /// The share of rows said to be of it that are; `None` where there are none.
    pub precision: Option<f64>,
    /// The harmonic mean of the two.
    pub f1: Option<f64>,
}

/// The rows of a later table that have a class, and what is to be said about the table.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledRows {
    /// The rows, with their classes.
    pub dataset: Dataset,
    /// How many rows had no class, or one that the model does not know, and were left out.
    pub n_left_out: usize,
    /// What the reader decided, and what did not match but did not stand in the way.
    pub notes: Vec<Note>,
}

impl LabelledRows {
    /// Matches a table to a schema by name and takes the rows whose class is known.
    pub fn of(schema: &Schema, table: RawTable) -> Result<Self, PredictError> {
        let target = schema.target().ok_or(PredictError::NoSchema)?;
        let Applied { frame, truth, notes } = schema.apply(table)?;
        let column = &target.name;
        let truth = truth.ok_or_else(|| PredictError::NoTarget { column: column.clone() })?;
        let rows: Vec<usize> = (0..frame.n_rows()).filter(|&row| truth[row].is_some()).collect();
        if rows.is_empty() {
            let (column, classes) = (column.clone(), target.classes.clone());
            return Err(PredictError::NoKnownClass { column, classes });
        }
        let n_left_out = frame.n_rows() - rows.len();
        let labels = Labels::from_codes(truth.into_iter().flatten(), target.classes.len());
        let dataset = Dataset::from_parts(frame.select(&rows), Target::Classes(labels));
        Ok(Self { dataset, n_left_out, notes })
    }
}

impl Model {
    /// Matches a table to the model's schema by name and takes the rows whose class is known.
    pub fn labelled_rows(&self, table: RawTable) -> Result<LabelledRows, PredictError> {
        LabelledRows::of(self.schema.as_ref().ok_or(PredictError::NoSchema)?, table)
    }

    /// Measures the model on rows with their classes.
    ///
    /// # Panics
    /// If there are no rows, or the classes are not as many as the model's.
    pub fn evaluate(&self, dataset: &Dataset) -> Result<Evaluation, PredictError> {
        let Predictions { labels, probabilities } = self.predict(dataset.frame())?;
        Ok(self.evaluation(dataset.labels(), &labels, probabilities.values()))
    }

    /// The evaluation of predictions that were made before.
    ///
    /// # Panics
    /// As [`Model::evaluate`].
    pub fn evaluation(&self, truth: &Labels, labels: &Labels, probabilities: &[f64]) -> Evaluation {
        let confusion = ConfusionMatrix::new(truth, labels);
        let classes = (0..confusion.n_classes()).map(|k| ClassScores {
            class: self.class_names().map_or_else(|| k.to_string(), |names| names[k].clone()),
            ..ClassScores::of(&confusion, k)
        });
        let predicted = OutOfFold {
            truth: truth.clone(),
            labels: labels.clone(),
            probabilities: probabilities.to_vec(),
        };
        let Standing { scores, standard_errors, baselines } =
            predicted.standing(&Dependence::Independent, self.priors());
        Evaluation {
            n_rows: truth.len(),
            scores,
            standard_errors,
            baselines,
            classes: classes.collect(),
            confusion,
        }
    }
}

impl ClassScores {
    fn of(confusion: &ConfusionMatrix, class: usize) -> Self {
        let (right, n_rows) = (confusion.count(class, class), confusion.n_true(class));
        let said = confusion.n_predicted(class);
        let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
        Self {
            class: String::new(),
            n_rows,
            recall: share(right, n_rows),
            precision: share(right, said),
            f1: share(2 * right, n_rows + said),
        }
    }
}

fn as_rows<S: Serializer>(confusion: &ConfusionMatrix, to: S) -> Result<S::Ok, S::Error> {
    confusion.rows().serialize(to)
}
