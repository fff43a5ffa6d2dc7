//! Text as codes into a dictionary, built as the cells go by.

use std::hash::{BuildHasher, RandomState};

use super::missing::MissingTokens;
use super::short::{self, SHORT};
use crate::{Cells, MISSING_CODE};

/// Codes for texts in order of first appearance. Missing tokens are looked up like any other text: once
/// met, one has a slot whose code is [`MISSING_CODE`], so that they cost nothing per cell.
pub(super) struct TextBuilder {
    codes: Vec<u32>,
    /// Where each level's text ends in the arena.
    ends: Vec<usize>,
    arena: Vec<u8>,
    /// Open addressing, never more than half full.
    slots: Vec<Slot>,
    n_used: usize,
    /// Makes the hash unpredictable, so that no file can be written to be slow.
    seed: u64,
}

/// A text that was met. A short one stands here as a whole, so that most lookups touch one cache line.
#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    code: u32,
}

/// A short text padded with zeros, or a long one's hash.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    low: u64,
    high: u64,
    len: u32,
}

const FREE: Slot = Slot { key: Key { low: 0, high: 0, len: u32::MAX }, code: 0 };

impl TextBuilder {
    pub(super) fn with_capacity(n_rows: usize) -> Self {
        Self {
            codes: Vec::with_capacity(n_rows),
            ends: Vec::new(),
            arena: Vec::new(),
            slots: vec![FREE; 64],
            n_used: 0,
            seed: RandomState::new().hash_one(0u64),
        }
    }

    /// Appends a cell.
    pub(super) fn push(&mut self, cell: &[u8], missing: &MissingTokens) {
        self.push_within(cell, 0, cell.len(), missing);
    }

    /// Appends a cell given by its place in the data, which lets it be loaded in one go.
    #[inline]
    pub(super) fn push_within(
        &mut self,
        data: &[u8],
        start: usize,
        end: usize,
        missing: &MissingTokens,
    ) {
        let code = self.code(data, start, end, &|cell| missing.contains(cell));
        self.codes.push(code);
    }

    /// Appends a missing cell.
    pub(super) fn push_missing(&mut self) {
        self.codes.push(MISSING_CODE);
    }

    /// Appends a cell that is text whatever it says.
    pub(super) fn push_text(&mut self, cell: &[u8]) {
        let code = self.code(cell, 0, cell.len(), &|_| false);
        self.codes.push(code);
    }

    #[inline]
    fn code(
        &mut self,
        data: &[u8],
        start: usize,
        end: usize,
        is_missing: &impl Fn(&[u8]) -> bool,
    ) -> u32 {
        let len = end - start;
        if len > SHORT {
            return self.code_of_long(&data[start..end], is_missing(&data[start..end]));
        }
        let word = short::load(data, start, len);
        let key = Key { low: word as u64, high: (word >> 64) as u64, len: len as u32 };
        let mask = self.slots.len() - 1;
        let mut at = self.hash(key) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.key == key {
                return slot.code;
            }
            if slot.key.len == u32::MAX {
                let cell = &data[start..end];
                return self.insert(cell, key, at, is_missing(cell));
            }
            at = (at + 1) & mask;
        }
    }

    #[inline(never)]
    fn code_of_long(&mut self, cell: &[u8], is_missing: bool) -> u32 {
        // Such a token would have no place in the arena to be compared with.
        if is_missing {
            return MISSING_CODE;
        }
        let hash = xxhash_rust::xxh3::xxh3_64_with_seed(cell, self.seed);
        // A length beyond four gigabytes wraps; the texts are compared below.
        let len = (cell.len() as u32).clamp(SHORT as u32 + 1, u32::MAX - 1);
        let key = Key { low: hash, high: 0, len };
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.key == key && self.level(slot.code) == cell {
                return slot.code;
            }
            if slot.key.len == u32::MAX {
                return self.insert(cell, key, at, false);
            }
            at = (at + 1) & mask;
        }
    }

    fn level(&self, code: u32) -> &[u8] {
        let code = code as usize;
        let start = if code == 0 { 0 } else { self.ends[code - 1] };
        &self.arena[start..self.ends[code]]
    }

    #[cold]
    fn insert(&mut self, cell: &[u8], key: Key, at: usize, is_missing: bool) -> u32 {
        let code = if is_missing {
            MISSING_CODE
        } else {
            self.arena.extend_from_slice(cell);
            self.ends.push(self.arena.len());
            self.ends.len() as u32 - 1
        };
        self.slots[at] = Slot { key, code };
        self.n_used += 1;
        if self.n_used * 2 > self.slots.len() {
            self.grow();
        }
        code
    }

    fn grow(&mut self) {
        let n_slots = self.slots.len() * 4;
        let old = std::mem::replace(&mut self.slots, vec![FREE; n_slots]);
        for slot in old.into_iter().filter(|slot| slot.key.len != u32::MAX) {
            let is_long = slot.key.len as usize > SHORT;
            let hash = if is_long { slot.key.low } else { self.hash(slot.key) };
            let mut at = hash as usize & (n_slots - 1);
            while self.slots[at].key.len != u32::MAX {
                at = (at + 1) & (n_slots - 1);
            }
            self.slots[at] = slot;
        }
    }

    /// The hash of a short text: its words keyed, multiplied and folded.
    #[inline]
    fn hash(&self, key: Key) -> u64 {
        let product = u128::from(key.low ^ self.seed)
            * u128::from(key.high ^ self.seed.rotate_left(32) ^ u64::from(key.len));
        (product >> 64) as u64 ^ product as u64
    }

    /// The codes and, for each, its text.
    pub(super) fn finish(mut self) -> (Vec<u32>, Vec<String>) {
        self.slots = Vec::new();
        let text = |code| String::from_utf8_lossy(self.level(code)).into_owned();
        let levels = (0..self.ends.len() as u32).map(text).collect();
        (self.codes, levels)
    }

    /// As a column of text.
    pub(super) fn into_cells(self) -> Cells {
        let (codes, dictionary) = self.finish();
        Cells::Text { codes: codes.into(), dictionary }
    }
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
