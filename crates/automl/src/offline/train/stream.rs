//! Training on more datasets than are held completed at once.
//!
//! Vectors of pipelines are learned from as many datasets as may be held, and bettered in passes over all of them: each row
//! is completed after the vectors and forgotten again, and new vectors come from a sketch of the completed rows (EM, with the
//! rows passing by). Further passes gather what embeddings and priors are made of: sums, and sketches. What grows with the
//! datasets is their entries and their embeddings; what is completed takes the memory of some hundred rows.
//!
//! KernelOboe's completion looks at single entries of whole columns. It is made of the datasets that are held; the dictionary
//! gets a row for each of the others (paper, "Performance Prediction on New Dataset by KFMC").

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use ndarray::{Array2, Axis, IxDyn, Slice};
use pitchpipe_surrogate::bayes::{Prior, PriorSettings, Scale};
use pitchpipe_surrogate::complete::{KernelModel, KernelParts, RowModel};
use pitchpipe_surrogate::sketch::{Sketch, Sketched};
use pitchpipe_surrogate::{SurrogateError, Tucker};
use rayon::prelude::*;

use super::complete::{TRIAL_DATASETS, by_tensor};
use super::decided::Changes;
use super::paper::{of_slice, paper_runtimes};
use super::stack::{Stack, StackRow, evenly};
use super::{TrainMethod, Training, lowest, oboe_pipelines, runtimes};
use crate::surrogate::{
    CompletionFacts, DatasetEmbeddings, ErrorKind, PaperEmbedding, PaperParts, Part, Surrogate,
    TrainingFacts, kernel_row,
};

/// Passes that better the vectors.
const PASSES: usize = 2;
/// Sweeps of HOOI over a sketch.
const SWEEPS: usize = 2;
/// Directions of a sketch: several times what a prior keeps.
const DIRECTIONS: usize = 400;
/// Rows completed together.
const BLOCK: usize = 256;
/// Of the datasets that judge the vectors every so many entries are held out.
const HELD_EVERY: usize = 20;
/// Errors are never known better than this, as a variance.
const LEAST_NOISE: f64 = 1e-6;

/// Vectors after which the rows of a stack are completed as they pass by.
struct Stream<'a> {
    stack: &'a Stack,
    model: RowModel,
    seed: usize,
    /// Datasets of which some entries are held out, to judge by.
    judges: BTreeSet<usize>,
}

/// Weighted sums over datasets, by pipeline.
struct Sums {
    errors: Vec<f64>,
    roots: Vec<f64>,
}

impl Training {
    pub(super) fn run_streamed(&self, stack: &Stack) -> Result<Surrogate, SurrogateError> {
        let has = |method| self.methods.contains(&method);
        let mut facts = self.facts(stack);
        let mut embeddings = DatasetEmbeddings::default();
        let mut oboe = None;
        if has(TrainMethod::Matrix) {
            let (embedding, datasets) = self.slice(stack, &mut facts)?;
            (oboe, embeddings.oboe) = (Some(embedding), Some(datasets));
        }
        let mut surrogate = Surrogate {
            space: Arc::clone(&stack.space),
            native: None,
            decided: None,
            oboe: oboe.map(Part::made),
            tensor_oboe: None,
            kernel_oboe: None,
            runtimes: runtimes(stack, &mut facts)?,
            best_on_average: self.best_of_slice(stack),
            facts: TrainingFacts::default(),
            embeddings,
            added: Vec::new(),
            paper: Part::made(PaperParts::default()),
        };
        let runtimes = Some(paper_runtimes(stack)?);
        let mut paper = PaperParts { runtimes, ..PaperParts::default() };
        let of_rows = [TrainMethod::Tensor, TrainMethod::Kernel, TrainMethod::Bayes];
        if of_rows.into_iter().any(has) {
            self.learn_rows(stack, &mut surrogate, &mut paper, &mut facts)?;
        }
        Ok(Surrogate { facts, ..surrogate }.with_paper_parts(paper))
    }

