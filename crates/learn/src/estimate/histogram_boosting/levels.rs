//! The levels of a category as bins: the frequent ones each have their own, the rare ones share one.

use serde::{Deserialize, Serialize};

/// Levels with a bin of their own; rare ones and missing cells need a bin each.
const MOST_LEVELS: usize = 8_190;

/// Codes above this have no bin of their own: codes count from zero, so that no table comes near it.
const LARGEST_CODE: f64 = 16_777_216.0;

/// Which bin each code of a category is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Levels {
    /// By code; that of missing cells for one that no training row has.
    bins: Vec<u16>,
    missing: u16,
}

impl Levels {
    /// Counts the codes of the training rows; NaN is a missing cell.
    pub(super) fn of(codes: &[f64]) -> Self {
        let mut counts: Vec<u32> = Vec::new();
        for &code in codes.iter().filter(|&&code| (0.0..LARGEST_CODE).contains(&code)) {
            let code = code as usize;
            if code >= counts.len() {
                counts.resize(code + 1, 0);
            }
            counts[code] += 1;
        }
        let mut met: Vec<usize> = (0..counts.len()).filter(|&code| counts[code] > 0).collect();
        // The most frequent first; of equally frequent ones that with the smaller code.
        met.sort_by_key(|&code| std::cmp::Reverse(counts[code]));
        let (frequent, rare) = met.split_at(met.len().min(MOST_LEVELS));
        let missing = frequent.len() + usize::from(!rare.is_empty());
        let mut bins = vec![missing as u16; counts.len()];
        for (bin, &code) in frequent.iter().enumerate() {
            bins[code] = bin as u16;
        }
        for &code in rare {
            bins[code] = MOST_LEVELS as u16;
        }
        Self { bins, missing: missing as u16 }
    }

    /// The bin of missing cells and of levels never met, which follows those of levels.
    pub(super) fn missing(&self) -> u16 {
        self.missing
    }

    /// The bin of a code.
    #[inline]
    pub(super) fn bin(&self, code: f64) -> u16 {
        // NaN is not above or equal to anything.
        if code >= 0.0 {
            self.bins.get(code as usize).copied().unwrap_or(self.missing)
        } else {
            self.missing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_never_met_is_as_good_as_missing() {
        let levels = Levels::of(&[4.0, 2.0, 2.0, f64::NAN]);
        assert_eq!([2.0, 4.0].map(|code| levels.bin(code)), [0, 1]);
        assert_eq!([0.0, 3.0, 5.0, f64::NAN, f64::INFINITY].map(|code| levels.bin(code)), [2; 5]);
    }

    #[test]
    fn rare_levels_share_a_bin() {
        let mut codes: Vec<f64> = (0..9000).map(f64::from).collect();
        codes.extend((1000..9000).map(f64::from));
        let levels = Levels::of(&codes);
        assert_eq!((levels.bin(1000.0), levels.bin(8999.0)), (0, 7999));
        assert_eq!((levels.bin(189.0), levels.bin(190.0), levels.bin(999.0)), (8189, 8190, 8190));
        assert_eq!(levels.missing(), 8191);
    }
}
