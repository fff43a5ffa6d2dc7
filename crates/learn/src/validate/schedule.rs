//! Who does what next: preparations and families of estimators, handed to threads as they become free.
//!
//! Preparations are made one after the other, each when there is nothing else left to do, so that few
//! prepared folds are held at once. The folds of a family follow each other, so that few predictions
//! wait for their other folds. Nothing here reaches a result: streams are keyed by content.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

use pitchpipe_table::{Dataset, Labels};

use super::computation::{Class, Computation, Subscriber};
use super::crew::{Order, Work};
use super::family;
use super::fold::FoldData;
use super::group::{Group, distinct_estimators, groups};
use super::kept::KeptFolds;
use super::outcome::Outcome;
use super::path::{Cost, Leaf, Path, Steps};
use super::watch::{Activity, Running};
use super::{Effort, Validation};
use crate::estimate::EstimatorSpec;
use crate::raw_features::columns_with_missing;
use crate::{FitError, contained};

/// Under a deadline, cheap estimators of this many preparations are run before dear ones of any.
const PREPARED_AHEAD: usize = 4;

/// What all orders share: the rows, parted into folds, and who is told.
pub(super) struct Ground<'a> {
    pub(super) options: &'a Validation,
    pub(super) dataset: &'a Dataset,
    pub(super) kept: &'a KeptFolds<'a>,
    pub(super) folds: Vec<FoldData<'a>>,
    /// The columns with missing cells.
    pub(super) missing: Vec<bool>,
    /// The classes of the rows that some fold tests.
    pub(super) truth: Labels,
    pub(super) work: &'a dyn Work,
    /// Told when there may be something to do for threads that wait.
    pub(super) changed: Condvar,
}

/// The work of one order: what there is to do, and what has been done.
pub(super) struct Schedule<'g> {
    pub(super) ground: &'g Ground<'g>,
    pub(super) order: Order,
    pub(super) groups: Vec<Group>,
    pub(super) estimators: Vec<EstimatorSpec>,
    pub(super) estimator_of: Vec<usize>,
    pub(super) paths: Vec<Mutex<Path>>,
    pub(super) state: Mutex<State>,
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
    busy_secs: f64,
}

/// What is left of a prepared fold once its matrices are gone.
pub(super) struct Prepared {
    pub(super) cost: Cost,
    /// If models are kept.
    pub(super) steps: Option<Steps>,
}

/// One family on one prepared fold.
pub(super) struct Task {
    class: usize,
    fold: usize,
    leaf: Arc<Leaf>,
    members: Arc<[usize]>,
    preparation_secs: f64,
}

pub(super) enum Job {
    Prepare { group: usize, fold: usize },
    Run(Task),
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        options: &'a Validation,
        kept: &'a KeptFolds<'a>,
        folds: Vec<FoldData<'a>>,
        work: &'a dyn Work,
    ) -> Self {
        let dataset = kept.dataset();
        let truth = tested_labels(dataset, &folds);
        let missing = columns_with_missing(dataset);
        Self { options, dataset, kept, folds, missing, truth, work, changed: Condvar::new() }
    }
}

impl<'g> Schedule<'g> {
    pub(super) fn new(ground: &'g Ground<'g>, order: Order) -> Self {
        let (estimators, estimator_of) = distinct_estimators(&order.pipelines);
        ground.fit_imputers(&order);
        Self {
            ground,
            groups: groups(ground.dataset, &order.pipelines, &ground.folds),
            order,
            estimators,
            estimator_of,
            paths: ground.folds.iter().map(|_| Mutex::default()).collect(),
            state: Mutex::default(),
        }
    }

