//! Random orders of rows.

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Shuffles in place (Fisher and Yates), two choices from each number drawn.
///
/// The multiplication favours some choices by less than one part in 2^32 / n.
pub(crate) fn shuffle(order: &mut [u32], rng: &mut Xoshiro256PlusPlus) {
    let mut i = order.len();
    while i > 1 {
        let draw = rng.next_u64();
        order.swap(i - 1, below(draw as u32, i));
        i -= 1;
        if i > 1 {
            order.swap(i - 1, below((draw >> 32) as u32, i));
            i -= 1;
        }
    }
}

/// A number below `n` from 32 random bits.
#[inline(always)]
pub(crate) fn below(bits: u32, n: usize) -> usize {
    ((u64::from(bits) * n as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn every_row_keeps_its_place_in_the_order_once() {
        for n in [0, 1, 2, 3, 100, 101] {
            let mut order: Vec<u32> = (0..n).collect();
            shuffle(&mut order, &mut Stream::new(1).rng());
            assert!(n < 100 || order.iter().enumerate().any(|(i, &o)| i as u32 != o));
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..n));
        }
    }
}
