//! The columns of a matrix in bins, at most 256 for numbers: made once, shared by all settings that are fitted on it.

use rayon::prelude::*;

use super::edges::{Edges, sampled_rows};
use super::levels::Levels;
use crate::work_time::{Owner, WorkTime};
use crate::{Features, FitContext, FitError};

/// The bins of values of a column; one bin more is for missing cells.
pub(super) const MOST_VALUES: usize = 255;

/// Columns whose bins are kept together: one word a row.
pub(super) const TOGETHER: usize = 8;

/// A matrix of bins: of eight columns at a time a word a row, all rows of these before those of the next eight. One read
/// gives eight bins, and rows that lie far apart cost a cache line for eight columns instead of one each.
#[derive(Debug)]
pub(super) struct Binned {
    pub(super) n_rows: usize,
    pub(super) columns: Vec<BinnedColumn>,
    bins: Vec<u64>,
    /// Of categories with more bins than a byte can tell apart, which have none of it in these words.
    wide: Vec<Vec<u16>>,
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
    /// Its place among the wide columns, if it is one.
    pub(super) wide: Option<usize>,
}

/// What a bin of values is.
#[derive(Debug)]
pub(super) enum Meaning {
    /// Numbers between two edges.
    Numbers(Edges),
    /// A level of a category, or its rare levels together.
    Categories(Levels),
}

/// Where the bins of a column's rows are.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnBins<'a> {
    /// In these words, shifted by so much.
    Narrow(&'a [u64], u32),
    /// As they are.
    Wide(&'a [u16]),
}

impl ColumnBins<'_> {
    #[inline]
    pub(super) fn of(self, row: usize) -> usize {
        match self {
            Self::Narrow(words, shift) => (words[row] >> shift) as u8 as usize,
            Self::Wide(bins) => usize::from(bins[row]),
        }
    }
}

impl BinnedColumn {
    /// How many bins there are, that of missing cells included where there are any.
    pub(super) fn n_bins(&self) -> usize {
        self.n_values + usize::from(self.has_missing)
    }
}

impl Binned {
    /// The words of eight columns.
    #[inline]
    pub(super) fn group(&self, group: usize) -> &[u64] {
        &self.bins[group * self.n_rows..(group + 1) * self.n_rows]
    }

    /// The bins of a column.
    #[inline]
    pub(super) fn column(&self, j: usize) -> ColumnBins<'_> {
        match self.columns[j].wide {
            Some(at) => ColumnBins::Wide(&self.wide[at]),
            None => ColumnBins::Narrow(self.group(j / TOGETHER), 8 * (j % TOGETHER) as u32),
        }
    }

    fn of(x: &Features, ctx: &FitContext) -> Result<Self, FitError> {
        let start = WorkTime::now();
        let (n_rows, n_cols) = (x.n_rows(), x.n_cols());
        let mut bins = vec![0u64; n_rows * n_cols.div_ceil(TOGETHER)];
        let sample = sampled_rows(n_rows);
        let is_category = |j: usize| x.categories().is_some_and(|flags| flags[j]);
        let group = |(group, words): (usize, &mut [u64])| {
            let mut own = vec![0u16; n_rows];
            let mut columns = Vec::with_capacity(TOGETHER);
            for j in (group * TOGETHER..n_cols).take(TOGETHER) {
                ctx.check_deadline()?;
                let column = if is_category(j) {
                    bin_levels(x.column(j), &mut own)
                } else {
                    bin_numbers(x.column(j), sample.as_deref(), &mut own)
                };
                if column.n_values > MOST_VALUES {
                    columns.push((column, Some(own.clone())));
                    continue;
                }
                let shift = 8 * (j % TOGETHER);
                let cells = words.iter_mut().zip(&own);
                cells.for_each(|(word, &bin)| *word |= u64::from(bin) << shift);
                columns.push((column, None));
            }
            Ok(columns)
        };
        let owner = Owner::here();
        let group = |part: (usize, &mut [u64])| owner.part(|| group(part));
        let groups = bins.par_chunks_mut(n_rows).enumerate().map(group);
        let groups = groups.collect::<Result<Vec<_>, FitError>>()?;
        let (mut columns, mut wide) = (Vec::with_capacity(n_cols), Vec::new());
        for (mut column, own) in groups.into_iter().flatten() {
            if let Some(own) = own {
                column.wide = Some(wide.len());
                wide.push(own);
            }
            columns.push(column);
        }
        Ok(Self { n_rows, columns, bins, wide, secs: start.elapsed().as_secs_f64() })
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
        self.derived.get_or_make(|| {
            let _memory = ctx.reserve(component, self.bytes_of_bins())?;
            Binned::of(self, ctx)
        })
    }

    /// Whether the bins are there already.
    #[cfg(test)]
    pub(crate) fn has_bins(&self) -> bool {
        self.derived.get::<Binned>().is_some()
    }

    /// What making the bins takes at most: words of eight columns, two bytes a row of each wide column, and as much for the
    /// column at hand.
    fn bytes_of_bins(&self) -> u64 {
        let is_wide = |j: &usize| {
            self.categories().is_some_and(|flags| flags[*j])
                && self.column(*j).iter().any(|&code| code >= MOST_VALUES as f64)
        };
        let n_wide = (0..self.n_cols()).filter(is_wide).count();
        let n_words = self.n_rows() * self.n_cols().div_ceil(TOGETHER);
        (8 * n_words + 2 * self.n_rows() * (n_wide + 1)) as u64
    }
}

