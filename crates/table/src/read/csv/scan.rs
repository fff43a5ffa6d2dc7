//! Where the structural bytes are: 64 bytes of text to a mask of those that may end a cell.

/// How many bytes one mask covers.
pub(super) const WINDOW: usize = 64;

/// The bytes to look for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) delimiter: u8,
    pub(super) newline: u8,
    pub(super) quote: u8,
}

/// One bit per byte of the window: whether it is one of the wanted three.
#[inline(always)]
pub(super) fn mask(window: &[u8; WINDOW], wanted: Wanted) -> u64 {
    let (parts, _) = window.as_chunks::<16>();
    let part = |i: usize| u64::from(mask16(&parts[i], wanted)) << (16 * i);
    part(0) | part(1) | part(2) | part(3)
}

/// Sixteen bytes, as two words of eight.
#[inline(always)]
fn mask16(part: &[u8; 16], wanted: Wanted) -> u16 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let word = u128::from_le_bytes(*part);
    let eight = |word: u64| {
        // The top bit of each byte that equals `b`: exact, since no carry crosses a byte.
        let equal = |b: u8| {
            let x = word ^ (LOW * u64::from(b));
            !(((x & SEVEN) + SEVEN) | x | SEVEN)
        };
        let tops = equal(wanted.delimiter) | equal(wanted.newline) | equal(wanted.quote);
        // Gathers the eight top bits into one byte.
        ((tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u16
    };
    eight(word as u64) | eight((word >> 64) as u64) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_wanted_bytes_are_found(part: [u8; 16], at in 0usize..16, pick in 0usize..3) {
            let wanted = Wanted { delimiter: b',', newline: b'\n', quote: b'"' };
            let mut part = part;
            part[at] = [b',', b'\n', b'"'][pick];
            let plain = (0..16).filter(|&i| matches!(part[i], b',' | b'\n' | b'"'));
            let plain = plain.fold(0u16, |mask, i| mask | 1 << i);
            proptest::prop_assert_eq!(mask16(&part, wanted), plain);
        }
    }
}
