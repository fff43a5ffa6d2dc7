//! What a surrogate was trained on, and how well it does on what it was not.

use serde::{Deserialize, Serialize};

/// The record of a surrogate's making.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingFacts {
    /// The key of the search space whose pipelines it speaks of.
    pub search_space: String,
    /// The program that trained it.
    pub made_with: String,
    /// The training datasets.
    pub datasets: Vec<TrainedDataset>,
    /// Datasets that were left out on purpose, of those the stores hold.
    pub left_out: Vec<String>,
    /// Errors that were observed.
    pub n_entries: usize,
    /// The share of the error matrix that was not.
    pub missing_ratio: f64,
    /// What a published row counts in the priors, where a row of our own counts 1.
    pub published_weight: f64,
    /// One record for each completion that was made.
    pub completions: Vec<CompletionFacts>,
    /// Whether runtimes were learned from runs of this program; otherwise they are of another engine.
    pub runtimes_are_own: bool,
    /// How well runtimes are predicted on datasets left out, by type of estimator; the first is all of them.
    pub runtime_accuracy: Vec<RuntimeAccuracy>,
}

/// A training dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainedDataset {
    /// Its name in the store.
    pub name: String,
    /// The hash of its content, where the store has one.
    pub content: Option<String>,
    /// Whether its errors are the published ones, of another engine.
    pub is_published: bool,
    /// How many errors were observed.
    pub n_entries: usize,
}

/// How a completion was made and what it lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompletionFacts {
    /// `matrix`, `tensor`, `kernel` or `bayes`.
    pub method: String,
    /// Ranks of datasets and estimators, or the number of atoms, chosen by held-out entries.
    pub ranks: Vec<usize>,
    /// Squared relative error on entries held out at random.
    pub held_out_error: f64,
    /// Wall-clock seconds it took.
    pub secs: f64,
}

/// How well runtimes are predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeAccuracy {
    /// The type of estimator, or `all`.
    pub estimator_type: String,
    /// The share of predictions within a factor of 2.
    pub within_2: f64,
    /// The share within a factor of 4.
    pub within_4: f64,
    /// How many were judged.
    pub n_entries: usize,
}

impl TrainingFacts {
    /// Training datasets of our own, and published ones.
    pub fn counts(&self) -> (usize, usize) {
        let published = self.datasets.iter().filter(|d| d.is_published).count();
        (self.datasets.len() - published, published)
    }
}
