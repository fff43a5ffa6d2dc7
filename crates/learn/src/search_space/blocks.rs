//! The blocks of this program.

use super::{Block, histogram_boosting, paper};

/// All of them. New ones go to the end: whatever was written before keeps its numbers.
pub(super) fn all() -> Vec<Block> {
    vec![paper::block(), histogram_boosting::block()]
}
