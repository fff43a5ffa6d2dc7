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
mod parts;
mod runtimes;
mod size;

use std::alloc::{Layout, handle_alloc_error};
use std::sync::{Arc, LazyLock};

use ndarray::Array2;
pub use pitchpipe_learn::PipelineId;
use pitchpipe_learn::SearchSpace;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_surrogate::complete::KernelModel;

use paper::PackedPaper;
use parts::{PackedEmbedding, PackedKernel, PackedPrior};

pub use columns::AddedBlock;
pub(crate) use extend::{DatasetEmbeddings, kernel_row};
pub use extend::{DatasetRow, ExtendError, Extension, PipelineColumn};
pub use facts::{CompletionFacts, RuntimeAccuracy, TrainedDataset, TrainingFacts};
pub use file::SurrogateFileError;
pub use paper::{PaperEmbedding, PaperParts, PaperRuntimes};
pub(crate) use parts::{Part, PriorNumbers};
pub use runtimes::Runtimes;
pub(crate) use runtimes::cross_validate as cross_validate_runtimes;
pub use size::TableSize;

/// The default surrogate, as `cargo xtask surrogate` trained it. A test puts all its parts together.
static EMBEDDED: LazyLock<Arc<Surrogate>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../data/default.surrogate");
    match Surrogate::from_trusted_bytes(bytes) {
        Ok(surrogate) => Arc::new(surrogate),
        // As wherever else memory runs out.
        Err(SurrogateFileError::NoRoom { bytes }) => {
            handle_alloc_error(Layout::array::<u8>(bytes).expect("a file's size"))
        }
        Err(wrong) => panic!("the embedded surrogate is not sound: {wrong}"),
    }
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
    pub(crate) native: Option<Part<PackedPrior>>,
    pub(crate) decided: Option<Part<PackedPrior>>,
    pub(crate) oboe: Option<Part<PackedEmbedding>>,
    pub(crate) tensor_oboe: Option<Part<PackedEmbedding>>,
    pub(crate) kernel_oboe: Option<Part<PackedKernel>>,
    pub(crate) runtimes: Runtimes,
    pub(crate) best_on_average: PipelineId,
    pub(crate) embeddings: DatasetEmbeddings,
    pub(crate) added: Vec<AddedBlock>,
    pub(crate) paper: Part<PackedPaper>,
}

impl Surrogate {
    /// The surrogate inside the program, unpacked when first asked for, and each of its parts when that is.
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
            ErrorKind::Native => self.native.as_ref().map(|part| Arc::clone(part.get())),
            ErrorKind::Decided => self.decided.as_ref().map(|part| Arc::clone(part.get())),
        }
    }

    /// Embeddings of the 183 estimators behind one fixed preparation, if they were trained.
    pub fn oboe(&self) -> Option<&Embedding> {
        self.oboe.as_ref().map(|part| &**part.get())
    }

    /// Principal components of all pipelines: what TensorOboe goes by where a surrogate was made before there were
    /// [Tucker embeddings](Self::paper_parts).
    pub fn tensor_oboe(&self) -> Option<&Embedding> {
        self.tensor_oboe.as_ref().map(|part| &**part.get())
    }

    /// Codes of all pipelines under the kernel model, if they were trained.
    pub fn kernel_oboe(&self) -> Option<&KernelModel<f32>> {
        self.kernel_oboe.as_ref().map(|part| &**part.get())
    }

    /// What the paper's systems need as the paper has it, as far as it was trained.
    pub fn paper_parts(&self) -> &PaperParts {
        self.paper.get()
    }

    /// The same surrogate with other parts for the paper's systems.
    pub fn with_paper_parts(self, paper: PaperParts) -> Self {
        Self { paper: Part::made(paper), ..self }
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
