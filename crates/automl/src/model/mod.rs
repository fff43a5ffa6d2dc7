//! A model: an ensemble of fold models, how it decides, the schema it expects, and how it was made.

mod container;
mod counted;
mod error;
mod evaluate;
mod file;
mod format1;
mod predict;
mod sections;
mod shared;
mod speed;

pub use container::FORMAT;
pub use error::{ModelFileError, PredictError};
pub use evaluate::{ClassScores, Evaluation, LabelledRows};
pub(crate) use predict::native_labels;
pub use predict::{Predictions, TablePredictions};
pub use speed::Speed;

use pitchpipe_learn::{FittedPipeline, Pipeline};
use pitchpipe_table::{Column, Decision, Frame, Schema};
use serde::{Deserialize, Serialize};

use crate::ensemble::Combination;
use crate::history::History;
use crate::online::Report;
use crate::scores::OutOfFold;

/// A model that a search gave: it can always predict.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) schema: Option<Schema>,
    pub(crate) columns: Vec<ColumnKind>,
    pub(crate) n_classes: usize,
    /// Each class's share of the training rows.
    pub(crate) priors: Vec<f64>,
    pub(crate) decision: Decision,
    pub(crate) combination: Combination,
    pub(crate) learners: Vec<BaseLearner>,
    pub(crate) report: Report,
    /// Kept after a search, not in files.
    pub(crate) out_of_fold: Option<OutOfFold>,
    /// What a report tells beyond the rest, where it was kept.
    pub(crate) history: Option<History>,
}

/// What a column of the training table was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ColumnKind {
    Numeric,
    Categorical { n_levels: u32 },
}

/// A candidate learner that the ensemble took: one pipeline, fitted without each fold in turn.
#[derive(Clone, Debug)]
pub struct BaseLearner {
    pub(crate) pipeline: Pipeline,
    pub(crate) weight: f64,
    pub(crate) models: Vec<FittedPipeline>,
}

impl BaseLearner {
    /// The pipeline, hyperparameters set.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Its weight in the ensemble; all weights sum to one.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// How many fold models it is the mean of.
    pub fn n_models(&self) -> usize {
        self.models.len()
    }
}

impl Model {
    /// How it was made.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The predictions that its scores were computed from; not where it was read from a file.
    pub fn out_of_fold(&self) -> Option<&OutOfFold> {
        self.out_of_fold.as_ref()
    }

    /// How the search went, and what else a report tells; not where it was left out or the model was made before
    /// there was such a thing.
    pub fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Says by which command the model was made, and what is to be known about its table. Notes must not quote cells.
    pub fn annotate(&mut self, command: Option<String>, notes: Vec<String>) {
        if let Some(history) = &mut self.history {
            history.origin.command = command;
            history.data.notes = notes;
        }
    }

    /// The schema that tables are matched to, where it was made from a table.
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()
    }

    /// How many classes it tells apart.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The names of the classes in the order of their codes, where it was made from a table.
    pub fn class_names(&self) -> Option<&[String]> {
        Some(&self.schema.as_ref()?.target()?.classes)
    }

    /// Each class's share of the training rows.
    pub fn priors(&self) -> &[f64] {
        &self.priors
    }

    /// How probabilities become labels.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// How base learners are combined.
    pub fn combination(&self) -> Combination {
        self.combination
    }

    /// The base learners, heaviest first.
    pub fn base_learners(&self) -> &[BaseLearner] {
        &self.learners
    }
}

/// What the columns of a frame are.
pub(crate) fn kinds_of(frame: &Frame) -> Vec<ColumnKind> {
    frame.columns().iter().map(kind_of).collect()
}

fn kind_of(column: &Column) -> ColumnKind {
    match column {
        Column::Numeric(_) => ColumnKind::Numeric,
        Column::Categorical { n_levels, .. } => ColumnKind::Categorical { n_levels: *n_levels },
    }
}
