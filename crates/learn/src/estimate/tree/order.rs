//! A node's rows in the order of a feature, without comparing values.
//!
//! Every row knows its position in the sorted column, so sorting a node's rows is setting one bit
//! a row and reading the bits back in order: no comparisons, and the bits of 100,000 rows are
//! 12 kB. A second layer of bits says which words are not empty, so that a small node in a large
//! table does not walk over the gaps. What the scan will want to know of a row travels along, to
//! a slot at its position, so that the scan reads memory in order.

/// Sorts rows by position; keeps its memory between nodes.
#[derive(Debug)]
pub(crate) struct Sorter<P> {
    words: Vec<u64>,
    summary: Vec<u64>,
    slots: Vec<P>,
    sorted: Vec<u32>,
}

/// Rows in order: their positions, and the slots where their payloads are.
#[derive(Clone, Copy)]
pub(crate) struct InOrder<'a, P> {
    pub(crate) positions: &'a [u32],
    pub(crate) slots: &'a [P],
}

/// Up to this many rows, insertion is faster than bits.
const FEW: usize = 16;

/// Bits are read back in groups of so many, whether or not as many are left.
const GROUP: usize = 4;

impl<P: Copy + Default> Sorter<P> {
    pub(crate) fn new(n_rows: usize) -> Self {
        let n_words = n_rows.div_ceil(64);
        Self {
            words: vec![0; n_words],
            summary: vec![0; n_words.div_ceil(64)],
            slots: vec![P::default(); n_rows],
            sorted: vec![0; n_rows + 64 + GROUP],
        }
    }

    /// Rows, given by their positions and payloads, in ascending order of position.
    #[inline(always)]
    pub(crate) fn sort(&mut self, positions: &[u32], payload: &[P]) -> InOrder<'_, P> {
        if positions.len() <= FEW {
            self.insert(positions, payload);
        } else if positions.len() * 64 > self.slots.len() {
            self.mark_densely(positions, payload);
        } else {
            self.mark_sparsely(positions, payload);
        }
        InOrder { positions: &self.sorted[..positions.len()], slots: &self.slots }
    }

    #[inline(always)]
    fn insert(&mut self, positions: &[u32], payload: &[P]) {
        let sorted = &mut self.sorted[..positions.len()];
        for (filled, (&at, &payload)) in positions.iter().zip(payload).enumerate() {
            self.slots[at as usize] = payload;
            let mut slot = filled;
            while slot > 0 && sorted[slot - 1] > at {
                sorted[slot] = sorted[slot - 1];
                slot -= 1;
            }
            sorted[slot] = at;
        }
    }

    #[inline(always)]
    fn mark_densely(&mut self, positions: &[u32], payload: &[P]) {
        for (&at, &payload) in positions.iter().zip(payload) {
            let at = at as usize;
            self.slots[at] = payload;
            self.words[at >> 6] |= 1 << (at & 63);
        }
        let mut filled = 0;
        for (word, bits) in self.words.iter_mut().enumerate() {
            filled += read_back(std::mem::take(bits), word, &mut self.sorted[filled..]);
        }
    }

    #[inline(always)]
    fn mark_sparsely(&mut self, positions: &[u32], payload: &[P]) {
        for (&at, &payload) in positions.iter().zip(payload) {
            let at = at as usize;
            self.slots[at] = payload;
            self.words[at >> 6] |= 1 << (at & 63);
            self.summary[at >> 12] |= 1 << (at >> 6 & 63);
        }
        let mut filled = 0;
        for (block, summary) in self.summary.iter_mut().enumerate() {
            let mut not_empty = std::mem::take(summary);
            while not_empty != 0 {
                let word = block << 6 | not_empty.trailing_zeros() as usize;
                not_empty &= not_empty - 1;
                let bits = std::mem::take(&mut self.words[word]);
                filled += read_back(bits, word, &mut self.sorted[filled..]);
            }
        }
    }
}

/// Writes the positions of a word's bits; says how many there are. Writing a whole group even if
/// fewer are left keeps the processor from guessing where each word ends.
#[inline(always)]
fn read_back(mut bits: u64, word: usize, sorted: &mut [u32]) -> usize {
    let (n_bits, base) = (bits.count_ones() as usize, (word << 6) as u32);
    let mut written = 0;
    while written < n_bits {
        for slot in &mut sorted[written..written + GROUP] {
            *slot = base.wrapping_add(bits.trailing_zeros());
            bits &= bits.wrapping_sub(1);
        }
        written += GROUP;
    }
    n_bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_insertion_sort_alike() {
        let n = 10_000u32;
        let position: Vec<u32> = (0..n).map(|i| i * 7919 % n).collect();
        let payload: Vec<u32> = (0..n).map(|i| i + 1).collect();
        let mut sorter = Sorter::new(n as usize);
        for size in [1, 2, FEW, FEW + 1, 150, 500, n as usize] {
            let mut expected = position[..size].to_vec();
            expected.sort_unstable();
            let sorted = sorter.sort(&position[..size], &payload[..size]);
            assert_eq!(sorted.positions, expected);
            for (&at, &payload) in position[..size].iter().zip(&payload) {
                assert_eq!(sorted.slots[at as usize], payload);
            }
        }
    }
}
