//! Logistic regression: liblinear's one-vs-rest problems, or SAGA on the multinomial one.

use std::sync::Arc;

use pitchpipe_table::Labels;
use serde::{Deserialize, Serialize};

use crate::component::above_zero;
use crate::scikit_learn::{PythonHelper, PythonScript};
use crate::work_time::WorkTime;
use crate::{
    Character, Classifier, Estimator, FamilyCost, Features, FitContext, FitError, Member,
    ModelSize, Prediction,
};

use super::linear::family::{Fit, all_failed, fit_on_shared, only, predict_each};
use super::linear::lanes::Quad;
use super::linear::loss::Logistic;
use super::linear::model::{LinearModel, split_intercept};
use super::linear::rows::Rows;
use super::linear::{n_problems, newton, one_vs_rest, saga, sparse};

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

settings!(LogisticRegression { c, solver, penalty });

/// Which problem is solved, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Solver {
    /// One problem a class, the intercept penalised like a weight.
    Liblinear,
    /// One problem for all classes, the intercept free, by stochastic averaged gradients.
    Saga,
}

words!(Solver { Liblinear => "liblinear", Saga => "saga" });

/// What is penalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Penalty {
    /// The sum of absolute weights.
    L1,
    /// Half the sum of squared weights.
    L2,
}

words!(Penalty { L1 => "l1", L2 => "l2" });

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

    fn is_sound(&self, n_cols: usize) -> bool {
        self.model.is_sound(n_cols)
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
        let base = if self.solver == Solver::Saga { 40.0 } else { 8.0 };
        base + self.c
    }

    fn scikit_learn(&self, script: &mut PythonScript) -> String {
        let class = script.import("sklearn.linear_model", "LogisticRegression");
        let penalty = match self.penalty {
            Penalty::L1 => {
                script.help(PythonHelper::L1);
                ", **L1"
            }
            Penalty::L2 => "",
        };
        let (Self { c, solver, .. }, seed) = (self, script.seed());
        let model = format!("{class}(C={c:?}, solver=\"{solver}\", random_state={seed}{penalty})");
        if self.solver == Solver::Liblinear && script.n_classes > 2 {
            // Newer releases leave one-vs-rest to a wrapper; older ones do the same inside.
            let wrapper = script.import("sklearn.multiclass", "OneVsRestClassifier");
            return format!("{wrapper}({model})");
        }
        model
    }

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
    let Some(first) = members.first() else { return Vec::new() };
    match (first.solver, first.penalty) {
        (Solver::Liblinear, Penalty::L2) => {
            let share = || newton::Shared::new(Arc::new(scaled_rows(x, ctx)?), ctx);
            fit_on_shared(members, share, |member, shared| {
                let solve = |y: &[Quad]| shared.solve::<Logistic>(y, member.c, ctx);
                liblinear_model(x, y, shared.rows(), solve)
            })
        }
        (Solver::Liblinear, Penalty::L1) => {
            let share = || sparse::Shared::new(scaled_rows(x, ctx)?, ctx);
            fit_on_shared(members, share, |member, shared| {
                let solve = |y: &[Quad]| shared.solve(y, member.c, ctx);
                liblinear_model(x, y, shared.rows(), solve)
            })
        }
        (Solver::Saga, penalty) => fit_saga(members, penalty, x, y, ctx),
    }
}

fn scaled_rows(x: &Features, ctx: &FitContext) -> Result<Rows, FitError> {
    Rows::scaled(x, true, ctx, LogisticRegression::NAME)
}

/// One-vs-rest over a solver of two-class problems.
fn liblinear_model(
    x: &Features,
    y: &Labels,
    rows: &Rows,
    solve: impl Fn(&[Quad]) -> Result<Vec<f64>, FitError>,
) -> Result<FittedLogisticRegression, FitError> {
    let outputs = (0..n_problems(y.n_classes()))
        .map(|k| solve(&one_vs_rest(y, k, rows.n_padded())).map(split_intercept))
        .collect::<Result<_, _>>()?;
    let model = LinearModel::new(LogisticRegression::NAME, y.n_classes(), x.n_cols(), outputs)?;
    Ok(FittedLogisticRegression { model, solver: Solver::Liblinear })
}

/// All settings walk at once; what one costs alone is modelled from its epochs.
fn fit_saga(
    members: &[LogisticRegression],
    penalty: Penalty,
    x: &Features,
    y: &Labels,
    ctx: &FitContext,
) -> Vec<Fit<FittedLogisticRegression>> {
    let name = LogisticRegression::NAME;
    let start = WorkTime::now();
    let rows = match Rows::raw(x, false, ctx, name) {
        Ok(rows) => rows,
        Err(error) => return all_failed(members.len(), &error),
    };
    let settings: Vec<saga::Penalties> = members
        .iter()
        .map(|member| {
            let strength = 1.0 / (member.c * rows.n as f64);
            match penalty {
                Penalty::L1 => saga::Penalties { alpha: 0.0, beta: strength },
                Penalty::L2 => saga::Penalties { alpha: strength, beta: 0.0 },
            }
        })
        .collect();
    let prepared_secs = start.elapsed().as_secs_f64();
    let walks = match saga::walk(&rows, y, &settings, ctx, name) {
        Ok(walks) => walks,
        Err(error) => return all_failed(members.len(), &error),
    };
    let walked_secs = start.elapsed().as_secs_f64() - prepared_secs;
    let epochs: Vec<usize> = walks.iter().map(|walk| walk.epochs).collect();
    let costs = saga::costs(&epochs, &rows, n_problems(y.n_classes()), walked_secs);
    let fit = |(walk, cost): (saga::Walk, saga::Cost)| Fit {
        model: LinearModel::new(name, y.n_classes(), x.n_cols(), walk.outputs)
            .map(|model| FittedLogisticRegression { model, solver: Solver::Saga }),
        alone_secs: prepared_secs + cost.alone_secs,
        marginal_secs: prepared_secs / members.len() as f64 + cost.marginal_secs,
    };
    walks.into_iter().zip(costs).map(fit).collect()
}
