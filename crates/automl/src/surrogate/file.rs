//! The file of a surrogate: magic, version, checksum, then, compressed, its search space, its contents and matrices.
//!
//! Format 1 had no search space and is read as one of the paper's; before format 3 there was no section for the paper's
//! systems; since format 4 factors are kept as changes between pipelines that are alike.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::ArrayView2;
use pitchpipe_learn::SearchSpace;
use pitchpipe_learn::search_space::{Manifest, SpaceMismatch};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::{Prior, Scale};
use pitchpipe_surrogate::complete::{KernelModel, KernelParts};
use pitchpipe_surrogate::runtime::{RuntimeModel, RuntimeTerms};
use pitchpipe_table::{WriteError, write_atomically};
use serde::{Deserialize, Serialize};

use super::packed::{Form, Header, Packed, Packer, Unpacker, damaged};
use super::paper::{PackedPaper, PaperHead};
use super::parts::{PackedEmbedding, PackedKernel, PackedPrior, Part, Unpack};
use super::runtimes::ScaledModel;
use super::{AddedBlock, DatasetEmbeddings, Embedding, Runtimes, Surrogate, TrainingFacts};

const MAGIC: &[u8; 4] = b"ppSU";
const VERSION: u16 = 4;
/// The format without a search space.
const WITHOUT_SPACE: u16 = 1;
/// The first format with a section for the paper's systems.
const WITH_PAPER: u16 = 3;
/// The bytes before the compressed part: magic, version, checksum.
const PREAMBLE: usize = 10;
/// No surrogate of ours unpacks to more; a file that does is not taken in.
const MOST_BYTES: u64 = 512 << 20;
/// A tenth of the time of the highest level for a twentieth more bytes.
const COMPRESSION: i32 = 9;

/// Factors of priors need not be more exact than this: measurements vary by ten times as much.
const PRIOR_STEP: f32 = 1e-3;
/// The same for logarithms of runtimes.
const RUNTIME_STEP: f32 = 5e-3;

/// What keeps a surrogate from being read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurrogateFileError {
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The bytes could not be packed.
    #[error("the surrogate could not be packed: {0}")]
    Packing(std::io::Error),
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that cannot be used, for this reason.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<SurrogateFileError>,
    },
    /// The bytes are of something else.
    #[error("not a surrogate: it does not start like one")]
    NotASurrogate,
    /// A later program wrote it.
    #[error("surrogate format {found}; this pitchpipe reads formats 1 to {VERSION}")]
    Version {
        /// Its format.
        found: u16,
    },
    /// It was cut or changed, or never sound.
    #[error("damaged surrogate: {what}")]
    Damaged {
        /// What is wrong with it.
        what: String,
    },
    /// Unpacking it takes more memory than there is.
    #[error("unpacking the surrogate takes {bytes} bytes of memory, which there are not")]
    NoRoom {
        /// How many at once.
        bytes: usize,
    },
    /// It was trained for other pipelines than this program has.
    #[error("this surrogate is of search space {found}, but this pitchpipe has {wanted}")]
    SearchSpace {
        /// The key of its search space.
        found: String,
        /// Ours.
        wanted: String,
    },
    /// A block of its search space is not what this program has, or knows how to make.
    #[error("this surrogate is of other pipelines: {0}")]
    Blocks(#[from] SpaceMismatch),
}

impl SurrogateFileError {
    /// The next thing to try, where there is one.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NotASurrogate => Some("name a file made by `pitchpipe meta train`".into()),
            Self::Version { .. } => Some("upgrade pitchpipe".into()),
            Self::Blocks(SpaceMismatch::Unknown { .. }) => Some("upgrade pitchpipe".into()),
            Self::Damaged { .. } | Self::SearchSpace { .. } | Self::Blocks(_) => {
                Some("train it again with `pitchpipe meta train`".into())
            }
            Self::File { source, .. } => source.help(),
            Self::Write(error) => error.help(),
            Self::Packing(_) | Self::NoRoom { .. } => Some("give it more memory".into()),
            Self::Io { .. } => None,
        }
    }
}

impl From<SurrogateError> for SurrogateFileError {
    fn from(error: SurrogateError) -> Self {
        damaged(&error.to_string())
    }
}

/// What its columns are.
#[derive(Serialize, Deserialize)]
struct Columns {
    space: Manifest,
    added: Vec<AddedBlock>,
}

