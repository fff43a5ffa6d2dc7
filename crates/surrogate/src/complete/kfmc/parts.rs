//! Kernel models taken apart, and what must hold of parts that are put together.

use super::KernelModel;
use super::dictionary::Dictionary;
use crate::{Scalar, SurrogateError};

/// The parts of a [`KernelModel`]; the momentum of its training is not among them.
#[derive(Clone, Debug)]
pub struct KernelParts<T> {
    /// Datasets: the length of an atom.
    pub n_datasets: usize,
    /// Squared width of the kernel.
    pub s2: f64,
    /// Weight of the codes' norm.
    pub beta: f64,
    /// The dictionary, one atom after the other.
    pub atoms: Vec<T>,
    /// One code per pipeline, each as long as there are atoms.
    pub codes: Vec<T>,
    /// Mean of each dataset's completed errors.
    pub row_means: Vec<f64>,
}

impl<T: Scalar> From<KernelModel<T>> for KernelParts<T> {
    fn from(model: KernelModel<T>) -> Self {
        let KernelModel { dictionary, beta, codes, row_means } = model;
        let Dictionary { m, s2, atoms, .. } = dictionary;
        Self { n_datasets: m, s2, beta, atoms, codes, row_means }
    }
}

impl<T: Scalar> TryFrom<KernelParts<T>> for KernelModel<T> {
    type Error = SurrogateError;

    fn try_from(parts: KernelParts<T>) -> Result<Self, SurrogateError> {
        let KernelParts { n_datasets: m, s2, beta, atoms, codes, row_means } = parts;
        let empty = [m == 0, atoms.is_empty(), codes.is_empty()];
        if empty.contains(&true) {
            return Err(SurrogateError::Empty { what: "kernel model" });
        }
        let whole = |what, len: usize, by: usize| {
            let fits = SurrogateError::Size { what, wanted: len / by * by, got: len };
            if len.is_multiple_of(by) { Ok(len / by) } else { Err(fits) }
        };
        let r = whole("atoms", atoms.len(), m)?;
        whole("codes", codes.len(), r)?;
        if row_means.len() != m {
            let (what, got) = ("means of datasets", row_means.len());
            return Err(SurrogateError::Size { what, wanted: m, got });
        }
        for (name, value) in [("width of the kernel", s2), ("beta", beta)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(SurrogateError::Setting { name, value, wanted: "positive and finite" });
            }
        }
        let mut wide_atoms = atoms.iter().map(|v| v.wide());
        let mut wide_codes = codes.iter().map(|v| v.wide());
        let all: [(_, &mut dyn Iterator<Item = f64>); 3] = [
            ("atoms", &mut wide_atoms),
            ("codes", &mut wide_codes),
            ("means of datasets", &mut row_means.iter().copied()),
        ];
        for (what, values) in all {
            if let Some((at, value)) = values.enumerate().find(|(_, v)| !v.is_finite()) {
                return Err(SurrogateError::NotFinite { what, at, value });
            }
        }
        Ok(Self { dictionary: Dictionary::new(m, s2, atoms), beta, codes, row_means })
    }
}
