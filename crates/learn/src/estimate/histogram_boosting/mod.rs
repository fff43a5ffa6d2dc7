//! Gradient boosting on histograms: regression trees on the log loss, whose splits are looked for among at most 256
//! bins a column. Missing cells and categories are taken as they are.
//!
//! Trees grow leaf by leaf, as LightGBM's and those of scikit-learn's `HistGradientBoostingClassifier` do. One fit
//! answers for all its numbers of rounds (docs/decisions/0025-histogram-boosting.md).

mod bins;
mod edges;
mod exp;
mod grow;
mod histogram;
mod levels;
mod model;
mod objective;
mod split;
mod stopping;
#[cfg(test)]
mod tests;
mod tree;
mod words;

use std::time::Instant;

use pitchpipe_table::Labels;
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use model::FittedHistogramBoosting;

use crate::component::above_zero;
use crate::scikit_learn::PythonScript;
use crate::work_time::{Owner, WorkTime};
use crate::{
    Character, Estimator, FamilyCost, Features, FitContext, FitError, Member, ModelSize, Stream,
};
use bins::Binned;
use grow::Grower;
use histogram::Layout;
use levels::Levels;
use model::{Scores, levels_of};
use objective::Objective;
use split::Rules;
use stopping::Stopping;
use tree::Tree;
use words::{Units, Word};

/// The most leaves of a tree: one histogram is held for each.
const MOST_LEAVES: usize = 4096;

/// Rounds to come are begun if they could be had in time at so many times the pace of those before.
const HOPE: f64 = 0.9;

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistogramBoosting {
    /// How much of each tree's answer is taken.
    pub learning_rate: f64,
    /// How many leaves a tree has at most.
    pub max_leaf_nodes: usize,
    /// How many rows a leaf has at least.
    pub min_samples_leaf: usize,
    /// How strongly the values of leaves are pulled towards zero.
    pub l2_regularization: f64,
    /// The share of columns that a tree may use, drawn for each tree.
    pub column_share: f64,
    /// The share of rows that a tree is grown on, drawn for each round.
    pub row_share: f64,
    /// How many rounds there are.
    pub max_iter: usize,
    /// Which leaf is split next.
    #[serde(default)]
    pub growth: Growth,
    /// What rows count by their class.
    #[serde(default)]
    pub class_weight: ClassWeight,
    /// After so many rounds without a gain on a tenth of the rows, which are held out for it, the rounds after the
    /// best one are dropped; zero for never.
    #[serde(default)]
    pub patience: usize,
    /// How much a leaf's rows weigh at least: the sum of their hessians, p (1 - p) each.
    #[serde(default = "split::least_hessian")]
    pub min_leaf_weight: f64,
}

settings!(HistogramBoosting {
    learning_rate,
    max_leaf_nodes,
    min_samples_leaf,
    l2_regularization,
    column_share,
    row_share,
    max_iter,
} unusual { growth, class_weight, patience, min_leaf_weight });

/// Which leaf of a tree is split next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Growth {
    /// The one whose split gains most.
    #[default]
    ByGain,
    /// Of those that are least deep the one whose split gains most: level by level.
    ByDepth,
}

words!(Growth { ByGain => "gain", ByDepth => "depth" });

/// What rows count by their class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClassWeight {
    /// All the same.
    #[default]
    None,
    /// All classes the same. Probabilities are those of the classes' own shares all the same.
    Balanced,
}

words!(ClassWeight { None => "none", Balanced => "balanced" });

impl Default for HistogramBoosting {
    fn default() -> Self {
        Self {
            learning_rate: 0.1,
            max_leaf_nodes: 31,
            min_samples_leaf: 20,
            l2_regularization: 0.0,
            column_share: 1.0,
            row_share: 1.0,
            max_iter: 100,
            growth: Growth::ByGain,
            class_weight: ClassWeight::None,
            patience: 0,
            min_leaf_weight: split::least_hessian(),
        }
    }
}

impl HistogramBoosting {
    const COMPONENT: &'static str = "histogram_boosting";

    /// The bytes that a fit allocates besides the bins, where so many trees grow at once.
    fn bytes(&self, binned: &Binned, n_outputs: usize, n_lanes: usize) -> u64 {
        let n_bins: usize = binned.columns.iter().map(bins::BinnedColumn::n_bins).sum();
        let leaves = self.max_leaf_nodes.min(binned.n_rows);
        (n_lanes * (16 * n_bins * leaves + 32 * binned.n_rows) + 12 * n_outputs * binned.n_rows)
            as u64
    }