/// All else but the numbers.
#[derive(Serialize, Deserialize)]
struct Contents {
    facts: TrainingFacts,
    best_on_average: u32,
    /// Scales of the priors there are: native, decided.
    priors: [Option<Scale>; 2],
    oboe: Option<EmbeddingHead>,
    tensor_oboe: Option<EmbeddingHead>,
    kernel: Option<KernelHead>,
    runtimes: RuntimeTerms,
    /// Which embeddings of datasets there are: native, decided, oboe, tensor-oboe.
    datasets: [bool; 4],
    matrices: Vec<Header>,
}

#[derive(Serialize, Deserialize)]
struct EmbeddingHead {
    pipelines: Vec<u32>,
    initial_rank: u32,
}

#[derive(Serialize, Deserialize)]
struct KernelHead {
    s2: f64,
    beta: f64,
}

impl Surrogate {
    /// How every surrogate's file begins.
    pub const MAGIC: &[u8] = MAGIC;

    /// Reads a file that [`Surrogate::write`] made.
    pub fn read(path: &Path) -> Result<Self, SurrogateFileError> {
        let io = |source| SurrogateFileError::Io { path: path.to_owned(), source };
        Self::from_bytes(&fs::read(path).map_err(io)?).map_err(|source| SurrogateFileError::File {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// Writes the surrogate; at no moment is there half a file at `path`.
    pub fn write(&self, path: &Path) -> Result<(), SurrogateFileError> {
        Ok(write_atomically(path, &self.to_bytes()?)?)
    }

    /// The bytes of the file; packing them takes memory that may not be there.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SurrogateFileError> {
        let mut packer = Packer::default();
        let changes = Form::Changes(distances(&self.space));
        for prior in [&self.native, &self.decided].into_iter().flatten() {
            pack_prior(&mut packer, prior.get(), &changes, PRIOR_STEP);
        }
        for embedding in [&self.oboe, &self.tensor_oboe].into_iter().flatten() {
            packer.add(embedding.get().y.view(), Form::Half, 0.0);
        }
        let kernel = self.kernel_oboe.as_ref().map(|model| {
            let KernelParts { n_datasets, s2, beta, atoms, codes, row_means } =
                KernelParts::from(KernelModel::clone(model.get()));
            let n_atoms = atoms.len() / n_datasets;
            packer.add(rows_of(&atoms, n_datasets), Form::Half, 0.0);
            packer.add(rows_of(&codes, n_atoms).t(), changes.clone(), 0.0);
            let means: Vec<f32> = row_means.iter().map(|&v| v as f32).collect();
            packer.add_list(&means, Form::Single);
            KernelHead { s2, beta }
        });
        let (runtimes, coefficients) = self.runtimes.model.polynomials.to_parts();
        packer.add(coefficients.t(), Form::Half, 0.0);
        packer.add_list(&self.runtimes.model.slopes, Form::Single);
        pack_prior(&mut packer, self.runtimes.correction.prior(), &changes, RUNTIME_STEP);
        let datasets = self.embeddings.each();
        for matrix in datasets.into_iter().flatten() {
            packer.add(matrix.view(), Form::Half, 0.0);
        }
        let paper = self.paper.get().pack(&mut packer, &changes);
        let head = |part: &Part<PackedEmbedding>| {
            let Embedding { pipelines, initial_rank, .. } = &**part.get();
            EmbeddingHead { pipelines: pipelines.clone(), initial_rank: *initial_rank as u32 }
        };
        let contents = Contents {
            facts: self.facts.clone(),
            best_on_average: self.best_on_average.into(),
            priors: [&self.native, &self.decided].map(|p| p.as_ref().map(|p| p.get().scale())),
            oboe: self.oboe.as_ref().map(head),
            tensor_oboe: self.tensor_oboe.as_ref().map(head),
            kernel,
            runtimes,
            datasets: datasets.map(|d| d.is_some()),
            matrices: packer.headers,
        };
        let columns = Columns { space: self.space.manifest(), added: self.added.clone() };
        let mut body = postcard::to_stdvec(&columns).expect("plain data is always written");
        body.extend(postcard::to_stdvec(&contents).expect("plain data is always written"));
        body.extend(postcard::to_stdvec(&paper).expect("plain data is always written"));
        body.extend(packer.bytes);
        let compressed =
            zstd::bulk::compress(&body, COMPRESSION).map_err(SurrogateFileError::Packing)?;
        let mut bytes = Vec::with_capacity(compressed.len() + PREAMBLE);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(crc32fast::hash(&compressed).to_le_bytes());
        bytes.extend(compressed);
        Ok(bytes)
    }

    /// Reads the bytes of a file; anything cut, changed or of another version is an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SurrogateFileError> {
        let read = Self::from_trusted_bytes(bytes)?;
        read.check_parts()?;
        Ok(read)
    }

    /// The same of bytes that are known to be sound: its parts are put together, and so checked, when they are asked for.
    pub(super) fn from_trusted_bytes(bytes: &[u8]) -> Result<Self, SurrogateFileError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(SurrogateFileError::NotASurrogate)?;
        let too_short = || damaged("it ends too early");
        let (version, rest) = rest.split_first_chunk().ok_or_else(too_short)?;
        let found = u16::from_le_bytes(*version);
        if !(WITHOUT_SPACE..=VERSION).contains(&found) {
            return Err(SurrogateFileError::Version { found });
        }
        let (checksum, compressed) = rest.split_first_chunk().ok_or_else(too_short)?;
        if crc32fast::hash(compressed) != u32::from_le_bytes(*checksum) {
            return Err(damaged("its checksum is wrong"));
        }
        let body = decompressed(compressed)?;
        let unreadable = |e: postcard::Error| damaged(&e.to_string());
        let mut rest = body.as_slice();
        let mut columns: Option<Columns> = None;
        if found > WITHOUT_SPACE {
            let (read, after) = postcard::take_from_bytes(rest).map_err(unreadable)?;
            (columns, rest) = (Some(read), after);
        }
        let (contents, mut numbers): (Contents, &[u8]) =
            postcard::take_from_bytes(rest).map_err(unreadable)?;
        let mut paper = PaperHead::default();
        if found >= WITH_PAPER {
            (paper, numbers) = postcard::take_from_bytes(numbers).map_err(unreadable)?;
        }
        let at = body.len() - numbers.len();
        unpack(columns, contents, paper, body, at)
    }

