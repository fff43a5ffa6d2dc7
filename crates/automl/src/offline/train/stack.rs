//! Stores stacked by pipeline: one row a dataset, one column a pipeline, and what was not observed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use ndarray::Array2;
use pitchpipe_learn::SearchSpace;
use pitchpipe_learn::search_space::PAPER;
use pitchpipe_surrogate::{PartialTensor, SurrogateError};
use rayon::prelude::*;

use crate::offline::space_facts::joined;
use crate::offline::{About, OfflineError, SOURCE, Seen, Store};
use crate::surrogate::{ErrorKind, TableSize};

/// A dataset with fewer finished entries than this says too little of the rest of its row.
const FEWEST_ENTRIES: usize = 20;

/// Runtimes are learned from so many datasets at most.
const MOST_TIMED: usize = 1000;

/// A row of the stack.
#[derive(Clone, Debug)]
pub struct StackRow {
    /// The dataset's name in its store.
    pub name: String,
    /// Whether its entries were published, by another engine.
    pub is_published: bool,
    /// What its store knows of it.
    pub about: Option<About>,
    /// Its finished entries, by pipeline.
    pub seen: Vec<Seen>,
}

/// Rows of one or more stores.
#[derive(Clone, Debug)]
pub struct Stack {
    /// What the columns are.
    pub space: Arc<SearchSpace>,
    /// The rows: our own first, then published ones, each by name.
    pub rows: Vec<StackRow>,
    /// Names that were left out because they were asked to be.
    pub left_out: Vec<String>,
    /// Rows that were left out because too little is known of them.
    pub too_few: Vec<StackRow>,
    /// Shards that were damaged and not read.
    pub damaged: Vec<PathBuf>,
}

impl Stack {
    /// Reads all datasets of the stores, those called in `without` left out.
    ///
    /// # Errors
    /// If a store cannot be read, or is of another search space.
    pub fn read(stores: &[Store], without: &BTreeSet<String>) -> Result<Self, OfflineError> {
        let mut space = SearchSpace::paper();
        for store in stores {
            space = joined(&space, store.space())?;
        }
        let mut stack = Self {
            space,
            rows: Vec::new(),
            left_out: Vec::new(),
            too_few: Vec::new(),
            damaged: Vec::new(),
        };
        let mut rows: BTreeMap<(bool, String), StackRow> = BTreeMap::new();
        for store in stores {
            let mapping = store.space().manifest().check(&stack.space)?;
            let in_stack = |seen: Seen| {
                let pipeline = u32::from(mapping.get(seen.pipeline)?);
                Some(Seen { pipeline, ..seen })
            };
            let is_published = store.facts().contains_key(SOURCE);
            let names = store.datasets()?;
            let (left_out, names): (Vec<_>, Vec<_>) =
                names.into_iter().partition(|name| without.contains(name));
            stack.left_out.extend(left_out);
            let read: Vec<(StackRow, Vec<PathBuf>)> = names
                .into_par_iter()
                .map(|name| {
                    let mut damaged = Vec::new();
                    let seen = store.seen(&name, &mut damaged)?;
                    let seen = seen.into_iter().filter_map(in_stack).collect();
                    let about = store.about(&name)?;
                    Ok((StackRow { name, is_published, about, seen }, damaged))
                })
                .collect::<Result<_, OfflineError>>()?;
            for (row, damaged) in read {
                stack.damaged.extend(damaged);
                match rows.entry((is_published, row.name.clone())) {
                    std::collections::btree_map::Entry::Vacant(place) => {
                        place.insert(row);
                    }
                    std::collections::btree_map::Entry::Occupied(mut place) => {
                        place.get_mut().merge(row);
                    }
                }
            }
        }
        for row in rows.into_values() {
            if row.seen.len() >= FEWEST_ENTRIES {
                stack.rows.push(row);
            } else {
                stack.too_few.push(row);
            }
        }
        Ok(stack)
    }

    /// How many rows are our own; they come first.
    pub fn n_own(&self) -> usize {
        self.rows.iter().filter(|r| !r.is_published).count()
    }

    /// The same with some rows only.
    pub fn select(&self, keep: impl Fn(&StackRow) -> bool) -> Self {
        let rows = self.rows.iter().filter(|r| keep(r)).cloned().collect();
        self.with_rows(Arc::clone(&self.space), rows)
    }

    fn with_rows(&self, space: Arc<SearchSpace>, rows: Vec<StackRow>) -> Self {
        let (left_out, too_few) = (self.left_out.clone(), self.too_few.clone());
        Self { space, rows, left_out, too_few, damaged: self.damaged.clone() }
    }

    /// The same with the rows at these positions only.
    pub(super) fn rows_at(&self, positions: &[usize]) -> Self {
        let rows = positions.iter().map(|&i| self.rows[i].clone()).collect();
        self.with_rows(Arc::clone(&self.space), rows)
    }

