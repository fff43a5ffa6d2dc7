//! k nearest neighbours: a row takes the class most common among the rows closest to it.

mod kernel;
mod search;

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::scikit_learn::PythonScript;
use crate::work_time::WorkTime;
use crate::{
    Character, Classifier, Estimator, FamilyCost, Features, FitContext, FitError, Member,
    ModelSize, Prediction, Probabilities, shared,
};
pub(crate) use search::{Neighbours, SearchIndex, unit_of};

/// The exponent of Minkowski's distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Minkowski {
    /// p = 1: the sum of absolute differences.
    Manhattan,
    /// p = 2: the root of the sum of squared differences.
    #[default]
    Euclidean,
}

words!(Minkowski { Manhattan => "1", Euclidean => "2" });

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Knn {
    /// How many neighbours vote.
    pub n_neighbors: NonZeroUsize,
    /// The distance.
    pub p: Minkowski,
}

settings!(Knn { n_neighbors, p });

impl Default for Knn {
    fn default() -> Self {
        Self { n_neighbors: const { NonZeroUsize::new(5).unwrap() }, p: Minkowski::Euclidean }
    }
}

/// Only [`Knn::fit`] makes one, so it can always predict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FittedKnn {
    n_neighbors: usize,
    p: Minkowski,
    y: Labels,
    /// Settings share it in memory; each model file holds it once.
    #[serde(with = "shared")]
    x: Arc<Features>,
    /// What the search derives from `x`, made at the first prediction.
    #[serde(skip)]
    index: Arc<OnceLock<SearchIndex>>,
}

impl Knn {
    fn enough_rows(&self, got: usize) -> Result<(), FitError> {
        let needed = self.n_neighbors.get();
        if got < needed {
            return Err(FitError::TooFewRows { component: Self::NAME, needed, got });
        }
        Ok(())
    }
}

impl Estimator for Knn {
    type Fitted = FittedKnn;
    const NAME: &'static str = "knn";

    const CHARACTER: Character = Character {
        refuses_one_class: false,
        reads_rows: false,
        takes_gaps: false,
        models: ModelSize::Modest,
        fits_each_class: false,
        family: FamilyCost::Nested(1.2),
    };

    fn check(&self) -> Result<(), FitError> {
        Ok(())
    }

    fn rough_cost(&self, _: usize) -> f64 {
        2.0 + self.n_neighbors.get() as f64 * 0.01
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        let class = script.import("sklearn.neighbors", "KNeighborsClassifier");
        format!("{class}(n_neighbors={}, p={})", self.n_neighbors, self.p)
    }

    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<FittedKnn, FitError> {
        self.enough_rows(x.n_rows())?;
        ctx.check_memory(Self::NAME, 8 * x.columns().len() as u64)?;
        Ok(FittedKnn {
            n_neighbors: self.n_neighbors.get(),
            p: self.p,
            y: y.clone(),
            x: Arc::new(x.clone()),
            index: Arc::default(),
        })
    }

    /// One search with the largest `k` holds the neighbours of every smaller one.
    fn is_family_of(&self, other: &Self) -> bool {
        self.p == other.p
    }

    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<FittedKnn>, FitError>> {
        let start = WorkTime::now();
        let fits = |m: &&Self| m.enough_rows(x.n_rows()).is_ok();
        let Some(most) = members.iter().filter(fits).map(|m| m.n_neighbors.get()).max() else {
            let refuse = |m: &Self| Err(m.enough_rows(x.n_rows()).expect_err("none fits"));
            return members.iter().map(refuse).collect();
        };
        let p = members[0].p;
        let found = SearchIndex::build(x, p, ctx)
            .and_then(|index| Ok((index.search(x, test, most, ctx)?, index)));
        let (neighbours, index) = match found {
            Ok(found) => found,
            Err(e) => {
                return members
                    .iter()
                    .map(|m| m.enough_rows(x.n_rows()).and(Err(e.clone())))
                    .collect();
            }
        };
        let index = Arc::new(OnceLock::from(index));
        let kept = keep_models.then(|| Arc::new(x.clone()));
        let mut answers: Vec<_> = members
            .iter()
            .map(|member| {
                member.enough_rows(x.n_rows())?;
                let n_neighbors = member.n_neighbors.get();
                Ok(Member {
                    prediction: vote(&neighbours, n_neighbors, y),
                    model: kept.as_ref().map(|x| FittedKnn {
                        n_neighbors,
                        p,
                        y: y.clone(),
                        x: x.clone(),
                        index: index.clone(),
                    }),
                    alone_secs: 0.0,
                    marginal_secs: 0.0,
                })
            })
            .collect();
        let n_fitted = answers.iter().filter(|a| a.is_ok()).count() as f64;
        let secs = start.elapsed().as_secs_f64();
        for (member, answer) in members.iter().zip(&mut answers) {
            if let Ok(answer) = answer {
                let k = member.n_neighbors.get();
                answer.marginal_secs = secs / n_fitted;
                answer.alone_secs = secs * neighbours.share_of(k);
            }
        }
        answers
    }
}

impl Classifier for FittedKnn {
    fn n_classes(&self) -> usize {
        self.y.n_classes()
    }

    fn is_sound(&self, n_cols: usize) -> bool {
        let n_rows = self.x.n_rows();
        self.x.is_sound()
            && self.x.n_cols() == n_cols
            && self.y.len() == n_rows
            && self.y.codes().iter().all(|&c| (c as usize) < self.y.n_classes())
            && (1..=n_rows).contains(&self.n_neighbors)
    }

    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        let index = match self.index.get() {
            Some(index) => index,
            None => {
                let built = SearchIndex::build(&self.x, self.p, ctx)?;
                self.index.get_or_init(|| built)
            }
        };
        let neighbours = index.search(&self.x, x, self.n_neighbors, ctx)?;
        Ok(vote(&neighbours, self.n_neighbors, &self.y))
    }
}

/// The share of each class among the `k` nearest; the smallest class wins a draw.
fn vote(neighbours: &Neighbours, k: usize, y: &Labels) -> Prediction {
    let n_classes = y.n_classes();
    let share = 1.0 / k as f64;
    let mut probabilities = vec![0.0; neighbours.n_queries() * n_classes];
    for (row, shares) in probabilities.chunks_exact_mut(n_classes).enumerate() {
        for &near in &neighbours.nearest(row)[..k] {
            shares[y.codes()[near as usize] as usize] += 1.0;
        }
        shares.iter_mut().for_each(|votes| *votes *= share);
    }
    Prediction::most_probable(Probabilities::from_rows(n_classes, probabilities))
}

#[cfg(test)]
mod tests;