    /// That all parts can be put together, one after the other.
    fn check_parts(&self) -> Result<(), SurrogateFileError> {
        [&self.native, &self.decided].into_iter().flatten().try_for_each(Part::check)?;
        [&self.oboe, &self.tensor_oboe].into_iter().flatten().try_for_each(Part::check)?;
        self.kernel_oboe.iter().try_for_each(Part::check)?;
        self.paper.check()
    }
}

/// What was compressed. Our files say how large that is, so there need be no second buffer.
fn decompressed(compressed: &[u8]) -> Result<Vec<u8>, SurrogateFileError> {
    let unreadable = |e: std::io::Error| damaged(&e.to_string());
    let mut body = Vec::new();
    match zstd::zstd_safe::get_frame_content_size(compressed) {
        Ok(Some(size)) if size <= MOST_BYTES => {
            let bytes = size as usize;
            body.try_reserve_exact(bytes).map_err(|_| SurrogateFileError::NoRoom { bytes })?;
            let mut decompressor = zstd::bulk::Decompressor::new().map_err(unreadable)?;
            decompressor.decompress_to_buffer(compressed, &mut body).map_err(unreadable)?;
        }
        _ => {
            zstd::stream::read::Decoder::new(compressed)
                .and_then(|decoder| decoder.take(MOST_BYTES).read_to_end(&mut body))
                .map_err(unreadable)?;
        }
    }
    Ok(body)
}

