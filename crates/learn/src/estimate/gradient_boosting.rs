//! Gradient boosting: 100 rounds of regression trees on what the log loss leaves unexplained.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use super::abreast::{self, Abreast, Cached, Planner};
use super::from_scores::{logistic, softmax};
use super::tree::{MaxFeatures, Node, Regressor, SinglePrecision, are_sound, find_leaves, plan};
use crate::component::{above_zero, evaluate_alone};
use crate::scikit_learn::PythonScript;
use crate::work_time::WorkTime;
use crate::{
    Character, Classifier, Estimator, FamilyCost, Features, FitContext, FitError, Member,
    ModelSize, Prediction, Probabilities,
};

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientBoosting {
    /// How much of each tree's answer is taken.
    pub learning_rate: f64,
    /// How deep each tree is at most.
    pub max_depth: usize,
    /// How many features are looked at for each split.
    pub max_features: MaxFeatures,
}

settings!(GradientBoosting { learning_rate, max_depth, max_features });

impl Default for GradientBoosting {
    fn default() -> Self {
        Self { learning_rate: 0.1, max_depth: 3, max_features: MaxFeatures::All }
    }
}

const N_ROUNDS: usize = 100;

/// A sum of second derivatives below this is none (scikit-learn's bound).
const NO_CURVATURE: f64 = 1e-150;

/// Only [`GradientBoosting::fit`] makes one, so it can always predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedGradientBoosting {
    n_classes: usize,
    /// The score of each output before the first round: one output for two classes, K for K.
    start: Vec<f64>,
    /// Round after round, each with one tree an output.
    trees: Vec<RegressionTree>,
    /// The trees for many rows at once, where they are small.
    #[serde(skip)]
    plan: Cached,
}

impl FittedGradientBoosting {
    fn plan(&self) -> Option<Abreast> {
        let mut planner = Planner::new(1);
        for (at, tree) in self.trees.iter().enumerate() {
            let output = at % self.start.len();
            plan(&tree.nodes, &mut planner, output, |leaf, values| values.push(tree.values[leaf]))?;
        }
        Some(planner.done(&SinglePrecision))
    }
}

/// A tree whose leaves hold what they add to a score, the learning rate included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RegressionTree {
    nodes: Vec<Node>,
    values: Vec<f64>,
}

impl Estimator for GradientBoosting {
    type Fitted = FittedGradientBoosting;

    const NAME: &'static str = "gradient_boosting";

    const CHARACTER: Character = Character {
        refuses_one_class: true,
        reads_rows: false,
        takes_gaps: false,
        models: ModelSize::Modest,
        fits_each_class: true,
        family: FamilyCost::Alone,
    };

    fn check(&self) -> Result<(), FitError> {
        above_zero::<Self>("max_depth", self.max_depth as f64)?;
        above_zero::<Self>("learning_rate", self.learning_rate)
    }

    fn rough_cost(&self, _: usize) -> f64 {
        let features = if self.max_features == MaxFeatures::All { 100.0 } else { 50.0 };
        features * self.max_depth as f64
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        let class = script.import("sklearn.ensemble", "GradientBoostingClassifier");
        let max_features = match self.max_features {
            MaxFeatures::Log2 => "\"log2\"",
            MaxFeatures::All => "None",
        };
        let (Self { learning_rate, max_depth, .. }, seed) = (self, script.seed());
        format!(
            "{class}(learning_rate={learning_rate:?}, max_depth={max_depth}, \
             max_features={max_features}, random_state={seed})"
        )
    }

    fn fit(
        &self,
        x: &Features,
        y: &Labels,
        ctx: &FitContext,
    ) -> Result<FittedGradientBoosting, FitError> {
        let sorted = x.tree_sorted(Self::NAME, ctx)?;
        let max_features = self.max_features.count(x.n_cols());
        let mut regressor = Regressor::new(sorted, self.max_depth, max_features, ctx);
        let stream = ctx.stream().named(Self::NAME);
        let n_outputs = if y.n_classes() == 2 { 1 } else { y.n_classes() };
        let _memory = ctx.reserve(Self::NAME, (16 * y.len() * n_outputs) as u64)?;
        let mut boosting = Boosting::new(y);
        let mut trees = Vec::with_capacity(N_ROUNDS * boosting.n_outputs());
        for round in 0..N_ROUNDS {
            boosting.update_residuals(y);
            for output in 0..boosting.n_outputs() {
                ctx.check_deadline()?;
                let stream = stream.child(round as u64).child(output as u64);
                let nodes = regressor.grow(boosting.residuals(output), stream)?;
                trees.push(boosting.take_step(output, nodes, &regressor, self.learning_rate));
            }
        }
        let (n_classes, start, plan) = (y.n_classes(), boosting.start, Cached::default());
        Ok(FittedGradientBoosting { n_classes, start, trees, plan })
    }

    /// Settings share the sorted columns only: no learning rate's trees are another's.
    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<FittedGradientBoosting>, FitError>> {
        members
            .iter()
            .map(|member| {
                let start = WorkTime::now();
                let shared_secs = x.tree_sorted(Self::NAME, ctx)?.secs + test.tree_rows(ctx)?.secs;
                let mut result = evaluate_alone(member, x, y, test, keep_models, ctx)?;
                result.alone_secs += shared_secs;
                result.marginal_secs = start.elapsed().as_secs_f64();
                Ok(result)
            })
            .collect()
    }
}