    /// How many trees of a round grow at once: one a thread, as far as the memory goes.
    fn n_lanes(
        &self,
        binned: &Binned,
        n_outputs: usize,
        ctx: &FitContext,
    ) -> Result<usize, FitError> {
        let needed = |n_lanes| ctx.check_memory(Self::NAME, self.bytes(binned, n_outputs, n_lanes));
        let wanted = rayon::current_num_threads().min(n_outputs);
        if wanted > 1 && needed(wanted).is_ok() {
            return Ok(wanted);
        }
        needed(1).map(|()| 1)
    }

    fn within_one(setting: &'static str, value: f64) -> Result<(), FitError> {
        if value > 0.0 && value <= 1.0 {
            return Ok(());
        }
        let (component, wanted) = (Self::NAME, "above zero and at most one");
        Err(FitError::Setting { component, setting, value, wanted })
    }
}

impl Estimator for HistogramBoosting {
    type Fitted = FittedHistogramBoosting;

    const NAME: &'static str = Self::COMPONENT;

    const CHARACTER: Character = Character {
        refuses_one_class: true,
        reads_rows: false,
        takes_gaps: true,
        models: ModelSize::Modest,
        fits_each_class: true,
        family: FamilyCost::Nested(1.1),
    };

    fn check(&self) -> Result<(), FitError> {
        let refuse = |setting, value: f64, wanted| {
            Err(FitError::Setting { component: Self::NAME, setting, value, wanted })
        };
        above_zero::<Self>("learning_rate", self.learning_rate)?;
        above_zero::<Self>("min_samples_leaf", self.min_samples_leaf as f64)?;
        above_zero::<Self>("max_iter", self.max_iter as f64)?;
        Self::within_one("column_share", self.column_share)?;
        Self::within_one("row_share", self.row_share)?;
        if !(2..=MOST_LEAVES).contains(&self.max_leaf_nodes) {
            let wanted = "between 2 and 4096";
            return refuse("max_leaf_nodes", self.max_leaf_nodes as f64, wanted);
        }
        for (setting, value) in [
            ("l2_regularization", self.l2_regularization),
            ("min_leaf_weight", self.min_leaf_weight),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(setting, value, "zero or above");
            }
        }
        Ok(())
    }

    fn rough_cost(&self, _: usize) -> f64 {
        let leaves = (self.max_leaf_nodes as f64).log2();
        0.3 * leaves * self.max_iter as f64 * (0.2 + 0.8 * self.column_share)
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        let class = script.import("sklearn.ensemble", "HistGradientBoostingClassifier");
        let Self { learning_rate, max_leaf_nodes, min_samples_leaf, l2_regularization, .. } = self;
        let (max_iter, seed) = (self.max_iter, script.seed());
        let stopping = match self.patience {
            0 => "False".to_owned(),
            rounds => format!("True, n_iter_no_change={rounds}"),
        };
        let weight = match self.class_weight {
            ClassWeight::None => "",
            ClassWeight::Balanced => ", class_weight=\"balanced\"",
        };
        let categories =
            if script.keeps_categories { ", categorical_features=CATEGORICAL or None" } else { "" };
        // Shares of columns and rows have no counterpart in all releases that scripts run on, growth by depth and the least
        // weight of a leaf in none.
        format!(
            "{class}(learning_rate={learning_rate:?}, max_leaf_nodes={max_leaf_nodes}, \
             min_samples_leaf={min_samples_leaf}, l2_regularization={l2_regularization:?}, \
             max_iter={max_iter}, early_stopping={stopping}{weight}{categories}, random_state={seed})"
        )
    }

    fn fit(
        &self,
        x: &Features,
        y: &Labels,
        ctx: &FitContext,
    ) -> Result<FittedHistogramBoosting, FitError> {
        let mut boosting = Boosting::new(self, x, y, ctx)?;
        boosting.advance(self.max_iter)?;
        Ok(boosting.model(y))
    }

    /// Rounds do not depend on how many follow, so that a fit contains those with fewer; one that may drop rounds is alone.
    fn is_family_of(&self, other: &Self) -> bool {
        let is_alike = *self == Self { max_iter: self.max_iter, ..other.clone() };
        is_alike && (self.patience == 0 || self.max_iter == other.max_iter)
    }

    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<FittedHistogramBoosting>, FitError>> {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|&i| members[i].max_iter);
        let mut results = vec![Err(FitError::OutOfTime); members.len()];
        // Fewer rounds are done with before the others go on: a deadline takes only what it must.
        if let Err(err) =
            evaluate_rounds(members, &order, x, y, test, keep_models, ctx, |i, member| {
                results[i] = Ok(member);
            })
        {
            results.iter_mut().filter(|r| r.is_err()).for_each(|r| *r = Err(err.clone()));
        }
        results
    }
}

