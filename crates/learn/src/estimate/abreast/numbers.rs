//! From the rows of each leaf to the leaf of each row: the bits of its number, put together.

use super::{BLOCK, Rows, WORDS};

/// Leaves that are looked at together.
pub(super) const TOGETHER: usize = 8;

/// Bits of the number of a leaf.
const BITS: usize = 8;

/// The bits of a byte, each in a byte of its own.
const SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            spread[byte] |= ((byte as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    spread
};

/// The number of each row's leaf, given the rows of each leaf, with empty sets up to a multiple of [`TOGETHER`].
#[inline(always)]
pub(super) fn of_leaves(rows: &[Rows], n_leaves: usize, leaf_of: &mut [u8; BLOCK]) {
    // Which rows' leaves have this bit in their number.
    let mut bits = [[0u64; WORDS]; BITS];
    for (eight, leaves) in rows.chunks_exact(TOGETHER).take(n_leaves.div_ceil(TOGETHER)).enumerate()
    {
        let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| leaves[i]);
        let (bd, fh) = (or(b, d), or(f, h));
        let (cd, gh, ef) = (or(c, d), or(g, h), or(e, f));
        let upper = or(ef, gh);
        bits[0] = or(bits[0], or(bd, fh));
        bits[1] = or(bits[1], or(cd, gh));
        bits[2] = or(bits[2], upper);
        if eight > 0 {
            let all = or(upper, or(or(a, b), cd));
            for bit in 0..BITS - 3 {
                if eight >> bit & 1 == 1 {
                    bits[3 + bit] = or(bits[3 + bit], all);
                }
            }
        }
    }
    let n_bits = (usize::BITS - (n_leaves - 1).leading_zeros()) as usize;
    let bits = &bits[..n_bits.min(BITS)];
    for (word, rows) in leaf_of.chunks_exact_mut(64).enumerate() {
        for (eighth, rows) in rows.chunks_exact_mut(8).enumerate() {
            let spread = |of: &Rows| SPREAD[usize::from((of[word] >> (8 * eighth)) as u8)];
            let numbers = bits.iter().rev().fold(0, |numbers, of| numbers << 1 | spread(of));
            rows.copy_from_slice(&numbers.to_le_bytes());
        }
    }
}

#[inline(always)]
fn or(a: Rows, b: Rows) -> Rows {
    std::array::from_fn(|w| a[w] | b[w])
}