fn unpack(
    columns: Option<Columns>,
    contents: Contents,
    paper: PaperHead,
    body: Vec<u8>,
    at: usize,
) -> Result<Surrogate, SurrogateFileError> {
    let (space, added) = match columns {
        Some(Columns { space, added }) => (Arc::new(space.space(&SearchSpace::all())?), added),
        None => {
            let (found, wanted) =
                (&contents.facts.search_space, crate::offline::search_space_key());
            if *found != wanted {
                let found = found.clone();
                return Err(SurrogateFileError::SearchSpace { found, wanted });
            }
            (SearchSpace::paper(), Vec::new())
        }
    };
    let mut unpacker = Unpacker::new(contents.matrices, body, at)?;
    let mut priors = [None, None];
    for (slot, scale) in priors.iter_mut().zip(contents.priors) {
        if let Some(scale) = scale {
            *slot = Some(PackedPrior::new(&space, scale, three(&mut unpacker)?)?);
        }
    }
    let [native, decided] = priors;
    let mut embedding = |head: Option<EmbeddingHead>| {
        let made = |EmbeddingHead { pipelines, initial_rank }| {
            PackedEmbedding::new(&space, pipelines, unpacker.next()?, initial_rank as usize)
        };
        head.map(made).transpose()
    };
    let (oboe, tensor_oboe) = (embedding(contents.oboe)?, embedding(contents.tensor_oboe)?);
    let kernel_oboe = match contents.kernel {
        None => None,
        Some(KernelHead { s2, beta }) => {
            Some(PackedKernel::new(&space, [s2, beta], three(&mut unpacker)?)?)
        }
    };
    let coefficients = unpacker.next()?.to_array()?.reversed_axes();
    let polynomials = RuntimeModel::from_parts(contents.runtimes, coefficients.view())?;
    let model = ScaledModel { polynomials, slopes: unpacker.next()?.to_list()? };
    let correction = PackedPrior::new(&space, Scale::Plain, three(&mut unpacker)?)?.unpack()?;
    let runtimes = Runtimes::from_parts(&space, model, Arc::new(correction))?;
    let n_datasets = contents.facts.datasets.len();
    let mut datasets = [None, None, None, None];
    for (slot, is_there) in datasets.iter_mut().zip(contents.datasets) {
        if is_there {
            let matrix = unpacker.next()?.to_array()?;
            if matrix.ncols() != n_datasets {
                return Err(damaged("embeddings of other datasets than it names"));
            }
            *slot = Some(matrix);
        }
    }
    let embeddings = DatasetEmbeddings::of(datasets);
    for (matrix, rank) in embeddings.each().into_iter().zip([
        native.as_ref().map(PackedPrior::rank),
        decided.as_ref().map(PackedPrior::rank),
        oboe.as_ref().map(PackedEmbedding::rank),
        tensor_oboe.as_ref().map(PackedEmbedding::rank),
    ]) {
        if matrix.as_ref().is_some_and(|m| Some(m.nrows()) != rank) {
            return Err(damaged("embeddings of datasets have the wrong size"));
        }
    }
    let n_oboe = oboe.as_ref().map(PackedEmbedding::n_pipelines);
    let paper = PackedPaper::new(paper, &mut unpacker, &space, n_oboe)?;
    // Format 3 had both, of which Tucker's are used.
    let (tensor_oboe, embeddings) = match paper.has_tucker() {
        true => (None, DatasetEmbeddings { tensor_oboe: None, ..embeddings }),
        false => (tensor_oboe, embeddings),
    };
    if !unpacker.is_done() {
        return Err(damaged("it goes on after its end"));
    }
    let best = space.id(contents.best_on_average as usize);
    let best_on_average = best.ok_or_else(|| damaged("its best pipeline does not exist"))?;
    let facts = contents.facts;
    Ok(Surrogate {
        space,
        facts,
        native: native.map(Part::packed),
        decided: decided.map(Part::packed),
        oboe: oboe.map(Part::packed),
        tensor_oboe: tensor_oboe.map(Part::packed),
        kernel_oboe: kernel_oboe.map(Part::packed),
        runtimes,
        best_on_average,
        embeddings,
        added,
        paper: Part::packed(paper),
    })
}

fn three(unpacker: &mut Unpacker) -> Result<[Packed; 3], SurrogateFileError> {
    Ok([unpacker.next()?, unpacker.next()?, unpacker.next()?])
}

/// A row-major matrix of rows this long.
fn rows_of(values: &[f32], length: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((values.len() / length, length), values).expect("whole rows")
}

/// How far apart pipelines of the paper's block are that differ in one component alone, from the first step's on.
fn distances(space: &SearchSpace) -> Vec<u32> {
    let Some((product, _)) = space.paper_block() else { return Vec::new() };
    let sides = product.axes();
    let after = |axis: usize| sides[axis + 1..].iter().product::<usize>() as u32;
    (0..sides.len()).map(after).collect()
}

fn pack_prior(packer: &mut Packer, prior: &Prior, factor: &Form, step: f32) {
    let single = |values: &[f64]| values.iter().map(|&v| v as f32).collect::<Vec<f32>>();
    packer.add_list(&single(prior.mean()), Form::Half);
    // Variances of noise span decades, of which half precision keeps three digits above 6e-5.
    let deviations: Vec<f32> = prior.noise().iter().map(|v| v.sqrt() as f32).collect();
    packer.add_list(&deviations, Form::Half);
    packer.add(prior.factor().view(), factor.clone(), step);
}
