//! What the page of several models knows.

use pitchpipe_automl::{Evaluation, PairedDifference};
use serde::Serialize;

use crate::page::{COMPARISON_SCRIPTS, page};

/// Several models on one table. As JSON it is what `compare --json` prints.
#[derive(Debug, Serialize)]
pub struct ComparisonData {
    /// The version of pitchpipe.
    pub version: &'static str,
    /// The table.
    pub table: String,
    /// How many of its rows were measured on.
    pub n_rows: usize,
    /// What differences are of: the metric that the first model was made for, as an error.
    pub metric: String,
    /// The models in the order given; differences are from the first.
    pub models: Vec<ComparedModel>,
}

/// One of them.
#[derive(Debug, Serialize)]
pub struct ComparedModel {
    /// The name of its file.
    pub file: String,
    /// How many base learners it has.
    pub n_base_learners: usize,
    /// What it is worth.
    pub evaluation: Evaluation,
    /// Its error by the metric of the comparison.
    pub error: f64,
    /// How much larger its error is than the first model's; none for that one.
    pub difference: Option<PairedDifference>,
}

impl ComparisonData {
    /// The page.
    pub fn to_html(&self) -> String {
        page(self, &COMPARISON_SCRIPTS)
    }
}
