//! What an estimator is to the rest of the house.

use pitchpipe_table::Labels;

use crate::{Features, FitContext, FitError, Probabilities, Settings};

/// A fitted model: it can always predict.
pub trait Classifier {
    /// How many classes it was fitted on.
    fn n_classes(&self) -> usize;

    /// Whether its parts fit together and go with rows of so many columns. A fit always gives a sound
    /// model; one that was read from a file is asked before it predicts.
    fn is_sound(&self, n_cols: usize) -> bool;

    /// Probabilities and native decision for each row, whatever finite numbers come in.
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

/// Hyperparameters that can be fitted: one point of an estimator type's grid.
///
/// The caller promises that `x` holds finite numbers, that `y` is as long, that `y.n_classes() >= 2`
/// and that every class has at least one row; it maps the classes of a fold to this form.
pub trait Estimator: Settings + Clone + Send + Sync {
    /// The fitted form.
    type Fitted: Classifier + Clone + Send + Sync;

    /// The estimator's name in messages and random streams.
    const NAME: &'static str;

    /// Fits this setting alone.
    fn fit(&self, x: &Features, y: &Labels, ctx: &FitContext) -> Result<Self::Fitted, FitError>;

    /// Whether one computation can answer for both settings.
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

/// Fits one setting and predicts with it, timing both.
pub(crate) fn evaluate_alone<E: Estimator>(
    estimator: &E,
    x: &Features,
    y: &Labels,
    test: &Features,
    keep_model: bool,
    ctx: &FitContext,
) -> Result<Member<E::Fitted>, FitError> {
    let start = cpu_time::ThreadTime::now();
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
