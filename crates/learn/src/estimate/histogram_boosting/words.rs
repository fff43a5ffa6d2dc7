//! Derivatives as whole numbers: a row's in one word, sums over rows in two.
//!
//! A word holds a gradient above a hessian above a one that counts the row. Words of up to [`BLOCK`] rows are added
//! as they are, with one addition for all three; larger sums are kept apart. Derivatives are rounded up or down at random, in
//! proportion to what is left over, so that sums over many rows are right on average (as in LightGBM's quantised
//! training, whose whole numbers have 2 to 5 bits; these have 15 and 12).

/// A row's derivatives, or the sum of those of a few rows.
pub(super) type Word = i64;

/// The most rows whose words may be added.
pub(super) const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 12;
const GRADIENT_BITS: u32 = 14;
const HESSIAN_BITS: u32 = 12;
/// Where hessians begin: above a count of up to a block, which included.
const HESSIAN_AT: u32 = BLOCK_BITS + 1;
const GRADIENT_AT: u32 = HESSIAN_AT + HESSIAN_BITS + BLOCK_BITS;

/// A sum over rows: gradients, then hessians in the upper bits and the number of rows in the lower.
pub(super) type Sums = [i64; 2];

/// What one in a [`Word`] stands for, and how [`Sums`] are packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    gradient: f64,
    hessian: f64,
    /// How many of the lower bits count rows.
    count_bits: u32,
}

impl Units {
    /// Units for derivatives of so many rows that are at most this large.
    pub(super) fn new(n_rows: usize, gradient: f32, hessian: f32) -> Self {
        let count_bits = usize::BITS - n_rows.leading_zeros();
        // Sums over all rows stay below 2^(63 - count_bits).
        let hessian_bits = (62u32.saturating_sub(2 * count_bits)).clamp(1, HESSIAN_BITS);
        // One less than there is room for, as they may be rounded up.
        let unit = |largest: f32, bits: u32| {
            let most = f64::from((1u32 << bits) - 2).max(1.0);
            if largest > 0.0 { f64::from(largest) / most } else { 1.0 }
        };
        Self {
            gradient: unit(gradient, GRADIENT_BITS),
            hessian: unit(hessian, hessian_bits),
            count_bits,
        }
    }

    #[inline(always)]
    pub(super) fn count(self, sums: Sums) -> u64 {
        sums[1] as u64 & ((1 << self.count_bits) - 1)
    }

    #[cfg(test)]
    pub(super) fn count_bits(self) -> u32 {
        self.count_bits
    }

    #[inline(always)]
    pub(super) fn gradient(self, sums: Sums) -> f64 {
        sums[0] as f64 * self.gradient
    }

    #[inline(always)]
    pub(super) fn hessian(self, sums: Sums) -> f64 {
        (sums[1] >> self.count_bits) as f64 * self.hessian
    }

    /// The sums that a word of at most a block of rows stands for.
    #[inline(always)]
    pub(super) fn unpack(self, word: Word) -> Sums {
        let below = word & ((1 << GRADIENT_AT) - 1);
        let count = below & ((1 << HESSIAN_AT) - 1);
        [word >> GRADIENT_AT, ((below >> HESSIAN_AT) << self.count_bits) + count]
    }

    /// The sums over rows.
    pub(super) fn sums(self, words: &[Word]) -> Sums {
        let mut sums = [0; 2];
        for block in words.chunks(BLOCK) {
            let [gradient, hessian] = self.unpack(block.iter().sum());
            sums = [sums[0] + gradient, sums[1] + hessian];
        }
        sums
    }
}

/// The words of rows from `first` on, the i-th of which counts `weight(i)`.
pub(super) fn pack(
    units: Units,
    gradients: &[f32],
    weight: impl Fn(usize) -> f32,
    first: u32,
    key: u32,
    words: &mut [Word],
) {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || pack_rows(units, gradients, weight, first, key, words),
    );
}

#[inline(always)]
fn pack_rows(
    units: Units,
    gradients: &[f32],
    weight: impl Fn(usize) -> f32,
    first: u32,
    key: u32,
    words: &mut [Word],
) {
    // Above all gradients, so that what is cut off is rounded down.
    const OFFSET: i32 = 1 << GRADIENT_BITS;
    let per_gradient = (1.0 / units.gradient) as f32;
    let per_hessian = (1.0 / units.hessian) as f32;
    for (i, (word, &g)) in words.iter_mut().zip(gradients).enumerate() {
        let random = mix((first + i as u32) ^ key);
        let (up, other_up) = ((random >> 16) as i32, (random & 0xffff) as i32);
        let unit = 1.0 / 65536.0;
        let weight = weight(i);
        let hessian = weight * g.abs() * (1.0 - g.abs());
        let gradient = weight * g * per_gradient + (OFFSET as f32 + up as f32 * unit);
        let hessian = hessian * per_hessian + other_up as f32 * unit;
        let (gradient, hessian) = (gradient as i32 - OFFSET, hessian as i32);
        *word = (i64::from(gradient) << GRADIENT_AT) + (i64::from(hessian) << HESSIAN_AT) + 1;
    }
}

/// A number that looks random.
#[inline(always)]
fn mix(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    let x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_hold_as_many_rows_as_there_are() {
        for n_rows in [1usize, 2, 1000, 1 << 20, 20_000_000] {
            let units = Units::new(n_rows, 1.0, 0.25);
            for g in [-1.0f32, 0.5, 1.0] {
                let mut words = [0; 3];
                pack(units, &[g; 3], |_| 1.0, 0, 5, &mut words);
                words[0].checked_mul(BLOCK as i64).expect("no overflow");
                let all =
                    units.unpack(words[0]).map(|part| part.checked_mul(n_rows as i64).unwrap());
                assert_eq!(units.count(all), n_rows as u64);
                let close = |a: f64, b: f64| (a / n_rows as f64 - b).abs() < 1e-3;
                assert!(close(units.gradient(all), f64::from(g)), "{n_rows} {g}");
                let hessian = f64::from(g.abs() * (1.0 - g.abs()));
                let coarse = if n_rows > 1 << 24 { 0.05 } else { 1e-3 };
                assert!((units.hessian(all) / n_rows as f64 - hessian).abs() < coarse, "{n_rows}");
            }
        }
    }

    #[test]
    fn what_is_too_small_to_show_still_counts_on_average() {
        let (n, g) = (100_000, 1e-5f32);
        let mut gradients = vec![g; n];
        gradients[0] = 1.0;
        let units = Units::new(n, 1.0, 0.25);
        let mut words = vec![0; n];
        pack(units, &gradients, |_| 1.0, 0, 3, &mut words);
        let sums = units.sums(&words[1..]);
        let expected = f64::from(g) * (n - 1) as f64;
        assert!((units.gradient(sums) / expected - 1.0).abs() < 0.05);
        assert!((units.hessian(sums) / expected - 1.0).abs() < 0.05);
    }
}
