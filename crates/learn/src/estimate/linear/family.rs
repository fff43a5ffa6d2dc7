//! From the fits of a family to its members: who pays for what.

use crate::work_time::WorkTime;
use crate::{Classifier, Features, FitContext, FitError, Member};

/// One member's fit with its cost in CPU seconds.
pub(crate) struct Fit<M> {
    /// The model, or why there is none.
    pub model: Result<M, FitError>,
    /// What it would have cost alone.
    pub alone_secs: f64,
    /// Its share of the family's cost.
    pub marginal_secs: f64,
}

/// Fits members one after the other on something shared, which each would have had to make alone.
pub(crate) fn fit_on_shared<E, S, M>(
    members: &[E],
    share: impl FnOnce() -> Result<S, FitError>,
    mut fit: impl FnMut(&E, &S) -> Result<M, FitError>,
) -> Vec<Fit<M>> {
    let start = WorkTime::now();
    let shared = match share() {
        Ok(shared) => shared,
        Err(error) => return all_failed(members.len(), &error),
    };
    let shared_secs = start.elapsed().as_secs_f64();
    let fit_one = |member: &E| {
        let start = WorkTime::now();
        let model = fit(member, &shared);
        let own_secs = start.elapsed().as_secs_f64();
        Fit {
            model,
            alone_secs: shared_secs + own_secs,
            marginal_secs: shared_secs / members.len() as f64 + own_secs,
        }
    };
    members.iter().map(fit_one).collect()
}

/// No member has a model, all for the same reason.
pub(crate) fn all_failed<M>(n: usize, error: &FitError) -> Vec<Fit<M>> {
    let failed = || Fit { model: Err(error.clone()), alone_secs: 0.0, marginal_secs: 0.0 };
    (0..n).map(|_| failed()).collect()
}

/// Predicts with each fitted member, adding the time that takes.
pub(crate) fn predict_each<M: Classifier>(
    fits: Vec<Fit<M>>,
    test: &Features,
    keep_models: bool,
    ctx: &FitContext,
) -> Vec<Result<Member<M>, FitError>> {
    let predict = |fit: Fit<M>| {
        let start = WorkTime::now();
        let model = fit.model?;
        let prediction = model.predict(test, ctx)?;
        let secs = start.elapsed().as_secs_f64();
        Ok(Member {
            prediction,
            model: keep_models.then_some(model),
            alone_secs: fit.alone_secs + secs,
            marginal_secs: fit.marginal_secs + secs,
        })
    };
    fits.into_iter().map(predict).collect()
}

/// The model of a family of one.
pub(crate) fn only<M>(fits: Vec<Fit<M>>) -> Result<M, FitError> {
    fits.into_iter().next().expect("one member makes one fit").model
}