/// Scores and residuals while boosting, output after output.
struct Boosting {
    n_rows: usize,
    n_classes: usize,
    start: Vec<f64>,
    scores: Vec<f64>,
    residuals: Vec<f64>,
}

impl Boosting {
    /// Starts from the log odds of the classes' shares (their logarithms, for three and more).
    fn new(y: &Labels) -> Self {
        let n_rows = y.len();
        let floor = f64::from(f32::EPSILON);
        let share = |&count: &usize| (count as f64 / n_rows as f64).clamp(floor, 1.0 - floor);
        let shares: Vec<f64> = y.counts().iter().map(share).collect();
        let start: Vec<f64> = match shares[..] {
            [_, second] => vec![(second / (1.0 - second)).ln()],
            _ => shares.iter().map(|share| share.ln()).collect(),
        };
        let scores: Vec<f64> =
            start.iter().flat_map(|&score| std::iter::repeat_n(score, n_rows)).collect();
        let residuals = vec![0.0; scores.len()];
        Self { n_rows, n_classes: y.n_classes(), start, scores, residuals }
    }

    fn n_outputs(&self) -> usize {
        self.start.len()
    }

    fn residuals(&self, output: usize) -> &[f64] {
        &self.residuals[output * self.n_rows..(output + 1) * self.n_rows]
    }

    /// The negative gradient of the log loss: the class as 0 or 1 less its probability.
    fn update_residuals(&mut self, y: &Labels) {
        if self.n_outputs() == 1 {
            let rows = self.residuals.iter_mut().zip(&self.scores).zip(y.codes());
            rows.for_each(|((residual, &score), &class)| {
                *residual = f64::from(class) - logistic(score);
            });
            return;
        }
        let mut row_scores = vec![0.0; self.n_classes];
        for (row, &class) in y.codes().iter().enumerate() {
            for (k, score) in row_scores.iter_mut().enumerate() {
                *score = self.scores[k * self.n_rows + row];
            }
            softmax(&mut row_scores);
            for (k, &probability) in row_scores.iter().enumerate() {
                let truth = f64::from(u8::from(class as usize == k));
                self.residuals[k * self.n_rows + row] = truth - probability;
            }
        }
    }

    /// One Newton step in every leaf; moves the scores along.
    fn take_step(
        &mut self,
        output: usize,
        nodes: Vec<Node>,
        regressor: &Regressor<'_>,
        learning_rate: f64,
    ) -> RegressionTree {
        let range = output * self.n_rows..(output + 1) * self.n_rows;
        let residuals = &self.residuals[range.clone()];
        let scores = &mut self.scores[range];
        let k = self.n_classes as f64;
        let scale = if self.n_classes == 2 { 1.0 } else { (k - 1.0) / k };
        let mut values = vec![0.0; nodes.len()];
        for (leaf, rows) in regressor.leaves() {
            let (mut gradient, mut curvature) = (0.0, 0.0);
            for &row in rows {
                let residual = residuals[row as usize];
                gradient += residual;
                // p (1 - p), as |residual| is either p or 1 - p.
                curvature += residual.abs() * (1.0 - residual.abs());
            }
            let step =
                if curvature.abs() < NO_CURVATURE { 0.0 } else { scale * gradient / curvature };
            values[leaf.node] = learning_rate * step;
            rows.iter().for_each(|&row| scores[row as usize] += values[leaf.node]);
        }
        RegressionTree { nodes, values }
    }
}

impl Classifier for FittedGradientBoosting {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn is_sound(&self, n_cols: usize) -> bool {
        let n_outputs = if self.n_classes == 2 { 1 } else { self.n_classes };
        let is_sound = |tree: &RegressionTree| {
            are_sound(&tree.nodes, n_cols) && tree.values.len() == tree.nodes.len()
        };
        self.start.len() == n_outputs && self.trees.iter().all(is_sound)
    }

    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        let n_outputs = self.start.len();
        let mut scores = self.start.repeat(x.n_rows());
        let is_worth_it = x.n_rows() >= abreast::WORTHWHILE;
        match is_worth_it.then(|| self.plan.get_or_make(|| self.plan())).flatten() {
            Some(plan) => plan.add(x, &SinglePrecision, n_outputs, &mut scores, ctx)?,
            None => {
                let rows = &x.tree_rows(ctx)?.values;
                for (at, tree) in self.trees.iter().enumerate() {
                    ctx.check_deadline()?;
                    let output = at % n_outputs;
                    find_leaves(&tree.nodes, rows, x.n_cols(), |row, leaf| {
                        scores[row * n_outputs + output] += tree.values[leaf];
                    });
                }
            }
        }
        if n_outputs == 1 {
            scores = scores.iter().map(|&s| logistic(s)).flat_map(|p| [1.0 - p, p]).collect();
        } else {
            scores.chunks_exact_mut(n_outputs).for_each(softmax);
        }
        Ok(Prediction::most_probable(Probabilities::from_rows(self.n_classes, scores)))
    }
}
