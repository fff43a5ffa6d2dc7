//! What a search space is made of, in words: what stores, surrogates and models say of the pipelines they number.
//!
//! A reader compares it with its own blocks, and can name the very component that differs.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::block::Contents;
use super::{Block, PipelineId, Product, SearchSpace};
use crate::{ParseError, Pipeline};

/// The steps of a pipeline, in order.
pub const STEPS: [&str; 5] = ["imputer", "encoder", "standardizer", "reducer", "estimator"];

/// The blocks of a search space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// In the order of their numbers.
    pub blocks: Vec<BlockManifest>,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockManifest {
    /// Its name.
    pub name: String,
    /// Its components.
    pub components: ComponentTexts,
}

/// The components of a block, as pipelines name them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentTexts {
    /// Those of each step, of which the block has each combination.
    Product([Vec<String>; 5]),
    /// Whole pipelines.
    List(Vec<String>),
}

/// Why numbers of one space mean nothing in another.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SpaceMismatch {
    /// A component differs.
    #[error(
        "block {block} of the search space has {found} as {step} {position}, but this pitchpipe has {expected} there"
    )]
    Component {
        /// The block.
        block: String,
        /// The step, or `pipeline` where the block is a list of whole ones.
        step: &'static str,
        /// The component's place in the step, from 0.
        position: usize,
        /// What is said to stand there, or `nothing`.
        found: String,
        /// What this program has there, or `nothing`.
        expected: String,
    },
    /// One is a list of pipelines, the other all combinations of some components.
    #[error(
        "block {block} of the search space is made up in another way than that of this pitchpipe"
    )]
    Kind {
        /// The block.
        block: String,
    },
    /// A block that this program does not have names a component that it does not have either.
    #[error("block {block} of the search space: {source}")]
    Unknown {
        /// The block.
        block: String,
        /// What is wrong with it.
        source: Box<ParseError>,
    },
    /// There is no such block, and its components are not to be looked at.
    #[error("this pitchpipe has no block {block} of the search space")]
    NoBlock {
        /// The block.
        block: String,
    },
    /// The blocks make no space.
    #[error(transparent)]
    Space(#[from] super::SpaceError),
}

impl Manifest {
    /// A key that changes when any component does: the blocks' names, each with its key.
    pub fn key(&self) -> String {
        let keys: Vec<String> =
            self.blocks.iter().map(|block| format!("{}-{}", block.name, block.key())).collect();
        keys.join("+")
    }

    /// How the numbers of this space are those of another, which has all its blocks.
    pub fn check(&self, space: &SearchSpace) -> Result<Mapping, SpaceMismatch> {
        let (mut ranges, mut start) = (Vec::new(), 0);
        for block in &self.blocks {
            let ours = space.blocks().iter().find(|b| b.name() == block.name);
            let range = ours.and_then(|ours| Some((ours, space.range_of(ours.name())?)));
            let no_block = || SpaceMismatch::NoBlock { block: block.name.clone() };
            let (ours, range) = range.ok_or_else(no_block)?;
            block.check(ours)?;
            ranges.push((start as u32, range.start as u32, range.len() as u32));
            start += range.len();
        }
        Ok(Mapping { ranges })
    }

    /// The space itself. Blocks that `known` has must be the same there; others are made from their components.
    pub fn space(&self, known: &SearchSpace) -> Result<SearchSpace, SpaceMismatch> {
        let block =
            |block: &BlockManifest| match known.blocks().iter().find(|b| b.name() == block.name) {
                Some(ours) => block.check(ours).map(|()| ours.clone()),
                None => block.parse().map_err(|e| SpaceMismatch::Unknown {
                    block: block.name.clone(),
                    source: Box::new(e),
                }),
            };
        let blocks = self.blocks.iter().map(block).collect::<Result<_, _>>()?;
        Ok(SearchSpace::new(blocks)?)
    }
}

impl BlockManifest {
    /// What a block is made of.
    pub fn of(block: &Block) -> Self {
        let components = match block.contents() {
            Contents::List(pipelines) => ComponentTexts::List(texts(pipelines)),
            Contents::Product(product) => {
                let Product { imputers, encoders, scalers, reducers, estimators } = product;
                ComponentTexts::Product([
                    texts(imputers),
                    texts(encoders),
                    texts(scalers),
                    texts(reducers),
                    texts(estimators),
                ])
            }
        };
        Self { name: block.name().to_owned(), components }
    }

    /// A key that changes when any of its components does, or their order.
    pub fn key(&self) -> String {
        let text = match &self.components {
            ComponentTexts::Product(steps) => steps.each_ref().map(|s| s.join("\n")).join("\n\n"),
            ComponentTexts::List(pipelines) => pipelines.join("\n"),
        };
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
    }

    /// Whether it is this block, to the last setting.
    fn check(&self, ours: &Block) -> Result<(), SpaceMismatch> {
        match (&self.components, &Self::of(ours).components) {
            (ComponentTexts::Product(found), ComponentTexts::Product(expected)) => {
                let steps = STEPS.iter().zip(found).zip(expected);
                steps.into_iter().try_for_each(|((step, f), e)| self.compare(step, f, e))
            }
            (ComponentTexts::List(found), ComponentTexts::List(expected)) => {
                self.compare("pipeline", found, expected)
            }
            _ => Err(SpaceMismatch::Kind { block: self.name.clone() }),
        }
    }

    fn compare(
        &self,
        step: &'static str,
        found: &[String],
        expected: &[String],
    ) -> Result<(), SpaceMismatch> {
        let n = found.len().max(expected.len());
        let Some(position) = (0..n).find(|&i| found.get(i) != expected.get(i)) else {
            return Ok(());
        };
        let at = |of: &[String]| of.get(position).cloned().unwrap_or_else(|| "nothing".to_owned());
        let (found, expected) = (at(found), at(expected));
        Err(SpaceMismatch::Component { block: self.name.clone(), step, position, found, expected })
    }

    /// The block itself.
    fn parse(&self) -> Result<Block, ParseError> {
        Ok(match &self.components {
            ComponentTexts::List(pipelines) => {
                Block::list(&self.name, parsed::<Pipeline>(pipelines)?)
            }
            ComponentTexts::Product([imputers, encoders, scalers, reducers, estimators]) => {
                let product = Product {
                    imputers: parsed(imputers)?,
                    encoders: parsed(encoders)?,
                    scalers: parsed(scalers)?,
                    reducers: parsed(reducers)?,
                    estimators: parsed(estimators)?,
                };
                Block::product(&self.name, product)
            }
        })
    }
}

fn texts<T: Display>(of: &[T]) -> Vec<String> {
    of.iter().map(T::to_string).collect()
}

fn parsed<T: FromStr<Err = ParseError>>(texts: &[String]) -> Result<Vec<T>, ParseError> {
    texts.iter().map(|text| text.parse()).collect()
}

/// Which numbers of one space are which of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// For each block: where it begins here, where it begins there, how many it has.
    ranges: Vec<(u32, u32, u32)>,
}

impl Mapping {
    /// The pipeline in the other space, if the number is one of this.
    pub fn get(&self, number: u32) -> Option<PipelineId> {
        let of = |&(from, to, n): &(u32, u32, u32)| {
            (from..from + n).contains(&number).then(|| PipelineId::from(number - from + to))
        };
        self.ranges.iter().find_map(of)
    }
}
