//! Collecting the error tensor: the paper's Algorithm 1, resumable and shared out in work items.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pitchpipe_learn::{Evaluation, Outcome, PipelineId, SearchSpace, Validation};
use pitchpipe_table::Dataset;

use super::corpus::{self, CorpusTable};
use super::entry::{Entry, EntryScores, Status};
use super::error::OfflineError;
use super::orders::{Orders, Until};
use super::plan::{Scope, batches};
use super::space_facts;
use super::store::{About, CONTENT, Facts, Store};
use crate::surrogate::TableSize;

/// How a corpus is collected.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The pipelines there are.
    pub space: Arc<SearchSpace>,
    /// Which pipelines.
    pub scope: Scope,
    /// The number of stratified folds; they are fixed per dataset by its content.
    pub n_folds: usize,
    /// How long one pipeline may take on one dataset, over all folds, as if it ran alone.
    pub time_cap: Duration,
    /// CPU time after which a dataset is left with what it has.
    pub dataset_cap: Option<Duration>,
    /// Threads.
    pub threads: usize,
    /// Ends the work when set; what is finished is kept.
    pub cancel: Arc<AtomicBool>,
}

impl Default for Collection {
    fn default() -> Self {
        Self {
            space: SearchSpace::all(),
            scope: Scope::default(),
            n_folds: 3,
            time_cap: Duration::from_secs(120),
            dataset_cap: None,
            threads: 1,
            cancel: Arc::default(),
        }
    }
}

/// What a collector tells its caller as it goes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A dataset is begun: how many of its planned entries are there already.
    Begun {
        /// The dataset.
        dataset: String,
        /// The column to predict.
        target: String,
        /// Its place among the datasets, from 0.
        position: usize,
        /// How many datasets there are.
        of: usize,
        /// Entries planned.
        planned: usize,
        /// Of these, entries that the store has.
        done: usize,
    },
    /// Entries of the dataset were put on disk.
    Stored {
        /// The dataset.
        dataset: String,
        /// How many.
        n_entries: usize,
        /// CPU seconds they took.
        cpu_secs: f64,
    },
    /// A dataset could not be read, and is passed over.
    Skipped {
        /// The dataset.
        dataset: String,
        /// Why.
        reason: String,
    },
    /// Pipelines were given up on a dataset, after all attempts.
    GivenUp {
        /// The dataset.
        dataset: String,
        /// How many pipelines.
        n_pipelines: usize,
        /// What happened at the last attempt.
        reason: String,
    },
    /// A dataset has the content of another one of the corpus.
    Duplicate {
        /// The dataset.
        dataset: String,
        /// The other.
        of: String,
    },
    /// Shards that were damaged were moved aside; their entries are collected anew.
    Damaged {
        /// The shards.
        shards: Vec<PathBuf>,
    },
}

/// What a collection came to.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Entries added.
    pub n_added: usize,
    /// CPU seconds they took.
    pub cpu_secs: f64,
    /// Datasets that could not be read, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Whether the caller ended it early.
    pub cancelled: bool,
}

/// A share of the work on one dataset. Items are plain data, so that another engine than
/// [`Collection::run`] can hand them to other machines.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct WorkItem {
    /// The pipelines to cross-validate, by their numbers in a search space.
    pub pipelines: Vec<u32>,
    /// The number of folds.
    pub n_folds: usize,
    /// How long one pipeline may take.
    pub time_cap: Duration,
}

impl Collection {
    /// The facts that all entries of a store share; collecting with others into it is refused.
    pub fn facts(&self) -> Facts {
        let mut facts = BTreeMap::from([
            ("format".into(), "1".into()),
            ("folds".into(), self.n_folds.to_string()),
            ("time_cap_s".into(), self.time_cap.as_secs_f64().to_string()),
        ]);
        facts.extend(space_facts::facts_of(&self.space));
        facts
    }

