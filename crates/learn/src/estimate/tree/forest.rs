//! Forests: trees that vote with their class shares. A decision tree is a forest of one.
//!
//! One forest answers for a whole family of `min_samples_split`: it is grown with the smallest,
//! and each test row, on its one way down, meets the nodes at which larger settings stop.

use std::sync::Arc;

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use super::super::abreast::{self, Abreast, Cached, Planner};
use super::grow::{Grower, Grown};
use super::sample::bootstrap;
use super::settings::{Criterion, MinSamplesSplit};
use super::split::Splitter;
use super::store::{SinglePrecision, Tree, find_leaves};
use crate::work_time::WorkTime;
use crate::{
    Classifier, Features, FitContext, FitError, Member, Prediction, Probabilities, Stream,
};

/// How a forest is grown, `min_samples_split` left open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    pub(crate) name: &'static str,
    pub(crate) n_trees: usize,
    /// Whether each tree sees a bootstrap sample of the rows.
    pub(crate) bootstraps: bool,
    /// Whether thresholds are drawn at random.
    pub(crate) draws_thresholds: bool,
    pub(crate) criterion: Criterion,
    /// How many of so many features are looked at for each split.
    pub(crate) max_features: fn(usize) -> usize,
}

/// Trees whose class shares are averaged. Only a fit makes one, so it can always predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedForest {
    n_classes: usize,
    /// Settings that come to the same forest on a table share it.
    trees: Arc<Vec<Tree>>,
    /// The trees for many rows at once, where they are small.
    #[serde(skip)]
    plan: Cached,
}

impl FittedForest {
    fn new(n_classes: usize, trees: Arc<Vec<Tree>>) -> Self {
        Self { n_classes, trees, plan: Cached::default() }
    }

    /// The trees for many rows at once, unless they are too large or there are too many classes.
    fn plan(&self) -> Option<Abreast> {
        if self.n_classes > abreast::MOST_VALUES {
            return None;
        }
        let mut planner = Planner::new(self.n_classes);
        for tree in self.trees.iter() {
            tree.plan(&mut planner, self.n_classes)?;
        }
        Some(planner.done(&SinglePrecision))
    }
}

#[cfg(test)]
impl FittedForest {
    /// Whether the trees of both are the same in memory.
    pub(crate) fn shares_trees_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.trees, &other.trees)
    }
}

impl Classifier for FittedForest {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn is_sound(&self, n_cols: usize) -> bool {
        !self.trees.is_empty() && self.trees.iter().all(|t| t.is_sound(n_cols, self.n_classes))
    }

    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        let mut sums = vec![0.0; x.n_rows() * self.n_classes];
        let is_worth_it = x.n_rows() >= abreast::WORTHWHILE;
        if let Some(plan) = is_worth_it.then(|| self.plan.get_or_make(|| self.plan())).flatten() {
            plan.add(x, &SinglePrecision, self.n_classes, &mut sums, ctx)?;
            return Ok(average(sums, self.n_classes, self.trees.len()));
        }
        let rows = x.tree_rows(ctx)?;
        for tree in self.trees.iter() {
            ctx.check_deadline()?;
            find_leaves(&tree.nodes, &rows.values, x.n_cols(), |row, leaf| {
                let sums = &mut sums[row * self.n_classes..(row + 1) * self.n_classes];
                tree.add_shares_of(leaf, sums);
            });
        }
        Ok(average(sums, self.n_classes, self.trees.len()))
    }
}

fn average(mut sums: Vec<f64>, n_classes: usize, n_trees: usize) -> Prediction {
    sums.iter_mut().for_each(|sum| *sum /= n_trees as f64);
    Prediction::most_probable(Probabilities::from_rows(n_classes, sums))
}

/// Grows a forest's trees one by one.
struct Forest<'a> {
    recipe: Recipe,
    grower: Grower<'a>,
    stream: Stream,
    n_rows: usize,
    weights: Vec<u32>,
}

impl<'a> Forest<'a> {
    /// The forest, and the CPU seconds that its share of the sorted columns took.
    fn new(
        recipe: Recipe,
        x: &'a Features,
        y: &'a Labels,
        ctx: &'a FitContext,
    ) -> Result<(Self, f64), FitError> {
        let (splitter, secs) = if recipe.draws_thresholds {
            let columns = x.tree_columns(recipe.name, ctx)?;
            (Splitter::Random(columns), columns.secs)
        } else {
            let sorted = x.tree_sorted(recipe.name, ctx)?;
            (Splitter::Best(sorted), sorted.secs)
        };
        let max_features = (recipe.max_features)(x.n_cols());
        let grower =
            Grower::new(splitter, recipe.criterion, max_features, y.codes(), y.n_classes(), ctx);
        let stream = ctx.stream().named(recipe.name);
        Ok((Self { recipe, grower, stream, n_rows: x.n_rows(), weights: Vec::new() }, secs))
    }

