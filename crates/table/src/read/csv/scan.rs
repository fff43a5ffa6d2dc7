//! Where the structural bytes are: for each 64 bytes of text, a mask of those that may end a cell.

/// How many bytes one mask covers.
pub(super) const WINDOW: usize = 64;

/// How many masks are made at a time.
pub(super) const BATCH: usize = 256;

/// The bytes to look for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) delimiter: u8,
    pub(super) newline: u8,
    pub(super) quote: u8,
}

/// Fills in the masks of the first windows of the data, one bit per byte: whether it is one of the wanted
/// three. Returns how many windows there were. Bytes beyond the end are not wanted.
pub(super) fn masks(data: &[u8], wanted: Wanted, masks: &mut [u64; BATCH]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(avx2::Fill { simd, data, wanted, masks });
    }
    fill(data, masks, Portable(wanted))
}

/// A way to make one mask. A trait where a closure would do, because only a function can be told to be
/// inlined always, and SIMD code that is not inlined is slower than none.
trait Mask: Copy {
    fn mask(self, window: &[u8; WINDOW]) -> u64;
}

#[inline(always)]
fn fill(data: &[u8], masks: &mut [u64; BATCH], way: impl Mask) -> usize {
    let (windows, rest) = data.as_chunks::<WINDOW>();
    for (slot, window) in masks.iter_mut().zip(windows) {
        *slot = way.mask(window);
    }
    if windows.len() >= BATCH || rest.is_empty() {
        return windows.len().min(BATCH);
    }
    // Text holds no NUL, so the padding matches nothing.
    let mut padded = [0; WINDOW];
    padded[..rest.len()].copy_from_slice(rest);
    masks[windows.len()] = way.mask(&padded);
    windows.len() + 1
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::__m256i;

    use pulp::NullaryFnOnce;
    use pulp::x86::V3;

    use super::{BATCH, Mask, WINDOW, Wanted, fill};

    /// [`super::masks`] with 32 comparisons at once.
    pub(super) struct Fill<'a> {
        pub(super) simd: V3,
        pub(super) data: &'a [u8],
        pub(super) wanted: Wanted,
        pub(super) masks: &'a mut [u64; BATCH],
    }

    impl NullaryFnOnce for Fill<'_> {
        type Output = usize;

        #[inline(always)]
        fn call(self) -> usize {
            let Self { simd, data, wanted, masks } = self;
            fill(data, masks, Avx2 { simd, wanted })
        }
    }

    #[derive(Clone, Copy)]
    struct Avx2 {
        simd: V3,
        wanted: Wanted,
    }

    impl Mask for Avx2 {
        #[inline(always)]
        fn mask(self, window: &[u8; WINDOW]) -> u64 {
            let (halves, _) = window.as_chunks::<32>();
            u64::from(self.half(halves[0])) | (u64::from(self.half(halves[1])) << 32)
        }
    }

    impl Avx2 {
        #[inline(always)]
        fn half(self, bytes: [u8; 32]) -> u32 {
            let bytes: __m256i = pulp::cast(bytes);
            let avx2 = self.simd.avx2;
            let (delimiters, newlines) =
                (self.equal(bytes, self.wanted.delimiter), self.equal(bytes, self.wanted.newline));
            let ends = avx2._mm256_or_si256(delimiters, newlines);
            let quotes = self.equal(bytes, self.wanted.quote);
            avx2._mm256_movemask_epi8(avx2._mm256_or_si256(ends, quotes)) as u32
        }

        #[inline(always)]
        fn equal(self, bytes: __m256i, wanted: u8) -> __m256i {
            self.simd.avx2._mm256_cmpeq_epi8(bytes, self.simd.avx._mm256_set1_epi8(wanted as i8))
        }
    }
}

/// Eight bytes at a time, on any machine.
#[derive(Clone, Copy)]
struct Portable(Wanted);

impl Mask for Portable {
    #[inline(always)]
    fn mask(self, window: &[u8; WINDOW]) -> u64 {
        let (parts, _) = window.as_chunks::<8>();
        let mask = |mask, (i, &part): (usize, &[u8; 8])| mask | (eight(part, self.0) << (8 * i));
        parts.iter().enumerate().fold(0, mask)
    }
}

/// One bit for each of eight bytes.
#[inline(always)]
fn eight(bytes: [u8; 8], wanted: Wanted) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let word = u64::from_le_bytes(bytes);
    // The top bit of each byte that equals `b`: exact, since no carry crosses a byte.
    let equal = |b: u8| {
        let x = word ^ (LOW * u64::from(b));
        !(((x & SEVEN) + SEVEN) | x | SEVEN)
    };
    let tops = equal(wanted.delimiter) | equal(wanted.newline) | equal(wanted.quote);
    // Gathers the eight top bits into one byte.
    (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_wanted_bytes_are_found_on_any_machine(
            seed in proptest::collection::vec(1u8.., 1..300),
            marks in proptest::collection::vec((0usize..300, 0usize..3), 0..60),
        ) {
            let wanted = Wanted { delimiter: b',', newline: b'\n', quote: b'"' };
            let mut data = seed;
            for (at, pick) in marks {
                let n = data.len();
                data[at % n] = [b',', b'\n', b'"'][pick];
            }
            let plain = |window: &[u8]| {
                let hits = (0..window.len()).filter(|&i| matches!(window[i], b',' | b'\n' | b'"'));
                hits.fold(0u64, |mask, i| mask | 1 << i)
            };
            let want: Vec<u64> = data.chunks(WINDOW).map(plain).collect();
            let (mut fast, mut portable) = ([0; BATCH], [0; BATCH]);
            let n = masks(&data, wanted, &mut fast);
            proptest::prop_assert_eq!(&fast[..n], want.as_slice());
            let n = fill(&data, &mut portable, Portable(wanted));
            proptest::prop_assert_eq!(&portable[..n], want.as_slice());
        }
    }

    #[test]
    fn a_long_text_is_taken_a_batch_at_a_time() {
        let wanted = Wanted { delimiter: b',', newline: b'\n', quote: b'"' };
        let mut found = [0; BATCH];
        assert_eq!(masks(&vec![b','; WINDOW * BATCH + 1], wanted, &mut found), BATCH);
        assert!(found.iter().all(|&m| m == u64::MAX));
        assert_eq!(masks(b"", wanted, &mut found), 0);
    }
}
