//! Logistic regression: liblinear's one-vs-rest problems, or SAGA on the multinomial one.

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::{Classifier, Estimator, Features, FitContext, FitError, Member, Prediction};

use super::linear::family::{Fit, fit_on_shared, only, predict_each};
use super::linear::model::{LinearModel, split_intercept};
use super::linear::rows::Rows;
use super::linear::{n_problems, newton, one_vs_rest};

/// Hyperparameters: one point of this estimator's grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogisticRegression {
    /// The inverse of the penalty's strength.
    pub c: f64,
    /// Which problem is solved, and how.
    pub solver: Solver,
    /// What is penalised.
    pub penalty: Penalty,
}

/// Which problem is solved, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Solver {
    /// One problem a class, the intercept penalised like a weight.
    Liblinear,
    /// One problem for all classes, the intercept free, by stochastic averaged gradients.
    Saga,
}

/// What is penalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Penalty {
    /// The sum of absolute weights.
    L1,
    /// Half the sum of squared weights.
    L2,
}

impl Default for LogisticRegression {
    fn default() -> Self {
        Self { c: 1.0, solver: Solver::Liblinear, penalty: Penalty::L2 }
    }
}

/// Only [`LogisticRegression::fit`] makes one, so it can always predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedLogisticRegression {
    model: LinearModel,
    solver: Solver,
}

impl Classifier for FittedLogisticRegression {
    fn n_classes(&self) -> usize {
        self.model.n_classes()
    }

    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
        let decisions = self.model.decide(x, ctx)?;
        let labels = decisions.labels();
        let probabilities = match self.solver {
            Solver::Liblinear => decisions.one_vs_rest_probabilities(),
            Solver::Saga => decisions.softmax_probabilities(),
        };
        Ok(Prediction { probabilities, labels })
    }
}

impl Estimator for LogisticRegression {
    type Fitted = FittedLogisticRegression;

    const NAME: &'static str = "logistic_regression";

    fn fit(
        &self,
        x: &Features,
        y: &Labels,
        ctx: &FitContext,
    ) -> Result<FittedLogisticRegression, FitError> {
        only(fit_family(std::slice::from_ref(self), x, y, ctx))
    }

    fn is_family_of(&self, other: &Self) -> bool {
        (self.solver, self.penalty) == (other.solver, other.penalty)
    }

    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<FittedLogisticRegression>, FitError>> {
        predict_each(fit_family(members, x, y, ctx), test, keep_models, ctx)
    }
}

/// Fits settings that differ in `c` only.
fn fit_family(
    members: &[LogisticRegression],
    x: &Features,
    y: &Labels,
    ctx: &FitContext,
) -> Vec<Fit<FittedLogisticRegression>> {
    fit_liblinear_l2(members, x, y, ctx)
}

/// The rows, their scales and their Gram matrix serve every `c` and class.
fn fit_liblinear_l2(
    members: &[LogisticRegression],
    x: &Features,
    y: &Labels,
    ctx: &FitContext,
) -> Vec<Fit<FittedLogisticRegression>> {
    let share = || newton::Shared::new(Rows::scaled(x, true, ctx, LogisticRegression::NAME)?, ctx);
    fit_on_shared(members, share, |member, shared| {
        let outputs = (0..n_problems(y.n_classes()))
            .map(|k| {
                let targets = one_vs_rest(y, k, shared.rows().n_padded());
                shared.solve(&targets, member.c, ctx).map(split_intercept)
            })
            .collect::<Result<_, _>>()?;
        liblinear_model(outputs, x, y)
    })
}

fn liblinear_model(
    outputs: Vec<(Vec<f64>, f64)>,
    x: &Features,
    y: &Labels,
) -> Result<FittedLogisticRegression, FitError> {
    let model = LinearModel::new(LogisticRegression::NAME, y.n_classes(), x.n_cols(), outputs)?;
    Ok(FittedLogisticRegression { model, solver: Solver::Liblinear })
}
