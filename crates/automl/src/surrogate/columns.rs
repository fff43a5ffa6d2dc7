//! Blocks of pipelines that a surrogate was not trained on: their columns, from kin and from what was measured.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use ndarray::Array2;
use pitchpipe_learn::{PipelineId, Preparation, SearchSpace};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::columns::{NewColumn, NewColumns, embed_columns};
use serde::{Deserialize, Serialize};

use super::parts::{PackedPrior, Part};
use super::{Embedding, ExtendError, Surrogate, TableSize};

/// A block that was added to a surrogate after its training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddedBlock {
    /// The block's name.
    pub name: String,
    /// How many pipelines, and so columns, it has.
    pub n_pipelines: usize,
    /// How many of them were measured at all; the others lean on these and on kin.
    pub n_measured: usize,
    /// How many errors were measured.
    pub n_entries: usize,
    /// On how many of the surrogate's datasets.
    pub n_datasets: usize,
    /// The kinds of estimators whose columns the new ones lean on.
    pub kin: Vec<String>,
}

/// A dataset that new pipelines were run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeasuredOn {
    /// Its position in the facts.
    Placed(usize),
    /// Too little is known of it to place it among the others: what was measured on it says how long pipelines take
    /// on a table of its size, and no more.
    NotPlaced(usize),
}

impl MeasuredOn {
    fn place(self) -> Option<usize> {
        match self {
            Self::Placed(at) => Some(at),
            Self::NotPlaced(_) => None,
        }
    }
}

/// One run of a new pipeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// The pipeline, in the space with the new block.
    pub(crate) pipeline: PipelineId,
    pub(crate) dataset: MeasuredOn,
    pub(crate) native: f64,
    pub(crate) decided: Option<f64>,
    pub(crate) secs: f64,
    pub(crate) size: Option<TableSize>,
}

/// New pipelines, what they lean on and what was measured of them.
struct Joining {
    kin: Vec<Vec<(usize, f64)>>,
    /// For each new pipeline: its list of kin, its kind, its setting.
    places: Vec<(usize, usize, usize)>,
    runs: Vec<Vec<Run>>,
}

impl Joining {
    fn columns(&self, value: impl Fn(&Run) -> Option<(usize, f64)>) -> NewColumns {
        let columns = self.places.iter().zip(&self.runs).map(|(&(kin, kind, setting), runs)| {
            NewColumn { kin, kind, setting, measured: runs.iter().filter_map(&value).collect() }
        });
        NewColumns { kin: self.kin.clone(), columns: columns.collect() }
    }
}

impl Surrogate {
    /// Adds the columns of the last block of `wider`, which has all blocks of the present space before it.
    pub(crate) fn add_block(
        &mut self,
        wider: &Arc<SearchSpace>,
        runs: &[Run],
    ) -> Result<AddedBlock, ExtendError> {
        let name = wider.blocks().last().map(|b| b.name().to_owned()).unwrap_or_default();
        let new = self.space.n_pipelines()..wider.n_pipelines();
        let (kin, places, kinds) = kin(&self.space, wider, new.clone());
        let mut joining = Joining { kin, places, runs: vec![Vec::new(); new.len()] };
        for run in runs.iter().filter(|run| new.contains(&run.pipeline.index())) {
            joining.runs[run.pipeline.index() - new.start].push(*run);
        }
        let native = joining.columns(|run| Some((run.dataset.place()?, run.native)));
        let decided = joining.columns(|run| Some((run.dataset.place()?, run.decided?)));
        for (prior, datasets, new) in [
            (&mut self.native, &mut self.embeddings.native, &native),
            (&mut self.decided, &mut self.embeddings.decided, &decided),
        ] {
            if let Some(prior) = prior {
                extend_prior(prior, datasets, new)?;
            }
        }
        for (embedding, datasets) in [
            (&mut self.oboe, &self.embeddings.oboe),
            (&mut self.tensor_oboe, &self.embeddings.tensor_oboe),
        ] {
            if let (Some(embedding), Some(datasets)) = (embedding, datasets) {
                let embedding = Arc::make_mut(embedding.get_mut());
                extend_embedding(embedding, datasets, &native, new.start)?;
            }
        }
        if let Some(model) = &mut self.kernel_oboe {
            *model = Part::made(model.get().with_columns(&native)?);
        }
        let sized: BTreeMap<MeasuredOn, TableSize> = joining
            .runs
            .iter()
            .flatten()
            .filter_map(|run| Some((run.dataset, run.size?)))
            .collect();
        let places: BTreeMap<MeasuredOn, usize> = sized.keys().copied().zip(0..).collect();
        let sizes: BTreeMap<usize, TableSize> = sized.values().copied().enumerate().collect();
        let secs = joining.columns(|run| Some((*places.get(&run.dataset)?, run.secs)));
        self.runtimes.add_columns(wider, &sizes, secs)?;
        self.space = Arc::clone(wider);
        self.facts.search_space = wider.key();
        let datasets: BTreeSet<usize> =
            joining.runs.iter().flatten().filter_map(|run| run.dataset.place()).collect();
        let added = AddedBlock {
            name,
            n_pipelines: new.len(),
            n_measured: joining.runs.iter().filter(|runs| !runs.is_empty()).count(),
            n_entries: native.n_measured(),
            n_datasets: datasets.len(),
            kin: kinds,
        };
        self.facts.n_entries += added.n_entries;
        let all = self.facts.datasets.len() * self.space.n_pipelines();
        self.facts.missing_ratio = 1.0 - self.facts.n_entries as f64 / all.max(1) as f64;
        self.added.push(added.clone());
        Ok(added)
    }
}

