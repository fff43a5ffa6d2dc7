//! Random numbers and random features, keyed by where in the forest they are used.

use crate::Stream;

/// SplitMix64: costs nothing to start, so that every node can have a generator of its own.
#[derive(Clone, Debug)]
pub(crate) struct NodeRng(u64);

impl NodeRng {
    pub(crate) fn new(stream: Stream) -> Self {
        Self(stream.key())
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    #[inline]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A number from 0 up to, but without, 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// How many times each row was drawn in a bootstrap sample of as many rows as there are.
pub(crate) fn bootstrap(n_rows: usize, stream: Stream, counts: &mut Vec<u32>) {
    let mut rng = NodeRng::new(stream);
    counts.clear();
    counts.resize(n_rows, 0);
    for _ in 0..n_rows {
        counts[rng.below(n_rows)] += 1;
    }
}

/// Draws features without replacement, and forgets the draws of one node before the next, so that
/// no node's features depend on which nodes were visited before it.
#[derive(Debug)]
pub(crate) struct FeatureSampler {
    features: Vec<u32>,
    swaps: Vec<u32>,
}

impl FeatureSampler {
    pub(crate) fn new(n_cols: usize) -> Self {
        Self { features: (0..n_cols as u32).collect(), swaps: Vec::with_capacity(n_cols) }
    }

    /// The next feature, none once all have been drawn.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut NodeRng) -> Option<usize> {
        let drawn = self.swaps.len();
        if drawn == self.features.len() {
            return None;
        }
        let pick = drawn + rng.below(self.features.len() - drawn);
        self.features.swap(drawn, pick);
        self.swaps.push(pick as u32);
        Some(self.features[drawn] as usize)
    }

    /// Undoes the draws.
    #[inline]
    pub(crate) fn reset(&mut self) {
        while let Some(pick) = self.swaps.pop() {
            self.features.swap(self.swaps.len(), pick as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_every_feature_once_and_forgets_it() {
        let mut sampler = FeatureSampler::new(20);
        let mut draw_all = |seed| {
            let mut rng = NodeRng::new(Stream::new(seed));
            let drawn: Vec<usize> = std::iter::from_fn(|| sampler.draw(&mut rng)).collect();
            sampler.reset();
            drawn
        };
        let first = draw_all(1);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
        assert_ne!(draw_all(2), first);
        assert_eq!(draw_all(1), first);
    }
}
