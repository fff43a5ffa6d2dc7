//! AdaBoost by SAMME.R: stumps that look hardest at the rows which those before them got wrong.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use super::from_scores::{first_largest, softmax};
use super::tree::{StumpFinder, StumpSplit};
use crate::component::above_zero;
use crate::scikit_learn::{PythonHelper, PythonScript};
use crate::work_time::WorkTime;
use crate::{
    Character, Classifier, Estimator, FamilyCost, Features, FitContext, FitError, Member,
    ModelSize, Prediction, Probabilities,
};

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaBoost {
    /// How many stumps there are at most.
    pub n_estimators: usize,
    /// The exponent on each update of the weights.
    pub learning_rate: f64,
}

settings!(AdaBoost { n_estimators, learning_rate });

impl Default for AdaBoost {
    fn default() -> Self {
        Self { n_estimators: 50, learning_rate: 1.0 }
    }
}

/// Only [`AdaBoost::fit`] makes one, so it can always predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedAdaBoost {
    n_classes: usize,
    stumps: Vec<Stump>,
}

/// A stump, and what it adds to the decision of each class on its two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stump {
    feature: u32,
    threshold: f32,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Stump {
    #[inline]
    fn votes(&self, row: &[f32]) -> &[f64] {
        if row[self.feature as usize] > self.threshold { &self.right } else { &self.left }
    }
}

impl Estimator for AdaBoost {
    type Fitted = FittedAdaBoost;

    const NAME: &'static str = "adaboost";

    const CHARACTER: Character = Character {
        refuses_one_class: false,
        reads_rows: false,
        takes_gaps: false,
        models: ModelSize::Modest,
        fits_each_class: true,
        family: FamilyCost::Nested(1.2),
    };

    fn check(&self) -> Result<(), FitError> {
        above_zero::<Self>("n_estimators", self.n_estimators as f64)?;
        above_zero::<Self>("learning_rate", self.learning_rate)
    }

    fn rough_cost(&self, _: usize) -> f64 {
        self.n_estimators as f64 / 10.0
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        script.help(PythonHelper::SammeR);
        let (Self { n_estimators, learning_rate }, seed) = (self, script.seed());
        format!(
            "SammeR(n_estimators={n_estimators}, learning_rate={learning_rate:?}, random_state={seed})"
        )
    }

    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<FittedAdaBoost, FitError> {
        let mut stumps = Vec::new();
        self.boost(x, y, ctx, |stump| stumps.push(stump))?;
        Ok(FittedAdaBoost { n_classes: y.n_classes(), stumps })
    }

