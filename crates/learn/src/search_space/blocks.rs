//! The blocks of this program.

use super::{Block, paper};

/// All of them. New ones go to the end: whatever was written before keeps its numbers.
pub(super) fn all() -> Vec<Block> {
    vec![paper::block()]
}
