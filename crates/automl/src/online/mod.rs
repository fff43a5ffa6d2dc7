//! The online phase: the best ensemble of pipelines that a time budget allows.
//!
//! A [`Method`] picks what to run next; the engine of `pitchpipe_learn` cross-validates it under a
//! deadline; what finished becomes a candidate learner, and an ensemble of candidate learners is ready at any
//! instant. The models of the folds are kept, so that nothing is refitted at the end.

mod apart;
mod assemble;
mod automl;
mod budget;
mod candidates;
mod clock;
mod combine;
mod confirm;
mod drafts;
mod drive;
mod error;
mod evaluate;
mod event;
mod families;
mod fast;
mod folds;
mod honest;
pub(crate) mod in_words;
mod ladder;
mod ledger;
mod levels;
mod library;
mod many_classes;
mod memory;
mod method;
mod more_rows;
mod pacing;
mod paper;
mod paper_policies;
mod policies;
mod refit;
mod report;
mod search;
mod shift;
mod space;
#[cfg(test)]
mod tests;

pub use automl::{AutoMl, DEFAULT_MODEL_SIZE_LIMIT, DEFAULT_TIME_BUDGET};
pub use error::AutoMlError;
pub use event::{Event, Happened, WeightedPipeline};
pub use families::Families;
pub use memory::{address_space_limit, has_addresses_for};
pub use method::{Method, UnknownMethod};
pub use paper::{
    CategoryFill, DesignKind, KernelPrediction, LastRoundKind, PaperOptions, RankGrowth,
    RuntimeKind, UnknownOption,
};
pub use report::{Candidate, Measured, Report, StopReason, TimeSpent};
