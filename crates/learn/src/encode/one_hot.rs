//! One-hot encoding: a column for each category met, one where a row has it, else zero.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::impute::Imputed;
use crate::{Features, FitContext, FitError};

/// Codes up to this are looked up in a table; a sparse or fractional category is searched for.
const LARGEST_TABLE: f64 = 65_536.0;

/// The most categories of a column that get columns of their own: a level met once or twice teaches nothing, and thousands of
/// columns take long. The rarest of more have no column, and zero in all others.
const MOST_CATEGORIES: usize = 256;

/// The categories of each categorical column, sorted.
///
/// They are numbers *after imputation*, so that the mean of codes can be a category of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedOneHot {
    /// `None`: a numeric column, which is passed on.
    categories: Vec<Option<Vec<f64>>>,
}

impl FittedOneHot {
    pub(super) fn fit(x: &Imputed, ctx: &FitContext) -> Result<Self, FitError> {
        let mut categories = Vec::with_capacity(x.categorical.len());
        for (j, &is_categorical) in x.categorical.iter().enumerate() {
            ctx.check_deadline()?;
            categories.push(is_categorical.then(|| most_frequent(x.features.column(j))));
        }
        Ok(Self { categories })
    }

    /// How many columns come out of so many; `None` if it was fitted on others.
    pub(super) fn n_cols_out(&self, n_cols: usize) -> Option<usize> {
        (self.categories.len() == n_cols).then(|| self.n_cols())
    }

    /// How many columns come out.
    pub fn n_cols(&self) -> usize {
        self.categories.iter().map(|c| c.as_ref().map_or(1, Vec::len)).sum()
    }

    pub(super) fn transform(
        &self,
        x: &Imputed,
        ctx: &FitContext,
    ) -> Result<Arc<Features>, FitError> {
        if self.categories.iter().all(Option::is_none) {
            return Ok(Arc::clone(&x.features));
        }
        let (n, n_cols) = (x.features.n_rows(), self.n_cols());
        ctx.check_memory("one-hot encoder", (n as u64) * (n_cols as u64) * 8)?;
        let mut values = vec![0.0; n * n_cols];
        let mut start = 0;
        for (j, categories) in self.categories.iter().enumerate() {
            ctx.check_deadline()?;
            let Some(categories) = categories else { continue };
            let find = Lookup::new(categories);
            for (row, &value) in x.features.column(j).iter().enumerate() {
                if let Some(k) = find.position(value) {
                    values[(start + k) * n + row] = 1.0;
                }
            }
            start += categories.len();
        }
        for (j, _) in self.categories.iter().enumerate().filter(|(_, c)| c.is_none()) {
            ctx.check_deadline()?;
            values[start * n..(start + 1) * n].copy_from_slice(x.features.column(j));
            start += 1;
        }
        Ok(Arc::new(Features::from_columns(n, n_cols, values)))
    }
}

/// The distinct values, ascending; of very many those that most rows have. The smaller wins a draw.
fn most_frequent(values: &[f64]) -> Vec<f64> {
    let all = distinct(values);
    if all.len() <= MOST_CATEGORIES {
        return all;
    }
    let find = Lookup::new(&all);
    let mut counts = vec![0usize; all.len()];
    values.iter().filter_map(|&value| find.position(value)).for_each(|k| counts[k] += 1);
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(counts[k]));
    order.truncate(MOST_CATEGORIES);
    order.sort_unstable();
    order.into_iter().map(|k| all[k]).collect()
}

/// The distinct values, ascending.
fn distinct(values: &[f64]) -> Vec<f64> {
    let mut met = vec![false; 0];
    let mut others = Vec::new();
    for value in values {
        if is_small_code(*value) {
            let code = *value as usize;
            if code >= met.len() {
                met.resize(code + 1, false);
            }
            met[code] = true;
        } else {
            others.push(*value);
        }
    }
    others.extend(met.iter().enumerate().filter(|(_, met)| **met).map(|(code, _)| code as f64));
    others.sort_unstable_by(f64::total_cmp);
    others.dedup();
    others
}

fn is_small_code(value: f64) -> bool {
    (0.0..LARGEST_TABLE).contains(&value) && value.fract() == 0.0
}

/// Finds a value among sorted categories.
struct Lookup<'a> {
    categories: &'a [f64],
    /// The position of each small code, `u32::MAX` where it is no category.
    table: Vec<u32>,
}

impl<'a> Lookup<'a> {
    fn new(categories: &'a [f64]) -> Self {
        let mut table = Vec::new();
        for (position, &category) in categories.iter().enumerate() {
            if is_small_code(category) {
                table.resize(table.len().max(category as usize + 1), u32::MAX);
                table[category as usize] = position as u32;
            }
        }
        Self { categories, table }
    }

    #[inline]
    fn position(&self, value: f64) -> Option<usize> {
        if value >= 0.0 && value < self.table.len() as f64 && value.fract() == 0.0 {
            let position = self.table[value as usize];
            return (position != u32::MAX).then_some(position as usize);
        }
        self.categories.binary_search_by(|c| c.total_cmp(&value)).ok()
    }
}
