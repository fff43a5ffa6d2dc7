//! Training a surrogate from stores (paper, Algorithm "Offline Stage"): completion, embeddings, priors and
//! the prediction of runtimes.

mod complete;
mod decided;
mod paper;
mod stack;
mod stream;

use std::sync::Arc;
use std::time::Instant;

use ndarray::{Array2, Axis};
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::{PipelineId, Preparation, SearchSpace};
use pitchpipe_surrogate::bayes::{Prior, PriorRows, PriorSettings, Scale};
use pitchpipe_surrogate::complete::{HELD_OUT, KernelModel, Kfmc};
use pitchpipe_surrogate::embedding::energy_rank;
use pitchpipe_surrogate::{Pca, SurrogateError};

use super::search_space_key;
use crate::surrogate::{
    CompletionFacts, DatasetEmbeddings, Embedding, ErrorKind, ExtendError, PaperParts, Part,
    RuntimeAccuracy, Runtimes, Surrogate, TrainedDataset, TrainingFacts, cross_validate_runtimes,
};
use complete::{by_matrix, by_tensor, error_rates, tensor_of};
use decided::Changes;
pub use stack::{Stack, StackRow};

/// The share of the energy that the first rank holds (the paper's rule).
const INITIAL_ENERGY: f64 = 0.97;
/// Most rows of an embedding; the online phase adds one to the rank at a time.
pub const EMBEDDING_RANK: usize = 24;
/// Atoms of the kernel model, where nothing else is said.
pub const KERNEL_ATOMS: usize = 40;
/// Passes of the kernel method from a completed tensor: more drift away from it again.
const KERNEL_PASSES: usize = 2;
/// Vectors are learned from at least so many datasets.
const LEAST_AT_ONCE: usize = 20;
/// Folds in which the prediction of runtimes is judged.
const RUNTIME_FOLDS: usize = 10;

/// A method of the paper, or ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainMethod {
    /// Oboe: matrix completion and embeddings of 183 estimators behind one preparation.
    Matrix,
    /// TensorOboe: Tucker completion and embeddings of all pipelines.
    Tensor,
    /// KernelOboe: kernelised completion and codes of all pipelines.
    Kernel,
    /// Ours: priors of errors over all pipelines.
    Bayes,
}

/// A prior, where there were rows to learn it from, and the embeddings of those rows.
type EmbeddedPrior = (Option<Prior>, Option<Array2<f32>>);

impl TrainMethod {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Matrix, Self::Tensor, Self::Kernel, Self::Bayes];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Tensor => "tensor",
            Self::Kernel => "kernel",
            Self::Bayes => "bayes",
        }
    }
}

/// How to train.
#[derive(Clone, Debug)]
pub struct Training {
    /// What to train.
    pub methods: Vec<TrainMethod>,
    /// The rank of completions and the number of atoms; chosen by held-out entries where there is none.
    pub rank: Option<usize>,
    /// What a published row counts in the priors, where one of our own counts 1.
    pub published_weight: f64,
    /// Decides which entries are held out.
    pub seed: u64,
    /// Of more datasets than this, completed rows are never held all at once: vectors are learned from so many, and the
    /// others pass by block by block. It bounds the memory, not what is learned from.
    pub at_once: usize,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            methods: TrainMethod::ALL.to_vec(),
            rank: None,
            published_weight: 1.0,
            seed: 0,
            at_once: 1000,
        }
    }
}

/// Completed errors of the stacked rows.
pub struct Completed {
    /// Under the native decision.
    pub native: Array2<f32>,
    /// Under the balanced decision, where any was measured.
    pub decided: Option<Array2<f32>>,
    /// How they came about.
    pub facts: Vec<CompletionFacts>,
}

impl Training {
    /// Trains a surrogate of the paper's pipelines, and adds those of other blocks as columns beside them.
    pub fn run(&self, stack: &Stack) -> Result<Surrogate, SurrogateError> {
        let mut surrogate = self.run_on_paper(&stack.of_paper())?;
        if stack.space.blocks().len() > 1 {
            surrogate.extend(stack).map_err(|e| match e {
                ExtendError::Numbers(e) => e,
                _ => SurrogateError::Empty { what: "what was measured of further blocks" },
            })?;
        }
        Ok(surrogate)
    }