    fn grow(&mut self, tree: usize, min_rows: u32, keep_inner: bool) -> Result<Grown, FitError> {
        let stream = self.stream.child(tree as u64);
        let weights = if self.recipe.bootstraps {
            bootstrap(self.n_rows, stream.named("bootstrap"), &mut self.weights);
            Some(&self.weights[..])
        } else {
            None
        };
        self.grower.grow(weights, min_rows, stream, keep_inner)
    }
}

/// Fits one forest.
pub(crate) fn fit_forest(
    recipe: Recipe,
    min_samples_split: MinSamplesSplit,
    x: &Features,
    y: &Labels,
    ctx: &FitContext,
) -> Result<FittedForest, FitError> {
    let (mut forest, _) = Forest::new(recipe, x, y, ctx)?;
    let min_rows = min_samples_split.rows(x.n_rows());
    let trees = (0..recipe.n_trees)
        .map(|tree| {
            let mut tree = forest.grow(tree, min_rows, false)?.tree;
            tree.shrink();
            Ok(tree)
        })
        .collect::<Result<_, FitError>>()?;
    Ok(FittedForest::new(y.n_classes(), Arc::new(trees)))
}

/// What one setting of `min_samples_split` has come to.
#[derive(Clone, Debug, Default)]
struct Setting {
    min_rows: u32,
    trees: Vec<Tree>,
    /// The work of growing what this setting grows and those before it do not.
    grow_work: f64,
    predict_work: f64,
}

/// What leaving a node's shares costs, in steps down a tree (measured).
const LEAVING_WORK: f64 = 2.0;

/// What a row and a tree cost besides splitting nodes, in rows times features (measured).
const ROW_WORK: f64 = 4.0;
const TREE_WORK: f64 = 300.0;

/// Grows one forest for all settings, and predicts `test` with each.
pub(crate) fn evaluate_forest(
    recipe: Recipe,
    members: &[MinSamplesSplit],
    x: &Features,
    y: &Labels,
    test: &Features,
    keep_models: bool,
    ctx: &FitContext,
) -> Vec<Result<Member<FittedForest>, FitError>> {
    if members.is_empty() {
        return Vec::new();
    }
    match evaluate(recipe, members, x, y, test, keep_models, ctx) {
        Ok(members) => members.into_iter().map(Ok).collect(),
        Err(error) => members.iter().map(|_| Err(error.clone())).collect(),
    }
}

fn evaluate(
    recipe: Recipe,
    members: &[MinSamplesSplit],
    x: &Features,
    y: &Labels,
    test: &Features,
    keep_models: bool,
    ctx: &FitContext,
) -> Result<Vec<Member<FittedForest>>, FitError> {
    let start = WorkTime::now();
    let n_classes = y.n_classes();
    let mut settings = settings(members, x.n_rows());
    ctx.check_memory(recipe.name, (8 * settings.len() * test.n_rows() * n_classes) as u64)?;
    let mut sums = vec![0.0; settings.len() * test.n_rows() * n_classes];
    let test_rows = test.tree_rows(ctx)?;
    let (mut forest, sorting_secs) = Forest::new(recipe, x, y, ctx)?;
    let (mut grow_secs, mut predict_secs) = (0.0, 0.0);
    let mut n_bytes = 0;
    let mut mark = WorkTime::now();
    let mut lap = || std::mem::replace(&mut mark, WorkTime::now()).elapsed().as_secs_f64();
    for tree in 0..recipe.n_trees {
        let smallest = settings.last().expect("a family has members").min_rows;
        let grown = forest.grow(tree, smallest, true)?;
        grow_secs += lap();
        count_work(&grown, x.n_rows(), &mut settings);
        ctx.check_deadline()?;
        walk(&grown, &test_rows.values, test.n_cols(), n_classes, &mut settings, &mut sums);
        predict_secs += lap();
        if keep_models {
            for setting in &mut settings {
                setting.trees.push(grown.tree.truncated(&grown.sizes, setting.min_rows));
            }
            n_bytes +=
                settings.iter().filter_map(|s| s.trees.last()).map(Tree::n_bytes).sum::<u64>();
            ctx.check_memory(recipe.name, n_bytes)?;
        }
    }
    let n_walks = recipe.n_trees * test.n_rows();
    let costs = alone(&settings, sorting_secs + test_rows.secs, grow_secs, predict_secs, n_walks);
    let predictions = predictions(&sums, &settings, n_classes, recipe.n_trees);
    let position = |member: &MinSamplesSplit| {
        let min_rows = member.rows(x.n_rows());
        settings.iter().position(|s| s.min_rows == min_rows).expect("every member has a setting")
    };
    let positions: Vec<usize> = members.iter().map(position).collect();
    let all_alone: f64 = positions.iter().map(|&at| costs[at]).sum();
    let total = start.elapsed().as_secs_f64();
    let trees: Vec<Arc<Vec<Tree>>> = settings.into_iter().map(|s| Arc::new(s.trees)).collect();
    let member = |&at: &usize| Member {
        prediction: predictions[at].clone(),
        model: keep_models.then(|| FittedForest::new(n_classes, Arc::clone(&trees[at]))),
        alone_secs: costs[at],
        marginal_secs: total * costs[at] / all_alone,
    };
    Ok(positions.iter().map(member).collect())
}

