//! The columns of a matrix in at most 256 bins each: made once, shared by all settings that are fitted on it.

use std::sync::OnceLock;

use cpu_time::ThreadTime;
use rayon::prelude::*;

use super::edges::{Edges, sampled_rows};
use super::levels::Levels;
use crate::{Features, FitContext, FitError};

/// The bins of values of a column; one bin more is for missing cells.
pub(super) const MOST_VALUES: usize = 255;

/// What [`Features`] carries for this estimator; filled at first use.
#[derive(Debug, Default)]
pub(crate) struct BinCache(OnceLock<Binned>);

impl BinCache {
    /// Whether the bins are there already.
    pub(super) fn is_filled(&self) -> bool {
        self.0.get().is_some()
    }
}

/// A matrix of bins, column-major.
#[derive(Debug)]
pub(super) struct Binned {
    pub(super) n_rows: usize,
    pub(super) columns: Vec<BinnedColumn>,
    bins: Vec<u8>,
    /// CPU seconds that making this took: what a fit alone would have paid as well.
    pub(super) secs: f64,
}

/// What the bins of one column stand for.
#[derive(Debug)]
pub(super) struct BinnedColumn {
    /// How many bins hold values; the next one is that of missing cells.
    pub(super) n_values: usize,
    /// Whether some cell is missing.
    pub(super) has_missing: bool,
    pub(super) meaning: Meaning,
}

/// What a bin of values is.
#[derive(Debug)]
pub(super) enum Meaning {
    /// Numbers between two edges.
    Numbers(Edges),
    /// A level of a category, or its rare levels together.
    Categories(Levels),
}

impl BinnedColumn {
    /// How many bins there are, that of missing cells included where there are any.
    pub(super) fn n_bins(&self) -> usize {
        self.n_values + usize::from(self.has_missing)
    }
}

impl Binned {
    #[inline]
    pub(super) fn column(&self, j: usize) -> &[u8] {
        &self.bins[j * self.n_rows..(j + 1) * self.n_rows]
    }

    fn of(x: &Features, ctx: &FitContext) -> Result<Self, FitError> {
        let start = ThreadTime::now();
        let (n_rows, n_cols) = (x.n_rows(), x.n_cols());
        let mut bins = vec![0u8; n_rows * n_cols];
        let sample = sampled_rows(n_rows);
        let is_category = |j: usize| x.categories().is_some_and(|flags| flags[j]);
        let columns = bins
            .par_chunks_mut(n_rows)
            .enumerate()
            .map(|(j, bins)| {
                ctx.check_deadline()?;
                Ok(if is_category(j) {
                    bin_levels(x.column(j), bins)
                } else {
                    bin_numbers(x.column(j), sample.as_deref(), bins)
                })
            })
            .collect::<Result<Vec<_>, FitError>>()?;
        Ok(Self { n_rows, columns, bins, secs: start.elapsed().as_secs_f64() })
    }
}

impl Features {
    /// The columns in bins.
    pub(super) fn binned(
        &self,
        component: &'static str,
        ctx: &FitContext,
    ) -> Result<&Binned, FitError> {
        if self.n_cols() == 0 || self.n_rows() == 0 {
            return Err(FitError::NoFeatures { component });
        }
        if let Some(binned) = self.bins.0.get() {
            return Ok(binned);
        }
        ctx.check_memory(component, self.columns().len() as u64)?;
        let binned = Binned::of(self, ctx)?;
        Ok(self.bins.0.get_or_init(|| binned))
    }
}

fn bin_numbers(values: &[f64], sample: Option<&[u32]>, bins: &mut [u8]) -> BinnedColumn {
    let mut sorted: Vec<f64> = match sample {
        None => values.iter().copied().filter(|v| !v.is_nan()).collect(),
        Some(rows) => rows.iter().map(|&i| values[i as usize]).filter(|v| !v.is_nan()).collect(),
    };
    sorted.sort_unstable_by(f64::total_cmp);
    let edges = Edges::of_sorted(&sorted, MOST_VALUES);
    let n_values = if sorted.is_empty() { 0 } else { edges.n_bins() };
    let missing = n_values as u8;
    let mut has_missing = false;
    let search = edges.search();
    for (bin, &value) in bins.iter_mut().zip(values) {
        has_missing |= value.is_nan();
        // A value that no sampled row had falls among those that some had, unless none had any.
        let found = if n_values == 0 { missing } else { search.bin(value) };
        *bin = if value.is_nan() { missing } else { found };
    }
    // All sampled cells were missing: the few others are as good as missing.
    has_missing |= n_values == 0;
    BinnedColumn { n_values, has_missing, meaning: Meaning::Numbers(edges) }
}

fn bin_levels(codes: &[f64], bins: &mut [u8]) -> BinnedColumn {
    let levels = Levels::of(codes);
    let missing = levels.missing();
    let mut has_missing = false;
    for (bin, &code) in bins.iter_mut().zip(codes) {
        *bin = levels.bin(code);
        has_missing |= *bin == missing;
    }
    let n_values = usize::from(missing);
    BinnedColumn { n_values, has_missing, meaning: Meaning::Categories(levels) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_a_few_numbers_has_its_own_bin_and_gaps_have_the_last() {
        let x = Features::from_columns(5, 1, vec![3.0, f64::NAN, -1.0, 3.0, 0.5]);
        let binned = x.binned("test", &FitContext::unhurried()).unwrap();
        assert_eq!(binned.column(0), [2, 3, 0, 2, 1]);
        assert_eq!((binned.columns[0].n_values, binned.columns[0].n_bins()), (3, 4));
    }

    #[test]
    fn a_column_without_a_value_has_one_bin() {
        let x = Features::from_columns(2, 1, vec![f64::NAN; 2]);
        let binned = x.binned("test", &FitContext::unhurried()).unwrap();
        assert_eq!((binned.column(0), binned.columns[0].n_bins()), (&[0, 0][..], 1));
    }

    #[test]
    fn many_numbers_fill_all_bins_about_evenly() {
        let n = 300_000;
        let value = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64;
        let x = Features::from_columns(n, 1, (0..n as u64).map(value).collect());
        let binned = x.binned("test", &FitContext::unhurried()).unwrap();
        let mut counts = [0usize; 256];
        binned.column(0).iter().for_each(|&b| counts[b as usize] += 1);
        assert_eq!((binned.columns[0].n_values, counts[255]), (255, 0));
        let even = n / 255;
        assert!(counts[..255].iter().all(|&c| c > even / 2 && c < even * 2), "{counts:?}");
    }
}