    /// All that is learned from completed rows.
    fn learn_rows(
        &self,
        stack: &Stack,
        surrogate: &mut Surrogate,
        paper: &mut PaperParts,
        facts: &mut TrainingFacts,
    ) -> Result<(), SurrogateError> {
        let has = |method| self.methods.contains(&method);
        let weights = self.weights(stack);
        let sample = evenly(stack.rows.len(), self.at_once.max(super::LEAST_AT_ONCE));
        let few = stack.rows_at(&sample);
        let stream = Stream::learn(self, stack, &few, &sample, facts)?;

        // First pass: native errors.
        let n = stack.space.n_pipelines();
        let slice: Vec<usize> = oboe_pipelines(&stack.space).iter().map(|&j| j as usize).collect();
        let mut of_slice_native = Array2::zeros((stack.rows.len(), slice.len()));
        let mut native_sums = Sums::new(n);
        let mut sketch = has(TrainMethod::Tensor).then(|| Sketch::new(n, DIRECTIONS));
        stream.each_block(|first, rows| {
            native_sums.add(&rows, &weights[first..]);
            for (at, row) in rows.outer_iter().enumerate() {
                let mut own = of_slice_native.row_mut(first + at);
                own.iter_mut().zip(&slice).for_each(|(v, &j)| *v = row[j]);
            }
            sketch.as_mut().map_or(Ok(()), |sketch| sketch.push(rows.view()))
        })?;

        // Second pass, where any was measured: errors under the balanced decision.
        let mut changes = None;
        let mut decided_sums = Sums::new(n);
        if stack.has_decided() {
            let started = Instant::now();
            let (learned, rank, held_out_error) =
                Changes::learn(stack, &of_slice_native, &slice, self.seed)?;
            stream.each_block(|first, mut rows| {
                learned.decide(stack, first, &mut rows);
                decided_sums.add(&rows, &weights[first..]);
                Ok(())
            })?;
            changes = Some(learned);
            facts.completions.push(CompletionFacts {
                method: "decided".to_owned(),
                ranks: vec![rank],
                held_out_error,
                secs: started.elapsed().as_secs_f64(),
            });
        }
        let sums = if changes.is_some() { &decided_sums } else { &native_sums };
        surrogate.best_on_average = lowest(sums.errors.iter().copied());

        if has(TrainMethod::Bayes) {
            let settings = PriorSettings::for_search(stack.space.estimators().len());
            let priors = stream.priors(
                [&native_sums, &decided_sums],
                changes.as_ref(),
                &weights,
                &settings,
            )?;
            [surrogate.native, surrogate.decided] = priors.map(|prior| prior.map(Part::made));
        }
        if let Some(sketch) = sketch {
            let sketched = sketch.finish()?;
            paper.tensor = Some(paper_embedding(&sketched, stack)?);
        }
        if let Some(oboe) = surrogate.oboe() {
            paper.oboe_deviations = Some(of_slice(&of_slice_native, oboe));
        }
        // Last pass: where the datasets lie.
        stream.embed(surrogate, changes.as_ref())?;
        if has(TrainMethod::Kernel) {
            let native = stream.complete(&few.rows, |_| false)?;
            let kernel = self.kernel(&few, &native, facts)?;
            surrogate.kernel_oboe = Some(Part::made(with_all_rows(kernel, stack, &sample)?));
            let completed = self.by_kernel(&few, &native)?;
            let n_estimators = stack.space.estimators().len();
            let of_few = PaperEmbedding::fit(completed.view(), n_estimators)?;
            paper.kernel = Some(of_few);
        }
        Ok(())
    }
}

impl<'a> Stream<'a> {
    /// Learns vectors from few rows of the stack, those at the positions `sample`, and betters them by all.
    fn learn(
        training: &Training,
        stack: &'a Stack,
        few: &Stack,
        sample: &[usize],
        facts: &mut TrainingFacts,
    ) -> Result<Self, SurrogateError> {
        let started = Instant::now();
        let observed = few.tensor(ErrorKind::Native)?;
        let (completion, choice) = by_tensor(&observed, training.rank, training.seed)?;
        let residual = completion.progress.residuals.last().copied().unwrap_or(0.0);
        let noise = (residual.powi(2) / observed.n_observed() as f64).max(LEAST_NOISE);
        drop(observed);
        let model = RowModel::of_tucker(&completion.tucker, sample.len(), noise)?;
        drop(completion);
        let are_few: BTreeSet<usize> = sample.iter().copied().collect();
        let others: Vec<usize> = (0..stack.rows.len()).filter(|i| !are_few.contains(i)).collect();
        let judges = evenly(others.len(), TRIAL_DATASETS).into_iter().map(|i| others[i]).collect();
        let seed = training.seed as usize;
        let mut stream = Self { stack, model, seed, judges };
        let (mut best, mut mean_square) = stream.judge()?;
        let shape = [stack.space.preparations().len(), stack.space.estimators().len()];
        for _ in 0..PASSES {
            stream.model = stream.model.with_noise(mean_square.max(LEAST_NOISE))?;
            let bettered = stream.bettered(&choice.ranks, shape)?;
            let before = std::mem::replace(&mut stream.model, bettered);
            let (error, square) = stream.judge()?;
            if error >= best {
                stream.model = before;
                break;
            }
            (best, mean_square) = (error, square);
        }
        facts.completions.push(CompletionFacts {
            method: TrainMethod::Tensor.name().to_owned(),
            ranks: choice.ranks,
            held_out_error: best,
            secs: started.elapsed().as_secs_f64(),
        });
        Ok(stream)
    }