    fn run_on_paper(&self, stack: &Stack) -> Result<Surrogate, SurrogateError> {
        if stack.rows.len() < 3 {
            return Err(SurrogateError::Empty {
                what: "the training set: fewer than three datasets",
            });
        }
        if stack.rows.len() > self.at_once.max(LEAST_AT_ONCE) {
            return self.run_streamed(stack);
        }
        let has = |method| self.methods.contains(&method);
        let mut facts = self.facts(stack);
        let mut embeddings = DatasetEmbeddings::default();
        let mut oboe = None;
        if has(TrainMethod::Matrix) {
            let (embedding, datasets) = self.slice(stack, &mut facts)?;
            (oboe, embeddings.oboe) = (Some(embedding), Some(datasets));
        }
        let needs_rows =
            has(TrainMethod::Tensor) || has(TrainMethod::Kernel) || has(TrainMethod::Bayes);
        let completed = if needs_rows { Some(self.complete(stack)?) } else { None };
        facts.completions.extend(completed.iter().flat_map(|c| c.facts.iter().cloned()));
        let (mut native, mut decided) = (None, None);
        let mut kernel_oboe = None;
        let mut best = None;
        if let Some(completed) = &completed {
            best = Some(self.best(stack, completed.decided.as_ref().unwrap_or(&completed.native)));
            if has(TrainMethod::Kernel) {
                kernel_oboe = Some(self.kernel(stack, &completed.native, &mut facts)?);
            }
            if has(TrainMethod::Bayes) {
                (native, embeddings.native) =
                    self.embedded_prior(stack, Some(&completed.native))?;
                (decided, embeddings.decided) =
                    self.embedded_prior(stack, completed.decided.as_ref())?;
            }
        }
        let best_on_average = match best {
            Some(best) => best,
            None => self.best_of_slice(stack),
        };
        let runtimes = runtimes(stack, &mut facts)?;
        let surrogate = Surrogate {
            space: Arc::clone(&stack.space),
            facts,
            native: native.map(Part::made),
            decided: decided.map(Part::made),
            oboe: oboe.map(Part::made),
            tensor_oboe: None,
            kernel_oboe: kernel_oboe.map(Part::made),
            runtimes,
            best_on_average,
            embeddings,
            added: Vec::new(),
            paper: Part::made(PaperParts::default()),
        };
        let native = completed.as_ref().map(|c| &c.native);
        let paper = self.paper_parts(stack, native, surrogate.oboe())?;
        Ok(surrogate.with_paper_parts(paper))
    }

    fn facts(&self, stack: &Stack) -> TrainingFacts {
        let dataset = |row: &StackRow| TrainedDataset {
            name: row.name.clone(),
            content: row.about.as_ref().and_then(|a| a.content.clone()),
            is_published: row.is_published,
            n_entries: row.seen.len(),
        };
        let n_entries = stack.n_entries();
        TrainingFacts {
            search_space: search_space_key(),
            made_with: format!("pitchpipe {}", env!("CARGO_PKG_VERSION")),
            datasets: stack.rows.iter().map(dataset).collect(),
            left_out: stack.left_out.clone(),
            n_entries,
            missing_ratio: 1.0
                - n_entries as f64 / (stack.rows.len() * stack.space.n_pipelines()) as f64,
            published_weight: self.published_weight,
            ..TrainingFacts::default()
        }
    }