    /// The same with the pipelines of the paper only: those that make a tensor.
    pub fn of_paper(&self) -> Cow<'_, Self> {
        if self.space.blocks().iter().all(|block| block.name() == PAPER) {
            return Cow::Borrowed(self);
        }
        let paper = self.space.range_of(PAPER).unwrap_or(0..0);
        let of_paper = |row: &StackRow| {
            let seen = row.seen.iter().filter(|s| paper.contains(&(s.pipeline as usize)));
            let own = |s: &Seen| Seen { pipeline: s.pipeline - paper.start as u32, ..*s };
            StackRow { seen: seen.map(own).collect(), ..row.clone() }
        };
        let rows = self.rows.iter().map(of_paper).collect();
        Cow::Owned(self.with_rows(SearchSpace::paper(), rows))
    }

    /// Errors of one kind, datasets x pipelines.
    pub fn errors(&self, kind: ErrorKind) -> (Array2<f32>, Array2<bool>) {
        let all: Vec<usize> = (0..self.space.n_pipelines()).collect();
        self.errors_of(kind, &all)
    }

    /// The same of these pipelines, in their order.
    pub(super) fn errors_of(
        &self,
        kind: ErrorKind,
        pipelines: &[usize],
    ) -> (Array2<f32>, Array2<bool>) {
        let mut columns = vec![None; self.space.n_pipelines()];
        pipelines.iter().enumerate().for_each(|(column, &j)| columns[j] = Some(column));
        let mut values = Array2::zeros((self.rows.len(), pipelines.len()));
        let mut mask = Array2::from_elem(values.raw_dim(), false);
        for (i, row) in self.rows.iter().enumerate() {
            for seen in &row.seen {
                let Some(column) = columns[seen.pipeline as usize] else { continue };
                let error = match kind {
                    ErrorKind::Native => Some(seen.error),
                    ErrorKind::Decided => seen.decided,
                };
                if let Some(error) = error {
                    values[(i, column)] = error;
                    mask[(i, column)] = true;
                }
            }
        }
        (values, mask)
    }

    /// Errors of one kind as a tensor with a mask: datasets, preparations, estimators.
    pub fn tensor(&self, kind: ErrorKind) -> Result<PartialTensor<f32>, SurrogateError> {
        let (values, mask) = self.errors(kind);
        super::tensor_of(&self.space, values, mask)
    }

    /// Whether any decided error was measured.
    pub fn has_decided(&self) -> bool {
        self.rows.iter().any(|r| r.seen.iter().any(|s| s.decided.is_some()))
    }

    /// Sizes and seconds of the rows whose size is known; our own where there are any. Whether they are
    /// our own comes first. Of many rows some are taken, evenly by their size from the smallest to the largest:
    /// polynomials of a few terms gain nothing from more.
    pub fn runtimes(&self) -> (bool, Vec<TableSize>, Array2<f32>) {
        let sized = |published: bool| -> Vec<(&StackRow, TableSize)> {
            let rows = self.rows.iter().filter(|r| r.is_published == published);
            rows.filter_map(|r| Some((r, r.about.as_ref()?.size))).collect()
        };
        let own = sized(false);
        let are_own = !own.is_empty();
        let mut rows = if are_own { own } else { sized(true) };
        if rows.len() > MOST_TIMED {
            let cells = |size: &TableSize| size.n_rows.saturating_mul(size.n_features);
            rows.sort_by_key(|(_, size)| cells(size));
            rows = evenly(rows.len(), MOST_TIMED).into_iter().map(|i| rows[i]).collect();
        }
        let mut secs = Array2::zeros((rows.len(), self.space.n_pipelines()));
        for (i, (row, _)) in rows.iter().enumerate() {
            row.seen.iter().for_each(|s| secs[(i, s.pipeline as usize)] = s.runtime_s);
        }
        (are_own, rows.into_iter().map(|(_, size)| size).collect(), secs)
    }

    /// Finished entries in all.
    pub fn n_entries(&self) -> usize {
        self.rows.iter().map(|r| r.seen.len()).sum()
    }
}

/// So many of `n` positions, evenly spread from the first to the last.
pub(super) fn evenly(n: usize, wanted: usize) -> Vec<usize> {
    let last = wanted.saturating_sub(1).max(1);
    (0..wanted.min(n)).map(|i| if wanted >= n { i } else { i * (n - 1) / last }).collect()
}

impl StackRow {
    /// Takes in entries of the same dataset from another store; of two for one pipeline the first counts.
    fn merge(&mut self, other: Self) {
        let have: BTreeSet<u32> = self.seen.iter().map(|s| s.pipeline).collect();
        self.seen.extend(other.seen.into_iter().filter(|s| !have.contains(&s.pipeline)));
        self.seen.sort_by_key(|s| s.pipeline);
        self.about = self.about.take().or(other.about);
    }
}

#[cfg(test)]
mod tests {
    use super::evenly;

    #[test]
    fn positions_are_spread_from_end_to_end() {
        assert_eq!(evenly(10, 4), [0, 3, 6, 9]);
        assert_eq!(evenly(3, 5), [0, 1, 2]);
        assert_eq!(evenly(5, 1), [0]);
        let many = evenly(10_000, 1000);
        assert!(many.windows(2).all(|w| w[0] < w[1]) && many[999] == 9999);
    }
}
