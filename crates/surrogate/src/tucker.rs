//! Tucker decompositions of any order: `core x_1 U_1 x_2 ... x_n U_n` (paper, Eq. "tucker").

use faer::Mat;
use ndarray::{Array2, ArrayD, ArrayViewD, Axis, IxDyn};

use crate::algebra::{self, rows};
use crate::tensor::{gram, mode_product, unfold};
use crate::{Scalar, SurrogateError};

/// A tensor as a small core and one factor with orthonormal columns per mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Tucker<T> {
    /// The core: as many sides as modes, each a rank.
    pub core: ArrayD<T>,
    /// Factors, side x rank.
    pub factors: Vec<Array2<T>>,
}

impl<T: Scalar> Tucker<T> {
    /// The best decomposition that `sweeps` rounds of HOOI find from the truncated HOSVD.
    pub fn fit(
        tensor: ArrayViewD<'_, T>,
        ranks: &[usize],
        sweeps: usize,
    ) -> Result<Self, SurrogateError> {
        check_finite(&tensor)?;
        let mut hooi = Hooi::new(tensor.view(), ranks)?;
        for _ in 0..sweeps {
            hooi.sweep(tensor.view())?;
        }
        let core = hooi.project(tensor, None)?;
        Ok(Self { core, factors: hooi.factors })
    }

    /// The sides of the tensor.
    pub fn shape(&self) -> Vec<usize> {
        self.factors.iter().map(Array2::nrows).collect()
    }

    /// The ranks, one per mode.
    pub fn ranks(&self) -> Vec<usize> {
        self.factors.iter().map(Array2::ncols).collect()
    }

    /// The tensor it stands for.
    pub fn reconstruct(&self) -> Result<ArrayD<T>, SurrogateError> {
        self.expand(0)
    }

    /// `Y = (core x_2 U_2 ... x_n U_n)` unfolded on mode 1: one column per pipeline, not yet nested.
    pub fn pipeline_factors(&self) -> Result<Array2<T>, SurrogateError> {
        unfold(self.expand(1)?.view(), 0)
    }

    fn expand(&self, from: usize) -> Result<ArrayD<T>, SurrogateError> {
        let mut tensor = self.core.clone();
        for (mode, factor) in self.factors.iter().enumerate().skip(from) {
            tensor = mode_product(tensor.view(), mode, factor.view())?;
        }
        Ok(tensor)
    }

    /// Dataset embeddings X (k x datasets) and pipeline embeddings Y (k x pipelines), `E ~ X^T Y`, with the
    /// rows of Y orthonormal and ordered by energy, so that those of a smaller rank are a prefix.
    pub fn embeddings(&self) -> Result<(Array2<f64>, Array2<f64>), SurrogateError> {
        let y = self.pipeline_factors()?.mapv(Scalar::wide);
        let (k, n) = y.dim();
        let flat = y.as_slice().expect("fresh");
        let gram = algebra::gram_of_columns(k, n, |a, b| rows(flat, k, n).subcols(a, b - a));
        let eigen = algebra::eigen(gram.as_ref(), k)?;
        let kept = eigen.values.iter().take_while(|&&v| v > eigen.values[0] * 1e-12).count();
        // Y = A S V^T, hence E ~ U1 Y = (U1 A S) V^T.
        let turn = Array2::from_shape_fn((k, kept), |(i, j)| eigen.vectors[(i, j)]);
        let sizes: Vec<f64> = eigen.values[..kept].iter().map(|v| v.sqrt()).collect();
        let mut right = turn.t().dot(&y);
        right.rows_mut().into_iter().zip(&sizes).for_each(|(mut row, s)| row /= *s);
        let mut left = self.factors[0].mapv(Scalar::wide).dot(&turn);
        left.columns_mut().into_iter().zip(&sizes).for_each(|(mut column, s)| column *= *s);
        Ok((left.reversed_axes().as_standard_layout().into_owned(), right))
    }
}

/// Higher-order orthogonal iteration, warm from sweep to sweep.
pub(crate) struct Hooi<T> {
    pub(crate) factors: Vec<Array2<T>>,
    /// Energy of each component of each mode at its last update; empty for modes of full rank.
    pub(crate) energies: Vec<Vec<f64>>,
    bases: Vec<Option<Mat<f64>>>,
}

impl<T: Scalar> Hooi<T> {
    /// The truncated HOSVD. A mode of full rank gets the identity, as any square orthogonal factor
    /// spans the same.
    pub(crate) fn new(tensor: ArrayViewD<'_, T>, ranks: &[usize]) -> Result<Self, SurrogateError> {
        check_ranks(tensor.shape(), ranks)?;
        let (mut factors, mut bases) = (Vec::new(), Vec::new());
        for (mode, (&rank, &side)) in ranks.iter().zip(tensor.shape()).enumerate() {
            if rank == side {
                factors.push(Array2::eye(side));
                bases.push(None);
                continue;
            }
            let basis =
                algebra::eigen(to_faer(&gram(tensor.view(), mode)?).as_ref(), rank)?.vectors;
            factors.push(from_faer(&basis));
            bases.push(Some(basis));
        }
        Ok(Self { factors, energies: vec![Vec::new(); ranks.len()], bases })
    }