    /// Completes the errors of all rows: the native ones, then the decided ones from them.
    pub fn complete(&self, stack: &Stack) -> Result<Completed, SurrogateError> {
        let started = Instant::now();
        let observed = stack.tensor(ErrorKind::Native)?;
        let (completion, choice) = by_tensor(&observed, self.rank, self.seed)?;
        drop(observed);
        let native = error_rates(completion.values, stack.rows.len());
        let mut facts = vec![CompletionFacts {
            method: TrainMethod::Tensor.name().to_owned(),
            ranks: choice.ranks,
            held_out_error: choice.error,
            secs: started.elapsed().as_secs_f64(),
        }];
        let mut decided = None;
        if stack.has_decided() {
            let started = Instant::now();
            let slice: Vec<usize> =
                oboe_pipelines(&stack.space).iter().map(|&j| j as usize).collect();
            let of_slice = native.select(Axis(1), &slice);
            let (changes, rank, held_out_error) =
                Changes::learn(stack, &of_slice, &slice, self.seed)?;
            let mut errors = native.clone();
            changes.decide(stack, 0, &mut errors);
            decided = Some(errors);
            facts.push(CompletionFacts {
                method: "decided".to_owned(),
                ranks: vec![rank],
                held_out_error,
                secs: started.elapsed().as_secs_f64(),
            });
        }
        Ok(Completed { native, decided, facts })
    }

    /// A prior of completed rows, with the embeddings of the datasets under it.
    fn embedded_prior(
        &self,
        stack: &Stack,
        completed: Option<&Array2<f32>>,
    ) -> Result<EmbeddedPrior, SurrogateError> {
        let Some(completed) = completed else { return Ok((None, None)) };
        let prior = self.prior(stack, completed)?;
        let embedded = prior.embed(completed.view())?;
        Ok((Some(prior), Some(embedded)))
    }

    /// The prior of square roots of errors from completed rows, published ones weighted.
    pub fn prior(&self, stack: &Stack, completed: &Array2<f32>) -> Result<Prior, SurrogateError> {
        let settings = PriorSettings::for_search(stack.space.estimators().len());
        PriorRows::new(completed.view(), Scale::Root)?.fit(&self.weights(stack), &settings)
    }

    fn weights(&self, stack: &Stack) -> Vec<f64> {
        let has_own = stack.n_own() > 0;
        let weight = |row: &StackRow| {
            if row.is_published && has_own { self.published_weight } else { 1.0 }
        };
        stack.rows.iter().map(weight).collect()
    }

    /// The pipeline with the lowest mean error.
    fn best(&self, stack: &Stack, completed: &Array2<f32>) -> PipelineId {
        let weights = self.weights(stack);
        let mean = |j: usize| -> f64 {
            completed.column(j).iter().zip(&weights).map(|(&e, w)| f64::from(e) * w).sum()
        };
        lowest((0..stack.space.n_pipelines()).map(mean))
    }

    /// The same among the pipelines of the slice, by the mean of what was observed.
    fn best_of_slice(&self, stack: &Stack) -> PipelineId {
        let mut sums = vec![(0.0, 0.0); stack.space.n_pipelines()];
        for seen in stack.rows.iter().flat_map(|row| &row.seen) {
            let (sum, n) = &mut sums[seen.pipeline as usize];
            (*sum, *n) = (*sum + f64::from(seen.error), *n + 1.0);
        }
        // With few datasets a mean is luck.
        let least = 0.5 * stack.rows.len() as f64;
        lowest(sums.into_iter().map(|(sum, n)| if n >= least { sum / n } else { f64::INFINITY }))
    }

    fn slice(
        &self,
        stack: &Stack,
        facts: &mut TrainingFacts,
    ) -> Result<(Embedding, Array2<f32>), SurrogateError> {
        let started = Instant::now();
        let pipelines = oboe_pipelines(&stack.space);
        let columns: Vec<usize> = pipelines.iter().map(|&j| j as usize).collect();
        let (errors, mask) = stack.errors_of(ErrorKind::Native, &columns);
        // A dataset on which nothing of the slice finished has no row in it.
        let rows: Vec<usize> =
            (0..mask.nrows()).filter(|&i| mask.row(i).iter().any(|&seen| seen)).collect();
        let (errors, mask) = (errors.select(Axis(0), &rows), mask.select(Axis(0), &rows));
        let (completed, rank, error) = by_matrix(&errors, &mask, self.rank, self.seed)?;
        facts.completions.push(CompletionFacts {
            method: TrainMethod::Matrix.name().to_owned(),
            ranks: vec![rank],
            held_out_error: error,
            secs: started.elapsed().as_secs_f64(),
        });
        let (embedding, datasets) = embedding(&completed, pipelines)?;
        let mut all = Array2::zeros((datasets.nrows(), stack.rows.len()));
        for (at, &row) in rows.iter().enumerate() {
            all.column_mut(row).assign(&datasets.column(at));
        }
        Ok((embedding, all))
    }

