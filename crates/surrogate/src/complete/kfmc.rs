//! Mini-batch KFMC (paper, Algorithm "Mini-batch KFMC for Meta-training"): completion of a matrix whose
//! columns lie near a manifold rather than a subspace.
//!
//! Columns (pipelines) are points in R^m. A dictionary of r such points and codes Z approximate them in
//! the feature space of an RBF kernel: `1/2 ||phi(E) - phi(D) Z||^2 + beta/2 ||Z||^2`. Departs from the
//! paper in its start (additive fill or a given completion; D from columns of it), without which
//! kernels vanish on error rates, and recomputes Z with the final D.

mod batch;
mod columns;
mod dictionary;
mod parts;
mod predict;
#[cfg(test)]
mod tests;

use ndarray::ArrayView2;
use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::fill::Additive;
use crate::algebra::{multiply, rows, rows_mut};
use crate::{PartialTensor, Scalar, SurrogateError};
pub use parts::KernelParts;
pub use predict::NewPipeline;

use batch::{Shared, Work};
use dictionary::Dictionary;

/// Columns worked on together by one thread.
const CHUNK: usize = 125;
/// Columns between which distances are taken for the bandwidth.
const BANDWIDTH_SAMPLE: usize = 1000;

/// Settings of the algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Kfmc {
    /// Columns of the dictionary; at most as many as there are pipelines.
    pub dictionary: usize,
    /// Weight of the codes' norm. 0.003 to 0.01 up to 70 % missing, 0.1 at 90 % from the additive fill.
    pub beta: f64,
    /// Momentum of both updates.
    pub momentum: f64,
    /// By how much steps stay below their bound.
    pub damping: f64,
    /// Columns between two updates of the dictionary.
    pub batch: usize,
    /// Updates of a batch's missing entries in each pass.
    pub inner_iterations: usize,
    /// Passes over all columns.
    pub passes: usize,
    /// Kernel width, as a multiple of the mean distance between columns.
    pub bandwidth: f64,
    /// Decides the first dictionary and the order of the columns.
    pub seed: u64,
}

impl Kfmc {
    /// The settings found to work on error tensors, with as many atoms as datasets.
    pub fn new(dictionary: usize) -> Self {
        Self {
            dictionary,
            beta: 0.01,
            momentum: 0.5,
            damping: 1.1,
            batch: 500,
            inner_iterations: 10,
            passes: 4,
            bandwidth: 1.0,
            seed: 0,
        }
    }

    /// Completes the unfolding on mode 0, from the additive fill.
    pub fn complete<T: Scalar>(
        &self,
        observed: &PartialTensor<T>,
    ) -> Result<KfmcCompletion<T>, SurrogateError> {
        self.check(observed.matrix_shape().1)?;
        self.run(observed, Additive::fit(observed).filled(observed))
    }

    /// Completes from a given filling, such as another completion.
    pub fn complete_from<T: Scalar>(
        &self,
        observed: &PartialTensor<T>,
        start: Vec<T>,
    ) -> Result<KfmcCompletion<T>, SurrogateError> {
        self.check(observed.matrix_shape().1)?;
        super::check_filling(observed, &start)?;
        self.run(observed, start)
    }

    fn run<T: Scalar>(
        &self,
        observed: &PartialTensor<T>,
        start: Vec<T>,
    ) -> Result<KfmcCompletion<T>, SurrogateError> {
        let (m, n) = observed.matrix_shape();
        let mut columns = transpose(&start, m, n);
        drop(start);
        let missing: Vec<bool> = transpose(observed.mask(), m, n).iter().map(|&s| !s).collect();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let s2 = (self.bandwidth * mean_distance(&columns, m, n, &mut rng)).powi(2);
        let mut dictionary = Dictionary::of_columns(&columns, m, n, self.dictionary, s2, &mut rng);
        let mut order: Vec<usize> = (0..n).collect();
        for _ in 0..self.passes {
            order.shuffle(&mut rng);
            for batch in order.chunks(self.batch.max(1)) {
                self.run_batch(&mut dictionary, &mut columns, &missing, batch)?;
            }
        }
        let model = KernelModel::encode(dictionary, &columns, n, self.beta)?;
        Ok(KfmcCompletion { values: transpose(&columns, n, m), model })
    }

    /// Updates the missing entries of some columns, then the dictionary from them.
    fn run_batch<T: Scalar>(
        &self,
        dictionary: &mut Dictionary<T>,
        columns: &mut [T],
        missing: &[bool],
        batch: &[usize],
    ) -> Result<(), SurrogateError> {
        let m = dictionary.m;
        let shared = Shared::new(dictionary, self.beta)?;
        let done: Vec<_> = batch
            .par_chunks(CHUNK)
            .map(|chunk| {
                let mut work = Work::gather(chunk, columns, missing, m, dictionary.r);
                work.move_columns(dictionary, &shared, self);
                let sums = work.sums(dictionary);
                (work.x, sums)
            })
            .collect();
        let mut sums = Vec::with_capacity(done.len());
        for (chunk, (x, part)) in batch.chunks(CHUNK).zip(done) {
            for (&j, column) in chunk.iter().zip(x.chunks(m)) {
                columns[j * m..(j + 1) * m].copy_from_slice(column);
            }
            sums.push(part);
        }
        dictionary.update(&shared, &sums, self.momentum, self.damping);
        Ok(())
    }

