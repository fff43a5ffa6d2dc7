//! A random forest: trees on bootstrap samples, a few random features for each split.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use super::tree::{
    Criterion, FittedForest, MinSamplesSplit, Recipe, evaluate_forest, fit_forest, split_cost,
};
use crate::scikit_learn::PythonScript;
use crate::{Character, Estimator, FamilyCost, Features, FitContext, FitError, Member, ModelSize};

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RandomForest {
    /// How many distinct rows a node needs before it may be split.
    pub min_samples_split: MinSamplesSplit,
    /// What splits lower.
    pub criterion: Criterion,
}

settings!(RandomForest { min_samples_split, criterion });

impl RandomForest {
    fn recipe(&self) -> Recipe {
        Recipe {
            name: Self::NAME,
            n_trees: 100,
            bootstraps: true,
            draws_thresholds: false,
            criterion: self.criterion,
            max_features: usize::isqrt,
        }
    }
}

impl Estimator for RandomForest {
    type Fitted = FittedForest;

    const NAME: &'static str = "random_forest";

    const CHARACTER: Character = Character {
        refuses_one_class: false,
        reads_rows: false,
        takes_gaps: false,
        models: ModelSize::Forest,
        fits_each_class: false,
        family: FamilyCost::Nested(1.3),
    };

    fn check(&self) -> Result<(), FitError> {
        Ok(())
    }

    fn rough_cost(&self, n_rows: usize) -> f64 {
        60.0 * split_cost(self.min_samples_split, n_rows)
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        let class = script.import("sklearn.ensemble", "RandomForestClassifier");
        let (split, criterion) = (self.min_samples_split.in_python(), self.criterion);
        let seed = script.seed();
        format!(
            "{class}(min_samples_split={split}, criterion=\"{criterion}\", random_state={seed})"
        )
    }

    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<FittedForest, FitError> {
        fit_forest(self.recipe(), self.min_samples_split, x, y, ctx)
    }

    fn is_family_of(&self, other: &Self) -> bool {
        self.criterion == other.criterion
    }

    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<FittedForest>, FitError>> {
        let Some(first) = members.first() else { return Vec::new() };
        let settings: Vec<_> = members.iter().map(|member| member.min_samples_split).collect();
        evaluate_forest(first.recipe(), &settings, x, y, test, keep_models, ctx)
    }
}
