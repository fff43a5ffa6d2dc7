//! One family on one fold, within the time that each of its members may take.

use std::time::{Duration, Instant};

use super::fold::FoldData;
use super::path::Leaf;
use crate::classes::check_numbers;
use crate::estimate::{EstimatorSpec, FittedEstimator};
use crate::{FitContext, FitError, Member};

/// A member's result; the model is `None` also where all training rows are of one class.
pub(super) type MemberResult = Result<Member<FittedEstimator>, FitError>;

/// Fits and predicts each member; `limits` are the seconds that each may take, as if it ran alone.
pub(super) fn evaluate(
    members: &[&EstimatorSpec],
    fold: &FoldData<'_>,
    leaf: &Leaf,
    keep_models: bool,
    limits: Option<&[f64]>,
    ctx: &FitContext,
) -> Vec<MemberResult> {
    if members.is_empty() {
        return Vec::new(); // all of them used up their time on the folds before
    }
    #[cfg(test)]
    members.iter().for_each(|member| super::tests::break_off("fitting", member));
    if let Err(err) = ctx.check_deadline() {
        return members.iter().map(|_| Err(err.clone())).collect();
    }
    if fold.classes.len() < 2 {
        return members.iter().map(|member| one_class(member, fold, leaf)).collect();
    }
    let task = Task { fold, leaf, keep_models, ctx };
    let results = match limits {
        None => task.run(members, ctx),
        Some(limits) if members[0].kind().character().family.is_nested() => {
            task.run_nested(members, limits)
        }
        Some(limits) => task.run_within(members, limits.iter().sum()),
    };
    let checked = results.into_iter().zip(members).enumerate().map(|(i, (result, spec))| {
        let mut member = result?;
        if limits.is_some_and(|limits| member.alone_secs > limits[i]) {
            return Err(FitError::OutOfTime);
        }
        check_numbers(&member.prediction, spec.name())?;
        member.prediction = fold.classes.expand(member.prediction);
        Ok(member)
    });
    checked.collect()
}

/// What scikit-learn does with a single class: some estimators raise, the others predict it.
fn one_class(member: &EstimatorSpec, fold: &FoldData<'_>, leaf: &Leaf) -> MemberResult {
    if member.kind().character().refuses_one_class {
        return Err(FitError::OneClass { component: member.name() });
    }
    let prediction = fold.classes.only_class(leaf.test.n_rows());
    Ok(Member { prediction, model: None, alone_secs: 0.0, marginal_secs: 0.0 })
}

struct Task<'a> {
    fold: &'a FoldData<'a>,
    leaf: &'a Leaf,
    keep_models: bool,
    ctx: &'a FitContext,
}

impl Task<'_> {
    fn run(&self, members: &[&EstimatorSpec], ctx: &FitContext) -> Vec<MemberResult> {
        let Leaf { train, test, .. } = self.leaf;
        let y = &self.fold.y_compact;
        let keep_models = self.keep_models;
        let results = EstimatorSpec::evaluate_family(members, train, y, test, keep_models, ctx);
        let is_too_large = |r: &MemberResult| matches!(r, Err(FitError::OutOfMemory { .. }));
        if members.len() < 2 || !results.iter().all(is_too_large) {
            return results;
        }
        // Of a thousand classes each member's probabilities are large; fewer at a time may fit.
        let (some, others) = members.split_at(members.len() / 2);
        [self.run(some, ctx), self.run(others, ctx)].concat()
    }

    fn run_within(&self, members: &[&EstimatorSpec], secs: f64) -> Vec<MemberResult> {
        let limit = Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX);
        let own = Instant::now().checked_add(limit);
        let deadline = match (own, self.ctx.deadline()) {
            (Some(own), Some(overall)) => Some(own.min(overall)),
            (own, overall) => own.or(overall),
        };
        self.run(members, &self.ctx.clone().with_deadline(deadline))
    }

    /// A nested family takes as long as its most expensive member. Where that is too long, the cheaper
    /// members must not fail with it: they are run again by halves, the cheapest first.
    fn run_nested(&self, members: &[&EstimatorSpec], limits: &[f64]) -> Vec<MemberResult> {
        let n_rows = self.leaf.train.n_rows();
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|&a, &b| {
            members[b].rough_cost(n_rows).total_cmp(&members[a].rough_cost(n_rows))
        });
        let mut results: Vec<MemberResult> = vec![Err(FitError::OutOfTime); members.len()];
        self.run_halves(&order, members, limits, &mut results);
        results
    }

    /// Whether all of `order`, dearest first, were done in time.
    fn run_halves(
        &self,
        order: &[usize],
        members: &[&EstimatorSpec],
        limits: &[f64],
        results: &mut [MemberResult],
    ) -> bool {
        if order.is_empty() {
            return true;
        }
        let some: Vec<&EstimatorSpec> = order.iter().map(|&i| members[i]).collect();
        let limit = order.iter().map(|&i| limits[i]).fold(0.0, f64::max);
        let mut is_in_time = true;
        let mut some_finished = false;
        for (&i, result) in order.iter().zip(self.run_within(&some, limit)) {
            is_in_time &= result.as_ref().err() != Some(&FitError::OutOfTime);
            some_finished |= result.is_ok();
            results[i] = result;
        }
        // A family that hands out its cheaper members as it goes has given all that there was time for.
        let is_over = some_finished || order.len() == 1 || self.ctx.check_deadline().is_err();
        if is_in_time || is_over {
            return is_in_time;
        }
        let (dear, cheap) = order.split_at(order.len() / 2);
        if self.run_halves(cheap, members, limits, results) {
            // The dearest has had all the time it may take.
            self.run_halves(&dear[1..], members, limits, results);
        }
        false
    }
}
