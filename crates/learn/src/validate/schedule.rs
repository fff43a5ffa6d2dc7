//! Who does what next: preparations and families of estimators, handed to threads as they become free.
//!
//! Preparations are made one after the other, each when there is nothing else left to do, so that few
//! prepared folds are held at once. The folds of a family follow each other, so that few predictions
//! wait for their other folds. Nothing here reaches a result: streams are keyed by content.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

use pitchpipe_table::{Dataset, Labels};

use super::computation::{Class, Computation, Subscriber};
use super::family;
use super::fold::FoldData;
use super::group::{Group, distinct_estimators, groups};
use super::kept::KeptFolds;
use super::outcome::Outcome;
use super::path::{Cost, Leaf, Path, Steps};
use super::watch::{Activity, Running};
use super::{Effort, Validation};
use crate::estimate::EstimatorSpec;
use crate::{FitError, Pipeline, contained};

/// Under a deadline, cheap estimators of this many preparations are run before dear ones of any.
const PREPARED_AHEAD: usize = 4;

/// The work of one call: what there is to do, and what has been done.
pub(super) struct Schedule<'a, R> {
    pub(super) options: &'a Validation,
    kept: &'a KeptFolds<'a>,
    pub(super) pipelines: &'a [Pipeline],
    pub(super) folds: &'a [FoldData<'a>],
    /// The classes of the rows that some fold tests.
    pub(super) truth: Labels,
    pub(super) groups: Vec<Group>,
    pub(super) estimators: Vec<EstimatorSpec>,
    pub(super) estimator_of: Vec<usize>,
    pub(super) paths: Vec<Mutex<Path>>,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) report: Mutex<R>,
}

/// What is queued, open and done.
#[derive(Default)]
pub(super) struct State {
    /// The next preparation, counting folds of groups.
    next_preparation: usize,
    ready: std::collections::VecDeque<Task>,
    n_running: usize,
    n_open: usize,
    leaves: HashMap<usize, Vec<Option<Result<Leaf, FitError>>>>,
    pub(super) prepared: HashMap<usize, Vec<Prepared>>,
    class_of_content: HashMap<Vec<(u64, u64)>, usize>,
    classes: Vec<Class>,
    preparation_secs: f64,
    estimator_secs: BTreeMap<&'static str, f64>,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

/// What is left of a prepared fold once its matrices are gone.
pub(super) struct Prepared {
    pub(super) cost: Cost,
    /// If models are kept.
    pub(super) steps: Option<Steps>,
}

/// One family on one prepared fold.
struct Task {
    class: usize,
    fold: usize,
    leaf: Arc<Leaf>,
    members: Arc<[usize]>,
    preparation_secs: f64,
}

enum Job {
    Prepare { group: usize, fold: usize },
    Run(Task),
}

impl<'a, R: FnMut(usize, Outcome) + Send> Schedule<'a, R> {
    pub(super) fn new(
        options: &'a Validation,
        kept: &'a KeptFolds<'a>,
        pipelines: &'a [Pipeline],
        folds: &'a [FoldData<'a>],
        report: R,
    ) -> Self {
        let (estimators, estimator_of) = distinct_estimators(pipelines);
        let dataset = kept.dataset();
        Self {
            options,
            kept,
            pipelines,
            folds,
            truth: tested_labels(dataset, folds),
            groups: groups(dataset, pipelines, folds),
            estimators,
            estimator_of,
            paths: folds.iter().map(|_| Mutex::default()).collect(),
            state: Mutex::default(),
            changed: Condvar::new(),
            report: Mutex::new(report),
        }
    }

