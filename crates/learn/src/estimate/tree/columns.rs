//! What trees derive from a matrix once and share: single-precision copies and sorted columns.
//!
//! Trees compare features in `f32`, as scikit-learn's do. Sorting happens once per matrix; a node
//! later restores the order of its rows from their positions (see `order.rs`).

use super::score::EQUAL;
use crate::work_time::WorkTime;
use crate::{Features, FitContext, FitError};

/// The features in single precision, row-major.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) values: Vec<f32>,
    /// CPU seconds that making this took.
    pub(crate) secs: f64,
}

/// The features in single precision, column-major.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    pub(crate) values: Vec<f32>,
    /// CPU seconds that making this took: what a fit alone would have paid as well.
    pub(crate) secs: f64,
    is_finite: bool,
}

impl Columns {
    #[inline(always)]
    pub(crate) fn column(&self, feature: usize) -> &[f32] {
        &self.values[feature * self.n_rows..(feature + 1) * self.n_rows]
    }
}

/// Every column's rows in ascending order of value.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    order: Vec<u32>,
    position: Positions,
    values: Vec<f32>,
    close: Vec<u64>,
    /// CPU seconds that sorting took, the copy to single precision included.
    pub(crate) secs: f64,
}

/// Positions of rows, in as few bits as their number allows.
#[derive(Debug)]
enum Positions {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

/// The positions of one column's rows.
#[derive(Clone, Copy)]
pub(crate) enum PositionSlice<'a> {
    Short(&'a [u16]),
    Long(&'a [u32]),
}

/// One column of [`Sorted`].
#[derive(Clone, Copy)]
pub(crate) struct SortedColumn<'a> {
    /// The row at each position.
    pub(crate) order: &'a [u32],
    /// The position of each row: the inverse of `order`.
    pub(crate) position: PositionSlice<'a>,
    /// The value at each position, ascending.
    pub(crate) values: &'a [f32],
    /// One bit for each position, set where the next value counts as equal.
    close: &'a [u64],
}

impl SortedColumn<'_> {
    /// Whether the values at a position and at a later one differ. They do if the value differs
    /// from the very next, which one bit tells without fetching either.
    #[inline(always)]
    pub(crate) fn differ(self, at: usize, later: usize) -> bool {
        self.close[at >> 6] >> (at & 63) & 1 == 0 || self.values[later] > self.values[at] + EQUAL
    }

    #[inline(always)]
    pub(crate) fn value_of(self, row: u32) -> f32 {
        let at = match self.position {
            PositionSlice::Short(position) => position[row as usize] as usize,
            PositionSlice::Long(position) => position[row as usize] as usize,
        };
        self.values[at]
    }
}

impl Sorted {
    #[inline(always)]
    pub(crate) fn column(&self, feature: usize) -> SortedColumn<'_> {
        let range = feature * self.n_rows..(feature + 1) * self.n_rows;
        let n_words = self.n_rows.div_ceil(64);
        SortedColumn {
            order: &self.order[range.clone()],
            position: match &self.position {
                Positions::Short(position) => PositionSlice::Short(&position[range.clone()]),
                Positions::Long(position) => PositionSlice::Long(&position[range.clone()]),
            },
            values: &self.values[range],
            close: &self.close[feature * n_words..(feature + 1) * n_words],
        }
    }
}

impl Features {
    /// The rows in single precision, row-major: what prediction walks over. A number too large for
    /// `f32` becomes infinite and falls on the outer side of every threshold.
    pub(crate) fn tree_rows(&self, ctx: &FitContext) -> Result<&Rows, FitError> {
        self.derived.make_once(|| {
            let _memory = ctx.reserve("trees", 4 * self.columns().len() as u64)?;
            single_precision_rows(self, ctx)
        })
    }

    /// The columns in single precision; refused, as by scikit-learn, if one overflows.
    pub(crate) fn tree_columns(
        &self,
        component: &'static str,
        ctx: &FitContext,
    ) -> Result<&Columns, FitError> {
        if self.n_cols() == 0 {
            return Err(FitError::NoFeatures { component });
        }
        let columns = self.derived.make_once(|| {
            let _memory = ctx.reserve(component, 4 * self.columns().len() as u64)?;
            single_precision(self, ctx)
        })?;
        if columns.is_finite { Ok(columns) } else { Err(FitError::NotFinite { component }) }
    }

    /// The sorted columns.
    pub(crate) fn tree_sorted(
        &self,
        component: &'static str,
        ctx: &FitContext,
    ) -> Result<&Sorted, FitError> {
        let columns = self.tree_columns(component, ctx)?;
        self.derived.make_once(|| {
            let _memory = ctx.reserve(component, 12 * columns.values.len() as u64)?;
            sort(columns, ctx)
        })
    }
}

fn single_precision_rows(x: &Features, ctx: &FitContext) -> Result<Rows, FitError> {
    const BLOCK: usize = 32;
    let start = WorkTime::now();
    let (n_rows, n_cols) = (x.n_rows(), x.n_cols());
    let mut values = vec![0f32; n_rows * n_cols];
    for first_row in (0..n_rows).step_by(BLOCK) {
        ctx.check_deadline()?;
        for feature in 0..n_cols {
            let column = &x.column(feature)[first_row..(first_row + BLOCK).min(n_rows)];
            for (row, &value) in (first_row..).zip(column) {
                values[row * n_cols + feature] = value as f32;
            }
        }
    }
    Ok(Rows { values, secs: start.elapsed().as_secs_f64() })
}

