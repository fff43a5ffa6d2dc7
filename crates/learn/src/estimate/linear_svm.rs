//! The linear support vector machine: squared hinge loss, one-vs-rest.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::component::above_zero;
use crate::scikit_learn::{PythonHelper, PythonScript};
use crate::{Character, Estimator, FamilyCost, Features, FitContext, FitError, Member, ModelSize};

use super::linear::calibrated::FittedMargins;
use super::linear::family::{Fit, fit_on_shared, only, predict_each};
use super::linear::rows::Rows;
use super::linear::{dual, n_problems, one_vs_rest};

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearSvm {
    /// The weight of the loss against the penalty.
    pub c: f64,
}

settings!(LinearSvm { c });

impl Default for LinearSvm {
    fn default() -> Self {
        Self { c: 1.0 }
    }
}

impl Estimator for LinearSvm {
    type Fitted = FittedMargins;

    const NAME: &'static str = "linear_svm";

    const CHARACTER: Character = Character {
        refuses_one_class: true,
        reads_rows: false,
        takes_gaps: false,
        models: ModelSize::Modest,
        fits_each_class: true,
        family: FamilyCost::Adding(0.3),
    };

    fn check(&self) -> Result<(), FitError> {
        above_zero::<Self>("C", self.c)
    }

    fn rough_cost(&self, _: usize) -> f64 {
        30.0 + self.c
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        script.help(PythonHelper::SoftDecisions);
        let (class, seed) = (script.import("sklearn.svm", "LinearSVC"), script.seed());
        format!("SoftDecisions({class}(C={:?}, dual=True, random_state={seed}))", self.c)
    }

    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<FittedMargins, FitError> {
        only(fit_family(std::slice::from_ref(self), x, y, ctx))
    }

    fn is_family_of(&self, _: &Self) -> bool {
        true
    }

    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<FittedMargins>, FitError>> {
        predict_each(fit_family(members, x, y, ctx), test, keep_models, ctx)
    }
}

/// The rows and their norms serve every `c` and class.
fn fit_family(
    members: &[LinearSvm],
    x: &Features,
    y: &Labels,
    ctx: &FitContext,
) -> Vec<Fit<FittedMargins>> {
    let name = LinearSvm::NAME;
    let cs: Vec<f64> = members.iter().map(|member| member.c).collect();
    let share = || dual::Shared::new(Rows::raw(x, true, ctx, name)?, &cs, ctx);
    // Classes draw their own orders; the same ones for every c.
    let stream = ctx.stream().named(name);
    fit_on_shared(members, share, |member, shared| {
        let solutions = (0..n_problems(y.n_classes()))
            .map(|k| {
                let targets = one_vs_rest(y, k, shared.rows().n_padded());
                shared.solve(&targets, member.c, stream.child(k as u64), ctx)
            })
            .collect::<Result<Vec<_>, _>>()?;
        FittedMargins::new(name, solutions, shared.rows(), x, y)
    })
}
