//! A prepared matrix: finite numbers, unless it keeps missing cells and categories as they are.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::derived::Derived;
use crate::{FitContext, FitError, shared};

/// `n_rows` by `n_cols` finite numbers, column-major, with what estimators derive from it once and
/// share: the row-major copy, the content's key, and whatever an estimator wants it in.
///
/// Where it [has categories](Features::with_categories), NaN is a missing cell and some columns hold codes: only
/// estimators that take gaps are given such a matrix.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Features {
    n_rows: usize,
    n_cols: usize,
    #[serde(with = "shared")]
    columns: Arc<Vec<f64>>,
    /// Which columns hold codes of categories, where gaps and categories are kept.
    #[serde(skip)]
    categories: Option<Vec<bool>>,
    #[serde(skip)]
    rows: OnceLock<Vec<f64>>,
    #[serde(skip)]
    content: OnceLock<u64>,
    #[serde(skip)]
    pub(crate) derived: Derived,
}

impl Features {
    /// A matrix from its columns, one after the other.
    ///
    /// # Panics
    /// If there are not `n_rows * n_cols` numbers.
    pub fn from_columns(n_rows: usize, n_cols: usize, columns: Vec<f64>) -> Self {
        assert_eq!(columns.len(), n_rows * n_cols, "as many numbers as rows times columns");
        Self { n_rows, n_cols, columns: Arc::new(columns), ..Self::default() }
    }

    /// The same numbers, of which NaN is a missing cell and those of the columns marked are codes of categories.
    ///
    /// # Panics
    /// If there is not a mark for each column.
    pub fn with_categories(&self, categories: Vec<bool>) -> Self {
        assert_eq!(categories.len(), self.n_cols, "as many marks as columns");
        let (n_rows, n_cols, columns) = (self.n_rows, self.n_cols, Arc::clone(&self.columns));
        Self { n_rows, n_cols, columns, categories: Some(categories), ..Self::default() }
    }

    /// Which columns hold codes of categories; `None` where all cells are finite numbers.
    pub fn categories(&self) -> Option<&[bool]> {
        self.categories.as_deref()
    }

    /// Whether there are as many numbers as rows times columns, all finite.
    pub(crate) fn is_sound(&self) -> bool {
        self.n_rows.checked_mul(self.n_cols) == Some(self.columns.len())
            && self.columns.iter().all(|v| v.is_finite())
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// How many columns there are.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// All numbers, column after column.
    pub fn columns(&self) -> &[f64] {
        &self.columns
    }

    /// One column.
    #[inline]
    pub fn column(&self, j: usize) -> &[f64] {
        &self.columns[j * self.n_rows..(j + 1) * self.n_rows]
    }

    /// All numbers, row after row; transposed once, at the first call.
    pub fn rows(&self) -> &[f64] {
        self.rows_within(&FitContext::unhurried()).expect("an unhurried context has no deadline")
    }

    /// The same, interrupted where the deadline comes first.
    pub fn rows_within(&self, ctx: &FitContext) -> Result<&[f64], FitError> {
        if let Some(rows) = self.rows.get() {
            return Ok(rows);
        }
        let rows = transpose(&self.columns, self.n_rows, self.n_cols, ctx)?;
        Ok(self.rows.get_or_init(|| rows))
    }

    /// One row, contiguous.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.rows()[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// A key of the content: equal matrices have equal keys.
    pub fn content(&self) -> u64 {
        self.content_within(&FitContext::unhurried()).expect("an unhurried context has no deadline")
    }

    /// The same, interrupted where the deadline comes first.
    pub fn content_within(&self, ctx: &FitContext) -> Result<u64, FitError> {
        if let Some(&content) = self.content.get() {
            return Ok(content);
        }
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        hash.update(&(self.n_rows as u64).to_le_bytes());
        hash.update(&(self.n_cols as u64).to_le_bytes());
        if let Some(categories) = self.categories.as_ref().filter(|flags| flags.contains(&true)) {
            let flags: Vec<u8> = categories.iter().map(|&flag| u8::from(flag)).collect();
            hash.update(&flags);
        }
        let mut bytes = [0; 512 * 8];
        for (i, values) in self.columns.chunks(512).enumerate() {
            if i.is_multiple_of(512) {
                ctx.check_deadline()?;
            }
            for (bytes, value) in bytes.chunks_exact_mut(8).zip(values) {
                // Adding 0 turns -0 into 0: the two are one number.
                bytes.copy_from_slice(&(value + 0.0).to_le_bytes());
            }
            hash.update(&bytes[..values.len() * 8]);
        }
        Ok(*self.content.get_or_init(|| hash.digest()))
    }
}

impl Clone for Features {
    fn clone(&self) -> Self {
        let (n_rows, n_cols, columns) = (self.n_rows, self.n_cols, Arc::clone(&self.columns));
        Self { n_rows, n_cols, columns, categories: self.categories.clone(), ..Self::default() }
    }
}

impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        (self.n_rows, self.n_cols, &self.categories, &self.columns)
            == (other.n_rows, other.n_cols, &other.categories, &other.columns)
    }
}

/// Column-major to row-major, in blocks that stay in cache.
fn transpose(
    columns: &[f64],
    n_rows: usize,
    n_cols: usize,
    ctx: &FitContext,
) -> Result<Vec<f64>, FitError> {
    const BLOCK: usize = 32;
    let mut rows = vec![0.0; columns.len()];
    for i0 in (0..n_rows).step_by(BLOCK) {
        ctx.check_deadline()?;
        for j0 in (0..n_cols).step_by(BLOCK) {
            for i in i0..(i0 + BLOCK).min(n_rows) {
                for j in j0..(j0 + BLOCK).min(n_cols) {
                    rows[i * n_cols + j] = columns[j * n_rows + i];
                }
            }
        }
    }
    Ok(rows)
}
