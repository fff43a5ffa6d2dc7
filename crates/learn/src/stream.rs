//! Random streams keyed by content, so that one computation gives one result wherever it is run.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The key of a random stream.
///
/// Streams form a tree: `stream.child(tree).child(node)` is a stream of its own, independent of the
/// order in which children are visited (docs/decisions, "Randomness").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream(u64);

impl Stream {
    /// The root stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x9e37_79b9_7f4a_7c15))
    }

    /// The stream of a part of this one: a fold, a matrix, a family, a class, a tree, a node.
    #[inline]
    pub fn child(self, part: u64) -> Self {
        Self(mix(self.0 ^ mix(part.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// The stream of a named part.
    pub fn named(self, name: &str) -> Self {
        self.child(xxhash_rust::xxh3::xxh3_64(name.as_bytes()))
    }

    /// The key itself, for a generator of one's own.
    #[inline]
    pub fn key(self) -> u64 {
        self.0
    }

    /// A generator at the start of this stream.
    pub fn rng(self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.0)
    }
}

/// The finaliser of SplitMix64: a bijection with good avalanche.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
