//! Cutting the batches of a dataset into tasks of a wanted length.

use std::collections::VecDeque;

use pitchpipe_learn::SearchSpace;

/// Pipelines that one fit answers for, and the seconds they are expected to take together.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    batch: usize,
    pipelines: Vec<u32>,
    secs: f64,
}

/// What is left to be run on one dataset.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pieces: VecDeque<Piece>,
    secs: f64,
}

/// A share of a queue: pipelines and the seconds they are expected to take.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Share {
    pub(super) pipelines: Vec<u32>,
    pub(super) secs: f64,
}

impl Queue {
    /// Of batches of pipelines, by their numbers in `space`, and the seconds that each pipeline of the space takes alone.
    ///
    /// A family behind one preparation is one fit, which takes as long as its slowest member. Pieces of one family
    /// follow each other, since their preparations are often the same matrix; slow families come first.
    pub(super) fn new(space: &SearchSpace, batches: Vec<Vec<u32>>, secs: &[f64]) -> Self {
        let mut queue = Self::default();
        for (batch, pipelines) in batches.into_iter().enumerate() {
            let mut keyed: Vec<((usize, usize), u32)> = pipelines
                .into_iter()
                .filter_map(|number| Some((space.id(number as usize)?, number)))
                .map(|(id, number)| ((space.family(id), space.preparation_index(id)), number))
                .collect();
            keyed.sort_unstable();
            let mut families: Vec<(f64, Vec<Piece>)> = Vec::new();
            for family in keyed.chunk_by(|a, b| a.0.0 == b.0.0) {
                let pieces: Vec<Piece> = family
                    .chunk_by(|a, b| a.0 == b.0)
                    .map(|members| {
                        let pipelines: Vec<u32> = members.iter().map(|m| m.1).collect();
                        let alone = pipelines.iter().map(|&p| secs[p as usize]);
                        Piece { batch, secs: alone.fold(0.0, f64::max), pipelines }
                    })
                    .collect();
                families.push((pieces.iter().map(|p| p.secs).sum(), pieces));
            }
            families.sort_by(|a, b| b.0.total_cmp(&a.0));
            queue.pieces.extend(families.into_iter().flat_map(|(_, pieces)| pieces));
        }
        queue.secs = queue.pieces.iter().map(|p| p.secs).sum();
        queue
    }

    /// The seconds that all of it is expected to take.
    pub(super) fn secs(&self) -> f64 {
        self.secs
    }

    /// How many pipelines are left.
    pub(super) fn n_pipelines(&self) -> usize {
        self.pieces.iter().map(|p| p.pipelines.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes pieces of one batch from the front until they are expected to take `wanted` seconds.
    pub(super) fn take(&mut self, wanted: f64) -> Option<Share> {
        let batch = self.pieces.front()?.batch;
        let mut share = Share { pipelines: Vec::new(), secs: 0.0 };
        while let Some(piece) = self.pieces.front().filter(|piece| piece.batch == batch) {
            let is_enough = share.secs + 0.5 * piece.secs > wanted;
            if is_enough && !share.pipelines.is_empty() {
                break;
            }
            share.secs += piece.secs;
            share.pipelines.extend(&piece.pipelines);
            self.pieces.pop_front();
        }
        self.secs = if self.pieces.is_empty() { 0.0 } else { (self.secs - share.secs).max(0.0) };
        Some(share)
    }

    /// Drops all that is left.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::{Scope, batches};

    fn queue(secs_each: f64) -> (Queue, usize) {
        let space = SearchSpace::paper();
        let batches: Vec<Vec<u32>> = batches(&space, &Scope::default(), "iris")
            .into_iter()
            .map(|batch| batch.into_iter().map(u32::from).collect())
            .collect();
        let n = batches.iter().map(Vec::len).sum();
        (Queue::new(&space, batches, &vec![secs_each; space.n_pipelines()]), n)
    }

    #[test]
    fn every_pipeline_is_taken_once() {
        let (mut queue, n) = queue(0.1);
        assert_eq!(queue.n_pipelines(), n);
        let mut taken = Vec::new();
        while let Some(share) = queue.take(5.0) {
            taken.extend(share.pipelines);
        }
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), n);
        assert_eq!((queue.secs(), queue.is_empty()), (0.0, true));
    }

    #[test]
    fn shares_are_about_as_long_as_asked_for() {
        let (mut queue, _) = queue(0.1);
        let share = queue.take(5.0).expect("there is work");
        assert!((4.0..6.0).contains(&share.secs), "{}", share.secs);
    }
}