    pub(super) fn run(self, pool: &rayon::ThreadPool) -> Effort {
        pool.broadcast(|thread| self.work(thread.index()));
        let state = self.state.into_inner().expect("no thread panics while it holds the state");
        if let Some(panic) = state.panic {
            resume_unwind(panic);
        }
        Effort {
            n_computations: state.classes.iter().map(|class| class.computations.len()).sum(),
            n_prepared: state.classes.len(),
            preparation_secs: state.preparation_secs,
            estimator_secs: state.estimator_secs.into_iter().collect(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the state")
    }

    /// One thread's work. A panic is passed on once the other threads have stopped, too.
    fn work(&self, thread: usize) {
        while let Some(job) = self.next_job() {
            self.show(thread, Some(&job));
            let done = catch_unwind(AssertUnwindSafe(|| match job {
                Job::Prepare { group, fold } => self.prepare(group, fold),
                Job::Run(task) => self.evaluate(task),
            }));
            let mut state = self.lock();
            state.n_running -= 1;
            if let Err(panic) = done {
                state.panic.get_or_insert(panic);
            }
            drop(state);
            self.changed.notify_all();
            self.show(thread, None);
        }
    }

    /// Shows what a thread is at, where somebody may look.
    fn show(&self, thread: usize, job: Option<&Job>) {
        let Some(watch) = &self.options.watch else { return };
        let running = |job: &Job| {
            let (activity, fold) = match job {
                Job::Prepare { fold, .. } => (Activity::Preparing, *fold),
                Job::Run(task) => {
                    let estimator = self.estimators[task.members[0]].name();
                    (Activity::Fitting { estimator, n_settings: task.members.len() }, task.fold)
                }
            };
            Running { activity, fold, n_folds: self.folds.len(), since: Instant::now() }
        };
        watch.set(thread, job.map(running));
    }

    fn next_job(&self) -> Option<Job> {
        let n_preparations = self.groups.len() * self.folds.len();
        let mut state = self.lock();
        loop {
            if state.panic.is_some() {
                return None;
            }
            let is_left = state.next_preparation < n_preparations;
            let is_urgent = self.options.deadline.is_some() && state.n_open < PREPARED_AHEAD;
            if is_left && (is_urgent || state.ready.is_empty()) {
                let next = state.next_preparation;
                state.next_preparation += 1;
                state.n_running += 1;
                let (group, fold) = (next / self.folds.len(), next % self.folds.len());
                return Some(Job::Prepare { group, fold });
            }
            if let Some(task) = state.ready.pop_front() {
                state.n_running += 1;
                return Some(Job::Run(task));
            }
            if state.n_running == 0 {
                return None;
            }
            state = self.changed.wait(state).expect("no thread panics while it holds the state");
        }
    }

    /// Prepares one fold; the thread that prepares a group's last one opens it.
    fn prepare(&self, group: usize, fold: usize) {
        let wanted = &self.groups[group];
        let mut ctx = self.options.context(fold);
        if let Some(limit) = self.options.pipeline_limit {
            let own = Instant::now() + limit;
            ctx = ctx.with_deadline(Some(self.options.deadline.map_or(own, |d| d.min(own))));
        }
        let leaf = ctx.check_deadline().and_then(|()| {
            let steps = wanted.in_fold(fold);
            if let Some(leaf) = self.kept.find(self.options, steps, fold) {
                return Ok(leaf);
            }
            let mut path = self.paths[fold].lock().unwrap_or_else(|e| e.into_inner());
            let prepare = || path.prepare(&self.folds[fold], steps, &wanted.shares, &ctx);
            let prepared = contained("preparation", prepare);
            if group + 1 == self.groups.len() || prepared.is_err() {
                // Nobody will ask for the steps in between again, or nobody should.
                *path = Path::default();
            }
            let leaf = prepared.and_then(|leaf| leaf)?;
            self.kept.keep(self.options, steps, fold, &leaf);
            Ok(leaf)
        });
        let mut state = self.lock();
        state.preparation_secs += leaf.as_ref().map_or(0.0, |leaf| leaf.cost.spent_secs);
        let n_folds = self.folds.len();
        let leaves = state.leaves.entry(group).or_insert_with(|| vec![None; n_folds]);
        leaves[fold] = Some(leaf);
        if leaves.iter().all(Option::is_some) {
            let leaves = state.leaves.remove(&group).expect("just seen").into_iter().flatten();
            match leaves.collect::<Result<Vec<Leaf>, FitError>>() {
                Ok(leaves) => self.open(state, group, leaves),
                Err(err) => {
                    drop(state);
                    for &pipeline in &wanted.pipelines {
                        self.tell(pipeline, Outcome::from_error(&err, 0.0));
                    }
                }
            }
        }
    }

    /// Finds or makes the computations of a prepared group.
    fn open(&self, mut state: MutexGuard<'_, State>, group: usize, leaves: Vec<Leaf>) {
        let content: Vec<_> = leaves.iter().map(Leaf::content).collect();
        let n_classes = state.classes.len();
        let class = *state.class_of_content.entry(content).or_insert(n_classes);
        if class == n_classes {
            state.classes.push(Class::default());
        }
        let (mut new, mut finished) = (Vec::new(), Vec::new());
        for &pipeline in &self.groups[group].pipelines {
            let estimator = self.estimator_of[pipeline];
            let computations = &mut state.classes[class].computations;
            let computation = computations.entry(estimator).or_insert_with(|| {
                new.push(estimator);
                Computation::new(self.folds.len())
            });
            let subscriber = Subscriber { pipeline, group };
            match computation.done() {
                Some(done) => finished.push((subscriber, Arc::clone(done))),
                None => computation.subscribers.push(subscriber),
            }
        }
        let keep = self.options.keep_models;
        let prepared =
            |leaf: &Leaf| Prepared { cost: leaf.cost, steps: keep.then(|| leaf.steps.clone()) };
        state.prepared.insert(group, leaves.iter().map(prepared).collect());
        self.push_tasks(&mut state, class, new, leaves);
        drop(state);
        self.changed.notify_all();
        for (subscriber, done) in finished {
            self.tell(subscriber.pipeline, self.outcome(subscriber, &done, 0));
        }
    }

    /// Queues families of estimators: the dearest first, which keeps threads busy to the end, or under a
    /// deadline the cheapest first, which has most pipelines finished when it comes.
    fn push_tasks(&self, state: &mut State, class: usize, new: Vec<usize>, leaves: Vec<Leaf>) {
        if new.is_empty() {
            return;
        }
        let n_rows = leaves[0].train.n_rows();
        let preparation_secs = leaves.iter().map(|leaf| leaf.cost.alone_secs).sum();
        let leaves: Vec<Arc<Leaf>> = leaves.into_iter().map(Arc::new).collect();
        let mut families = self.families(new);
        let cost = |family: &Arc<[usize]>| {
            family.iter().map(|&i| self.estimators[i].rough_cost(n_rows)).fold(0.0, f64::max)
        };
        families.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
        let was_idle = state.classes[class].n_tasks_left == 0;
        state.n_open += usize::from(was_idle);
        state.classes[class].n_tasks_left += families.len() * leaves.len();
        let tasks = families.iter().flat_map(|members| {
            leaves.iter().enumerate().map(|(fold, leaf)| {
                let (leaf, members) = (Arc::clone(leaf), Arc::clone(members));
                Task { class, fold, leaf, members, preparation_secs }
            })
        });
        state.ready.extend(tasks);
        if self.options.deadline.is_some() {
            let tasks = state.ready.make_contiguous();
            tasks.sort_by(|a, b| cost(&a.members).total_cmp(&cost(&b.members)));
        }
    }

    /// Puts estimators that one computation can answer for together.
    fn families(&self, estimators: Vec<usize>) -> Vec<Arc<[usize]>> {
        let mut families: Vec<Vec<usize>> = Vec::new();
        for i in estimators {
            let is_ours = |f: &Vec<usize>| self.estimators[f[0]].is_family_of(&self.estimators[i]);
            match families.iter_mut().find(|family| is_ours(family)) {
                Some(family) => family.push(i),
                None => families.push(vec![i]),
            }
        }
        families.into_iter().map(Into::into).collect()
    }

    /// Runs a family on a fold and ends the computations whose last fold this was.
    fn evaluate(&self, task: Task) {
        let (members, limits) = self.members_in_time(&task);
        let specs: Vec<&EstimatorSpec> = members.iter().map(|&i| &self.estimators[i]).collect();
        let start = cpu_time::ThreadTime::now();
        let (fold, keep_models) = (&self.folds[task.fold], self.options.keep_models);
        let ctx = self.options.context(task.fold);
        let run =
            || family::evaluate(&specs, fold, &task.leaf, keep_models, limits.as_deref(), &ctx);
        let name = specs.first().map_or("estimator", |spec| spec.name());
        let results = contained(name, run).unwrap_or_else(|fault| vec![Err(fault); specs.len()]);
        let mut results = results.into_iter();
        let secs = start.elapsed().as_secs_f64();
        let Task { class, fold, members: all, .. } = task;
        let mut complete = Vec::new();
        let mut state = self.lock();
        if let Some(spec) = specs.first() {
            *state.estimator_secs.entry(spec.name()).or_default() += secs;
        }
        for &estimator in all.iter() {
            let is_run = members.contains(&estimator);
            let result =
                if is_run { results.next().expect("one each") } else { Err(FitError::OutOfTime) };
            let computation = state.computation(class, estimator);
            complete.extend(computation.put(fold, result).map(|results| (estimator, results)));
        }
        state.classes[class].n_tasks_left -= 1;
        if state.classes[class].n_tasks_left == 0 {
            state.n_open -= 1;
        }
        drop(state);
        for (estimator, results) in complete {
            self.finish(class, estimator, results);
        }
    }

    /// The members worth running, and the seconds that each may still take.
    fn members_in_time(&self, task: &Task) -> (Vec<usize>, Option<Vec<f64>>) {
        let mut state = self.lock();
        let members: Vec<usize> = task
            .members
            .iter()
            .copied()
            .filter(|&estimator| !state.computation(task.class, estimator).is_out_of_time())
            .collect();
        let limits = self.options.pipeline_limit.map(|limit| {
            let left = |&estimator: &usize| {
                let spent = state.computation(task.class, estimator).alone_secs();
                (limit.as_secs_f64() - task.preparation_secs - spent).max(0.0)
            };
            members.iter().map(left).collect()
        });
        (members, limits)
    }
}

/// The classes of the rows that some fold tests, in the dataset's order.
fn tested_labels(dataset: &Dataset, folds: &[FoldData<'_>]) -> Labels {
    let mut codes = vec![0; folds.iter().map(|fold| fold.test_places.len()).sum()];
    for fold in folds {
        let tested = fold.test_places.iter().zip(fold.y_test.codes());
        tested.for_each(|(&place, &code)| codes[place] = code);
    }
    Labels::from_codes(codes, dataset.labels().n_classes())
}

impl State {
    pub(super) fn computation(&mut self, class: usize, estimator: usize) -> &mut Computation {
        let computations = &mut self.classes[class].computations;
        computations.get_mut(&estimator).expect("made when its group was opened")
    }
}
