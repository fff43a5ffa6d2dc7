//! Parts of a surrogate that are put together when first asked for.
//!
//! A search by the default method asks for one prior, and for that only row by row; the paper's methods ask for their
//! section. What nobody asks for stays as it was packed.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use pitchpipe_learn::SearchSpace;
use pitchpipe_surrogate::bayes::{Prior, Scale};
use pitchpipe_surrogate::complete::{KernelModel, KernelParts};

use super::file::SurrogateFileError;
use super::packed::{Packed, damaged};
use super::{Embedding, ErrorKind, Surrogate};

/// What a part is made from.
pub(crate) trait Unpack {
    type Made;

    fn unpack(&self) -> Result<Self::Made, SurrogateFileError>;
}

/// A part of a surrogate.
#[derive(Clone, Debug)]
pub(crate) struct Part<P: Unpack> {
    packed: Option<P>,
    made: OnceLock<Arc<P::Made>>,
}

impl<P: Unpack> Part<P> {
    pub(super) fn packed(packed: P) -> Self {
        Self { packed: Some(packed), made: OnceLock::new() }
    }

    /// One that never was packed.
    pub(crate) fn made(made: P::Made) -> Self {
        Self { packed: None, made: OnceLock::from(Arc::new(made)) }
    }

    pub(super) fn get(&self) -> &Arc<P::Made> {
        self.made.get_or_init(|| {
            let packed = self.packed.as_ref().expect("a part is packed or made");
            Arc::new(packed.unpack().expect("the parts of a surrogate were checked"))
        })
    }

    /// The part to be changed, after which what was packed is no longer true.
    pub(super) fn get_mut(&mut self) -> &mut Arc<P::Made> {
        self.get();
        self.packed = None;
        self.made.get_mut().expect("it was put together a moment ago")
    }

    /// Puts it together and lets go of it again: whether that can be done.
    pub(super) fn check(&self) -> Result<(), SurrogateFileError> {
        self.packed.as_ref().map_or(Ok(()), |packed| packed.unpack().map(|_| ()))
    }
}

/// A prior over the pipelines of a space.
#[derive(Clone, Debug)]
pub(crate) struct PackedPrior {
    scale: Scale,
    mean: Packed,
    /// Standard deviations of what the factor does not explain.
    noise: Packed,
    factor: Packed,
}

impl PackedPrior {
    pub(super) fn new(
        space: &SearchSpace,
        scale: Scale,
        [mean, noise, factor]: [Packed; 3],
    ) -> Result<Self, SurrogateFileError> {
        for matrix in [&mean, &noise, &factor] {
            check_count(space, "a prior", matrix.n_columns())?;
        }
        if [mean.n_rows(), noise.n_rows()] != [1; 2] {
            return Err(damaged("a prior has several means"));
        }
        Ok(Self { scale, mean, noise, factor })
    }

    pub(super) fn rank(&self) -> usize {
        self.factor.n_rows()
    }

    fn mean(&self) -> Result<Vec<f64>, SurrogateFileError> {
        Ok(self.mean.to_list()?.into_iter().map(f64::from).collect())
    }

    fn noise(&self) -> Result<Vec<f64>, SurrogateFileError> {
        Ok(self.noise.to_list()?.into_iter().map(|d| f64::from(d).powi(2)).collect())
    }
}

impl Unpack for PackedPrior {
    type Made = Prior;

    fn unpack(&self) -> Result<Prior, SurrogateFileError> {
        let read = |row, out: &mut [f32]| self.factor.read_row(row, out);
        Ok(Prior::from_rows(self.scale, self.mean()?, self.rank(), read, self.noise()?)?)
    }
}

/// A prior to read numbers of, packed or not: who wants less than all of it need not put it together.
pub(crate) enum PriorNumbers<'a> {
    Whole(&'a Prior),
    Packed(&'a PackedPrior),
}

impl PriorNumbers<'_> {
    pub(crate) fn scale(&self) -> Scale {
        match self {
            Self::Whole(prior) => prior.scale(),
            Self::Packed(prior) => prior.scale,
        }
    }

    pub(crate) fn mean(&self) -> Cow<'_, [f64]> {
        match self {
            Self::Whole(prior) => Cow::Borrowed(prior.mean()),
            Self::Packed(prior) => Cow::Owned(prior.mean().expect("the prior was checked")),
        }
    }

    pub(crate) fn noise(&self) -> Cow<'_, [f64]> {
        match self {
            Self::Whole(prior) => Cow::Borrowed(prior.noise()),
            Self::Packed(prior) => Cow::Owned(prior.noise().expect("the prior was checked")),
        }
    }

    pub(crate) fn rank(&self) -> usize {
        match self {
            Self::Whole(prior) => prior.rank(),
            Self::Packed(prior) => prior.rank(),
        }
    }

    /// Reads one row of the factor, a number for each pipeline.
    pub(crate) fn read_row(&self, row: usize, out: &mut [f32]) {
        match self {
            Self::Whole(prior) => prior.read_row(row, out),
            Self::Packed(prior) => prior.factor.read_row(row, out),
        }
    }
}