    /// Collects the tables of a corpus into a store.
    ///
    /// What the store has already is not computed again, so a collection that was stopped goes on where
    /// it was.
    pub fn run(
        &self,
        tables: &[CorpusTable],
        store: &Store,
        mut tell: impl FnMut(Event) + Send,
    ) -> Result<Summary, OfflineError> {
        let mut summary = Summary::default();
        for (position, table) in tables.iter().enumerate() {
            if self.is_cancelled() {
                break;
            }
            let dataset = match corpus::load(table) {
                Ok(dataset) => dataset,
                Err(error) => {
                    let (dataset, reason) = (table.name.clone(), error.to_string());
                    summary.skipped.push((dataset.clone(), reason.clone()));
                    tell(Event::Skipped { dataset, reason });
                    continue;
                }
            };
            let place = (position, tables.len());
            let mut collect = |dataset: &Dataset| {
                self.collect_dataset(&table.name, place, dataset, store, &mut summary, &mut tell)
            };
            match collect(&dataset) {
                Err(OfflineError::DatasetChanged { .. }) => collect(&corpus::load_as_0_1(table)?)?,
                done => done?,
            }
        }
        summary.cancelled = self.is_cancelled();
        Ok(summary)
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn collect_dataset(
        &self,
        name: &str,
        (position, of): (usize, usize),
        dataset: &Dataset,
        store: &Store,
        summary: &mut Summary,
        tell: &mut (impl FnMut(Event) + Send),
    ) -> Result<(), OfflineError> {
        let about = about(dataset);
        let content = about.content.clone().unwrap_or_default();
        let mut damaged = Vec::new();
        let done = store.done(name, &content, &mut damaged);
        let entries = store.entries(name, &mut damaged);
        if !damaged.is_empty() {
            tell(Event::Damaged { shards: damaged });
        }
        let done = done?;
        store.describe(name, &about)?;
        let spent: f64 = entries?.values().map(|e| f64::from(e.marginal_s)).sum();
        // A store's numbers are of its own space, which may have more blocks.
        let mapping = self.space.manifest().check(store.space())?;
        let number = |id: PipelineId| mapping.get(id.into()).map(u32::from);
        let plan: Vec<Vec<u32>> = batches(&self.space, &self.scope, name)
            .into_iter()
            .map(|batch| batch.into_iter().filter_map(number).collect())
            .collect();
        let planned: usize = plan.iter().map(Vec::len).sum();
        let n_done = plan.iter().flatten().filter(|number| done.contains(number)).count();
        let dataset_name = name.to_owned();
        let target = target_of(dataset);
        tell(Event::Begun { dataset: dataset_name, target, position, of, planned, done: n_done });
        let left = plan.into_iter().map(|batch| {
            batch.into_iter().filter(|number| !done.contains(number)).collect::<Vec<u32>>()
        });
        let mut facts = shard_facts(store.facts());
        facts.insert(CONTENT.into(), content);
        let keep = |entries: Vec<Entry>| {
            let (n_entries, cpu_secs) = (entries.len(), cost(&entries));
            store.append(name, facts.clone(), entries)?;
            summary.n_added += n_entries;
            summary.cpu_secs += cpu_secs;
            tell(Event::Stored { dataset: name.to_owned(), n_entries, cpu_secs });
            Ok(())
        };
        let threads = self.threads;
        let until = match self.dataset_cap {
            Some(cap) => Until::Spent { cap_secs: cap.as_secs_f64(), threads },
            None => Until::Instant(None),
        };
        let limits = (self.time_cap, spent);
        let orders = Orders::new(store.space(), left, until, limits, &self.cancel, keep)?;
        let item =
            WorkItem { pipelines: Vec::new(), n_folds: self.n_folds, time_cap: self.time_cap };
        item.evaluate(dataset, threads, &self.cancel, orders)
    }
}

impl WorkItem {
    /// Does the work, handing entries to `keep` in batches as they come. Entries that were cut short by
    /// the deadline or the cancel flag are not handed over.
    ///
    /// # Errors
    /// If a pipeline is not in the space, nothing is run.
    pub fn run(
        &self,
        space: &SearchSpace,
        dataset: &Dataset,
        threads: usize,
        deadline: Option<Instant>,
        cancel: &Arc<AtomicBool>,
        keep: impl FnMut(Vec<Entry>) -> Result<(), OfflineError> + Send,
    ) -> Result<(), OfflineError> {
        let (batch, until) = ([self.pipelines.clone()], Until::Instant(deadline));
        let orders = Orders::new(space, batch, until, (self.time_cap, 0.0), cancel, keep)?;
        self.evaluate(dataset, threads, cancel, orders)
    }

