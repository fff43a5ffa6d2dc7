//! Dense tensors of any order: unfolding, mode products, Gram matrices, the paper's relative error.
//!
//! A tensor is an `ndarray` in C order (last axis fastest). Its unfolding on mode `k` has that axis as
//! rows and the others, in their order, as columns, so the unfolding on mode 0 is the flat array itself.

use ndarray::{Array2, ArrayD, ArrayView2, ArrayViewD, Axis, IxDyn};

use crate::algebra::{self, gram_of_columns, rows, rows_mut};
use crate::{Scalar, SurrogateError};

/// The unfolding of a tensor on one mode.
pub fn unfold<T: Scalar>(
    tensor: ArrayViewD<'_, T>,
    mode: usize,
) -> Result<Array2<T>, SurrogateError> {
    let side = side(tensor.shape(), mode)?;
    let mut order: Vec<usize> = (0..tensor.ndim()).collect();
    order.remove(mode);
    order.insert(0, mode);
    let columns = tensor.len() / side.max(1);
    let flat: Vec<T> = tensor.permuted_axes(IxDyn(&order)).iter().copied().collect();
    Ok(Array2::from_shape_vec((side, columns), flat).expect("the counts agree"))
}

/// The tensor of the given shape whose unfolding on `mode` is `matrix`.
pub fn fold<T: Scalar>(
    matrix: ArrayView2<'_, T>,
    mode: usize,
    shape: &[usize],
) -> Result<ArrayD<T>, SurrogateError> {
    let wanted = side(shape, mode)?;
    if matrix.nrows() != wanted {
        let got = matrix.nrows();
        return Err(SurrogateError::Size { what: "the rows of an unfolding", wanted, got });
    }
    let (wanted, got) = (shape.iter().product(), matrix.len());
    if got != wanted {
        return Err(SurrogateError::Size { what: "an unfolding", wanted, got });
    }
    let mut moved = shape.to_vec();
    moved.remove(mode);
    moved.insert(0, shape[mode]);
    let flat: Vec<T> = matrix.iter().copied().collect();
    let front = ArrayD::from_shape_vec(IxDyn(&moved), flat).expect("the counts agree");
    let mut back: Vec<usize> = (1..shape.len()).collect();
    back.insert(mode, 0);
    Ok(front.permuted_axes(IxDyn(&back)).as_standard_layout().into_owned())
}

/// The product of a tensor with a matrix (new side x old side) along one mode.
pub fn mode_product<T: Scalar>(
    tensor: ArrayViewD<'_, T>,
    mode: usize,
    matrix: ArrayView2<'_, T>,
) -> Result<ArrayD<T>, SurrogateError> {
    let side = side(tensor.shape(), mode)?;
    if matrix.ncols() != side {
        let got = matrix.ncols();
        return Err(SurrogateError::Size { what: "a mode product's matrix", wanted: side, got });
    }
    let unfolded = unfold(tensor.view(), mode)?;
    let matrix = matrix.as_standard_layout();
    let mut shape = tensor.shape().to_vec();
    shape[mode] = matrix.nrows();
    let mut out = Array2::zeros((matrix.nrows(), unfolded.ncols()));
    algebra::multiply(
        rows_mut(out.as_slice_mut().expect("fresh"), matrix.nrows(), unfolded.ncols()),
        rows(matrix.as_slice().expect("standard layout"), matrix.nrows(), side),
        rows(unfolded.as_slice().expect("fresh"), side, unfolded.ncols()),
    );
    fold(out.view(), mode, &shape)
}

/// The Gram matrix of an unfolding: rows' inner products, in double precision.
pub fn gram<T: Scalar>(
    tensor: ArrayViewD<'_, T>,
    mode: usize,
) -> Result<Array2<f64>, SurrogateError> {
    let unfolded = unfold(tensor, mode)?.mapv(Scalar::wide);
    let (n, width) = unfolded.dim();
    let flat = unfolded.as_slice().expect("fresh");
    let gram = gram_of_columns(n, width, |a, b| rows(flat, n, width).subcols(a, b - a));
    Ok(Array2::from_shape_fn((n, n), |(i, j)| gram[(i, j)]))
}

/// The paper's relative error on the entries `among` marks: squared residual over squared truth,
/// with no root. `None` where the truth is zero there or nothing is marked.
pub fn relative_error<T: Scalar>(
    truth: ArrayViewD<'_, T>,
    predicted: ArrayViewD<'_, T>,
    among: ArrayViewD<'_, bool>,
) -> Result<Option<f64>, SurrogateError> {
    for got in [predicted.len(), among.len()] {
        if got != truth.len() {
            return Err(SurrogateError::Size { what: "a tensor", wanted: truth.len(), got });
        }
    }
    let (mut residual, mut norm) = (0.0, 0.0);
    for ((t, p), &marked) in truth.iter().zip(predicted.iter()).zip(among.iter()) {
        if marked {
            residual += (t.wide() - p.wide()).powi(2);
            norm += t.wide().powi(2);
        }
    }
    Ok((norm > 0.0).then(|| residual / norm))
}

