//! The shortcut of EM-Tucker for tensors of which only the first and the last mode are reduced.
//!
//! Inner modes of full rank have square orthogonal factors, which may be taken as the identity: the
//! tensor is seen as (datasets, prefixes, estimators) and projected on its first and its last mode.

use faer::Mat;
use ndarray::Array2;
use rayon::prelude::*;

use super::em::{Model, Shrinkage};
use super::refill::{Filled, Measured, Product};
use super::{multiply_by_columns, store};
use crate::algebra::{self, gram_of_columns, multiply, rows, rows_mut};
use crate::tucker::{Tucker, shaped};
use crate::{Scalar, SurrogateError};

/// `P = core x_first U x_last V`, with the tensor seen as (m, s, f).
pub(super) struct TwoModes<T> {
    m: usize,
    s: usize,
    f: usize,
    /// Ranks of the first and the last mode.
    r1: usize,
    r6: usize,
    first_basis: Option<Mat<f64>>,
    last_basis: Mat<f64>,
    /// U: m x r1.
    first: Vec<T>,
    /// V: f x r6.
    last: Vec<T>,
    /// `E x_last V^T`: m x (s r6), kept up with every refilling.
    projected: Vec<T>,
    /// `E x_first U^T`, then `core x_last V`: r1 x (s f).
    right: Vec<T>,
    /// (r1 s) x r6.
    core: Vec<T>,
    /// Sums of what the components of the two modes keep.
    kept: (f64, f64),
}

impl<T: Scalar> TwoModes<T> {
    /// Starts the last mode from its own Gram matrix; ranks were checked.
    pub(super) fn new(
        shape: &[usize],
        ranks: &[usize],
        start: &[T],
    ) -> Result<Self, SurrogateError> {
        let (m, f) = (shape[0], shape[shape.len() - 1]);
        let (r1, r6) = (ranks[0], ranks[ranks.len() - 1]);
        let s = start.len() / (m * f);
        let slices = rows(start, m * s, f).transpose();
        let gram = gram_of_columns(f, m * s, |a, b| slices.subcols(a, b - a));
        let last_basis = algebra::eigen(gram.as_ref(), r6)?.vectors;
        let mut last = vec![T::zero(); f * r6];
        store(&mut last, &last_basis);
        let mut projected = vec![T::zero(); m * s * r6];
        projected.par_chunks_mut(s * r6).zip(start.par_chunks(s * f)).for_each(|(out, values)| {
            multiply(rows_mut(out, s, r6), rows(values, s, f), rows(&last, f, r6));
        });
        Ok(Self {
            m,
            s,
            f,
            r1,
            r6,
            first_basis: None,
            last_basis,
            first: vec![T::zero(); m * r1],
            last,
            projected,
            right: vec![T::zero(); r1 * s * f],
            core: vec![T::zero(); r1 * s * r6],
            kept: (0.0, 0.0),
        })
    }

    /// The decomposition of the last fit.
    pub(super) fn into_tucker(self, shape: &[usize]) -> Tucker<T> {
        let last = shape.len() - 1;
        let mut ranks = shape.to_vec();
        (ranks[0], ranks[last]) = (self.r1, self.r6);
        let matrix = |rows, columns, values| {
            Array2::from_shape_vec((rows, columns), values).expect("the counts agree")
        };
        let mut factors = vec![matrix(self.m, self.r1, self.first)];
        factors.extend(shape[1..last].iter().map(|&side| Array2::eye(side)));
        factors.push(matrix(self.f, self.r6, self.last));
        Tucker { core: shaped(&ranks, self.core), factors }
    }
}

impl<T: Scalar> Model<T> for TwoModes<T> {
    /// One sweep: the first mode from `E x_last V^T`, then the last from `E x_first U^T`.
    fn fit(&mut self, values: &[T], shrinkage: Shrinkage) -> Result<(), SurrogateError> {
        let Self { m, s, f, r1, r6, .. } = *self;
        let projected = rows(&self.projected, m, s * r6);
        let gram = gram_of_columns(m, s * r6, |a, b| projected.subcols(a, b - a));
        let found = algebra::leading(gram.as_ref(), r1, self.first_basis.as_ref())?;
        let first_kept: Vec<f64> = found.values.iter().map(|&e| shrinkage.kept(e, s * f)).collect();
        store(&mut self.first, &found.vectors);
        self.first_basis = Some(found.vectors);

        multiply_by_columns(
            rows_mut(&mut self.right, r1, s * f),
            rows(&self.first, m, r1).transpose(),
            rows(values, m, s * f),
        );
        let slices = rows(&self.right, r1 * s, f).transpose();
        let gram = gram_of_columns(f, r1 * s, |a, b| slices.subcols(a, b - a));
        let found = algebra::leading(gram.as_ref(), r6, Some(&self.last_basis))?;
        let last_kept: Vec<f64> = found.values.iter().map(|&e| shrinkage.kept(e, m * s)).collect();
        store(&mut self.last, &found.vectors);
        self.last_basis = found.vectors;

        let last = rows(&self.last, f, r6);
        let blocks = self.core.par_chunks_mut(s * r6).zip(self.right.par_chunks_mut(s * f));
        blocks.zip(&first_kept).for_each(|((core, right), &kept)| {
            multiply(rows_mut(core, s, r6), rows(right, s, f), last);
            for (at, c) in core.iter_mut().enumerate() {
                *c *= T::of(kept * last_kept[at % r6]);
            }
            multiply(rows_mut(right, s, f), rows(core, s, r6), last.transpose());
        });
        self.kept = (first_kept.iter().sum(), last_kept.iter().sum());
        Ok(())
    }

    fn refill(&mut self, filled: &mut Filled<'_, T>, momentum: f64) -> Measured {
        let Self { f, r1, r6, .. } = *self;
        let product = Product { left: &self.first, right: &self.right, rank: r1 };
        let last = rows(&self.last, f, r6);
        filled.refill(&product, momentum, &mut self.projected, |values, out| {
            let height = values.len() / f;
            multiply(rows_mut(out, height, r6), rows(values, height, f), last);
        })
    }

    fn degrees_of_freedom(&self) -> f64 {
        let (first, last) = self.kept;
        first * self.s as f64 * last
            + first * (self.m - self.r1) as f64
            + last * (self.f - self.r6) as f64
    }
}
