//! A decision tree: split by split towards purer nodes, over all features.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use super::tree::{
    Criterion, FittedForest, MinSamplesSplit, Recipe, evaluate_forest, fit_forest, split_cost,
};
use crate::scikit_learn::PythonScript;
use crate::{Character, Estimator, FamilyCost, Features, FitContext, FitError, Member, ModelSize};

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DecisionTree {
    /// How many rows a node needs before it may be split.
    pub min_samples_split: MinSamplesSplit,
}

settings!(DecisionTree { min_samples_split });

const RECIPE: Recipe = Recipe {
    name: DecisionTree::NAME,
    n_trees: 1,
    bootstraps: false,
    draws_thresholds: false,
    criterion: Criterion::Gini,
    max_features: |n_cols| n_cols,
};

impl Estimator for DecisionTree {
    type Fitted = FittedForest;

    const NAME: &'static str = "decision_tree";

    const CHARACTER: Character = Character {
        refuses_one_class: false,
        reads_rows: false,
        takes_gaps: false,
        models: ModelSize::Modest,
        fits_each_class: false,
        family: FamilyCost::Nested(1.6),
    };

    fn check(&self) -> Result<(), FitError> {
        Ok(())
    }

    fn rough_cost(&self, n_rows: usize) -> f64 {
        split_cost(self.min_samples_split, n_rows)
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        let class = script.import("sklearn.tree", "DecisionTreeClassifier");
        let (split, seed) = (self.min_samples_split.in_python(), script.seed());
        format!("{class}(min_samples_split={split}, random_state={seed})")
    }

    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<FittedForest, FitError> {
        fit_forest(RECIPE, self.min_samples_split, x, y, ctx)
    }

    fn is_family_of(&self, _other: &Self) -> bool {
        true
    }

    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<FittedForest>, FitError>> {
        let settings: Vec<_> = members.iter().map(|member| member.min_samples_split).collect();
        evaluate_forest(RECIPE, &settings, x, y, test, keep_models, ctx)
    }
}
