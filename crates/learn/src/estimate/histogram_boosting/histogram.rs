//! Histograms: for each bin of each column, the sums of the derivatives of a leaf's rows.

use rayon::prelude::*;

use super::bins::{Binned, ColumnBins, TOGETHER};
use super::words::{BLOCK, Sums, Units, Word};
use crate::work_time::Owner;
use crate::{FitContext, FitError};

/// From so many cells on, the columns are spread over threads.
const PARALLEL_PAYS: usize = 1 << 16;

/// Where columns alone would leave threads idle, rows are summed in pieces, so many jobs for each thread, of so many rows at
/// least: what they sum is added afterwards.
const JOBS_A_THREAD: usize = 4;
const PIECE_ROWS: usize = 1 << 14;

/// Which columns a tree may use, and where each one's histogram lies.
#[derive(Debug)]
pub(super) struct Layout {
    /// Ascending; those that tell no two rows apart are left out.
    pub(super) columns: Vec<usize>,
    /// Where each column's bins begin, and where the last one's end.
    offsets: Vec<usize>,
    /// Columns that are summed in one pass over the rows, by their places: they share words of bins, and their histograms
    /// fit the fastest cache together.
    chunks: Vec<std::ops::Range<usize>>,
}

impl Layout {
    pub(super) fn of(binned: &Binned, columns: impl Iterator<Item = usize>) -> Self {
        let columns: Vec<usize> = columns.filter(|&j| binned.columns[j].n_bins() > 1).collect();
        let mut offsets = vec![0];
        for &j in &columns {
            offsets.push(offsets[offsets.len() - 1] + binned.columns[j].n_bins());
        }
        let mut chunks: Vec<std::ops::Range<usize>> = Vec::new();
        for (at, j) in columns.iter().enumerate() {
            match chunks.last_mut() {
                Some(chunk) if share_words(binned, columns[chunk.start], *j) => chunk.end += 1,
                _ => chunks.push(at..at + 1),
            }
        }
        Self { columns, offsets, chunks }
    }

    /// How many bins all columns have together.
    pub(super) fn n_bins(&self) -> usize {
        self.offsets[self.columns.len()]
    }

    /// The histogram of one column, by its place among those of the tree.
    pub(super) fn column<'h>(&self, histogram: &'h [Sums], at: usize) -> &'h [Sums] {
        &histogram[self.offsets[at]..self.offsets[at + 1]]
    }

    /// In how many pieces so many rows are summed.
    fn n_pieces(&self, n_rows: usize) -> usize {
        if !self.is_parallel(n_rows) {
            return 1;
        }
        let wanted = (JOBS_A_THREAD * rayon::current_num_threads()).div_ceil(self.chunks.len());
        wanted.min(n_rows / PIECE_ROWS).max(1)
    }

    /// Whether work over so many rows is worth spreading over threads.
    pub(super) fn is_parallel(&self, n_rows: usize) -> bool {
        rayon::current_num_threads() > 1 && self.columns.len() * n_rows >= PARALLEL_PAYS
    }
}

/// Whether the bins of two columns are in the same words.
fn share_words(binned: &Binned, a: usize, b: usize) -> bool {
    let is_narrow = |j: usize| binned.columns[j].wide.is_none();
    is_narrow(a) && is_narrow(b) && a / TOGETHER == b / TOGETHER
}

/// The rows of a leaf, ascending, with their derivatives in the same order.
#[derive(Clone, Copy)]
pub(super) struct LeafRows<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) words: &'a [Word],
}

/// Which rows those are.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    /// As many as there are derivatives, one after the other from this one on.
    From(usize),
    These(&'a [u32]),
}

impl<'a> LeafRows<'a> {
    /// The same rows in pieces of so many.
    fn pieces(self, n: usize) -> impl Iterator<Item = LeafRows<'a>> {
        self.words.chunks(n.max(1)).enumerate().map(move |(at, words)| {
            let rows = match self.rows {
                Rows::From(first) => Rows::From(first + at * n),
                Rows::These(rows) => Rows::These(&rows[at * n..at * n + words.len()]),
            };
            LeafRows { rows, words }
        })
    }
}

/// Some columns of the table, some rows, and where their sums belong.
type Job<'a> = (&'a [usize], LeafRows<'a>, &'a mut [Sums]);

/// Sums a leaf's rows by bin.
pub(super) fn build(
    binned: &Binned,
    layout: &Layout,
    leaf: LeafRows<'_>,
    units: Units,
    histogram: &mut [Sums],
    ctx: &FitContext,
) -> Result<(), FitError> {
    let sum = |(columns, leaf, part): Job<'_>| -> Result<(), FitError> {
        ctx.check_deadline()?;
        sum_job(binned, columns, leaf, units, part);
        Ok(())
    };
    if !layout.is_parallel(leaf.words.len()) {
        return jobs(layout, leaf, histogram).try_for_each(sum);
    }
    let n_pieces = layout.n_pieces(leaf.words.len());
    let n_rows = leaf.words.len().div_ceil(n_pieces);
    let mut others = vec![[0; 2]; (n_pieces - 1) * layout.n_bins()];
    let histograms = std::iter::once(&mut *histogram).chain(others.chunks_mut(layout.n_bins()));
    let pieces = leaf.pieces(n_rows).zip(histograms);
    let all: Vec<Job<'_>> = pieces.flat_map(|(leaf, part)| jobs(layout, leaf, part)).collect();
    let owner = Owner::here();
    all.into_par_iter().try_for_each(|job| owner.part(|| sum(job)))?;
    // Sums are of whole numbers, so that it does not matter in which order they are added.
    others.chunks(layout.n_bins()).for_each(|other| add_all(histogram, other));
    Ok(())
}

