//! Text as codes into a dictionary, built as the cells go by.

use std::hash::{BuildHasher, RandomState};

use super::missing::MissingTokens;
use crate::{Cells, MISSING_CODE};

/// Codes for texts in order of first appearance. Missing tokens are looked up like any other text: once
/// met, one is an entry whose code is [`MISSING_CODE`], so that they cost nothing per cell.
pub(super) struct TextBuilder {
    codes: Vec<u32>,
    entries: Vec<Entry>,
    /// The bytes of all entries.
    arena: Vec<u8>,
    /// Open addressing: the upper half of an entry's hash above the entry's index plus one; 0 is free.
    slots: Vec<u64>,
    n_levels: u32,
    /// Makes the hash unpredictable, so that no file can be written to be slow.
    seed: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    len: u32,
    code: u32,
}

impl TextBuilder {
    pub(super) fn with_capacity(n_rows: usize) -> Self {
        Self {
            codes: Vec::with_capacity(n_rows),
            entries: Vec::new(),
            arena: Vec::new(),
            slots: vec![0; 64],
            n_levels: 0,
            seed: RandomState::new().hash_one(0u64),
        }
    }

    /// Appends a cell.
    #[inline]
    pub(super) fn push(&mut self, cell: &[u8], missing: &MissingTokens) {
        let code = self.code(cell, &|cell| missing.contains(cell));
        self.codes.push(code);
    }

    /// Appends a missing cell.
    pub(super) fn push_missing(&mut self) {
        self.codes.push(MISSING_CODE);
    }

    /// Appends a cell that is text whatever it says.
    pub(super) fn push_text(&mut self, cell: &[u8]) {
        let code = self.code(cell, &|_| false);
        self.codes.push(code);
    }

    #[inline]
    fn code(&mut self, cell: &[u8], is_missing: &impl Fn(&[u8]) -> bool) -> u32 {
        let hash = hash(cell, self.seed);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return self.insert(cell, hash, at, is_missing(cell));
            }
            if slot >> 32 == hash >> 32 {
                let entry = self.entries[(slot as u32 - 1) as usize];
                if entry.len as usize == cell.len()
                    && self.arena[entry.start..entry.start + cell.len()] == *cell
                {
                    return entry.code;
                }
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, cell: &[u8], hash: u64, at: usize, is_missing: bool) -> u32 {
        let code = if is_missing {
            MISSING_CODE
        } else {
            self.n_levels += 1;
            self.n_levels - 1
        };
        self.entries.push(Entry { start: self.arena.len(), len: cell.len() as u32, code });
        self.arena.extend_from_slice(cell);
        self.slots[at] = (hash >> 32 << 32) | self.entries.len() as u64;
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        code
    }

    fn grow(&mut self) {
        let n_slots = self.slots.len() * 4;
        self.slots.clear();
        self.slots.resize(n_slots, 0);
        for (i, entry) in self.entries.iter().enumerate() {
            let hash = hash(&self.arena[entry.start..][..entry.len as usize], self.seed);
            let mut at = hash as usize & (n_slots - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (n_slots - 1);
            }
            self.slots[at] = (hash >> 32 << 32) | (i as u64 + 1);
        }
    }

    /// The codes and, for each, its text.
    pub(super) fn finish(self) -> (Vec<u32>, Vec<String>) {
        drop(self.slots);
        let text = |entry: &Entry| {
            let bytes = &self.arena[entry.start..][..entry.len as usize];
            String::from_utf8_lossy(bytes).into_owned()
        };
        let levels = self.entries.iter().filter(|e| e.code != MISSING_CODE);
        (self.codes, levels.map(text).collect())
    }

    /// As a column of text.
    pub(super) fn into_cells(self) -> Cells {
        let (codes, dictionary) = self.finish();
        Cells::Text { codes, dictionary }
    }
}

/// A quick hash for short texts: two overlapping words, multiplied and folded.
#[inline]
fn hash(cell: &[u8], seed: u64) -> u64 {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let half = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    let (a, b) = match cell.len() {
        0 => (0, 0),
        1..=3 => {
            let (first, middle, last) = (cell[0], cell[cell.len() / 2], cell[cell.len() - 1]);
            (u64::from(first) << 16 | u64::from(middle) << 8 | u64::from(last), 0)
        }
        4..=7 => (half(first_chunk(cell)), half(last_chunk(cell))),
        8..=16 => (word(first_chunk(cell)), word(last_chunk(cell))),
        _ => return xxhash_rust::xxh3::xxh3_64_with_seed(cell, seed),
    };
    let keyed = u128::from(a ^ seed ^ 0x9e37_79b9_7f4a_7c15)
        * u128::from(b ^ seed.rotate_left(32) ^ cell.len() as u64);
    let folded = (keyed >> 64) as u64 ^ keyed as u64;
    let mixed = u128::from(folded ^ seed) * 0xa076_1d64_78bd_642f;
    (mixed >> 64) as u64 ^ mixed as u64
}

fn first_chunk<const N: usize>(cell: &[u8]) -> &[u8; N] {
    cell.first_chunk().expect("the length was matched above")
}

fn last_chunk<const N: usize>(cell: &[u8]) -> &[u8; N] {
    cell.last_chunk().expect("the length was matched above")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_come_in_order_of_first_appearance_without_the_missing() {
        let missing = MissingTokens::new(&["NA"]);
        let mut builder = TextBuilder::with_capacity(0);
        for cell in ["b", "NA", "a", " NA ", "b", ""] {
            builder.push(cell.as_bytes(), &missing);
        }
        let (codes, levels) = builder.finish();
        assert_eq!(levels, ["b", "a"]);
        assert_eq!(codes, [0, MISSING_CODE, 1, MISSING_CODE, 0, MISSING_CODE]);
    }

    #[test]
    fn many_texts_of_all_lengths_keep_their_codes() {
        let missing = MissingTokens::new::<&str>(&[]);
        let mut builder = TextBuilder::with_capacity(0);
        let text = |i: usize| format!("{}{i}", "x".repeat(i % 40));
        for i in (0..5000).chain(0..5000) {
            builder.push(text(i).as_bytes(), &missing);
        }
        let (codes, levels) = builder.finish();
        assert_eq!(levels.len(), 5000);
        for (row, &code) in codes.iter().enumerate() {
            assert_eq!(levels[code as usize], text(row % 5000));
        }
    }
}