    fn check(&self, n: usize) -> Result<(), SurrogateError> {
        if self.dictionary == 0 || self.dictionary > n {
            return Err(SurrogateError::Rank { axis: 1, rank: self.dictionary, side: n });
        }
        let positive = |name, value: f64| {
            let wanted = "positive and finite";
            let fine = value > 0.0 && value.is_finite();
            if fine { Ok(()) } else { Err(SurrogateError::Setting { name, value, wanted }) }
        };
        positive("beta", self.beta)?;
        positive("bandwidth", self.bandwidth)?;
        positive("damping", self.damping)?;
        positive("batch", self.batch as f64)?;
        if !(0.0..1.0).contains(&self.momentum) {
            let (value, wanted) = (self.momentum, "at least 0 and below 1");
            return Err(SurrogateError::Setting { name: "momentum", value, wanted });
        }
        Ok(())
    }
}

/// A completed matrix and the model that completed it.
#[derive(Clone, Debug)]
pub struct KfmcCompletion<T> {
    /// Observed entries as they were, the others predicted; flat in C order.
    pub values: Vec<T>,
    /// Dictionary and codes.
    pub model: KernelModel<T>,
}

/// Dictionary and codes, with which new rows and new columns are predicted.
#[derive(Clone, Debug)]
pub struct KernelModel<T> {
    dictionary: Dictionary<T>,
    beta: f64,
    /// One code per pipeline: n x r.
    codes: Vec<T>,
    /// Mean of each dataset's completed errors.
    row_means: Vec<f64>,
}

impl<T: Scalar> KernelModel<T> {
    /// Codes of all columns under the final dictionary.
    fn encode(
        dictionary: Dictionary<T>,
        columns: &[T],
        n: usize,
        beta: f64,
    ) -> Result<Self, SurrogateError> {
        let (m, r) = (dictionary.m, dictionary.r);
        let shared = Shared::new(&dictionary, beta)?;
        let mut codes = vec![T::zero(); n * r];
        codes.par_chunks_mut(CHUNK * r).zip(columns.par_chunks(CHUNK * m)).for_each(|(z, x)| {
            let height = x.len() / m;
            let mut k = vec![T::zero(); height * r];
            dictionary.kernel(x, &mut k);
            multiply(rows_mut(z, height, r), rows(&k, height, r), rows(&shared.inverse, r, r));
        });
        let mut row_means = vec![0.0; m];
        for column in columns.chunks(m) {
            row_means.iter_mut().zip(column).for_each(|(mean, v)| *mean += v.wide() / n as f64);
        }
        Ok(Self { dictionary, beta, codes, row_means })
    }

    /// Pipelines the model knows.
    pub fn n_pipelines(&self) -> usize {
        self.codes.len() / self.dictionary.r
    }

    /// Z transposed, pipelines x atoms: one code a row.
    pub fn codes(&self) -> ArrayView2<'_, T> {
        ArrayView2::from_shape((self.n_pipelines(), self.dictionary.r), &self.codes)
            .expect("as many codes as pipelines")
    }

    /// The code of one pipeline: a column of Z, the design vector of KernelOboe.
    pub fn code(&self, pipeline: usize) -> Option<&[T]> {
        self.codes.chunks(self.dictionary.r).nth(pipeline)
    }
}

/// A row-major rows x columns matrix, transposed; by tiles, as a plain loop misses the cache.
fn transpose<V: Copy + Default + Send + Sync>(a: &[V], nrows: usize, ncols: usize) -> Vec<V> {
    const TILE: usize = 32;
    let mut out = vec![V::default(); a.len()];
    out.par_chunks_mut(TILE * nrows).enumerate().for_each(|(tile, out)| {
        let first = tile * TILE;
        for i0 in (0..nrows).step_by(TILE) {
            for (j, row) in out.chunks_mut(nrows).enumerate() {
                for i in i0..(i0 + TILE).min(nrows) {
                    row[i] = a[i * ncols + first + j];
                }
            }
        }
    });
    out
}

/// The mean distance between random columns; one where all are equal, as any width serves then.
fn mean_distance<T: Scalar>(columns: &[T], m: usize, n: usize, rng: &mut impl RngExt) -> f64 {
    let picked = rand::seq::index::sample(rng, n, BANDWIDTH_SAMPLE.min(n)).into_vec();
    let k = picked.len();
    let sample: Vec<T> =
        picked.iter().flat_map(|&j| &columns[j * m..(j + 1) * m]).copied().collect();
    let mut gram = vec![T::zero(); k * k];
    multiply(rows_mut(&mut gram, k, k), rows(&sample, k, m), rows(&sample, k, m).transpose());
    let square = |i: usize| gram[i * k + i].wide();
    let mut total = 0.0;
    for i in 0..k {
        for j in 0..i {
            total += (square(i) + square(j) - 2.0 * gram[i * k + j].wide()).max(0.0).sqrt();
        }
    }
    let mean = total / (k * (k - 1) / 2).max(1) as f64;
    if mean > 1e-9 { mean } else { 1.0 }
}
