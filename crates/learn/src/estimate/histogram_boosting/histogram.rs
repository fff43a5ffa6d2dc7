//! Histograms: for each bin of each column, the sums of the derivatives of a leaf's rows.

use rayon::prelude::*;

use super::bins::Binned;
use super::objective::{Pair, Sums};
use crate::{FitContext, FitError};

/// Columns that are summed in one pass over the rows: their histograms fit the fastest cache together.
const AT_ONCE: usize = 4;

/// From so many cells on, the columns are spread over threads.
const PARALLEL_PAYS: usize = 1 << 17;

/// Which columns a tree may use, and where each one's histogram lies.
#[derive(Debug)]
pub(super) struct Layout {
    /// Ascending; those that tell no two rows apart are left out.
    pub(super) columns: Vec<usize>,
    /// Where each column's bins begin, and where the last one's end.
    offsets: Vec<usize>,
}

impl Layout {
    pub(super) fn of(binned: &Binned, columns: impl Iterator<Item = usize>) -> Self {
        let columns: Vec<usize> = columns.filter(|&j| binned.columns[j].n_bins() > 1).collect();
        let mut offsets = vec![0];
        for &j in &columns {
            offsets.push(offsets[offsets.len() - 1] + binned.columns[j].n_bins());
        }
        Self { columns, offsets }
    }

    /// How many bins all columns have together.
    pub(super) fn n_bins(&self) -> usize {
        self.offsets[self.columns.len()]
    }

    /// The histogram of one column, by its place among those of the tree.
    pub(super) fn column<'h>(&self, histogram: &'h [Sums], at: usize) -> &'h [Sums] {
        &histogram[self.offsets[at]..self.offsets[at + 1]]
    }

    /// Whether work over so many rows is worth spreading over threads.
    pub(super) fn is_parallel(&self, n_rows: usize) -> bool {
        rayon::current_num_threads() > 1 && self.columns.len() * n_rows >= PARALLEL_PAYS
    }
}

/// The rows of a leaf, ascending, with their derivatives in the same order.
#[derive(Clone, Copy)]
pub(super) struct LeafRows<'a> {
    /// `None`: all rows of the table.
    pub(super) rows: Option<&'a [u32]>,
    pub(super) pairs: &'a [Pair],
}

/// Sums a leaf's rows by bin.
pub(super) fn build(
    binned: &Binned,
    layout: &Layout,
    leaf: LeafRows<'_>,
    count_bits: u32,
    histogram: &mut [Sums],
    ctx: &FitContext,
) -> Result<(), FitError> {
    let n_chunks = layout.columns.len().div_ceil(AT_ONCE);
    let mut parts = Vec::with_capacity(n_chunks);
    let mut rest = histogram;
    for (chunk, columns) in layout.columns.chunks(AT_ONCE).enumerate() {
        let first = chunk * AT_ONCE;
        let n_bins = layout.offsets[first + columns.len()] - layout.offsets[first];
        let (part, others) = rest.split_at_mut(n_bins);
        parts.push((columns, part));
        rest = others;
    }
    let sum = |(columns, part): (&[usize], &mut [Sums])| -> Result<(), FitError> {
        ctx.check_deadline()?;
        match *columns {
            [a, b, c, d] => sum_columns(binned, [a, b, c, d], leaf, count_bits, part),
            [a, b, c] => sum_columns(binned, [a, b, c], leaf, count_bits, part),
            [a, b] => sum_columns(binned, [a, b], leaf, count_bits, part),
            _ => sum_columns(binned, [columns[0]], leaf, count_bits, part),
        }
        Ok(())
    };
    if layout.is_parallel(leaf.pairs.len()) {
        parts.into_par_iter().try_for_each(sum)
    } else {
        parts.into_iter().try_for_each(sum)
    }
}

/// Sums a few columns. A bin's number has eight bits and each histogram here 256 places, so that no access needs
/// to be checked.
fn sum_columns<const N: usize>(
    binned: &Binned,
    columns: [usize; N],
    leaf: LeafRows<'_>,
    count_bits: u32,
    histogram: &mut [Sums],
) {
    let mut sums = [[[0i64; 2]; 256]; N];
    let bins: [&[u8]; N] = columns.map(|j| binned.column(j));
    let n = leaf.pairs.len();
    match leaf.rows {
        None => {
            let bins = bins.map(|column| &column[..n]);
            for (i, pair) in leaf.pairs.iter().enumerate() {
                let (gradient, hessian) = widened(*pair, count_bits);
                for (sums, column) in sums.iter_mut().zip(&bins) {
                    let sums = &mut sums[column[i] as usize];
                    *sums = [sums[0] + gradient, sums[1] + hessian];
                }
            }
        }
        Some(rows) => {
            let bins = bins.map(|column| &column[..binned.n_rows]);
            for (pair, &row) in leaf.pairs.iter().zip(rows) {
                let (gradient, hessian) = widened(*pair, count_bits);
                for (sums, column) in sums.iter_mut().zip(&bins) {
                    let sums = &mut sums[column[row as usize] as usize];
                    *sums = [sums[0] + gradient, sums[1] + hessian];
                }
            }
        }
    }
    let mut start = 0;
    for (sums, &j) in sums.iter().zip(&columns) {
        let n_bins = binned.columns[j].n_bins();
        histogram[start..start + n_bins].copy_from_slice(&sums[..n_bins]);
        start += n_bins;
    }
}

#[inline(always)]
fn widened(pair: Pair, count_bits: u32) -> (i64, i64) {
    (i64::from(pair.gradient), (i64::from(pair.hessian) << count_bits) + 1)
}

/// Takes one child's histogram from its parent's, which leaves the other child's.
pub(super) fn subtract(from: &mut [Sums], child: &[Sums]) {
    for (sums, child) in from.iter_mut().zip(child) {
        *sums = [sums[0] - child[0], sums[1] - child[1]];
    }
}
