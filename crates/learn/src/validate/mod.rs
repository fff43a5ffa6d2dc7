//! Cross-validation of many pipelines on one dataset under a deadline.
//!
//! Three things make it fast. *Equal inputs once*: prepared folds are keyed by their content, and each
//! distinct one is evaluated once for all pipelines that share it. *One preparation, many
//! estimators*: each step's result is computed once and serves all that follow. *Families*: one fit
//! answers for many settings. None of them changes a number: a pipeline's result is, bit for bit, what
//! evaluating it alone gives, on any number of threads.

mod computation;
mod crew;
mod family;
mod fold;
mod group;
mod kept;
mod outcome;
mod path;
mod report;
mod schedule;
mod score;
mod watch;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pitchpipe_table::{Dataset, Fold};
use rayon::prelude::*;

use crate::impute::Imputer;
use crate::work_time::Owner;
use crate::{FitContext, FitError, MemoryPool, Pipeline, Stream};
pub use crew::{Order, Supply, Team, Work};
use fold::FoldData;
pub use kept::KeptFolds;
pub use outcome::{Evaluation, LabelScores, Outcome};
use schedule::Ground;
pub use watch::{Activity, Running, Watch};

/// How a set of pipelines is evaluated.
#[derive(Clone, Debug)]
pub struct Validation {
    /// The number of folds, at least two. They are stratified, part no group and go forward in time, as the dataset's
    /// [`Dependence`](pitchpipe_table::Dependence) asks for.
    pub n_folds: usize,
    /// At most so many of them are tested, the first ones; all by default. With one, a part of the rows is held out once.
    pub most_folds: usize,
    /// The seed of the folds and of all random streams.
    pub seed: u64,
    /// The number of threads.
    pub threads: usize,
    /// Threads that are there already; where there are none, they are made.
    pub team: Option<Team>,
    /// How long one pipeline may take, over all folds, as if it ran alone.
    pub pipeline_limit: Option<Duration>,
    /// When all work must end.
    pub deadline: Option<Instant>,
    /// Whether fits leave out what their pace so far says cannot be had in time.
    pub heeds_pace: bool,
    /// Ends the work when set.
    pub cancel: Option<Arc<AtomicBool>>,
    /// A ceiling on the bytes in use; each thread and fold may allocate its part.
    pub memory_limit: Option<u64>,
    /// Memory that large requests may draw on beyond that part.
    pub memory: Option<MemoryPool>,
    /// Whether to give out-of-fold predictions.
    pub keep_predictions: bool,
    /// Whether to give the models of the folds.
    pub keep_models: bool,
    /// Whether to give the area under the ROC curve: it takes a sort of all rows for each class.
    pub area: bool,
    /// Where to show what each thread is at.
    pub watch: Option<Arc<Watch>>,
}

impl Default for Validation {
    fn default() -> Self {
        Self {
            n_folds: 3,
            most_folds: usize::MAX,
            seed: 0,
            threads: 1,
            team: None,
            pipeline_limit: None,
            deadline: None,
            heeds_pace: true,
            cancel: None,
            memory_limit: Some(8 << 30),
            memory: None,
            keep_predictions: false,
            keep_models: false,
            area: false,
            watch: None,
        }
    }
}

/// What a call of [`Validation::evaluate`] did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effort {
    /// How many (preparation, estimator) pairs were evaluated, each on all folds.
    pub n_computations: usize,
    /// How many different prepared datasets there were.
    pub n_prepared: usize,
    /// CPU seconds spent on preparation.
    pub preparation_secs: f64,
    /// CPU seconds spent by each type of estimator.
    pub estimator_secs: Vec<(&'static str, f64)>,
    /// Seconds on the clock that threads were at it, summed over threads: more than the CPU seconds where the machine is
    /// busy with other things.
    pub busy_secs: f64,
}

impl Effort {
    /// CPU seconds of all of it.
    pub fn cpu_secs(&self) -> f64 {
        self.preparation_secs + self.estimator_secs.iter().map(|(_, secs)| secs).sum::<f64>()
    }
}

impl Validation {
    /// Evaluates pipelines on a dataset; `report` is told what became of each, by its position, as soon as
    /// that is known.
    ///
    /// Fails where no pipeline at all could be evaluated: with fewer than two rows or folds, or where the
    /// system gives no threads.
    pub fn evaluate(
        &self,
        dataset: &Dataset,
        pipelines: &[Pipeline],
        report: impl FnMut(usize, Outcome) + Send,
    ) -> Result<Effort, FitError> {
        self.evaluate_kept(&KeptFolds::none(dataset), pipelines, report)
    }