impl Part<PackedPrior> {
    fn numbers(&self) -> PriorNumbers<'_> {
        match (self.made.get(), &self.packed) {
            (None, Some(packed)) => PriorNumbers::Packed(packed),
            _ => PriorNumbers::Whole(self.get()),
        }
    }
}

impl Surrogate {
    /// The numbers of the prior of this kind, if it was trained.
    pub(crate) fn prior_numbers(&self, kind: ErrorKind) -> Option<PriorNumbers<'_>> {
        match kind {
            ErrorKind::Native => self.native.as_ref().map(Part::numbers),
            ErrorKind::Decided => self.decided.as_ref().map(Part::numbers),
        }
    }
}

/// Latent vectors of pipelines.
#[derive(Clone, Debug)]
pub(crate) struct PackedEmbedding {
    pipelines: Vec<u32>,
    y: Packed,
    initial_rank: usize,
}

impl PackedEmbedding {
    pub(super) fn new(
        space: &SearchSpace,
        pipelines: Vec<u32>,
        y: Packed,
        initial_rank: usize,
    ) -> Result<Self, SurrogateFileError> {
        if y.n_columns() != pipelines.len() || !(1..=y.n_rows()).contains(&initial_rank) {
            return Err(damaged("an embedding has the wrong size"));
        }
        if pipelines.iter().any(|&j| space.id(j as usize).is_none()) {
            return Err(damaged("an embedding speaks of a pipeline that does not exist"));
        }
        Ok(Self { pipelines, y, initial_rank })
    }

    pub(super) fn rank(&self) -> usize {
        self.y.n_rows()
    }

    pub(super) fn n_pipelines(&self) -> usize {
        self.pipelines.len()
    }
}

impl Unpack for PackedEmbedding {
    type Made = Embedding;

    fn unpack(&self) -> Result<Embedding, SurrogateFileError> {
        let Self { pipelines, y, initial_rank } = self;
        Ok(Embedding {
            pipelines: pipelines.clone(),
            y: y.to_array()?,
            initial_rank: *initial_rank,
        })
    }
}

/// The kernel model.
#[derive(Clone, Debug)]
pub(crate) struct PackedKernel {
    s2: f64,
    beta: f64,
    /// Atoms x datasets.
    atoms: Packed,
    /// Atoms x pipelines.
    codes: Packed,
    row_means: Packed,
}

impl PackedKernel {
    pub(super) fn new(
        space: &SearchSpace,
        [s2, beta]: [f64; 2],
        [atoms, codes, row_means]: [Packed; 3],
    ) -> Result<Self, SurrogateFileError> {
        check_count(space, "codes", codes.n_columns())?;
        if codes.n_rows() != atoms.n_rows() {
            return Err(damaged("codes of other atoms than there are"));
        }
        Ok(Self { s2, beta, atoms, codes, row_means })
    }
}

impl Unpack for PackedKernel {
    type Made = KernelModel<f32>;

    fn unpack(&self) -> Result<KernelModel<f32>, SurrogateFileError> {
        let n_atoms = self.codes.n_rows();
        // One code after the other.
        let mut codes = vec![0.0; n_atoms * self.codes.n_columns()];
        self.codes.for_each_row(|atom, row| {
            codes.iter_mut().skip(atom).step_by(n_atoms).zip(row).for_each(|(z, &v)| *z = v);
        })?;
        let row_means: Vec<f64> = self.row_means.to_list()?.into_iter().map(f64::from).collect();
        Ok(KernelModel::try_from(KernelParts {
            n_datasets: row_means.len(),
            s2: self.s2,
            beta: self.beta,
            atoms: self.atoms.to_list()?,
            codes,
            row_means,
        })?)
    }
}

/// That something speaks of all pipelines of a space.
fn check_count(space: &SearchSpace, what: &str, found: usize) -> Result<(), SurrogateFileError> {
    let wanted = space.n_pipelines();
    if found == wanted {
        return Ok(());
    }
    Err(damaged(&format!("{what} of {found} pipelines instead of {wanted}")))
}