fn extend_prior(
    part: &mut Part<PackedPrior>,
    datasets: &mut Option<Array2<f32>>,
    new: &NewColumns,
) -> Result<(), SurrogateError> {
    let prior = part.get();
    // A surrogate without the embeddings of its datasets can place what was measured nowhere: kin alone.
    let (scores, new) = match datasets {
        Some(scores) => (scores.clone(), new.clone()),
        None => {
            let mut unmeasured = new.clone();
            unmeasured.columns.iter_mut().for_each(|column| column.measured.clear());
            (Array2::zeros((prior.rank(), 0)), unmeasured)
        }
    };
    let (wider, embedded) = prior.with_columns(scores.view(), &new)?;
    *part = Part::made(wider);
    if datasets.is_some() {
        *datasets = Some(embedded);
    }
    Ok(())
}

/// Puts the new columns into an embedding that speaks of pipelines they lean on; Oboe's, of one preparation, takes
/// those with that preparation alone.
fn extend_embedding(
    embedding: &mut Embedding,
    datasets: &Array2<f32>,
    new: &NewColumns,
    first_new: usize,
) -> Result<(), SurrogateError> {
    let places: BTreeMap<usize, usize> =
        embedding.pipelines.iter().enumerate().map(|(at, &j)| (j as usize, at)).collect();
    let kept = |kin: &Vec<(usize, f64)>| -> Vec<(usize, f64)> {
        kin.iter().filter_map(|&(j, weight)| Some((*places.get(&j)?, weight))).collect()
    };
    let kin: Vec<Vec<(usize, f64)>> = new.kin.iter().map(kept).collect();
    let (mut here, mut columns) = (Vec::new(), Vec::new());
    for (at, column) in new.columns.iter().enumerate() {
        if !kin[column.kin].is_empty() {
            here.push((first_new + at) as u32);
            columns.push(column.clone());
        }
    }
    // Lists that no column leans on any more may be empty, which is not allowed.
    let whole = |kin: Vec<(usize, f64)>| if kin.is_empty() { vec![(0, 1.0)] } else { kin };
    let new = NewColumns { kin: kin.into_iter().map(whole).collect(), columns };
    embedding.y = embed_columns(embedding.y.view(), datasets.view(), &new)?;
    embedding.pipelines.extend(here);
    Ok(())
}

/// The kin of new pipelines: lists of known ones, what each new one leans on, and the kinds among all of them.
///
/// Kin have the preparation that is most like the new one's, step by step. A kind that is known leans on itself, a new
/// one on all kinds, each counting the same: naming a few that are thought to be alike did no better
/// (docs/decisions/0051-new-columns.md).
#[expect(clippy::type_complexity, reason = "three lists that are taken apart at once")]
fn kin(
    known: &SearchSpace,
    wider: &SearchSpace,
    new: Range<usize>,
) -> (Vec<Vec<(usize, f64)>>, Vec<(usize, usize, usize)>, Vec<String>) {
    let kinds = wider.kinds();
    let mut lists: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let (mut kin, mut places, mut named) = (Vec::new(), Vec::new(), BTreeSet::new());
    for id in wider.ids().skip(new.start) {
        let kind = wider.kind(id);
        let kind_at = kinds.iter().position(|&k| k == kind).unwrap_or(0);
        let list = *lists.entry((wider.preparation_index(id), kind_at)).or_insert_with(|| {
            let near = nearest(known, wider.preparation(id));
            let mut members: Vec<PipelineId> = near
                .iter()
                .flat_map(|&p| (0..known.estimators().len()).filter_map(move |e| known.at(p, e)))
                .collect();
            if members.iter().any(|&other| known.kind(other) == kind) {
                members.retain(|&other| known.kind(other) == kind);
            }
            let mut counts = BTreeMap::new();
            for &member in &members {
                *counts.entry(known.kind(member).name()).or_insert(0.0) += 1.0;
            }
            let weight = |&id: &PipelineId| (id.index(), 1.0 / counts[known.kind(id).name()]);
            kin.push(members.iter().map(weight).collect());
            named.extend(counts.keys().map(|&name| name.to_owned()));
            kin.len() - 1
        });
        places.push((list, kind_at, wider.estimator_index(id)));
    }
    (kin, places, named.into_iter().collect())
}

/// The known preparations that share most steps with this one.
fn nearest(known: &SearchSpace, preparation: Preparation) -> Vec<usize> {
    let alike = |p: &Preparation| {
        [
            p.imputer == preparation.imputer,
            p.encoder == preparation.encoder,
            p.scaler == preparation.scaler,
            p.reducer == preparation.reducer,
        ]
        .into_iter()
        .filter(|same| *same)
        .count()
    };
    let most = known.preparations().iter().map(alike).max().unwrap_or(0);
    let all = known.preparations().iter().enumerate();
    all.filter(|(_, p)| alike(p) == most).map(|(at, _)| at).collect()
}