/// A tensor of which some entries were observed; axis 0 is the datasets.
///
/// Every observed value is finite and every dataset has at least one. A pipeline (column) without
/// any is allowed: completions start it at the datasets' own levels.
#[derive(Clone, Debug)]
pub struct PartialTensor<T> {
    values: ArrayD<T>,
    mask: ArrayD<bool>,
    n_observed: usize,
}

impl<T: Scalar> PartialTensor<T> {
    /// Checks the numbers; those at unobserved entries are ignored, whatever they are.
    pub fn new(values: ArrayD<T>, mask: ArrayD<bool>) -> Result<Self, SurrogateError> {
        if values.is_empty() || values.ndim() < 2 {
            return Err(SurrogateError::Empty { what: "the tensor" });
        }
        if values.shape() != mask.shape() {
            let (wanted, got) = (values.len(), mask.len());
            return Err(SurrogateError::Size { what: "the mask", wanted, got });
        }
        let mut values = values.as_standard_layout().into_owned();
        let mask = mask.as_standard_layout().into_owned();
        for (at, (v, &seen)) in values.iter_mut().zip(mask.iter()).enumerate() {
            if !seen {
                *v = T::zero();
            } else if !v.is_finite() {
                let value = v.wide();
                return Err(SurrogateError::NotFinite { what: "the tensor", at, value });
            }
        }
        let unseen = mask.axis_iter(Axis(0)).position(|row| row.iter().all(|seen| !seen));
        match unseen {
            Some(index) => Err(SurrogateError::Unobserved { axis: 0, index }),
            None => {
                let n_observed = mask.iter().filter(|&&seen| seen).count();
                Ok(Self { values, mask, n_observed })
            }
        }
    }

    /// The sides.
    pub fn shape(&self) -> &[usize] {
        self.values.shape()
    }

    /// Datasets, and entries of each.
    pub fn matrix_shape(&self) -> (usize, usize) {
        (self.shape()[0], self.values.len() / self.shape()[0])
    }

    /// The values, flat in C order; zero where not observed.
    pub fn values(&self) -> &[T] {
        self.values.as_slice().expect("kept in standard layout")
    }

    /// Which entries are observed, flat in C order.
    pub fn mask(&self) -> &[bool] {
        self.mask.as_slice().expect("kept in standard layout")
    }

    /// How many entries are observed.
    pub fn n_observed(&self) -> usize {
        self.n_observed
    }

    /// A copy in which a random `share` of the observed entries is not, and the flat positions of
    /// those. Which they are depends on the seed and the position alone; each dataset keeps one.
    pub fn hold_out(&self, share: f64, seed: u64) -> (Self, Vec<usize>) {
        let (m, n) = self.matrix_shape();
        let limit = (share.clamp(0.0, 1.0) * u64::MAX as f64) as u64;
        let mut mask = self.mask.clone();
        let flat = mask.as_slice_mut().expect("kept in standard layout");
        let mut held = Vec::new();
        for i in 0..m {
            let mut left = flat[i * n..(i + 1) * n].iter().filter(|&&seen| seen).count();
            for at in i * n..(i + 1) * n {
                if flat[at] && left > 1 && hash(seed, at as u64) < limit {
                    flat[at] = false;
                    held.push(at);
                    left -= 1;
                }
            }
        }
        let mut values = self.values.clone();
        let flat = values.as_slice_mut().expect("kept in standard layout");
        held.iter().for_each(|&at| flat[at] = T::zero());
        let n_observed = self.n_observed - held.len();
        (Self { values, mask, n_observed }, held)
    }

    /// The relative error of `predicted` on the flat positions `at`, taken from the truth in `self`.
    pub fn relative_error_at(&self, predicted: &[T], at: &[usize]) -> f64 {
        let (mut residual, mut norm) = (0.0, 0.0);
        for &i in at {
            let truth = self.values()[i].wide();
            residual += (truth - predicted[i].wide()).powi(2);
            norm += truth.powi(2);
        }
        if norm > 0.0 { residual / norm } else { 0.0 }
    }
}

fn side(shape: &[usize], mode: usize) -> Result<usize, SurrogateError> {
    let out_of_range = SurrogateError::OutOfRange { what: "mode", index: mode, size: shape.len() };
    shape.get(mode).copied().ok_or(out_of_range)
}

/// Sixty-four random bits that depend on the two numbers alone (SplitMix64's finaliser, twice).
pub(crate) fn hash(seed: u64, position: u64) -> u64 {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    mix(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15))
        ^ mix(position.wrapping_add(0x632b_e59b_d9b4_e019)))
}