    fn kernel(
        &self,
        stack: &Stack,
        start: &Array2<f32>,
        facts: &mut TrainingFacts,
    ) -> Result<KernelModel<f32>, SurrogateError> {
        let started = Instant::now();
        let observed = stack.tensor(ErrorKind::Native)?;
        let atoms = self.rank.unwrap_or(KERNEL_ATOMS).clamp(1, stack.space.n_pipelines());
        let kfmc = Kfmc { passes: KERNEL_PASSES, seed: self.seed, ..Kfmc::new(atoms) };
        let filled = |of: &pitchpipe_surrogate::PartialTensor<f32>, fill: &[f32]| -> Vec<f32> {
            let values = of.values().iter().zip(of.mask()).zip(fill);
            values.map(|((&v, &seen), &f)| if seen { v } else { f }).collect()
        };
        let flat = start.as_standard_layout();
        let flat = flat.as_slice().expect("standard layout");
        // Judged from the additive fill, as the start has seen the entries that are held out.
        let (training, held) = observed.hold_out(HELD_OUT, self.seed);
        let trial = kfmc.complete(&training)?;
        let error = observed.relative_error_at(&trial.values, &held);
        let model = kfmc.complete_from(&observed, filled(&observed, flat))?.model;
        facts.completions.push(CompletionFacts {
            method: TrainMethod::Kernel.name().to_owned(),
            ranks: vec![atoms],
            held_out_error: error,
            secs: started.elapsed().as_secs_f64(),
        });
        Ok(model)
    }
}

/// Embeddings of completed errors, datasets x `pipelines`, with the paper's first rank; and those of the
/// datasets.
fn embedding(
    completed: &Array2<f32>,
    pipelines: Vec<u32>,
) -> Result<(Embedding, Array2<f32>), SurrogateError> {
    let rank = EMBEDDING_RANK.min(completed.nrows()).min(completed.ncols());
    let pca = Pca::fit(completed.view(), rank)?;
    let y = pca.pipelines.mapv(|v| v as f32);
    let initial_rank = energy_rank(&pca.singular_values, INITIAL_ENERGY).clamp(1, y.nrows());
    let datasets = pca.datasets.mapv(|v| v as f32);
    Ok((Embedding { pipelines, y, initial_rank }, datasets))
}

fn runtimes(stack: &Stack, facts: &mut TrainingFacts) -> Result<Runtimes, SurrogateError> {
    let (are_own, sizes, secs) = stack.runtimes();
    let folds = RUNTIME_FOLDS.min(sizes.len());
    facts.runtimes_are_own = are_own;
    if folds > 1 {
        let shares = cross_validate_runtimes(&stack.space, &sizes, secs.view(), folds)?;
        let names = std::iter::once("all").chain(stack.space.kinds().into_iter().map(|k| k.name()));
        let accuracy = names.zip(shares).map(|(name, (within_2, within_4, n_entries))| {
            RuntimeAccuracy { estimator_type: name.to_owned(), within_2, within_4, n_entries }
        });
        facts.runtime_accuracy = accuracy.collect();
    }
    Runtimes::fit(&stack.space, &sizes, secs.view())
}

/// The slice that every dataset is collected in: one-hot, standardised, mean imputation.
fn oboe_pipelines(space: &SearchSpace) -> Vec<u32> {
    space.behind(Preparation::of_oboe(Imputer::Mean)).into_iter().map(u32::from).collect()
}

/// The position of the lowest value, the first among equals.
fn lowest(values: impl Iterator<Item = f64>) -> PipelineId {
    let best = values.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(j, _)| j);
    PipelineId::from(best as u32)
}