    fn evaluate_kept(
        &self,
        kept: &KeptFolds<'_>,
        pipelines: &[Pipeline],
        report: impl FnMut(usize, Outcome) + Send,
    ) -> Result<Effort, FitError> {
        let (pipelines, deadline) = (pipelines.to_vec(), self.deadline);
        let batch = Batch {
            order: Mutex::new(Some(Order { id: 0, pipelines, deadline })),
            report: Mutex::new(report),
            effort: Mutex::default(),
        };
        self.run_kept(kept, &batch)?;
        Ok(batch.effort.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Evaluates what `work` asks for until nothing more is to come: whenever a thread is free it is asked for another
    /// order, so that none waits for the slowest of a batch. The rows are read once for all orders. An order's own
    /// deadline holds; that of these settings does not.
    pub fn run(&self, dataset: &Dataset, work: &dyn Work) -> Result<(), FitError> {
        self.run_kept(&KeptFolds::none(dataset), work)
    }

    fn run_kept(&self, kept: &KeptFolds<'_>, work: &dyn Work) -> Result<(), FitError> {
        let dataset = kept.dataset();
        if self.n_folds < 2 {
            return Err(FitError::TooFewFolds { got: self.n_folds });
        }
        if dataset.n_rows() < 2 {
            let (component, got) = ("cross-validation", dataset.n_rows());
            return Err(FitError::TooFewRows { component, needed: 2, got });
        }
        let team = match &self.team {
            Some(team) => team.clone(),
            None => Team::new(self.threads)?,
        };
        let folds = self.folds(dataset);
        if folds.is_empty() {
            return Err(FitError::TooFewFolds { got: 0 });
        }
        let folds = team.install(|| read_folds(dataset, folds));
        crew::run(&team, &Ground::new(self, kept, folds, work));
        Ok(())
    }

    /// Evaluates pipelines and gives their outcomes in order.
    pub fn outcomes(
        &self,
        dataset: &Dataset,
        pipelines: &[Pipeline],
    ) -> Result<Vec<Outcome>, FitError> {
        let mut outcomes: Vec<Option<Outcome>> = vec![None; pipelines.len()];
        self.evaluate(dataset, pipelines, |i, outcome| outcomes[i] = Some(outcome))?;
        Ok(outcomes.into_iter().map(|o| o.expect("every pipeline is reported")).collect())
    }

    /// The rows that some fold tests, ascending; `None` where that is every row. Out-of-fold predictions are of these.
    pub fn tested_rows(&self, dataset: &Dataset) -> Option<Vec<usize>> {
        let folds = self.folds(dataset);
        let mut rows: Vec<usize> = folds.into_iter().flat_map(|fold| fold.test).collect();
        rows.sort_unstable();
        (rows.len() < dataset.n_rows()).then_some(rows)
    }

    /// The folds that are tested.
    fn folds(&self, dataset: &Dataset) -> Vec<Fold> {
        let folds = dataset.dependence().folds(dataset.labels(), self.n_folds, self.seed);
        let mut folds = folds.folds;
        folds.truncate(self.most_folds.max(1));
        folds
    }

    /// The context of a fold: streams are keyed by it, and the deadline and the ceiling apply.
    fn context(&self, fold: usize, deadline: Option<Instant>) -> FitContext {
        // Raw rows, four steps of preparation and the estimator's own copies, in each fold or thread.
        let n_tested = self.n_folds.min(self.most_folds);
        let parts = (5 * n_tested.max(self.threads)) as u64;
        let ctx = FitContext::unhurried()
            .with_stream(Stream::new(self.seed).child(fold as u64))
            .with_deadline(deadline)
            .with_memory_limit(self.memory_limit.map(|bytes| bytes / parts))
            .with_memory(self.memory.clone());
        let ctx = if self.heeds_pace { ctx } else { ctx.heedless_of_pace() };
        match &self.cancel {
            Some(cancel) => ctx.with_cancel(Arc::clone(cancel)),
            None => ctx,
        }
    }
}

/// The folds with their rows.
fn read_folds(dataset: &Dataset, folds: Vec<Fold>) -> Vec<FoldData<'_>> {
    let mut is_tested = vec![false; dataset.n_rows()];
    folds.iter().flat_map(|fold| &fold.test).for_each(|&row| is_tested[row] = true);
    // The place of each row among those that are tested.
    let places: Vec<usize> = is_tested
        .iter()
        .scan(0, |n, &tested| Some(std::mem::replace(n, *n + usize::from(tested))))
        .collect();
    let read = |fold: Fold| {
        let mut data = FoldData::read(dataset, fold);
        data.place_among(&places);
        data
    };
    folds.into_par_iter().map(read).collect()
}

impl Ground<'_> {
    /// Fits the imputers that an order needs, where none before did.
    fn fit_imputers(&self, order: &Order) {
        let is_wanted = |i: &Imputer| order.pipelines.iter().any(|p| p.preparation.imputer == *i);
        let wanted: Vec<Imputer> = Imputer::ALL.into_iter().filter(is_wanted).collect();
        let fit = |fold: &FoldData<'_>| {
            let ctx = self.options.context(0, order.deadline);
            for &imputer in &wanted {
                fold.fit_imputer(imputer, &self.missing, self.options.keep_models, &ctx);
            }
        };
        let owner = Owner::here();
        self.folds.par_iter().for_each(|fold| owner.part(|| fit(fold)));
    }
}

/// One order, and whom to tell.
struct Batch<R> {
    order: Mutex<Option<Order>>,
    report: Mutex<R>,
    effort: Mutex<Effort>,
}

impl<R: FnMut(usize, Outcome) + Send> Work for Batch<R> {
    fn next(&self) -> Supply {
        let order = self.order.lock().unwrap_or_else(PoisonError::into_inner).take();
        order.map_or(Supply::Over, Supply::Order)
    }

    fn tell(&self, _: usize, position: usize, outcome: Outcome) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report(position, outcome);
    }

    fn ended(&self, _: usize, effort: Effort) {
        *self.effort.lock().unwrap_or_else(PoisonError::into_inner) = effort;
    }
}

impl Outcome {
    fn from_error(err: &FitError, secs: f64) -> Self {
        match err {
            FitError::OutOfTime => Self::OutOfTime { after: Duration::from_secs_f64(secs) },
            err => Self::Failed(err.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