fn bin_numbers(values: &[f64], sample: Option<&[u32]>, bins: &mut [u16]) -> BinnedColumn {
    let mut sorted: Vec<f64> = match sample {
        None => values.iter().copied().filter(|v| !v.is_nan()).collect(),
        Some(rows) => rows.iter().map(|&i| values[i as usize]).filter(|v| !v.is_nan()).collect(),
    };
    sorted.sort_unstable_by(f64::total_cmp);
    let edges = Edges::of_sorted(&sorted, MOST_VALUES);
    let n_values = if sorted.is_empty() { 0 } else { edges.n_bins() };
    let missing = n_values as u16;
    let mut has_missing = false;
    let search = edges.search();
    for (bin, &value) in bins.iter_mut().zip(values) {
        has_missing |= value.is_nan();
        // A value that no sampled row had falls among those that some had, unless none had any.
        let found = if n_values == 0 { missing } else { u16::from(search.bin(value)) };
        *bin = if value.is_nan() { missing } else { found };
    }
    // All sampled cells were missing: the few others are as good as missing.
    has_missing |= n_values == 0;
    BinnedColumn { n_values, has_missing, meaning: Meaning::Numbers(edges), wide: None }
}

fn bin_levels(codes: &[f64], bins: &mut [u16]) -> BinnedColumn {
    let levels = Levels::of(codes);
    let missing = levels.missing();
    let mut has_missing = false;
    for (bin, &code) in bins.iter_mut().zip(codes) {
        *bin = levels.bin(code);
        has_missing |= *bin == missing;
    }
    let n_values = usize::from(missing);
    BinnedColumn { n_values, has_missing, meaning: Meaning::Categories(levels), wide: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(binned: &Binned, j: usize) -> Vec<u8> {
        (0..binned.n_rows).map(|row| binned.column(j).of(row) as u8).collect()
    }

    #[test]
    fn each_of_a_few_numbers_has_its_own_bin_and_gaps_have_the_last() {
        let x = Features::from_columns(5, 1, vec![3.0, f64::NAN, -1.0, 3.0, 0.5]);
        let binned = x.binned("test", &FitContext::unhurried()).unwrap();
        assert_eq!(bins(binned, 0), [2, 3, 0, 2, 1]);
        assert_eq!((binned.columns[0].n_values, binned.columns[0].n_bins()), (3, 4));
    }

    #[test]
    fn each_column_has_its_own_byte() {
        let cells = (0..20).flat_map(|j| [f64::from(j), 7.0, f64::from(10 - j)]);
        let x = Features::from_columns(3, 20, cells.collect());
        let binned = x.binned("test", &FitContext::unhurried()).unwrap();
        for j in 0..20 {
            let column = x.column(j);
            let alone = Features::from_columns(3, 1, column.to_vec());
            let alone = alone.binned("test", &FitContext::unhurried()).unwrap();
            assert_eq!(bins(binned, j), bins(alone, 0), "{j}");
        }
        assert_eq!(binned.columns.len(), 20);
    }

    #[test]
    fn a_category_of_many_levels_is_wide() {
        let cells = (0..600).map(|i| f64::from(i % 300));
        let numbers = (0..600).map(|i| f64::from(i % 2));
        let x = Features::from_columns(600, 2, cells.chain(numbers).collect());
        let x = x.with_categories(vec![true, false]);
        let binned = x.binned("test", &FitContext::unhurried()).unwrap();
        assert_eq!((binned.columns[0].wide, binned.columns[1].wide), (Some(0), None));
        assert_eq!((binned.columns[0].n_bins(), binned.column(0).of(599)), (300, 299));
        assert_eq!((binned.column(1).of(0), binned.column(1).of(1)), (0, 1));
    }

    #[test]
    fn wide_columns_count_against_the_ceiling() {
        let cells = (0..5000).map(|i| f64::from(i % 1000));
        let of = |is_category: bool| {
            let x = Features::from_columns(1000, 5, cells.clone().collect());
            x.with_categories(vec![is_category; 5])
        };
        let ctx = FitContext::unhurried().with_memory_limit(Some(15_000));
        assert!(of(false).binned("test", &ctx).is_ok());
        let err = of(true).binned("test", &ctx).unwrap_err();
        assert!(matches!(err, FitError::OutOfMemory { needed: 20_000, .. }), "{err}");
    }

    #[test]
    fn a_column_without_a_value_has_one_bin() {
        let x = Features::from_columns(2, 1, vec![f64::NAN; 2]);
        let binned = x.binned("test", &FitContext::unhurried()).unwrap();
        assert_eq!((bins(binned, 0), binned.columns[0].n_bins()), (vec![0, 0], 1));
    }

    #[test]
    fn many_numbers_fill_all_bins_about_evenly() {
        let n = 300_000;
        let value = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64;
        let x = Features::from_columns(n, 1, (0..n as u64).map(value).collect());
        let binned = x.binned("test", &FitContext::unhurried()).unwrap();
        let mut counts = [0usize; 256];
        bins(binned, 0).iter().for_each(|&b| counts[b as usize] += 1);
        assert_eq!((binned.columns[0].n_values, counts[255]), (255, 0));
        let even = n / 255;
        assert!(counts[..255].iter().all(|&c| c > even / 2 && c < even * 2), "{counts:?}");
    }
}