    /// More stumps contain fewer.
    fn is_family_of(&self, other: &Self) -> bool {
        self.learning_rate == other.learning_rate
    }

    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<FittedAdaBoost>, FitError>> {
        match evaluate(members, x, y, test, keep_models, ctx) {
            Ok(results) => results.into_iter().map(Ok).collect(),
            Err(error) => members.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

impl AdaBoost {
    /// Boosts until there are enough stumps, one is perfect, or the weights degenerate.
    fn boost(
        &self,
        x: &Features,
        y: &Labels,
        ctx: &FitContext,
        mut keep: impl FnMut(Stump),
    ) -> Result<(), FitError> {
        let sorted = x.tree_sorted(Self::NAME, ctx)?;
        let columns = x.tree_columns(Self::NAME, ctx)?;
        let (n_classes, stream) = (y.n_classes(), ctx.stream().named(Self::NAME));
        let mut finder = StumpFinder::new(sorted, y.codes(), n_classes, ctx);
        let mut weights = vec![1.0 / x.n_rows() as f64; x.n_rows()];
        let mut goes_right = vec![false; x.n_rows()];
        for round in 0..self.n_estimators {
            let split = finder.find(&weights, stream.child(round as u64))?;
            match split {
                Some(StumpSplit { feature, threshold, .. }) => {
                    let column = columns.column(feature);
                    goes_right.iter_mut().zip(column).for_each(|(r, &v)| *r = v > threshold);
                }
                None => goes_right.fill(false),
            }
            let sides = Sides::new(&weights, &goes_right, y);
            keep(sides.stump(split));
            if sides.is_perfect || !sides.reweight(self.learning_rate, &goes_right, y, &mut weights)
            {
                break;
            }
        }
        Ok(())
    }
}

/// The class probabilities on both sides of a stump.
struct Sides {
    n_classes: usize,
    /// Logarithms of the probabilities, none below that of the smallest positive step.
    log: [Vec<f64>; 2],
    /// Whether no weight is on a row that the stump gets wrong.
    is_perfect: bool,
}

impl Sides {
    fn new(weights: &[f64], goes_right: &[bool], y: &Labels) -> Self {
        let n_classes = y.n_classes();
        let mut sums = [vec![0.0; n_classes], vec![0.0; n_classes]];
        for ((&weight, &side), &class) in weights.iter().zip(goes_right).zip(y.codes()) {
            sums[usize::from(side)][class as usize] += weight;
        }
        let wrong = |sums: &Vec<f64>| {
            let best = first_largest(sums);
            sums.iter().enumerate().filter(|&(k, _)| k != best).map(|(_, &w)| w).sum::<f64>()
        };
        let is_perfect = sums.iter().map(wrong).sum::<f64>() <= 0.0;
        let log = sums.map(|sums| {
            let total: f64 = sums.iter().sum();
            // A side without weight has no probabilities; no row that counts ends there.
            let share = |w: f64| if total > 0.0 { w / total } else { 1.0 / n_classes as f64 };
            sums.iter().map(|&w| share(w).max(f64::EPSILON).ln()).collect()
        });
        Self { n_classes, log, is_perfect }
    }

    /// What the stump adds to each class: Zhu et al., Multi-class AdaBoost, Algorithm 4, 2(c).
    fn stump(&self, split: Option<StumpSplit>) -> Stump {
        let votes = |log: &Vec<f64>| {
            let mean = log.iter().sum::<f64>() / self.n_classes as f64;
            log.iter().map(|l| (self.n_classes - 1) as f64 * (l - mean)).collect::<Vec<_>>()
        };
        match split {
            Some(StumpSplit { feature, threshold, .. }) => Stump {
                feature: feature as u32,
                threshold,
                left: votes(&self.log[0]),
                right: votes(&self.log[1]),
            },
            None => Stump {
                feature: 0,
                threshold: f32::MAX,
                left: votes(&self.log[0]),
                right: votes(&self.log[0]),
            },
        }
    }

    /// Gives weight to the rows that are wrong (the same, 2(d)), and normalises; says whether
    /// boosting can go on: not once weights overflow or vanish.
    fn reweight(&self, rate: f64, goes_right: &[bool], y: &Labels, weights: &mut [f64]) -> bool {
        let k = self.n_classes as f64;
        let factors = [0, 1].map(|side| {
            let log: &[f64] = &self.log[side];
            let all: f64 = log.iter().sum();
            let factor = |own: &f64| {
                let coded = own - (all - own) / (k - 1.0);
                (-rate * ((k - 1.0) / k) * coded).exp()
            };
            log.iter().map(factor).collect::<Vec<_>>()
        });
        let mut sum = 0.0;
        for ((weight, &side), &class) in weights.iter_mut().zip(goes_right).zip(y.codes()) {
            if *weight > 0.0 {
                *weight *= factors[usize::from(side)][class as usize];
            }
            sum += *weight;
        }
        if !sum.is_finite() || sum <= 0.0 {
            return false;
        }
        weights.iter_mut().for_each(|weight| *weight /= sum);
        true
    }
}

impl Classifier for FittedAdaBoost {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn is_sound(&self, n_cols: usize) -> bool {
        let is_sound = |stump: &Stump| {
            let n = self.n_classes;
            (stump.feature as usize) < n_cols && stump.left.len() == n && stump.right.len() == n
        };
        !self.stumps.is_empty() && self.stumps.iter().all(is_sound)
    }

    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        let mut votes = vec![0.0; x.n_rows() * self.n_classes];
        add_votes(&self.stumps, x, self.n_classes, &mut votes, ctx)?;
        Ok(decide(&votes, self.n_classes, self.stumps.len()))
    }
}

fn add_votes(
    stumps: &[Stump],
    x: &Features,
    n_classes: usize,
    votes: &mut [f64],
    ctx: &FitContext,
) -> Result<(), FitError> {
    let rows = &x.tree_rows(ctx)?.values;
    for stump in stumps {
        ctx.check_deadline()?;
        for (row, votes) in rows.chunks_exact(x.n_cols()).zip(votes.chunks_exact_mut(n_classes)) {
            votes.iter_mut().zip(stump.votes(row)).for_each(|(sum, vote)| *sum += vote);
        }
    }
    Ok(())
}

/// Mean votes to labels and, by the softmax of Zhu et al., Eq. 4, to probabilities.
fn decide(votes: &[f64], n_classes: usize, n_stumps: usize) -> Prediction {
    let mut values = Vec::with_capacity(votes.len());
    let mut labels = Vec::with_capacity(votes.len() / n_classes);
    for votes in votes.chunks_exact(n_classes) {
        let mean: Vec<f64> = votes.iter().map(|v| v / n_stumps.max(1) as f64).collect();
        let mut scores: Vec<f64> = if n_classes == 2 {
            let decision = mean[1] - mean[0];
            labels.push(u32::from(decision > 0.0));
            vec![-decision / 2.0, decision / 2.0]
        } else {
            labels.push(first_largest(&mean) as u32);
            mean.iter().map(|v| v / (n_classes - 1) as f64).collect()
        };
        softmax(&mut scores);
        values.extend(scores);
    }
    Prediction {
        probabilities: Probabilities::from_rows(n_classes, values),
        labels: Labels::from_codes(labels, n_classes),
    }
}

/// Boosts once, for the member with the most stumps; the others are its beginnings.
fn evaluate(
    members: &[AdaBoost],
    x: &Features,
    y: &Labels,
    test: &Features,
    keep_models: bool,
    ctx: &FitContext,
) -> Result<Vec<Member<FittedAdaBoost>>, FitError> {
    let Some(largest) = members.iter().max_by_key(|member| member.n_estimators) else {
        return Ok(Vec::new());
    };
    let start = WorkTime::now();
    let shared_secs = x.tree_sorted(AdaBoost::NAME, ctx)?.secs + test.tree_rows(ctx)?.secs;
    let boosting = WorkTime::now();
    let (mut stumps, mut fit_secs) = (Vec::new(), vec![0.0]);
    largest.boost(x, y, ctx, |stump| {
        stumps.push(stump);
        fit_secs.push(boosting.elapsed().as_secs_f64());
    })?;
    let n_classes = y.n_classes();
    let model = FittedAdaBoost { n_classes, stumps };
    let n_stumps = |member: &AdaBoost| member.n_estimators.min(model.stumps.len());
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|&at| n_stumps(&members[at]));
    let predicting = WorkTime::now();
    ctx.check_memory(AdaBoost::NAME, (8 * test.n_rows() * n_classes) as u64)?;
    let (mut votes, mut done) = (vec![0.0; test.n_rows() * n_classes], 0);
    let mut results: Vec<Option<Member<FittedAdaBoost>>> = vec![None; members.len()];
    for at in order {
        let n = n_stumps(&members[at]);
        add_votes(&model.stumps[done..n], test, n_classes, &mut votes, ctx)?;
        done = n;
        let prediction = decide(&votes, n_classes, n);
        let predict_secs = predicting.elapsed().as_secs_f64();
        let prefix = || FittedAdaBoost { n_classes, stumps: model.stumps[..n].to_vec() };
        results[at] = Some(Member {
            prediction,
            model: keep_models.then(prefix),
            alone_secs: shared_secs + fit_secs[n] + predict_secs,
            marginal_secs: 0.0,
        });
    }
    let total = start.elapsed().as_secs_f64();
    let mut results: Vec<_> = results.into_iter().map(|r| r.expect("all were visited")).collect();
    let all_alone: f64 = results.iter().map(|r| r.alone_secs).sum();
    for result in &mut results {
        result.marginal_secs = total * result.alone_secs / all_alone;
    }
    Ok(results)
}