    /// Updates every reduced factor in turn, the others held.
    pub(crate) fn sweep(&mut self, tensor: ArrayViewD<'_, T>) -> Result<(), SurrogateError> {
        for mode in 0..self.factors.len() {
            let Some(warm) = &self.bases[mode] else { continue };
            let projected = self.project(tensor.view(), Some(mode))?;
            let gram = to_faer(&gram(projected.view(), mode)?);
            let found = algebra::leading(gram.as_ref(), warm.ncols(), Some(warm))?;
            self.factors[mode] = from_faer(&found.vectors);
            self.bases[mode] = Some(found.vectors);
            self.energies[mode] = found.values;
        }
        Ok(())
    }

    /// The tensor projected on every reduced mode but one.
    pub(crate) fn project(
        &self,
        tensor: ArrayViewD<'_, T>,
        but: Option<usize>,
    ) -> Result<ArrayD<T>, SurrogateError> {
        let mut out = tensor.to_owned();
        for (mode, factor) in self.factors.iter().enumerate() {
            if Some(mode) != but && self.bases[mode].is_some() {
                out = mode_product(out.view(), mode, factor.t())?;
            }
        }
        Ok(out)
    }
}

/// Every rank between 1 and its side and, where a mode is reduced, no larger than the product of the others.
pub(crate) fn check_ranks(shape: &[usize], ranks: &[usize]) -> Result<(), SurrogateError> {
    if ranks.len() != shape.len() {
        let (wanted, got) = (shape.len(), ranks.len());
        return Err(SurrogateError::Size { what: "the list of ranks", wanted, got });
    }
    if let Some(axis) = ranks.iter().position(|&rank| rank == 0) {
        return Err(SurrogateError::Rank { axis, rank: 0, side: shape[axis] });
    }
    for (axis, (&rank, &side)) in ranks.iter().zip(shape).enumerate() {
        let others = ranks.iter().enumerate().filter(|&(other, _)| other != axis);
        let others = others.fold(1_usize, |product, (_, &r)| product.saturating_mul(r));
        let side = if rank == side { side } else { side.min(others) };
        if rank > side {
            return Err(SurrogateError::Rank { axis, rank, side });
        }
    }
    Ok(())
}

fn check_finite<T: Scalar>(tensor: &ArrayViewD<'_, T>) -> Result<(), SurrogateError> {
    if tensor.is_empty() {
        return Err(SurrogateError::Empty { what: "the tensor" });
    }
    match tensor.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        Some((at, v)) => Err(SurrogateError::NotFinite { what: "the tensor", at, value: v.wide() }),
        None => Ok(()),
    }
}

/// Scales the slices of a core along one mode.
pub(crate) fn scale_mode<T: Scalar>(core: &mut ArrayD<T>, mode: usize, kept: &[f64]) {
    for (mut slice, &share) in core.axis_iter_mut(Axis(mode)).zip(kept) {
        slice.mapv_inplace(|v| v * T::of(share));
    }
}

fn to_faer(a: &Array2<f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)])
}

fn from_faer<T: Scalar>(a: &Mat<f64>) -> Array2<T> {
    Array2::from_shape_fn((a.nrows(), a.ncols()), |(i, j)| T::of(a[(i, j)]))
}

/// Numbers that determine an order-n tensor of side `side` and rank `rank` in every mode, as a Tucker
/// tensor (m0), as its unfolding (m1), and slice by slice (m2): the paper's case for tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DegreesOfFreedom {
    /// `r^n + n (r I - r^2)`.
    pub tucker: u128,
    /// `(I + I^(n-1) - r) r`.
    pub unfolded: u128,
    /// `I^(n-2) (2 r I - r^2)`.
    pub slices: u128,
}

impl DegreesOfFreedom {
    /// The three counts; `None` where they do not fit, or the order is below 2 or the rank above the side.
    pub fn of(order: u32, side: u128, rank: u128) -> Option<Self> {
        if order < 2 || rank > side {
            return None;
        }
        let flat = |power: u32| side.checked_pow(power);
        let per_mode = rank.checked_mul(side)?.checked_sub(rank.checked_mul(rank)?)?;
        let tucker =
            rank.checked_pow(order)?.checked_add(u128::from(order).checked_mul(per_mode)?)?;
        let unfolded = (side.checked_add(flat(order - 1)?)? - rank).checked_mul(rank)?;
        let slice = rank.checked_mul(side)?.checked_mul(2)? - rank * rank;
        Some(Self { tucker, unfolded, slices: flat(order - 2)?.checked_mul(slice)? })
    }
}

/// An array of the given shape from flat values.
pub(crate) fn shaped<T>(shape: &[usize], values: Vec<T>) -> ArrayD<T> {
    ArrayD::from_shape_vec(IxDyn(shape), values).expect("the counts agree")
}