/// The distinct settings, from the one that stops first to the one that stops last.
fn settings(members: &[MinSamplesSplit], n_rows: usize) -> Vec<Setting> {
    let mut min_rows: Vec<u32> = members.iter().map(|m| m.rows(n_rows)).collect();
    min_rows.sort_unstable_by(|a, b| b.cmp(a));
    min_rows.dedup();
    min_rows.into_iter().map(|min_rows| Setting { min_rows, ..Setting::default() }).collect()
}

/// Adds each node's work to the first setting that splits it; all later ones do, too (see
/// [`alone`]).
fn count_work(grown: &Grown, n_rows: usize, settings: &mut [Setting]) {
    settings[0].grow_work += ROW_WORK * n_rows as f64 + TREE_WORK;
    for (&size, &work) in grown.sizes.iter().zip(&grown.work).filter(|&(_, &work)| work > 0.0) {
        let first = settings.partition_point(|setting| setting.min_rows > size);
        settings[first].grow_work += f64::from(work);
    }
}

/// Walks every test row down the tree once, and leaves the shares of the nodes where each setting
/// stops on the way.
fn walk(
    grown: &Grown,
    rows: &[f32],
    n_cols: usize,
    n_classes: usize,
    settings: &mut [Setting],
    sums: &mut [f64],
) {
    let (tree, shares, n_settings) = (&grown.tree, grown.tree.shares(), settings.len());
    let (stops, depths) = (stops(grown, settings), depths(tree));
    let mut steps = vec![0usize; n_settings];
    find_leaves(&tree.nodes, rows, n_cols, |row, leaf| {
        let sums = &mut sums[row * n_settings * n_classes..(row + 1) * n_settings * n_classes];
        let stops = &stops[leaf * n_settings..(leaf + 1) * n_settings];
        for ((sums, &stop), steps) in sums.chunks_exact_mut(n_classes).zip(stops).zip(&mut steps) {
            tree.add_shares(stop as usize, &shares, sums);
            *steps += depths[stop as usize] as usize;
        }
    });
    for (setting, steps) in settings.iter_mut().zip(steps) {
        setting.predict_work += steps as f64 + LEAVING_WORK * (rows.len() / n_cols) as f64;
    }
}

/// For every node and setting, the node where that setting stops on the way there. Nodes get
/// smaller on the way down, so a setting that has stopped stays where it is.
fn stops(grown: &Grown, settings: &[Setting]) -> Vec<u32> {
    let (nodes, n) = (&grown.tree.nodes, settings.len());
    let mut stops: Vec<u32> =
        (0..nodes.len() as u32).flat_map(|node| std::iter::repeat_n(node, n)).collect();
    if n == 1 {
        return stops; // Grown for this setting alone, it stops at its leaves.
    }
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| !node.is_leaf()) {
        for (s, setting) in settings.iter().enumerate() {
            if grown.sizes[at] < setting.min_rows {
                let stop = stops[at * n + s];
                stops[node.left as usize * n + s] = stop;
                stops[(node.left as usize + 1) * n + s] = stop;
            }
        }
    }
    stops
}

fn depths(tree: &Tree) -> Vec<u32> {
    let mut depths = vec![0; tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate().filter(|(_, node)| !node.is_leaf()) {
        depths[node.left as usize] = depths[at] + 1;
        depths[node.left as usize + 1] = depths[at] + 1;
    }
    depths
}

/// What each setting alone would have cost, from its share of the counted work.
fn alone(
    settings: &[Setting],
    shared_secs: f64,
    grow_secs: f64,
    predict_secs: f64,
    n_walks: usize,
) -> Vec<f64> {
    let last = settings.last().expect("a family has members");
    let leaving = LEAVING_WORK * n_walks as f64 * (settings.len() - 1) as f64;
    let predict_work = last.predict_work + leaving;
    let all_work: f64 = settings.iter().map(|setting| setting.grow_work).sum();
    let mut grow_work = 0.0;
    settings
        .iter()
        .map(|setting| {
            grow_work += setting.grow_work;
            let grow = grow_secs * grow_work / all_work.max(1.0);
            let predict = predict_secs * setting.predict_work / predict_work.max(1.0);
            shared_secs + grow + predict
        })
        .collect()
}

fn predictions(
    sums: &[f64],
    settings: &[Setting],
    n_classes: usize,
    n_trees: usize,
) -> Vec<Prediction> {
    let stride = settings.len() * n_classes;
    (0..settings.len())
        .map(|at| {
            let of_row = |row: &[f64]| row[at * n_classes..(at + 1) * n_classes].to_vec();
            average(sums.chunks_exact(stride).flat_map(of_row).collect(), n_classes, n_trees)
        })
        .collect()
}