    fn evaluate(
        &self,
        dataset: &Dataset,
        threads: usize,
        cancel: &Arc<AtomicBool>,
        orders: Orders<'_, impl FnMut(Vec<Entry>) -> Result<(), OfflineError> + Send>,
    ) -> Result<(), OfflineError> {
        let validation = Validation {
            n_folds: self.n_folds,
            seed: dataset.content_hash(),
            threads,
            pipeline_limit: Some(self.time_cap),
            cancel: Some(Arc::clone(cancel)),
            area: true,
            ..Validation::default()
        };
        if !orders.is_empty() {
            validation
                .run(dataset, &orders)
                .map_err(|e| OfflineError::NoEvaluation { reason: e.to_string() })?;
        }
        orders.finish()
    }
}

/// What is known of a dataset besides its entries.
pub(super) fn about(dataset: &Dataset) -> About {
    let content = format!("{:016x}", dataset.content_hash());
    About { content: Some(content), size: TableSize::of(dataset) }
}

/// The column to predict.
pub(super) fn target_of(dataset: &Dataset) -> String {
    let target = dataset.schema().and_then(|schema| schema.target());
    target.map_or(String::new(), |target| target.name.clone())
}

pub(super) fn entry_of(pipeline: u32, outcome: Outcome) -> Entry {
    match outcome {
        Outcome::Finished(evaluation) => Entry {
            pipeline,
            runtime_s: evaluation.alone_secs as f32,
            marginal_s: evaluation.marginal_secs as f32,
            status: Status::Finished(scores_of(&evaluation)),
        },
        Outcome::OutOfTime { after } => {
            let secs = after.as_secs_f32();
            Entry { pipeline, status: Status::OutOfTime, runtime_s: secs, marginal_s: secs }
        }
        Outcome::Failed(error) => Entry {
            pipeline,
            status: Status::Failed(error.to_string()),
            runtime_s: 0.0,
            marginal_s: 0.0,
        },
    }
}

fn scores_of(evaluation: &Evaluation) -> EntryScores {
    EntryScores {
        error: evaluation.error as f32,
        fold_errors: evaluation.fold_errors.iter().map(|&e| e as f32).collect(),
        balanced_decision_error: evaluation.decided_error as f32,
        accuracy: evaluation.native.accuracy as f32,
        log_loss: evaluation.log_loss as f32,
        auc: evaluation.roc_auc.map_or(f32::NAN, |auc| auc as f32),
        macro_f1: evaluation.native.macro_f1 as f32,
    }
}

fn cost(entries: &[Entry]) -> f64 {
    entries.iter().map(|e| f64::from(e.marginal_s)).sum()
}

/// Facts that travel in every shard: those of the store, the software and the machine.
pub(super) fn shard_facts(store: &Facts) -> Facts {
    let mut facts = store.clone();
    facts.remove(space_facts::BLOCKS);
    facts.insert("components".into(), format!("pitchpipe {}", env!("CARGO_PKG_VERSION")));
    facts.insert("machine".into(), machine());
    facts
}

/// The kind of machine: what a runtime depends on.
fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|l| l.strip_prefix("model name")?.split(": ").nth(1));
    format!("{} {} {}", std::env::consts::OS, std::env::consts::ARCH, model.unwrap_or("unknown"))
}
