//! What the paper's systems need, as the paper has it: Tucker embeddings, deviations for weighted designs, and
//! polynomials of seconds. A section of its own in the file, which older files do not have.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use pitchpipe_learn::SearchSpace;
use pitchpipe_learn::encode::Encoder;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::scale::Scaler;
use pitchpipe_surrogate::design::deviations;
use pitchpipe_surrogate::runtime::{RuntimeModel, RuntimeTerms};
use pitchpipe_surrogate::{Ranks, SurrogateError, TuckerEmbedding};
use serde::{Deserialize, Serialize};

use super::file::SurrogateFileError;
use super::packed::{Form, Packed, Packer, Unpacker, damaged};
use super::parts::Unpack;
use super::{PipelineId, TableSize};

/// The largest ranks of an embedding: the rank rule adds one at a time.
const MOST_RANKS: Ranks = Ranks { datasets: 24, estimators: 40 };

/// Runs that a pipeline's own polynomial is held back by: most pipelines have few of their own.
const PULL: f64 = 4.0;

/// Predictions are at most this long, in seconds.
const LONGEST_SECS: f64 = 1e5;

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct PaperParts {
    /// TensorOboe's embedding.
    pub tensor: Option<PaperEmbedding>,
    /// KernelOboe's: the same of the tensor that KFMC completed.
    pub kernel: Option<PaperEmbedding>,
    /// How far Oboe's estimators are from their prediction, in the order of its columns.
    pub oboe_deviations: Option<Vec<f32>>,
    /// Seconds in the paper's form.
    pub runtimes: Option<PaperRuntimes>,
}

/// Embeddings of the paper's pipelines at any ranks.
#[derive(Clone, Debug)]
pub struct PaperEmbedding {
    /// At the largest ranks, with what smaller ones are made from.
    pub embedding: Arc<TuckerEmbedding>,
    /// The ranks to begin with.
    pub initial: Ranks,
    /// How far each pipeline is from its prediction at those ranks.
    pub deviations: Vec<f32>,
}

impl PaperEmbedding {
    /// Of completed errors, datasets x pipelines.
    pub fn fit(completed: ArrayView2<f32>, n_estimators: usize) -> Result<Self, SurrogateError> {
        let (embedding, initial) = TuckerEmbedding::fit(completed, n_estimators, MOST_RANKS)?;
        let y = embedding.at(initial)?;
        let deviations = deviations(completed, y.view()).into_iter().map(|d| d as f32).collect();
        Ok(Self { embedding: Arc::new(embedding), initial, deviations })
    }
}

/// Seconds as polynomials of degree 3 in rows, features and the logarithm of rows. Imputers, which hardly differ in
/// time, share one.
#[derive(Clone, Debug)]
pub struct PaperRuntimes {
    model: RuntimeModel,
    /// The least that was measured of each: polynomials of seconds go below zero.
    least_secs: Vec<f32>,
}

impl PaperRuntimes {
    /// Learns from recorded seconds, datasets x the paper's pipelines; those not above zero were not recorded.
    pub fn fit(
        space: &SearchSpace,
        sizes: &[TableSize],
        secs: ArrayView2<f32>,
    ) -> Result<Self, SurrogateError> {
        let (columns, n_columns) = columns(space);
        let n_encoders = Encoder::OF_NUMBERS.len();
        let m = sizes.len();
        let rows: Vec<_> = (0..n_encoders)
            .flat_map(|encoder| sizes.iter().map(move |s| s.for_encoder(encoder)))
            .collect();
        let mut sums = Array2::<f32>::zeros((n_encoders * m, n_columns));
        let mut counts = Array2::<f32>::zeros(sums.raw_dim());
        for ((i, j), &taken) in secs.indexed_iter().filter(|(_, t)| **t > 0.0) {
            let Some((encoder, column)) = columns[j] else { continue };
            sums[(encoder * m + i, column)] += taken;
            counts[(encoder * m + i, column)] += 1.0;
        }
        let means = sums / counts.mapv(|n| n.max(1.0));
        let n_estimators = space.estimators().len();
        let families: Vec<usize> = (0..n_columns).map(|c| c % n_estimators).collect();
        let model = RuntimeModel::fit_seconds_pulled(&rows, means.view(), &families, PULL)?
            .bounded(super::runtimes::BOUNDS_SECS.0, LONGEST_SECS);
        let mut of_family = vec![f32::INFINITY; n_estimators];
        let least = |column: usize| {
            let recorded = means.column(column).into_iter().copied().filter(|&t| t > 0.0);
            recorded.fold(f32::INFINITY, f32::min)
        };
        let own: Vec<f32> = (0..n_columns).map(least).collect();
        for (column, &secs) in own.iter().enumerate() {
            let family = &mut of_family[families[column]];
            *family = family.min(secs);
        }
        let overall = of_family.iter().copied().fold(f32::INFINITY, f32::min);
        let finite = |t: f32, or: f32| if t.is_finite() { t } else { or };
        let least_secs = own
            .iter()
            .zip(&families)
            .map(|(&t, &f)| finite(finite(t, of_family[f]), finite(overall, 1.0)))
            .collect();
        Ok(Self { model, least_secs })
    }

