//! The search space: named blocks of pipelines, each pipeline with a number and a text that last.
//!
//! The block `paper` comes first, so that its numbers are those of the published tensor; further blocks follow it
//! in the order they were added. What is written to files says which blocks it speaks of ([`Manifest`]).

mod block;
mod blocks;
mod histogram_boosting;
mod manifest;
mod paper;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use block::{Block, Product};
pub use histogram_boosting::HISTOGRAM_BOOSTING;
pub use manifest::{BlockManifest, ComponentTexts, Manifest, Mapping, STEPS, SpaceMismatch};
pub use paper::PAPER;

use crate::estimate::{EstimatorKind, EstimatorSpec};
use crate::{FitError, Pipeline, Preparation};

static PAPER_SPACE: LazyLock<Arc<SearchSpace>> = LazyLock::new(|| space_of(vec![paper::block()]));
static ALL: LazyLock<Arc<SearchSpace>> = LazyLock::new(|| space_of(blocks::all()));

fn space_of(blocks: Vec<Block>) -> Arc<SearchSpace> {
    Arc::new(SearchSpace::new(blocks).expect("no two of our blocks share a pipeline"))
}

/// A pipeline's number in a search space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PipelineId(u32);

impl PipelineId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PipelineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u32> for PipelineId {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl From<PipelineId> for u32 {
    fn from(id: PipelineId) -> Self {
        id.0
    }
}

/// Why blocks make no search space.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// Two blocks have one name.
    #[error("two blocks are called {name}")]
    SameName {
        /// The name.
        name: String,
    },
    /// A pipeline would have two numbers.
    #[error("block {block} has a pipeline that is there already: {pipeline}")]
    SamePipeline {
        /// The later block.
        block: String,
        /// The pipeline.
        pipeline: String,
    },
    /// A number of pipelines that nothing here is made for.
    #[error("block {block} has {n_pipelines} pipelines; a search space has at most {MOST}")]
    TooMany {
        /// The block.
        block: String,
        /// How many pipelines it has.
        n_pipelines: usize,
    },
    /// A pipeline whose steps do not go together.
    #[error("block {block} has a pipeline whose steps do not go together: {pipeline}: {source}")]
    Steps {
        /// The block.
        block: String,
        /// The pipeline.
        pipeline: String,
        /// Why not.
        source: FitError,
    },
    /// There is nothing to search.
    #[error("a search space without pipelines")]
    Empty,
}

/// The most pipelines of a space: a damaged file may ask for any number.
const MOST: usize = 1 << 22;

/// Pipelines to choose from, in blocks.
#[derive(Clone, Debug)]
pub struct SearchSpace {
    blocks: Vec<Block>,
    /// Where each block begins, and where the last one ends.
    starts: Vec<usize>,
    preparations: Vec<Preparation>,
    estimators: Vec<EstimatorSpec>,
    /// The family of each estimator.
    families: Vec<usize>,
    /// The preparation and the estimator of each pipeline.
    places: Vec<(u32, u32)>,
    /// The pipeline of each preparation and estimator, by rows.
    ids: Vec<Option<PipelineId>>,
}

impl SearchSpace {
    /// The blocks one after the other.
    pub fn new(blocks: Vec<Block>) -> Result<Self, SpaceError> {
        let (mut preparations, mut estimators) = (Vec::new(), Vec::new());
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        let (mut starts, mut places) = (vec![0], Vec::new());
        for (at, block) in blocks.iter().enumerate() {
            let name = block.name().to_owned();
            if blocks[..at].iter().any(|other| other.name() == name) {
                return Err(SpaceError::SameName { name });
            }
            let n_pipelines = block.n_pipelines();
            if places.len().saturating_add(n_pipelines) > MOST {
                return Err(SpaceError::TooMany { block: name, n_pipelines });
            }
            place(block, &mut preparations, &mut estimators, &mut known, &mut places);
            starts.push(places.len());
        }
        if places.is_empty() {
            return Err(SpaceError::Empty);
        }
        let mut ids = vec![None; preparations.len() * estimators.len()];
        for (number, &(preparation, estimator)) in places.iter().enumerate() {
            let at = preparation as usize * estimators.len() + estimator as usize;
            let is_there = ids[at].replace(PipelineId(number as u32)).is_some();
            if !is_there && !preparations[preparation as usize].keeps_gaps() {
                continue; // Looked at for each pipeline, so without copying it.
            }
            let block = blocks[starts.partition_point(|&start| start <= number) - 1].name();
            let pipeline = Pipeline {
                preparation: preparations[preparation as usize],
                estimator: estimators[estimator as usize].clone(),
            };
            let (block, text) = (block.to_owned(), pipeline.to_string());
            if is_there {
                return Err(SpaceError::SamePipeline { block, pipeline: text });
            }
            pipeline.check().map_err(|source| SpaceError::Steps {
                block,
                pipeline: text,
                source,
            })?;
        }
        let families = families_of(&estimators);
        Ok(Self { blocks, starts, preparations, estimators, families, places, ids })
    }

    /// The space of the paper: 23,424 pipelines in the order of the published tensor.
    pub fn paper() -> Arc<Self> {
        Arc::clone(&PAPER_SPACE)
    }

    /// All pipelines of this program.
    pub fn all() -> Arc<Self> {
        Arc::clone(&ALL)
    }

    /// The same pipelines by the same numbers, but that categories are filled by their mode where these take a mean or a
    /// median of their codes.
    pub fn with_categories_by_mode(&self) -> Self {
        let blocks = self.blocks.iter().map(Block::with_categories_by_mode).collect();
        Self::new(blocks).expect("pipelines that differed differ still")
    }

