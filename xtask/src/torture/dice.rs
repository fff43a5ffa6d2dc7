//! Random choices that a seed repeats.

/// SplitMix64: one number of state, good enough to choose by.
pub(super) struct Dice(u64);

impl Dice {
    /// The dice of a round: every round can be thrown again on its own.
    pub(super) fn of_round(seed: u64, round: u64) -> Self {
        // Mixed, not added: streams whose states lie a step apart would be one stream.
        let mixed = Self(round).next();
        Self(Self(seed ^ mixed).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`, which is not zero.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(super) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in so many of a hundred throws.
    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