/// Boosts round by round and hands out each member when its rounds are done.
#[expect(clippy::too_many_arguments, reason = "evaluate_family's own and two more")]
fn evaluate_rounds(
    members: &[HistogramBoosting],
    order: &[usize],
    x: &Features,
    y: &Labels,
    test: &Features,
    keep_models: bool,
    ctx: &FitContext,
    mut done: impl FnMut(usize, Member<FittedHistogramBoosting>),
) -> Result<(), FitError> {
    let Some(&first) = order.first() else { return Ok(()) };
    let whole = WorkTime::now();
    // Bins that are there already cost nothing now, but would have if this had run alone.
    let had_bins = x.derived.get::<Binned>().is_some();
    let mut boosting = Boosting::new(&members[first], x, y, ctx)?;
    let shared_secs = if had_bins { boosting.binned.secs } else { 0.0 };
    let levels = boosting.levels.clone();
    let mut scores = Scores::new(test, &levels, boosting.objective.told_start());
    let (mut n_added, mut spent_secs) = (0, 0.0);
    let begun = Instant::now();
    for &i in order {
        boosting.check_time_for(members[i].max_iter, begun)?;
        boosting.advance(members[i].max_iter)?;
        scores.add(&boosting.trees[n_added..], ctx)?;
        n_added = boosting.trees.len();
        let prediction = scores.prediction();
        let model = keep_models.then(|| boosting.model(y));
        let secs = whole.elapsed().as_secs_f64();
        let (alone_secs, marginal_secs) = (secs + shared_secs, secs - spent_secs);
        spent_secs = secs;
        done(i, Member { prediction, model, alone_secs, marginal_secs });
    }
    Ok(())
}

/// Where one tree grows at a time.
struct Lane<'a> {
    grower: Grower<'a>,
    /// The derivatives of all rows, a word each.
    words: Vec<Word>,
}

/// A tree of a round: which output it is for, the columns it may use, and the scores that it moves.
type Task<'o> = (usize, Layout, &'o mut [f64]);

/// A fit under way.
struct Boosting<'a> {
    settings: &'a HistogramBoosting,
    ctx: &'a FitContext,
    binned: &'a Binned,
    objective: Objective<'a>,
    lanes: Vec<Lane<'a>>,
    levels: Vec<Option<Levels>>,
    stream: Stream,
    n_rounds: usize,
    trees: Vec<Tree>,
    stopping: Option<Stopping>,
}

impl<'a> Boosting<'a> {
    fn new(
        settings: &'a HistogramBoosting,
        x: &'a Features,
        y: &'a Labels,
        ctx: &'a FitContext,
    ) -> Result<Self, FitError> {
        let binned = x.binned(HistogramBoosting::NAME, ctx)?;
        let n_outputs = if y.n_classes() == 2 { 1 } else { y.n_classes() };
        let n_lanes = settings.n_lanes(binned, n_outputs, ctx)?;
        let objective = Objective::new(y, settings.class_weight, ctx)?;
        let stream = ctx.stream().named(HistogramBoosting::NAME);
        let stopping = Stopping::new(settings.patience, y.len(), stream);
        let rules = Rules {
            l2: settings.l2_regularization,
            min_rows: settings.min_samples_leaf as u64,
            min_hessian: settings.min_leaf_weight,
            // Each tree has its own.
            units: Units::new(binned.n_rows, 1.0, 0.25),
        };
        let (leaves, growth) = (settings.max_leaf_nodes, settings.growth);
        let lane =
            |_| Lane { grower: Grower::new(binned, rules, leaves, growth, ctx), words: Vec::new() };
        Ok(Self {
            settings,
            ctx,
            binned,
            objective,
            lanes: (0..n_lanes).map(lane).collect(),
            levels: levels_of(binned),
            stream,
            n_rounds: 0,
            trees: Vec::new(),
            stopping,
        })
    }

    /// Fails where so many rounds are not to be had before the deadline, at the pace since boosting began: what would be done of
    /// them would be lost.
    fn check_time_for(&self, n_rounds: usize, begun: Instant) -> Result<(), FitError> {
        let heeds_pace = self.ctx.heeds_pace() && self.n_rounds > 0;
        let Some(left) = self.ctx.remaining().filter(|_| heeds_pace) else { return Ok(()) };
        let secs_a_round = begun.elapsed().as_secs_f64() / self.n_rounds as f64;
        let wanted_secs = secs_a_round * n_rounds.saturating_sub(self.n_rounds) as f64;
        if HOPE * wanted_secs > left.as_secs_f64() {
            return Err(FitError::OutOfTime);
        }
        Ok(())
    }