fn single_precision(x: &Features, ctx: &FitContext) -> Result<Columns, FitError> {
    let start = WorkTime::now();
    let mut values = Vec::with_capacity(x.columns().len());
    for feature in 0..x.n_cols() {
        ctx.check_deadline()?;
        // Adding 0 turns -0 into 0: the two are one value.
        values.extend(x.column(feature).iter().map(|&v| v as f32 + 0.0));
    }
    let is_finite = values.iter().all(|v| v.is_finite());
    let secs = start.elapsed().as_secs_f64();
    Ok(Columns { n_rows: x.n_rows(), n_cols: x.n_cols(), values, secs, is_finite })
}

fn sort(columns: &Columns, ctx: &FitContext) -> Result<Sorted, FitError> {
    let start = WorkTime::now();
    let (n_rows, n_cols) = (columns.n_rows, columns.n_cols);
    let mut order = vec![0u32; n_rows * n_cols];
    let mut position = if n_rows <= 1 << 16 {
        Positions::Short(vec![0; n_rows * n_cols])
    } else {
        Positions::Long(vec![0; n_rows * n_cols])
    };
    let mut values = vec![0f32; n_rows * n_cols];
    let n_words = n_rows.div_ceil(64);
    let mut close = vec![0u64; n_words * n_cols];
    let mut keyed = vec![0u64; n_rows];
    let mut spare = vec![0u64; n_rows];
    for feature in 0..n_cols {
        ctx.check_deadline()?;
        let range = feature * n_rows..(feature + 1) * n_rows;
        let column = columns.column(feature);
        for (row, (slot, &value)) in keyed.iter_mut().zip(column).enumerate() {
            *slot = u64::from(ordered_bits(value)) << 32 | row as u64;
        }
        sort_keyed(&mut keyed, &mut spare);
        let (order, values) = (&mut order[range.clone()], &mut values[range.clone()]);
        for (at, &key) in keyed.iter().enumerate() {
            let row = key as u32;
            order[at] = row;
            values[at] = column[row as usize];
        }
        let close = &mut close[feature * n_words..(feature + 1) * n_words];
        for (at, pair) in values.windows(2).enumerate() {
            close[at >> 6] |= u64::from(pair[1] <= pair[0] + EQUAL) << (at & 63);
        }
        match &mut position {
            Positions::Short(position) => invert(order, &mut position[range], |at| at as u16),
            Positions::Long(position) => invert(order, &mut position[range], |at| at as u32),
        }
    }
    let secs = columns.secs + start.elapsed().as_secs_f64();
    Ok(Sorted { n_rows, n_cols, order, position, values, close, secs })
}

fn invert<I>(order: &[u32], position: &mut [I], as_position: impl Fn(usize) -> I) {
    for (at, &row) in order.iter().enumerate() {
        position[row as usize] = as_position(at);
    }
}

/// Bits that sort as the number does.
fn ordered_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// Sorts by the upper half; rows of equal value stay in ascending order of row.
fn sort_keyed(keyed: &mut Vec<u64>, spare: &mut Vec<u64>) {
    const RADIX_PAYS: usize = 400;
    if keyed.len() < RADIX_PAYS {
        keyed.sort_unstable();
        return;
    }
    const BITS: usize = 11;
    let mut counts = [[0u32; 1 << BITS]; 3];
    let digit = |key: u64, pass: usize| (key >> (32 + pass * BITS)) as usize & ((1 << BITS) - 1);
    for &key in keyed.iter() {
        for pass in 0..3 {
            counts[pass][digit(key, pass)] += 1;
        }
    }
    for (pass, counts) in counts.iter_mut().enumerate() {
        if counts[digit(keyed[0], pass)] as usize == keyed.len() {
            continue; // All keys share this digit.
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            (*count, start) = (start, start + *count);
        }
        for &key in keyed.iter() {
            let slot = &mut counts[digit(key, pass)];
            spare[*slot as usize] = key;
            *slot += 1;
        }
        std::mem::swap(keyed, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_agrees_with_the_standard_library_below_and_above_the_radix() {
        for n in [1usize, 7, 399, 400, 3000] {
            let column: Vec<f64> = (0..n)
                .map(|i| {
                    let z = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                    (z % 1000) as f64 / 7.0 - 60.0
                })
                .collect();
            let x = Features::from_columns(n, 1, column.clone());
            let sorted = x.tree_sorted("tree", &FitContext::unhurried()).unwrap();
            let mut expected: Vec<u32> = (0..n as u32).collect();
            expected.sort_by(|&a, &b| {
                (column[a as usize] as f32).total_cmp(&(column[b as usize] as f32))
            });
            let column = sorted.column(0);
            assert_eq!(column.order, expected);
            let row_values: Vec<f32> = x.column(0).iter().map(|&v| v as f32).collect();
            assert!((0..n).all(|row| column.value_of(row as u32) == row_values[row]));
        }
    }

    #[test]
    fn minus_zero_is_zero() {
        let x = Features::from_columns(3, 1, vec![0.0, -0.0, -1e-40]);
        let sorted = x.tree_sorted("tree", &FitContext::unhurried()).unwrap();
        assert_eq!(sorted.column(0).order, [2, 0, 1]);
    }

    #[test]
    fn what_single_precision_cannot_hold_is_refused() {
        let x = Features::from_columns(2, 1, vec![1e300, 0.0]);
        let err = x.tree_sorted("tree", &FitContext::unhurried()).unwrap_err();
        assert_eq!(err, FitError::NotFinite { component: "tree" });
    }
}
