//! Short cells as one 16-byte word: most cells are, and a word is compared and parsed without a loop.

/// The longest cell that is short.
pub(super) const SHORT: usize = 16;

/// The lowest `n` bytes set, for `n` up to 16.
pub(super) const LOW_BYTES: [u128; SHORT + 1] = {
    let mut masks = [u128::MAX; SHORT + 1];
    let mut n = 0;
    while n < SHORT {
        masks[n] = (1 << (8 * n)) - 1;
        n += 1;
    }
    masks
};

/// The cell of `len` bytes at `start`, first byte lowest, zeros after its end.
///
/// # Panics
/// If the cell is longer than [`SHORT`] or not within the data.
#[inline(always)]
pub(super) fn load(data: &[u8], start: usize, len: usize) -> u128 {
    match data[start..].first_chunk::<SHORT>() {
        Some(bytes) => u128::from_le_bytes(*bytes) & LOW_BYTES[len],
        None => load_last(&data[start..start + len]),
    }
}

/// The cell of `len` bytes that ends at `end`, last byte highest, zeros before its start.
///
/// # Panics
/// If the cell is longer than [`SHORT`] or not within the data.
#[inline(always)]
pub(super) fn load_right(data: &[u8], end: usize, len: usize) -> u128 {
    match data[..end].last_chunk::<SHORT>() {
        Some(bytes) => u128::from_le_bytes(*bytes) & !LOW_BYTES[SHORT - len],
        None => load_first(&data[end - len..end]),
    }
}

/// A cell so near the beginning that there are no 16 bytes to load.
#[cold]
fn load_first(cell: &[u8]) -> u128 {
    let mut bytes = [0; SHORT];
    bytes[SHORT - cell.len()..].copy_from_slice(cell);
    u128::from_le_bytes(bytes)
}

/// A cell so near the end that there are no 16 bytes to load.
#[cold]
fn load_last(cell: &[u8]) -> u128 {
    let mut bytes = [0; SHORT];
    bytes[..cell.len()].copy_from_slice(cell);
    u128::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_cell_is_masked() {
        let data = b"abcdefghijklmnopqrstuvwxyz";
        for (start, len) in [(0, 0), (0, 3), (5, 16), (23, 3), (26, 0), (10, 16)] {
            let word = load(data, start, len).to_le_bytes();
            assert_eq!(word[..len], data[start..start + len]);
            assert!(word[len..].iter().all(|&b| b == 0));
            let word = load_right(data, start + len, len).to_le_bytes();
            assert_eq!(word[SHORT - len..], data[start..start + len]);
            assert!(word[..SHORT - len].iter().all(|&b| b == 0));
        }
    }
}