    /// Boosts until there have been so many rounds.
    fn advance(&mut self, n_rounds: usize) -> Result<(), FitError> {
        let n_outputs = self.objective.start().len();
        while self.n_rounds < n_rounds && self.stopping.as_ref().is_none_or(|s| !s.is_over()) {
            let stream = self.stream.child(self.n_rounds as u64);
            let rows = self.sampled_rows(stream);
            self.objective.update(self.ctx)?;
            // A round joins as a whole or not at all.
            let mut round = self.grow_round(rows.as_deref(), stream)?;
            self.trees.append(&mut round);
            self.n_rounds += 1;
            if let Some(stopping) = &mut self.stopping {
                stopping.note(self.objective.loss(stopping.rows()));
            }
        }
        if let Some(stopping) = &self.stopping {
            self.trees.truncate(stopping.n_best() * n_outputs);
        }
        Ok(())
    }

    /// Grows a tree for each output, and moves their scores.
    fn grow_round(&mut self, rows: Option<&[u32]>, stream: Stream) -> Result<Vec<Tree>, FitError> {
        let n_outputs = self.objective.start().len();
        let layouts: Vec<Layout> =
            (0..n_outputs).map(|k| self.sampled_columns(stream.child(k as u64))).collect();
        let (first_key, rate) = (self.n_rounds * n_outputs, self.settings.learning_rate);
        let (derivatives, scores) = self.objective.parts();
        let tasks = layouts.into_iter().zip(scores).enumerate();
        let mut tasks: Vec<Task<'_>> = tasks.map(|(k, (layout, s))| (k, layout, s)).collect();
        let grow = |lane: &mut Lane<'_>, (output, layout, scores): &mut Task<'_>| {
            let tree_key = Stream::new((first_key + *output) as u64).key();
            let units = derivatives.words(*output, tree_key as u32, &mut lane.words);
            let grown = lane.grower.grow(layout, rows, (units, &lane.words), rate)?;
            lane.grower.move_scores(&grown, scores);
            Ok(grown.tree)
        };
        if let [lane] = self.lanes.as_mut_slice() {
            return tasks.iter_mut().map(|task| grow(lane, task)).collect();
        }
        // Each lane has its share of the outputs.
        let share = n_outputs.div_ceil(self.lanes.len());
        let owner = Owner::here();
        let parts = self.lanes.par_iter_mut().zip(tasks.par_chunks_mut(share));
        let grow_part = |(lane, tasks): (&mut Lane<'_>, &mut [Task<'_>])| {
            let trees = || tasks.iter_mut().map(|task| grow(lane, task)).collect();
            owner.part(trees)
        };
        let trees = parts.map(grow_part).collect::<Result<Vec<Vec<Tree>>, FitError>>()?;
        Ok(trees.into_iter().flatten().collect())
    }

    /// The rows that a round's trees are grown on; `None` for all.
    fn sampled_rows(&self, stream: Stream) -> Option<Vec<u32>> {
        let (share, n) = (self.settings.row_share, self.binned.n_rows as u32);
        if share >= 1.0 {
            return self.stopping.as_ref().map(|stopping| stopping.others(n).collect());
        }
        let mut rng = stream.named("rows").rng();
        let mut is_drawn = |_: &u32| rng.random::<f64>() < share;
        Some(match &self.stopping {
            Some(stopping) => stopping.others(n).filter(is_drawn).collect(),
            None => (0..n).filter(|row| is_drawn(row)).collect(),
        })
    }

    /// The columns that a tree may use.
    fn sampled_columns(&self, stream: Stream) -> Layout {
        let (share, n) = (self.settings.column_share, self.binned.columns.len());
        if share >= 1.0 {
            return Layout::of(self.binned, 0..n);
        }
        // Those whose random keys are smallest.
        let stream = stream.named("columns");
        let n_kept = ((share * n as f64).round() as usize).clamp(1, n);
        let mut keyed: Vec<(u64, usize)> =
            (0..n).map(|j| (stream.child(j as u64).key(), j)).collect();
        keyed.sort_unstable();
        let mut kept: Vec<usize> = keyed[..n_kept].iter().map(|&(_, j)| j).collect();
        kept.sort_unstable();
        Layout::of(self.binned, kept.into_iter())
    }

    fn model(&self, y: &Labels) -> FittedHistogramBoosting {
        FittedHistogramBoosting::new(y, self.objective.told_start(), &self.levels, &self.trees)
    }
}