    /// Seconds that each of the paper's pipelines is expected to take; `None` for others.
    pub fn predict_secs(&self, space: &SearchSpace, size: &TableSize) -> Vec<Option<f64>> {
        let by_encoder: Vec<Vec<f64>> = (0..Encoder::OF_NUMBERS.len())
            .map(|encoder| self.model.predict_secs(&size.for_encoder(encoder)))
            .collect::<Result<_, _>>()
            .expect("sizes are at least 1");
        let secs = |(encoder, column): (usize, usize)| {
            by_encoder[encoder][column].max(f64::from(self.least_secs[column]))
        };
        columns(space).0.into_iter().map(|place| place.map(secs)).collect()
    }
}

/// The encoder and column of each pipeline, where it is one of the paper's, and how many columns there are.
fn columns(space: &SearchSpace) -> (Vec<Option<(usize, usize)>>, usize) {
    let Some((product, range)) = space.paper_block() else { return (Vec::new(), 0) };
    let n_estimators = product.estimators.len();
    let place = |id: PipelineId| {
        if !range.contains(&id.index()) {
            return None;
        }
        let preparation = space.preparation(id);
        let encoder = Encoder::OF_NUMBERS.iter().position(|&e| e == preparation.encoder)?;
        let scaler = Scaler::ALL.iter().position(|&s| s == preparation.scaler)?;
        let reducer = Reducer::ALL.iter().position(|&r| r == preparation.reducer)?;
        let prefix = scaler * Reducer::ALL.len() + reducer;
        Some((encoder, prefix * n_estimators + (id.index() - range.start) % n_estimators))
    };
    let n_columns = Scaler::ALL.len() * Reducer::ALL.len() * n_estimators;
    (space.ids().map(place).collect(), n_columns)
}

/// What of it is in a file, before the numbers.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct PaperHead {
    tensor: Option<(u32, u32)>,
    kernel: Option<(u32, u32)>,
    has_oboe_deviations: bool,
    runtimes: Option<RuntimeTerms>,
}

impl PaperParts {
    pub(super) fn pack(&self, packer: &mut Packer, vectors: &Form) -> PaperHead {
        let mut embedding = |of: &Option<PaperEmbedding>| {
            let PaperEmbedding { embedding, initial, deviations } = of.as_ref()?;
            let (y, sizes, estimators) = embedding.parts();
            packer.add(y.view(), vectors.clone(), 0.0);
            packer.add_list(sizes, Form::Single);
            packer.add(estimators.view(), Form::Half, 0.0);
            packer.add_list(deviations, Form::Half);
            Some((initial.datasets as u32, initial.estimators as u32))
        };
        let (tensor, kernel) = (embedding(&self.tensor), embedding(&self.kernel));
        if let Some(deviations) = &self.oboe_deviations {
            packer.add_list(deviations, Form::Half);
        }
        let runtimes = self.runtimes.as_ref().map(|PaperRuntimes { model, least_secs }| {
            let (terms, coefficients) = model.to_parts();
            // Powers of one variable nearly cancel each other: three digits would not do.
            packer.add(coefficients.view(), Form::Single, 0.0);
            packer.add_list(least_secs, Form::Half);
            terms
        });
        let has_oboe_deviations = self.oboe_deviations.is_some();
        PaperHead { tensor, kernel, has_oboe_deviations, runtimes }
    }
}