    /// Whether there is nothing to do at all.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the state")
    }

    /// Does one job; gives what the whole order took where that was the last.
    pub(super) fn run(&self, job: Job, thread: usize) -> Option<Effort> {
        let begun = Instant::now();
        self.show(thread, Some(&job));
        match job {
            Job::Prepare { group, fold } => self.prepare(group, fold),
            Job::Run(task) => self.evaluate(task),
        }
        self.show(thread, None);
        let mut state = self.lock();
        state.n_running -= 1;
        state.busy_secs += begun.elapsed().as_secs_f64();
        let is_left = state.next_preparation < self.n_preparations() || !state.ready.is_empty();
        if is_left || state.n_running > 0 {
            return None;
        }
        Some(Effort {
            n_computations: state.classes.iter().map(|class| class.computations.len()).sum(),
            n_prepared: state.classes.len(),
            preparation_secs: state.preparation_secs,
            estimator_secs: std::mem::take(&mut state.estimator_secs).into_iter().collect(),
            busy_secs: state.busy_secs,
        })
    }

    fn n_preparations(&self) -> usize {
        self.groups.len() * self.ground.folds.len()
    }

    /// Shows what a thread is at, where somebody may look.
    fn show(&self, thread: usize, job: Option<&Job>) {
        let Some(watch) = &self.ground.options.watch else { return };
        let running = |job: &Job| {
            let (activity, fold) = match job {
                Job::Prepare { fold, .. } => (Activity::Preparing, *fold),
                Job::Run(task) => {
                    let estimator = self.estimators[task.members[0]].name();
                    (Activity::Fitting { estimator, n_settings: task.members.len() }, task.fold)
                }
            };
            Running { activity, fold, n_folds: self.ground.folds.len(), since: Instant::now() }
        };
        watch.set(thread, job.map(running));
    }

    /// What a free thread can do now, if there is anything.
    pub(super) fn next_job(&self) -> Option<Job> {
        let mut state = self.lock();
        let is_left = state.next_preparation < self.n_preparations();
        let is_urgent = self.order.deadline.is_some() && state.n_open < PREPARED_AHEAD;
        if is_left && (is_urgent || state.ready.is_empty()) {
            let next = state.next_preparation;
            state.next_preparation += 1;
            state.n_running += 1;
            let n_folds = self.ground.folds.len();
            return Some(Job::Prepare { group: next / n_folds, fold: next % n_folds });
        }
        let task = state.ready.pop_front()?;
        state.n_running += 1;
        Some(Job::Run(task))
    }

    /// Prepares one fold; the thread that prepares a group's last one opens it.
    fn prepare(&self, group: usize, fold: usize) {
        let wanted = &self.groups[group];
        let mut ctx = self.ground.options.context(fold, self.order.deadline);
        if let Some(limit) = self.ground.options.pipeline_limit {
            let own = Instant::now() + limit;
            ctx = ctx.with_deadline(Some(self.order.deadline.map_or(own, |d| d.min(own))));
        }
        let leaf = ctx.check_deadline().and_then(|()| {
            let steps = wanted.in_fold(fold);
            let Ground { options, kept, folds, .. } = self.ground;
            if let Some(leaf) = kept.find(options, steps, fold) {
                return Ok(leaf);
            }
            let mut path = self.paths[fold].lock().unwrap_or_else(|e| e.into_inner());
            let prepare = || path.prepare(&folds[fold], steps, &wanted.shares, &ctx);
            let prepared = contained("preparation", prepare);
            if group + 1 == self.groups.len() || prepared.is_err() {
                // Nobody will ask for the steps in between again, or nobody should.
                *path = Path::default();
            }
            let leaf = prepared.and_then(|leaf| leaf)?;
            kept.keep(options, steps, fold, &leaf);
            Ok(leaf)
        });
        let mut state = self.lock();
        state.preparation_secs += leaf.as_ref().map_or(0.0, |leaf| leaf.cost.spent_secs);
        let n_folds = self.ground.folds.len();
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
                Computation::new(self.ground.folds.len())
            });
            let subscriber = Subscriber { pipeline, group };
            match computation.done() {
                Some(done) => finished.push((subscriber, Arc::clone(done))),
                None => computation.subscribers.push(subscriber),
            }
        }
        let keep = self.ground.options.keep_models;
        let prepared =
            |leaf: &Leaf| Prepared { cost: leaf.cost, steps: keep.then(|| leaf.steps.clone()) };
        state.prepared.insert(group, leaves.iter().map(prepared).collect());
        self.push_tasks(&mut state, class, new, leaves);
        drop(state);
        self.ground.changed.notify_all();
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
        if self.order.deadline.is_some() {
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
        let start = crate::work_time::WorkTime::now();
        let (fold, keep_models) = (&self.ground.folds[task.fold], self.ground.options.keep_models);
        let ctx = self.ground.options.context(task.fold, self.order.deadline);
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
        let limits = self.ground.options.pipeline_limit.map(|limit| {
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
