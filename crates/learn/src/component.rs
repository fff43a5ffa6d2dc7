//! What an estimator is to the rest of the house.

use pitchpipe_table::Labels;

use crate::scikit_learn::PythonScript;
use crate::{Features, FitContext, FitError, Probabilities, Settings};

/// A fitted model: it can always predict.
pub trait Classifier {
    /// How many classes it was fitted on.
    fn n_classes(&self) -> usize;

    /// Whether its parts fit together and go with rows of so many columns. A fit always gives a sound
    /// model; one that was read from a file is asked before it predicts.
    fn is_sound(&self, n_cols: usize) -> bool;

    /// Probabilities and native decision for each row, whatever finite numbers come in (and gaps, if it takes them).
    fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError>;
}

/// Probabilities and native decision of one model on one matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Class probabilities: rows sum to one, never NaN.
    pub probabilities: Probabilities,
    /// The estimator's native decision: what scikit-learn's `predict` gives.
    pub labels: Labels,
}

impl Prediction {
    /// The prediction of an estimator whose native decision is the most probable class.
    pub fn most_probable(probabilities: Probabilities) -> Self {
        let labels = probabilities.argmax();
        Self { probabilities, labels }
    }
}

/// What became of one member of a family.
#[derive(Clone, Debug)]
pub struct Member<M> {
    /// Its prediction for the test rows.
    pub prediction: Prediction,
    /// Its model, if models are kept.
    pub model: Option<M>,
    /// CPU seconds that fitting and predicting this member alone would have taken.
    pub alone_secs: f64,
    /// CPU seconds that it took as part of the family; these add up to the family's cost.
    pub marginal_secs: f64,
}

/// What the rest of the house asks of every kind of estimator, whatever its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Character {
    /// Whether scikit-learn's estimator raises where all training rows are of one class; others predict it.
    pub refuses_one_class: bool,
    /// Whether it reads the rows one by one: the row-major copy is then made beforehand, the deadline watched.
    pub reads_rows: bool,
    /// Whether it takes missing cells and categories as they are; all others are given numbers only.
    pub takes_gaps: bool,
    /// How large its models are.
    pub models: ModelSize,
    /// Whether its work is done for each class in turn, as by one model a class.
    pub fits_each_class: bool,
    /// What settings of one family cost together.
    pub family: FamilyCost,
}

/// How large the models of an estimator are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSize {
    /// Small beside the table, or as large as it.
    Modest,
    /// Many times the table: a hundred trees grown to the last row.
    Forest,
}

/// What settings of one family cost together, in times of the dearest of them alone
/// (docs/decisions/0060-online.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FamilyCost {
    /// Families have one member.
    Alone,
    /// The dearest member contains the others; altogether this many times its cost.
    Nested(f64),
    /// Each further member adds this share of the dearest one's cost.
    Adding(f64),
}

impl FamilyCost {
    /// The cost of so many members in times of the dearest alone.
    pub fn factor(self, n_members: usize) -> f64 {
        match self {
            Self::Nested(factor) if n_members > 1 => factor,
            Self::Adding(share) => 1.0 + share * n_members.saturating_sub(1) as f64,
            Self::Nested(_) | Self::Alone => 1.0,
        }
    }

    /// Whether a family costs about as much as its dearest member, which contains the others.
    pub fn is_nested(self) -> bool {
        matches!(self, Self::Nested(_))
    }
}

/// Hyperparameters that can be fitted: one point of an estimator's grid.
///
/// Everything else that is asked of an estimator is here as well, without defaults that would pass unnoticed: an
/// estimator that compiles is complete.
///
/// The caller promises that `x` holds finite numbers (and gaps, if [`Character::takes_gaps`]), that `y` is as long, that `y.n_classes() >= 2`
/// and that every class has at least one row; it maps the classes of a fold to this form.
pub trait Estimator: Settings + Clone + Send + Sync {
    /// The fitted form.
    type Fitted: Classifier + Clone + Send + Sync;

    /// The estimator's name in texts, messages and random streams.
    const NAME: &'static str;

    /// What is true of it whatever its settings.
    const CHARACTER: Character;

    /// Refuses hyperparameters that types do not rule out and that have no meaning.
    fn check(&self) -> Result<(), FitError>;

    /// A rough cost, for deciding what to run first: it only orders, so its unit does not matter.
    fn rough_cost(&self, n_rows: usize) -> f64;

    /// scikit-learn's estimator of the same settings, as a Python expression.
    fn scikit_learn(&self, script: &mut PythonScript) -> String;

    /// Fits this setting alone.
    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<Self::Fitted, FitError>;

    /// Whether one computation can answer for both settings. An estimator that says so of any two has a
    /// [`FamilyCost`] and writes [`Estimator::evaluate_family`].
    fn is_family_of(&self, _other: &Self) -> bool {
        false
    }

    /// Fits settings of one family on `x` and predicts `test` with each.
    ///
    /// Member `i` must be, bit for bit, what `members[i].fit(x, y, ctx)` would give and predict.
    fn evaluate_family(
        members: &[Self],
        x: &Features,
        y: &Labels,
        test: &Features,
        keep_models: bool,
        ctx: &FitContext,
    ) -> Vec<Result<Member<Self::Fitted>, FitError>> {
        members.iter().map(|member| evaluate_alone(member, x, y, test, keep_models, ctx)).collect()
    }
}

/// Refuses a setting that is not a number above zero.
pub(crate) fn above_zero<E: Estimator>(setting: &'static str, value: f64) -> Result<(), FitError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(FitError::Setting { component: E::NAME, setting, value, wanted: "above zero" })
}

/// Fits one setting and predicts with it, timing both.
pub(crate) fn evaluate_alone<E: Estimator>(
    estimator: &E,
    x: &Features,
    y: &Labels,
    test: &Features,
    keep_model: bool,
    ctx: &FitContext,
) -> Result<Member<E::Fitted>, FitError> {
    let start = crate::work_time::WorkTime::now();
    let model = estimator.fit(x, y, ctx)?;
    let prediction = model.predict(test, ctx)?;
    let secs = start.elapsed().as_secs_f64();
    Ok(Member {
        prediction,
        model: keep_model.then_some(model),
        alone_secs: secs,
        marginal_secs: secs,
    })
}