    /// Its blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The numbers of a block's pipelines, if it has such a block.
    pub fn range_of(&self, block: &str) -> Option<Range<usize>> {
        let at = self.blocks.iter().position(|b| b.name() == block)?;
        Some(self.starts[at]..self.starts[at + 1])
    }

    /// The block `paper`, its combinations and its numbers, if it is there.
    pub fn paper_block(&self) -> Option<(&Product, Range<usize>)> {
        let block = self.blocks.iter().find(|b| b.name() == PAPER)?;
        Some((block.as_product()?, self.range_of(PAPER)?))
    }

    /// How many pipelines there are.
    pub fn n_pipelines(&self) -> usize {
        self.places.len()
    }

    /// The pipeline with this number, if there is one.
    pub fn id(&self, number: usize) -> Option<PipelineId> {
        (number < self.places.len()).then_some(PipelineId(number as u32))
    }

    /// All pipelines, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = PipelineId> + Clone + use<> {
        (0..self.places.len() as u32).map(PipelineId)
    }

    /// The pipeline itself.
    ///
    /// # Panics
    /// If the number is of another space and too large for this one, here and below.
    pub fn pipeline(&self, id: PipelineId) -> Pipeline {
        Pipeline { preparation: self.preparation(id), estimator: self.estimator(id).clone() }
    }

    /// The steps before its estimator.
    pub fn preparation(&self, id: PipelineId) -> Preparation {
        self.preparations[self.preparation_index(id)]
    }

    /// Its estimator.
    pub fn estimator(&self, id: PipelineId) -> &EstimatorSpec {
        &self.estimators[self.estimator_index(id)]
    }

    /// The kind of its estimator.
    pub fn kind(&self, id: PipelineId) -> EstimatorKind {
        self.estimator(id).kind()
    }

    /// Its preparation's place among [`SearchSpace::preparations`].
    pub fn preparation_index(&self, id: PipelineId) -> usize {
        self.places[id.index()].0 as usize
    }

    /// Its estimator's place among [`SearchSpace::estimators`].
    pub fn estimator_index(&self, id: PipelineId) -> usize {
        self.places[id.index()].1 as usize
    }

    /// The family of its estimator: settings that one fit answers for have one number.
    pub fn family(&self, id: PipelineId) -> usize {
        self.families[self.estimator_index(id)]
    }

    /// The different preparations, in order of first appearance.
    pub fn preparations(&self) -> &[Preparation] {
        &self.preparations
    }

    /// The different estimators, in order of first appearance.
    pub fn estimators(&self) -> &[EstimatorSpec] {
        &self.estimators
    }

    /// The kinds of its estimators, in order of first appearance.
    pub fn kinds(&self) -> Vec<EstimatorKind> {
        let mut kinds = Vec::new();
        for kind in self.estimators.iter().map(EstimatorSpec::kind) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// The pipeline with this preparation and this estimator, by their indices, if there is one.
    pub fn at(&self, preparation: usize, estimator: usize) -> Option<PipelineId> {
        let n = self.estimators.len();
        (estimator < n).then(|| *self.ids.get(preparation * n + estimator)?)?
    }

    /// The number of a pipeline, if it is in the space.
    pub fn find(&self, pipeline: &Pipeline) -> Option<PipelineId> {
        let preparation = self.preparations.iter().position(|p| *p == pipeline.preparation)?;
        let estimator = self.estimators.iter().position(|e| *e == pipeline.estimator)?;
        self.at(preparation, estimator)
    }

    /// All pipelines with this preparation, in order.
    pub fn behind(&self, preparation: Preparation) -> Vec<PipelineId> {
        let at = self.preparations.iter().position(|&p| p == preparation);
        self.ids().filter(|&id| Some(self.preparation_index(id)) == at).collect()
    }

    /// What it is made of, in words.
    pub fn manifest(&self) -> Manifest {
        Manifest { blocks: self.blocks.iter().map(BlockManifest::of).collect() }
    }

    /// A key that changes when any component of any block does.
    pub fn key(&self) -> String {
        self.manifest().key()
    }
}

/// Adds the pipelines of a block to those placed so far.
fn place(
    block: &Block,
    preparations: &mut Vec<Preparation>,
    estimators: &mut Vec<EstimatorSpec>,
    known: &mut BTreeMap<String, u32>,
    places: &mut Vec<(u32, u32)>,
) {
    let mut preparation_at = |preparation: Preparation| {
        let found = preparations.iter().position(|&p| p == preparation);
        found.unwrap_or_else(|| {
            preparations.push(preparation);
            preparations.len() - 1
        }) as u32
    };
    let mut estimator_at = |estimator: &EstimatorSpec| {
        *known.entry(estimator.to_string()).or_insert_with(|| {
            estimators.push(estimator.clone());
            (estimators.len() - 1) as u32
        })
    };
    match block.contents() {
        block::Contents::Product(product) => {
            let ours: Vec<u32> = product.estimators.iter().map(estimator_at).collect();
            for preparation in product.preparations().map(preparation_at) {
                places.extend(ours.iter().map(|&estimator| (preparation, estimator)));
            }
        }
        block::Contents::List(pipelines) => {
            places.extend(pipelines.iter().map(|pipeline| {
                (preparation_at(pipeline.preparation), estimator_at(&pipeline.estimator))
            }));
        }
    }
}

/// The family of each estimator, numbered from zero.
fn families_of(estimators: &[EstimatorSpec]) -> Vec<usize> {
    let mut firsts: Vec<usize> = Vec::new();
    let family = |at: usize| {
        let is_ours = |&first: &usize| estimators[first].is_family_of(&estimators[at]);
        firsts.iter().position(is_ours).unwrap_or_else(|| {
            firsts.push(at);
            firsts.len() - 1
        })
    };
    (0..estimators.len()).map(family).collect()
}

#[cfg(test)]
mod tests;