/// What is to be summed of these rows: columns that are summed in one pass over them make a job.
fn jobs<'a>(
    layout: &'a Layout,
    leaf: LeafRows<'a>,
    histogram: &'a mut [Sums],
) -> impl Iterator<Item = Job<'a>> {
    let mut rest = histogram;
    layout.chunks.iter().map(move |chunk| {
        let n_bins = layout.offsets[chunk.end] - layout.offsets[chunk.start];
        let (part, others) = std::mem::take(&mut rest).split_at_mut(n_bins);
        rest = others;
        (&layout.columns[chunk.clone()], leaf, part)
    })
}

fn sum_job(
    binned: &Binned,
    columns: &[usize],
    leaf: LeafRows<'_>,
    units: Units,
    part: &mut [Sums],
) {
    if let ColumnBins::Wide(bins) = binned.column(columns[0]) {
        return sum_wide(bins, leaf, units, part);
    }
    match columns.len() {
        8 => sum_columns::<8>(binned, columns, leaf, units, part),
        7 => sum_columns::<7>(binned, columns, leaf, units, part),
        6 => sum_columns::<6>(binned, columns, leaf, units, part),
        5 => sum_columns::<5>(binned, columns, leaf, units, part),
        4 => sum_columns::<4>(binned, columns, leaf, units, part),
        3 => sum_columns::<3>(binned, columns, leaf, units, part),
        2 => sum_columns::<2>(binned, columns, leaf, units, part),
        _ => sum_columns::<1>(binned, columns, leaf, units, part),
    }
}

/// Sums a few columns whose bins are in the same words. A bin's number has eight bits and each histogram here 256 places, so
/// that no access needs to be checked.
fn sum_columns<const N: usize>(
    binned: &Binned,
    columns: &[usize],
    leaf: LeafRows<'_>,
    units: Units,
    histogram: &mut [Sums],
) {
    let shifts: [u32; N] = std::array::from_fn(|k| 8 * (columns[k] % TOGETHER) as u32);
    let bins = binned.group(columns[0] / TOGETHER);
    let mut sums = [[0 as Word; 256]; N];
    for (block, words) in leaf.words.chunks(BLOCK).enumerate() {
        let at = block * BLOCK;
        match leaf.rows {
            Rows::From(first) => {
                let first = first + at;
                for (&word, &bins) in words.iter().zip(&bins[first..first + words.len()]) {
                    add(&mut sums, shifts, bins, word);
                }
            }
            Rows::These(rows) => {
                for (&word, &row) in words.iter().zip(&rows[at..at + words.len()]) {
                    add(&mut sums, shifts, bins[row as usize], word);
                }
            }
        }
        // Words hold no more rows than these.
        let mut start = 0;
        for (sums, &j) in sums.iter_mut().zip(columns) {
            let n_bins = binned.columns[j].n_bins();
            let wide = &mut histogram[start..start + n_bins];
            if block == 0 {
                wide.iter_mut().zip(&*sums).for_each(|(wide, &word)| *wide = units.unpack(word));
            } else {
                for (wide, &word) in wide.iter_mut().zip(&*sums) {
                    let [gradient, hessian] = units.unpack(word);
                    *wide = [wide[0] + gradient, wide[1] + hessian];
                }
            }
            sums[..n_bins].fill(0);
            start += n_bins;
        }
    }
    if leaf.words.is_empty() {
        histogram.fill([0; 2]);
    }
}

/// Sums a column of many bins: taking blocks of words apart would take longer than adding rows.
fn sum_wide(bins: &[u16], leaf: LeafRows<'_>, units: Units, histogram: &mut [Sums]) {
    histogram.fill([0; 2]);
    let mut add = |word: Word, bin: u16| {
        let [gradient, hessian] = units.unpack(word);
        let sums = &mut histogram[usize::from(bin)];
        *sums = [sums[0] + gradient, sums[1] + hessian];
    };
    match leaf.rows {
        Rows::From(first) => {
            leaf.words.iter().zip(&bins[first..]).for_each(|(&word, &bin)| add(word, bin));
        }
        Rows::These(rows) => {
            let rows = leaf.words.iter().zip(rows);
            rows.for_each(|(&word, &row)| add(word, bins[row as usize]));
        }
    }
}

#[inline(always)]
fn add<const N: usize>(sums: &mut [[Word; 256]; N], shifts: [u32; N], bins: u64, word: Word) {
    for (sums, shift) in sums.iter_mut().zip(shifts) {
        sums[(bins >> shift) as u8 as usize] += word;
    }
}

fn add_all(to: &mut [Sums], other: &[Sums]) {
    for (sums, other) in to.iter_mut().zip(other) {
        *sums = [sums[0] + other[0], sums[1] + other[1]];
    }
}

/// Takes one child's histogram from its parent's, which leaves the other child's.
pub(super) fn subtract(from: &mut [Sums], child: &[Sums]) {
    for (sums, child) in from.iter_mut().zip(child) {
        *sums = [sums[0] - child[0], sums[1] - child[1]];
    }
}