    /// Vectors from all rows, completed after those there are; entries that are held out are not looked at.
    fn bettered(&self, ranks: &[usize], shape: [usize; 2]) -> Result<RowModel, SurrogateError> {
        let mut sketch = Sketch::new(self.model.n_pipelines(), DIRECTIONS);
        for (block, rows) in self.stack.rows.chunks(BLOCK).enumerate() {
            let is_held = |(at, k): (usize, usize)| self.is_held(block * BLOCK + at, k);
            sketch.push(self.complete(rows, is_held)?.view())?;
        }
        let rows = sketch.finish()?.rows;
        let k = rows.nrows();
        let tensor = rows.into_shape_with_order(IxDyn(&[k, shape[0], shape[1]]));
        let tensor = tensor.expect("a row has all pipelines");
        let ranks = [ranks[0].min(k), ranks[1], ranks[2]];
        let tucker = Tucker::fit(tensor.view(), &ranks, SWEEPS)?;
        RowModel::of_tucker(&tucker, self.stack.rows.len(), self.model.noise())
    }

    /// The relative error on entries held out, and their mean squared residual.
    fn judge(&self) -> Result<(f64, f64), SurrogateError> {
        let (mut residual, mut norm, mut n) = (0.0, 0.0, 0.0_f64);
        for &i in &self.judges {
            let row = &self.stack.rows[i];
            let completed =
                self.complete(std::slice::from_ref(row), |(_, k)| self.is_held(i, k))?;
            for (_, seen) in row.seen.iter().enumerate().filter(|(k, _)| self.is_held(i, *k)) {
                let truth = f64::from(seen.error);
                let predicted = f64::from(completed[(0, seen.pipeline as usize)]);
                residual += (truth - predicted).powi(2);
                norm += truth.powi(2);
                n += 1.0;
            }
        }
        Ok((if norm > 0.0 { residual / norm } else { 0.0 }, residual / n.max(1.0)))
    }

    /// Whether the `k`-th entry of a dataset is held out.
    fn is_held(&self, dataset: usize, k: usize) -> bool {
        self.judges.contains(&dataset)
            && (k + dataset + self.seed % HELD_EVERY).is_multiple_of(HELD_EVERY)
    }

    /// Rows completed, without those entries that `is_out` names by the row's place and the entry's.
    fn complete(
        &self,
        rows: &[StackRow],
        is_out: impl Fn((usize, usize)) -> bool,
    ) -> Result<Array2<f32>, SurrogateError> {
        let observed: Vec<Vec<(u32, f32)>> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let entries = row.seen.iter().enumerate().filter(|(k, _)| !is_out((at, *k)));
                entries.map(|(_, seen)| (seen.pipeline, seen.error)).collect()
            })
            .collect();
        self.model.complete(&observed)
    }

    /// Hands over all rows, completed as error rates, block by block with the position of the first.
    fn each_block(
        &self,
        mut take: impl FnMut(usize, Array2<f32>) -> Result<(), SurrogateError>,
    ) -> Result<(), SurrogateError> {
        for (block, rows) in self.stack.rows.chunks(BLOCK).enumerate() {
            let mut completed = self.complete(rows, |_| false)?;
            completed.mapv_inplace(|v| v.clamp(0.0, 1.0));
            take(block * BLOCK, completed)?;
        }
        Ok(())
    }

    /// Priors of native and, where there are any, of decided errors, from the sums of both.
    fn priors(
        &self,
        sums: [&Sums; 2],
        changes: Option<&Changes>,
        weights: &[f64],
        settings: &PriorSettings,
    ) -> Result<[Option<Prior>; 2], SurrogateError> {
        let total: f64 = weights.iter().sum();
        let n = self.model.n_pipelines();
        let means = sums.map(|sums| sums.roots.iter().map(|s| s / total).collect::<Vec<f64>>());
        let mut sketches = [Sketch::new(n, DIRECTIONS), Sketch::new(n, DIRECTIONS)];
        let deviations = |mut rows: Array2<f32>, mean: &[f64], first: usize| {
            for (mut row, weight) in rows.outer_iter_mut().zip(&weights[first..]) {
                for (v, mean) in row.iter_mut().zip(mean) {
                    let deviation = Scale::Root.of(f64::from(*v)) - mean;
                    *v = (weight.sqrt() * deviation) as f32;
                }
            }
            rows
        };
        self.each_block(|first, rows| {
            if let Some(changes) = changes {
                let mut decided = rows.clone();
                changes.decide(self.stack, first, &mut decided);
                sketches[1].push(deviations(decided, &means[1], first).view())?;
            }
            sketches[0].push(deviations(rows, &means[0], first).view())
        })?;
        let [native, decided] = sketches;
        let prior = |mean: &[f64], sketch: Sketch| -> Result<Prior, SurrogateError> {
            Prior::of_sketch(Scale::Root, mean, &sketch.finish()?, weights, settings)
        };
        let decided = match changes {
            Some(_) => Some(prior(&means[1], decided)?),
            None => None,
        };
        Ok([Some(prior(&means[0], native)?), decided])
    }

    /// Embeds all datasets under the priors.
    fn embed(
        &self,
        surrogate: &mut Surrogate,
        changes: Option<&Changes>,
    ) -> Result<(), SurrogateError> {
        let m = self.stack.rows.len();
        let none = |rank: usize| Array2::<f32>::zeros((rank, m));
        let [native_prior, decided_prior] =
            [ErrorKind::Native, ErrorKind::Decided].map(|kind| surrogate.prior(kind));
        let mut native = native_prior.as_ref().map(|prior| none(prior.rank()));
        let mut decided = decided_prior.as_ref().map(|prior| none(prior.rank()));
        self.each_block(|first, mut rows| {
            let place = Slice::from(first..first + rows.nrows());
            if let (Some(prior), Some(all)) = (&native_prior, &mut native) {
                all.slice_axis_mut(Axis(1), place).assign(&prior.embed(rows.view())?);
            }
            if let (Some(prior), Some(all), Some(changes)) = (&decided_prior, &mut decided, changes)
            {
                changes.decide(self.stack, first, &mut rows);
                all.slice_axis_mut(Axis(1), place).assign(&prior.embed(rows.view())?);
            }
            Ok(())
        })?;
        let own = &mut surrogate.embeddings;
        (own.native, own.decided) = (native, decided);
        Ok(())
    }
}