/// The section as it lies in a file.
#[derive(Clone, Debug)]
pub(crate) struct PackedPaper {
    space: Arc<SearchSpace>,
    tensor: Option<PackedTucker>,
    kernel: Option<PackedTucker>,
    oboe_deviations: Option<Packed>,
    /// Coefficients, and the least that was measured.
    runtimes: Option<(RuntimeTerms, Packed, Packed)>,
}

#[derive(Clone, Debug)]
struct PackedTucker {
    y: Packed,
    sizes: Packed,
    estimators: Packed,
    initial: Ranks,
    deviations: Packed,
}

impl PackedPaper {
    /// Whether TensorOboe has Tucker embeddings.
    pub(super) fn has_tucker(&self) -> bool {
        self.tensor.is_some()
    }

    pub(super) fn new(
        head: PaperHead,
        unpacker: &mut Unpacker,
        space: &Arc<SearchSpace>,
        n_oboe: Option<usize>,
    ) -> Result<Self, SurrogateFileError> {
        let mut embedding =
            |ranks: Option<_>| ranks.map(|ranks| PackedTucker::next(ranks, unpacker)).transpose();
        let (tensor, kernel) = (embedding(head.tensor)?, embedding(head.kernel)?);
        let mut oboe_deviations = None;
        if head.has_oboe_deviations {
            let deviations = unpacker.next()?;
            // Pipelines may have been added to Oboe's after these.
            if n_oboe.is_none_or(|n| deviations.n_columns() > n) {
                return Err(damaged("deviations have the wrong size"));
            }
            oboe_deviations = Some(deviations);
        }
        let mut runtimes = None;
        if let Some(terms) = head.runtimes {
            runtimes = Some((terms, unpacker.next()?, unpacker.next()?));
        }
        Ok(Self { space: Arc::clone(space), tensor, kernel, oboe_deviations, runtimes })
    }
}

impl PackedTucker {
    fn next(ranks: (u32, u32), unpacker: &mut Unpacker) -> Result<Self, SurrogateFileError> {
        let (datasets, estimators) = ranks;
        Ok(Self {
            y: unpacker.next()?,
            sizes: unpacker.next()?,
            estimators: unpacker.next()?,
            initial: Ranks { datasets: datasets as usize, estimators: estimators as usize },
            deviations: unpacker.next()?,
        })
    }

    fn unpack(&self, n_pipelines: usize) -> Result<PaperEmbedding, SurrogateFileError> {
        let Self { y, sizes, estimators, initial, deviations } = self;
        let deviations = positive(deviations.to_list()?);
        let embedding =
            TuckerEmbedding::from_parts(y.to_array()?, sizes.to_list()?, estimators.to_array()?)?;
        let is_sound = initial.datasets > 0 && initial.estimators > 0;
        if !is_sound || [embedding.n_pipelines(), deviations.len()] != [n_pipelines; 2] {
            return Err(damaged("an embedding has the wrong size"));
        }
        Ok(PaperEmbedding { embedding: Arc::new(embedding), initial: *initial, deviations })
    }
}

impl Unpack for PackedPaper {
    type Made = PaperParts;

    fn unpack(&self) -> Result<PaperParts, SurrogateFileError> {
        let n_paper = self.space.paper_block().map_or(0, |(_, range)| range.len());
        let embedding = |of: &Option<PackedTucker>| {
            of.as_ref().map(|packed| packed.unpack(n_paper)).transpose()
        };
        let deviations = self.oboe_deviations.as_ref().map(Packed::to_list).transpose()?;
        let mut runtimes = None;
        if let Some((terms, coefficients, least_secs)) = &self.runtimes {
            let coefficients = coefficients.to_array()?;
            let model = RuntimeModel::from_parts(terms.clone(), coefficients.view())?;
            let least_secs = positive(least_secs.to_list()?);
            let (_, wanted) = columns(&self.space);
            if model.n_pipelines() != wanted || least_secs.len() != wanted {
                return Err(damaged("seconds in the paper's form have the wrong size"));
            }
            runtimes = Some(PaperRuntimes { model, least_secs });
        }
        Ok(PaperParts {
            tensor: embedding(&self.tensor)?,
            kernel: embedding(&self.kernel)?,
            oboe_deviations: deviations.map(positive),
            runtimes,
        })
    }
}

/// Half precision rounds small numbers to zero.
fn positive(values: Vec<f32>) -> Vec<f32> {
    values.into_iter().map(|v| v.max(1e-6)).collect()
}
