//! What the offline phase hands to the online phase: everything learned from the training datasets.
//!
//! A [`Surrogate`] is a few matrices over the search space: priors of errors, embeddings, codes and the
//! polynomials of runtimes. One is [embedded](Surrogate::embedded) in the program; `pitchpipe meta train`
//! makes others.

mod columns;
mod extend;
mod facts;
mod file;
mod packed;
mod paper;
mod runtimes;
mod size;

use std::sync::{Arc, LazyLock};

use ndarray::Array2;
pub use pitchpipe_learn::PipelineId;
use pitchpipe_learn::SearchSpace;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_surrogate::complete::KernelModel;

pub use columns::AddedBlock;
pub(crate) use extend::{DatasetEmbeddings, kernel_row};
pub use extend::{DatasetRow, ExtendError, Extension, PipelineColumn};
pub use facts::{CompletionFacts, RuntimeAccuracy, TrainedDataset, TrainingFacts};
pub use file::SurrogateFileError;
pub use paper::{PaperEmbedding, PaperParts, PaperRuntimes};
pub use runtimes::Runtimes;
pub(crate) use runtimes::cross_validate as cross_validate_runtimes;
pub use size::TableSize;

/// The default surrogate, as `cargo xtask surrogate` trained it.
static EMBEDDED: LazyLock<Arc<Surrogate>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../data/default.surrogate");
    Arc::new(Surrogate::from_bytes(bytes).expect("the embedded surrogate is sound"))
});

/// Which error a prior is of: they differ where classes are not equally common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ErrorKind {
    /// The balanced error under the estimator's own decision, as published.
    Native,
    /// The balanced error under the decision that is made for it.
    Decided,
}

/// Latent vectors of pipelines, after which a new dataset's errors are predicted by least squares.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// The pipelines it speaks of, by flat index, in the order of its columns.
    pub pipelines: Vec<u32>,
    /// Largest rank x pipelines; smaller ranks are its first rows.
    pub y: Array2<f32>,
    /// The rank to begin with: the smallest that holds 97 % of the energy (the paper's rule).
    pub initial_rank: usize,
}

/// Everything learned from the training datasets.
#[derive(Clone, Debug)]
pub struct Surrogate {
    pub(crate) space: Arc<SearchSpace>,
    pub(crate) facts: TrainingFacts,
    pub(crate) native: Option<Arc<Prior>>,
    pub(crate) decided: Option<Arc<Prior>>,
    pub(crate) oboe: Option<Embedding>,
    pub(crate) tensor_oboe: Option<Embedding>,
    pub(crate) kernel_oboe: Option<KernelModel<f32>>,
    pub(crate) runtimes: Runtimes,
    pub(crate) best_on_average: PipelineId,
    pub(crate) embeddings: DatasetEmbeddings,
    pub(crate) added: Vec<AddedBlock>,
    pub(crate) paper: PaperParts,
}

impl Surrogate {
    /// The surrogate inside the program, decoded when first asked for.
    pub fn embedded() -> Arc<Self> {
        Arc::clone(&EMBEDDED)
    }

    /// The pipelines it speaks of: its columns are their numbers.
    pub fn space(&self) -> &Arc<SearchSpace> {
        &self.space
    }

    /// Blocks that were added to it after its training, in the order of their columns.
    pub fn added_blocks(&self) -> &[AddedBlock] {
        &self.added
    }

    /// What it was trained on, and how well it does.
    pub fn facts(&self) -> &TrainingFacts {
        &self.facts
    }

    /// The prior of errors of this kind over all pipelines, if it was trained.
    pub fn prior(&self, kind: ErrorKind) -> Option<Arc<Prior>> {
        match kind {
            ErrorKind::Native => self.native.clone(),
            ErrorKind::Decided => self.decided.clone(),
        }
    }

    /// Embeddings of the 183 estimators behind one fixed preparation, if they were trained.
    pub fn oboe(&self) -> Option<&Embedding> {
        self.oboe.as_ref()
    }

    /// Embeddings of all pipelines, if they were trained.
    pub fn tensor_oboe(&self) -> Option<&Embedding> {
        self.tensor_oboe.as_ref()
    }

    /// Codes of all pipelines under the kernel model, if they were trained.
    pub fn kernel_oboe(&self) -> Option<&KernelModel<f32>> {
        self.kernel_oboe.as_ref()
    }

    /// What the paper's systems need as the paper has it, as far as it was trained.
    pub fn paper_parts(&self) -> &PaperParts {
        &self.paper
    }

    /// The same surrogate with other parts for the paper's systems.
    pub fn with_paper_parts(self, paper: PaperParts) -> Self {
        Self { paper, ..self }
    }

    /// How long pipelines take.
    pub fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }

    /// The pipeline with the lowest mean error over the training datasets: the paper's baseline.
    pub fn best_on_average(&self) -> PipelineId {
        self.best_on_average
    }
}

#[cfg(test)]
mod tests;
