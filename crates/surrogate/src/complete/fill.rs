//! The additive fill: every missing entry starts at `mean + dataset effect + pipeline effect`.
//!
//! Starting from zeros instead, as the published code does, ends several times further off.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::scalar::{LANES, padded};
use crate::{PartialTensor, Scalar};

const PASSES: usize = 5;
/// Rows that are added up together, whatever the number of threads.
const ROW_BLOCK: usize = 16;

/// The effects of the additive model.
#[derive(Clone, Debug)]
pub struct Additive {
    /// Mean of all observed entries.
    pub mean: f64,
    /// What each dataset adds.
    pub rows: Vec<f64>,
    /// What each pipeline adds; shrunk a little, and zero for one never observed.
    pub columns: Vec<f64>,
}

impl Additive {
    /// Five alternating passes over rows and columns.
    pub fn fit<T: Scalar>(observed: &PartialTensor<T>) -> Self {
        let (m, n) = observed.matrix_shape();
        let sums = Sums::of(observed.values(), observed.mask(), n);
        let seen: f64 = sums.row_counts.iter().sum();
        let mean = sums.row_totals.iter().sum::<f64>() / seen;
        let (mut rows, mut columns) = (vec![0.0; m], vec![0.0; n]);
        for _ in 0..PASSES {
            rows = observed
                .mask()
                .par_chunks(n)
                .enumerate()
                .map(|(i, mask)| {
                    let marked = MarkedSum { mask, effects: &columns };
                    let effects = pulp::Arch::new().dispatch(marked);
                    (sums.row_totals[i] - effects) / sums.row_counts[i] - mean
                })
                .collect();
            let effects = sum_of_rows(observed.mask(), n, |i| rows[i]);
            for j in 0..n {
                let rest = sums.column_totals[j] - mean * sums.column_counts[j] - effects[j];
                columns[j] = rest / (sums.column_counts[j] + 1.0);
            }
        }
        Self { mean, rows, columns }
    }

    /// The observed values with the model's in between.
    pub fn filled<T: Scalar>(&self, observed: &PartialTensor<T>) -> Vec<T> {
        let mut values = observed.values().to_vec();
        self.fill(&mut values, observed.mask());
        values
    }

    /// Writes the model's value into every entry that `mask` leaves out.
    pub fn fill<T: Scalar>(&self, values: &mut [T], mask: &[bool]) {
        let n = self.columns.len();
        values.par_chunks_mut(n).zip(mask.par_chunks(n)).zip(&self.rows).for_each(
            |((values, mask), row)| {
                for ((v, &seen), column) in values.iter_mut().zip(mask).zip(&self.columns) {
                    *v = T::select(seen, *v, T::of(self.mean + row + column));
                }
            },
        );
    }
}

struct Sums {
    row_totals: Vec<f64>,
    row_counts: Vec<f64>,
    column_totals: Vec<f64>,
    column_counts: Vec<f64>,
}

impl Sums {
    fn of<T: Scalar>(values: &[T], mask: &[bool], n: usize) -> Self {
        let rows: Vec<(f64, f64)> = values
            .par_chunks(n)
            .zip(mask.par_chunks(n))
            .map(|(values, mask)| {
                let total = values.iter().map(|v| v.wide()).sum();
                (total, mask.iter().filter(|&&seen| seen).count() as f64)
            })
            .collect();
        let (row_totals, row_counts) = rows.into_iter().unzip();
        let parts: Vec<Vec<f64>> = values
            .par_chunks(n * ROW_BLOCK)
            .map(|block| {
                let mut sum = vec![0.0; n];
                for row in block.chunks(n) {
                    sum.iter_mut().zip(row).for_each(|(s, v)| *s += v.wide());
                }
                sum
            })
            .collect();
        let column_totals = total(parts, n);
        let column_counts = sum_of_rows(mask, n, |_| 1.0);
        Self { row_totals, row_counts, column_totals, column_counts }
    }
}

/// The sum of `effects` where `mask` is set.
struct MarkedSum<'a> {
    mask: &'a [bool],
    effects: &'a [f64],
}

impl WithSimd for MarkedSum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut sums = [0.0; LANES];
        let mut group = |mask: &[bool; LANES], effects: &[f64; LANES]| {
            for l in 0..LANES {
                sums[l] += f64::select(mask[l], effects[l], 0.0);
            }
        };
        let (mask, mask_rest) = self.mask.as_chunks::<LANES>();
        let (effects, effects_rest) = self.effects.as_chunks::<LANES>();
        for (mask, effects) in mask.iter().zip(effects) {
            group(mask, effects);
        }
        group(&padded(mask_rest), &padded(effects_rest));
        sums.iter().sum()
    }
}

/// Adds `weight` to every sum whose entry is marked.
struct AddMarked<'a> {
    sums: &'a mut [f64],
    mask: &'a [bool],
    weight: f64,
}

impl WithSimd for AddMarked<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (sum, &seen) in self.sums.iter_mut().zip(self.mask) {
            *sum += f64::select(seen, self.weight, 0.0);
        }
    }
}

/// For each column the sum of `weight(row)` over the rows in which it is observed.
fn sum_of_rows(mask: &[bool], n: usize, weight: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
    let parts: Vec<Vec<f64>> = mask
        .par_chunks(n * ROW_BLOCK)
        .enumerate()
        .map(|(block, masks)| {
            let mut sum = vec![0.0; n];
            for (i, mask) in masks.chunks(n).enumerate() {
                let weight = weight(block * ROW_BLOCK + i);
                pulp::Arch::new().dispatch(AddMarked { sums: &mut sum, mask, weight });
            }
            sum
        })
        .collect();
    total(parts, n)
}

fn total(parts: Vec<Vec<f64>>, n: usize) -> Vec<f64> {
    let mut sum = vec![0.0; n];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
    }
    sum
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, IxDyn};

    use super::*;

    #[test]
    fn an_additive_table_is_nearly_recovered() {
        let (m, n) = (30, 40);
        let value = |i: usize, j: usize| 0.3 + 0.01 * i as f64 - 0.005 * j as f64;
        let values = ArrayD::from_shape_fn(IxDyn(&[m, n]), |ij| value(ij[0], ij[1]));
        let mask = ArrayD::from_shape_fn(IxDyn(&[m, n]), |ij| (ij[0] * 7 + ij[1] * 3) % 5 != 0);
        let observed = PartialTensor::new(values, mask).unwrap();
        let mut filled = observed.values().to_vec();
        Additive::fit(&observed).fill(&mut filled, observed.mask());
        for (at, v) in filled.iter().enumerate() {
            assert!((v - value(at / n, at % n)).abs() < 0.01, "{at}: {v}");
        }
    }

    #[test]
    fn a_pipeline_never_seen_gets_the_level_of_each_dataset() {
        let values = ArrayD::from_shape_fn(IxDyn(&[2, 3]), |ij| ij[0] as f64);
        let mask = ArrayD::from_shape_fn(IxDyn(&[2, 3]), |ij| ij[1] != 2);
        let observed = PartialTensor::new(values, mask).unwrap();
        let mut filled = observed.values().to_vec();
        Additive::fit(&observed).fill(&mut filled, observed.mask());
        assert!((filled[2] - 0.0).abs() < 1e-9 && (filled[5] - 1.0).abs() < 1e-9);
    }
}