impl Sums {
    fn new(n: usize) -> Self {
        Self { errors: vec![0.0; n], roots: vec![0.0; n] }
    }

    fn add(&mut self, rows: &Array2<f32>, weights: &[f64]) {
        for (row, weight) in rows.outer_iter().zip(weights) {
            let sums = self.errors.iter_mut().zip(&mut self.roots).zip(row);
            for ((error, root), &v) in sums {
                *error += weight * f64::from(v);
                *root += weight * Scale::Root.of(f64::from(v));
            }
        }
    }
}

/// The paper's embedding of a sketch: the same as of the rows, whose deviations have what the sketch lost as well.
fn paper_embedding(sketched: &Sketched, stack: &Stack) -> Result<PaperEmbedding, SurrogateError> {
    let mut paper = PaperEmbedding::fit(sketched.rows.view(), stack.space.estimators().len())?;
    let (k, m) = (sketched.rows.nrows() as f64, stack.rows.len() as f64);
    for (deviation, lost) in paper.deviations.iter_mut().zip(sketched.lost()) {
        let squares = f64::from(*deviation).powi(2) * k + lost;
        *deviation = (squares / m).sqrt() as f32;
    }
    Ok(paper)
}

/// A kernel model of the rows at `sample` with a row for each dataset of the stack.
fn with_all_rows(
    model: KernelModel<f32>,
    stack: &Stack,
    sample: &[usize],
) -> Result<KernelModel<f32>, SurrogateError> {
    let of_few = KernelParts::from(model);
    let (m, n_few) = (stack.rows.len(), of_few.n_datasets);
    let n_atoms = of_few.atoms.len() / n_few;
    let row = |i: usize| -> Result<(Vec<f32>, f64), SurrogateError> {
        if let Ok(at) = sample.binary_search(&i) {
            let own = (0..n_atoms).map(|atom| of_few.atoms[atom * n_few + at]).collect();
            return Ok((own, of_few.row_means[at]));
        }
        let seen = stack.rows[i].seen.iter();
        let observed: Vec<(usize, f64)> =
            seen.map(|s| (s.pipeline as usize, f64::from(s.error))).collect();
        let (row, mean) = kernel_row(&of_few, &observed)?;
        Ok((row.into_iter().map(|d| d as f32).collect(), mean))
    };
    let rows: Vec<(Vec<f32>, f64)> = (0..m).into_par_iter().map(row).collect::<Result<_, _>>()?;
    let atoms = (0..n_atoms).flat_map(|atom| rows.iter().map(move |(row, _)| row[atom])).collect();
    KernelModel::try_from(KernelParts {
        n_datasets: m,
        // Squared distances between columns grow with the datasets.
        s2: of_few.s2 * m as f64 / n_few as f64,
        atoms,
        row_means: rows.iter().map(|row| row.1).collect(),
        ..of_few
    })
}
