//! The search itself: observations in, the next action out.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bayes::Posterior;
use crate::error::SurrogateError;
use crate::improvement::{improvements, normal_quantile};
use crate::policy::Observation;
use crate::search::Actions;
use crate::search::joint::Draws;
use crate::search::looks::Looks;

/// How a family's value comes from those of its members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The largest expected improvement of a member.
    Max,
    /// The sum of the members' expected improvements.
    Sum,
    /// The expected improvement of the best member, counting in how members vary together.
    Joint,
    /// The same below the fifth-lowest error seen, for an ensemble of five wants five good pipelines.
    JointFifth,
    /// The improvement of the best member in one draw from the posterior (Thompson sampling).
    Thompson,
}

/// What a search can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSettings {
    /// How families are valued.
    pub rule: Rule,
    /// Seconds every action takes on top of its fits.
    pub overhead_secs: f64,
    /// 1 weighs improvement per second, 0 ignores cost.
    pub cost_power: f64,
    /// Share of each pipeline's own noise counted into the improvement it may bring.
    pub noise_share: f64,
    /// An action counts as costing at least this share of the time left: 0.02 looks ahead to the end of the
    /// budget as if fifty more actions were to come, so that the last of them may be dear. 0 does not.
    pub least_share: f64,
    /// Seed of the draws of [`Rule::Thompson`].
    pub seed: u64,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            rule: Rule::JointFifth,
            overhead_secs: 0.1,
            cost_power: 1.0,
            noise_share: 0.0,
            least_share: 0.0,
            seed: 0,
        }
    }
}

/// A decision looks closely at no more families than this, in the order of an upper bound.
const MOST_JOINT: usize = 128;

/// The same for a decision among some families only.
const MOST_JOINT_AMONG: usize = 16;

/// How many errors an ensemble is made of, for [`Rule::JointFifth`].
const ENSEMBLE: usize = 5;

/// The state of a search on one dataset.
pub struct Search {
    settings: SearchSettings,
    actions: Arc<Actions>,
    posterior: Posterior,
    /// Seconds of each pipeline, NaN where it cannot be run.
    secs: Vec<f64>,
    /// Errors seen on the present rows, scaled and as on most rows, NaN where there is none.
    errors: Vec<f64>,
    looks: Looks,
    open: Vec<bool>,
    /// Lowest scaled errors seen, ascending, at most [`ENSEMBLE`].
    lowest: Vec<f64>,
    draws: Draws,
    values: Vec<f64>,
    /// Per action: its cost in seconds and that of its cheapest member alone (NaN where nothing fresh is left of it), and what
    /// to divide by.
    costs: Vec<f64>,
    least: Vec<f64>,
    weights: Vec<f64>,
    /// Actions that are running with the members that run, and the posterior that counts on them; made when it is
    /// first asked for.
    running: Vec<(usize, Vec<usize>)>,
    expecting: Option<Posterior>,
    /// What `expecting` counts on of actions that are over, and of which nothing was taken in yet.
    returned: Vec<usize>,
}

impl Search {
    /// A search from `posterior`, with `secs` the predicted seconds of each pipeline, `None` where it cannot be
    /// run at all.
    pub fn new(
        settings: SearchSettings,
        actions: Arc<Actions>,
        posterior: Posterior,
        secs: &[Option<f64>],
    ) -> Result<Self, SurrogateError> {
        let n = posterior.mean().len();
        for (what, got) in
            [("predicted runtimes", secs.len()), ("pipelines of actions", actions.n_pipelines())]
        {
            if got != n {
                return Err(SurrogateError::Size { what, wanted: n, got });
            }
        }
        let bad = |s: &Option<f64>| s.is_some_and(|s| !s.is_finite() || s <= 0.0);
        if let Some(at) = secs.iter().position(bad) {
            let value = secs[at].unwrap_or_default();
            return Err(SurrogateError::NotPositive { what: "predicted runtimes", at, value });
        }
        let mut search = Self {
            settings,
            costs: vec![f64::NAN; actions.len()],
            least: vec![f64::NAN; actions.len()],
            weights: vec![f64::NAN; actions.len()],
            open: vec![true; actions.len()],
            actions,
            secs: secs.iter().map(|s| s.unwrap_or(f64::NAN)).collect(),
            errors: vec![f64::NAN; n],
            looks: Looks::new(n),
            lowest: Vec::new(),
            draws: Draws::new(),
            values: vec![0.0; n],
            running: Vec::new(),
            expecting: None,
            returned: Vec::new(),
            posterior,
        };
        search.weigh_all();
        Ok(search)
    }

    fn weigh_all(&mut self) {
        (0..self.actions.len()).for_each(|action| self.weigh(action));
    }

    /// Brings an action's cost up to date.
    fn weigh(&mut self, action: usize) {
        let fresh = |j: usize| self.is_fresh(j);
        let secs = self.actions.cost_secs(action, &self.secs, fresh).unwrap_or(f64::NAN);
        let members = self.actions.members(action).iter();
        let fresh_secs = members.filter(|&&j| self.is_fresh(j)).map(|&j| self.secs[j]);
        let least = fresh_secs.reduce(f64::min).unwrap_or(f64::NAN);
        self.costs[action] = secs;
        self.least[action] = least * self.actions.cost_factor(action);
        self.weights[action] = self.loaded(secs);
    }

    /// What the value of an action of so many seconds is divided by.
    fn loaded(&self, secs: f64) -> f64 {
        let power = self.settings.cost_power;
        let loaded = secs + self.settings.overhead_secs;
        if power == 1.0 { loaded } else { loaded.powf(power) }
    }

    /// What is known so far.
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// Goes on from another posterior, which must count in what was observed so far.
    pub fn rethink(&mut self, posterior: Posterior) -> Result<(), SurrogateError> {
        let (wanted, got) = (self.secs.len(), posterior.mean().len());
        if wanted != got {
            return Err(SurrogateError::Size { what: "posterior", wanted, got });
        }
        self.expecting = None;
        self.posterior = posterior;
        Ok(())
    }

    /// Begins with samples of `n_rows`, of which there will be at most `most_rows`.
    pub fn on_rows(self, n_rows: usize, most_rows: usize) -> Self {
        Self { looks: self.looks.on_rows(n_rows, most_rows), ..self }
    }

    /// From now on pipelines run on so many rows: where that is more than before, all that was run may be run again.
    pub fn resize(&mut self, n_rows: usize) {
        if self.looks.resize(n_rows) {
            self.errors.fill(f64::NAN);
            self.lowest.clear();
            self.open.fill(true);
            self.running.iter().for_each(|&(action, _)| self.open[action] = false);
            self.weigh_all();
        }
    }

    /// Whether a pipeline can be run and has not been, on the present rows.
    fn is_fresh(&self, pipeline: usize) -> bool {
        self.errors[pipeline].is_nan() && !self.secs[pipeline].is_nan()
    }

    /// The members of an action that can be run and have not been.
    pub fn fresh_members(&self, action: usize) -> Vec<usize> {
        let fresh = |&j: &usize| self.is_fresh(j);
        self.actions.members(action).iter().copied().filter(fresh).collect()
    }

    /// Replaces the predicted seconds of pipelines that can be run, as better predictions come in.
    pub fn predict_secs(&mut self, secs: impl Fn(usize) -> f64) {
        for (j, old) in self.secs.iter_mut().enumerate() {
            let new = secs(j);
            if !old.is_nan() && new.is_finite() && new > 0.0 {
                *old = new;
            }
        }
        self.weigh_all();
    }

    /// From now on every action takes so many seconds on top of its fits.
    pub fn count_overhead(&mut self, secs: f64) {
        if secs != self.settings.overhead_secs {
            self.settings.overhead_secs = secs;
            self.weigh_all();
        }
    }

    /// Gives up pipelines that turned out not to run at all.
    pub fn give_up(&mut self, pipelines: impl IntoIterator<Item = usize>) {
        for j in pipelines {
            if let Some(secs) = self.secs.get_mut(j) {
                *secs = f64::NAN;
            }
        }
        self.weigh_all();
    }

    /// The fresh members of an action that can be run within so many seconds: where the dearest cannot, the others still can.
    pub fn members_within(&self, action: usize, left_secs: f64) -> Vec<usize> {
        let mut members = self.fresh_members(action);
        if self.costs[action] > left_secs {
            let factor = self.actions.cost_factor(action);
            members.retain(|&j| factor * self.secs[j] <= left_secs);
        }
        members
    }

    /// The predicted cost of these members of an action.
    pub fn cost_secs(&self, action: usize, members: &[usize]) -> f64 {
        let dearest = members.iter().map(|&j| self.secs[j]).fold(0.0, f64::max);
        dearest * self.actions.cost_factor(action)
    }

    /// Whether some member of an action can be run within so many seconds.
    pub fn fits(&self, action: usize, left_secs: f64) -> bool {
        // False where nothing is left of it.
        self.open[action] && self.least[action] <= left_secs
    }

    /// The action to run next within `left_secs`, or `None` where nothing fits.
    pub fn choose(&mut self, left_secs: f64) -> Result<Option<usize>, SurrogateError> {
        let best = self.best();
        self.choose_below(left_secs, best, &|_| true, MOST_JOINT)
    }

    /// The same among the actions that `admits` alone, valued by how far they come below the error that is
    /// `place`-lowest of those they have revealed.
    pub fn choose_among(
        &mut self,
        left_secs: f64,
        place: usize,
        admits: &dyn Fn(usize) -> bool,
    ) -> Result<Option<usize>, SurrogateError> {
        let fits = |action: usize| admits(action) && self.fits(action, left_secs);
        if !(0..self.actions.len()).any(fits) {
            return Ok(None);
        }
        let (mut seen, mut expected) = (Vec::new(), f64::INFINITY);
        for action in (0..self.actions.len()).filter(|&action| admits(action)) {
            for &j in self.actions.members(action) {
                if !self.errors[j].is_nan() {
                    seen.push(self.errors[j]);
                } else if !self.secs[j].is_nan() {
                    expected = self.posterior.mean()[j].min(expected);
                }
            }
        }
        seen.sort_unstable_by(f64::total_cmp);
        let best = seen.get(place.max(1) - 1).or(seen.last()).copied().unwrap_or(expected);
        self.choose_below(left_secs, best, admits, MOST_JOINT_AMONG)
    }

    /// The lowest error that each group of actions has or may well come to: of those seen, and of those that can
    /// be run one standard deviation below what is expected. `groups` has the group of each action; a
    /// group of which nothing was or can be run has an infinite one.
    pub fn promises(&self, groups: &[usize]) -> Vec<f64> {
        let n_groups = groups.iter().max().map_or(0, |g| g + 1);
        let mut lowest = vec![f64::INFINITY; n_groups];
        let (mean, variance) = (self.posterior.mean(), self.posterior.variance());
        for (action, &group) in groups.iter().enumerate() {
            for &j in self.actions.members(action) {
                let promise = match (self.errors[j].is_nan(), self.secs[j].is_nan()) {
                    (false, _) => self.errors[j],
                    (true, false) => mean[j] - variance[j].sqrt(),
                    (true, true) => continue,
                };
                lowest[group] = promise.min(lowest[group]);
            }
        }
        let undo = |scaled: f64| self.posterior.scale().undo(scaled);
        lowest.into_iter().map(|p| if p.is_finite() { undo(p) } else { p }).collect()
    }

    fn choose_below(
        &mut self,
        left_secs: f64,
        best: f64,
        admits: &dyn Fn(usize) -> bool,
        most_joint: usize,
    ) -> Result<Option<usize>, SurrogateError> {
        self.expect_running()?;
        match self.settings.rule {
            Rule::Thompson => self.draw_values(best)?,
            _ => self.value_pipelines(best),
        }
        self.values.iter_mut().zip(&self.errors).zip(&self.secs).for_each(
            |((value, error), secs)| {
                if !error.is_nan() || secs.is_nan() {
                    *value = 0.0;
                }
            },
        );
        let candidates = self.candidates(left_secs, admits);
        Ok(match self.settings.rule {
            Rule::Joint | Rule::JointFifth => {
                self.choose_jointly(candidates, left_secs, best, most_joint)
            }
            _ => argmax(candidates.iter().map(|c| (c.action, c.value / c.cost))),
        })
    }

    /// Values from one draw; where nothing in it improves, the lowest are worth most.
    fn draw_values(&mut self, best: f64) -> Result<(), SurrogateError> {
        let posterior = self.expecting.as_ref().unwrap_or(&self.posterior);
        // Keyed by how much was seen, so that the draw does not depend on how often one asks.
        let key = (self.posterior.n_observed() as u64) << 20 | posterior.n_observed() as u64;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.settings.seed ^ key.rotate_left(17));
        let normals: Vec<f64> = (0..posterior.prior().rank())
            .map(|_| normal_quantile(rng.random_range(1e-12..1.0)))
            .collect();
        let drawn = posterior.draw(&normals)?;
        let runnable = |j: usize| self.is_fresh(j);
        let lowest =
            (0..drawn.len()).filter(|&j| runnable(j)).map(|j| drawn[j]).fold(best, f64::min);
        let level = if lowest < best { best } else { drawn.iter().copied().fold(best, f64::max) };
        self.values.iter_mut().zip(&drawn).for_each(|(v, d)| *v = (level - d).max(0.0));
        Ok(())
    }

    /// The level to improve on: the lowest error seen, or before there is one the lowest expected.
    fn best(&self) -> f64 {
        let place = if self.settings.rule == Rule::JointFifth { ENSEMBLE } else { 1 };
        match self.lowest.get(..place) {
            Some(lowest) => lowest[place - 1],
            None if !self.lowest.is_empty() => self.lowest[self.lowest.len() - 1],
            None => {
                let runnable = self.posterior.mean().iter().zip(&self.secs);
                runnable.filter(|(_, s)| !s.is_nan()).map(|(m, _)| *m).fold(f64::INFINITY, f64::min)
            }
        }
    }

    fn value_pipelines(&mut self, best: f64) {
        let posterior = self.expecting.as_ref().unwrap_or(&self.posterior);
        let (mean, variance) = (posterior.mean(), posterior.variance());
        let share = self.settings.noise_share;
        if share > 0.0 {
            let noisy: Vec<f64> = variance
                .iter()
                .zip(posterior.prior().noise())
                .map(|(v, n)| v + share * n)
                .collect();
            improvements(best, mean, &noisy, &mut self.values);
        } else {
            improvements(best, mean, variance, &mut self.values);
        }
    }

    /// Every open action that fits, with its value (largest or summed) and its weighed cost.
    fn candidates(&self, left_secs: f64, admits: &dyn Fn(usize) -> bool) -> Vec<Candidate> {
        let summed = !matches!(self.settings.rule, Rule::Max | Rule::Thompson);
        let share = self.settings.least_share;
        let least = if share > 0.0 && left_secs.is_finite() { share * left_secs } else { 0.0 };
        let mut candidates = Vec::with_capacity(self.actions.len());
        for action in 0..self.actions.len() {
            if !(self.fits(action, left_secs) && admits(action)) {
                continue;
            }
            let (mut members, mut weight) = (self.actions.members(action), self.weights[action]);
            let part: Vec<usize>;
            if self.costs[action] > left_secs {
                part = self.members_within(action, left_secs);
                weight = self.loaded(self.cost_secs(action, &part));
                members = &part;
            }
            let largest = members.iter().map(|&j| self.values[j]).fold(0.0, f64::max);
            let value =
                if summed { members.iter().map(|&j| self.values[j]).sum() } else { largest };
            candidates.push(Candidate { action, value, largest, cost: weight.max(least) });
        }
        candidates
    }

    /// Joint values are dear: take candidates in the order of their upper bound, the sum, and stop when
    /// the bound falls below the best value found.
    fn choose_jointly(
        &self,
        mut candidates: Vec<Candidate>,
        left_secs: f64,
        best: f64,
        most: usize,
    ) -> Option<usize> {
        let bound = |c: &Candidate| c.value / c.cost;
        let by_bound = |a: &Candidate, b: &Candidate| {
            bound(b).total_cmp(&bound(a)).then(a.action.cmp(&b.action))
        };
        if candidates.len() > most {
            candidates.select_nth_unstable_by(most - 1, by_bound);
            candidates.truncate(most);
        }
        candidates.sort_unstable_by(by_bound);
        let posterior = self.expecting.as_ref().unwrap_or(&self.posterior);
        let mut choice: Option<(usize, f64)> = None;
        for c in &candidates {
            if choice.is_some_and(|(_, value)| bound(c) <= value) {
                break;
            }
            let members = self.members_within(c.action, left_secs);
            let joint = match members.len() {
                1 => c.value,
                _ => self
                    .draws
                    .improvement(posterior, &members, best)
                    .clamp(c.largest, c.value.max(c.largest)),
            };
            let value = joint / c.cost;
            if choice.is_none_or(|(_, most)| value > most) {
                choice = Some((c.action, value));
            }
        }
        choice.map(|(action, _)| action)
    }

    /// Whether some action could be run within so many seconds.
    pub fn has_any_within(&self, left_secs: f64) -> bool {
        (0..self.actions.len()).any(|action| self.fits(action, left_secs))
    }

    /// These members of an action have been started; until their results are in, choices for other workers
    /// count on them coming out as expected.
    pub fn start(&mut self, action: usize, members: Vec<usize>) -> Result<(), SurrogateError> {
        self.open[action] = false;
        if let Some(expecting) = &mut self.expecting {
            expecting.expect(&members)?;
        }
        self.running.push((action, members));
        Ok(())
    }

    /// How many actions are running.
    pub fn n_running(&self) -> usize {
        self.running.len()
    }

    /// Makes the posterior that counts on what is running.
    fn expect_running(&mut self) -> Result<(), SurrogateError> {
        if !std::mem::take(&mut self.returned).is_empty() {
            self.expecting = None;
        }
        if self.expecting.is_none() && !self.running.is_empty() {
            let mut expecting = self.posterior.clone();
            for (_, members) in &self.running {
                expecting.expect(members)?;
            }
            self.expecting = Some(expecting);
        }
        Ok(())
    }

    /// An action is over.
    pub fn finish(&mut self, action: usize) {
        self.open[action] = false;
        if let Some(at) = self.running.iter().position(|r| r.0 == action) {
            self.returned.extend(self.running.remove(at).1);
        }
    }

    /// Whether these observations are what was counted on, but for the errors.
    fn were_expected(&mut self, observations: &[Observation]) -> bool {
        let mut returned = std::mem::take(&mut self.returned);
        let mut seen: Vec<usize> = observations.iter().map(|o| o.pipeline).collect();
        returned.sort_unstable();
        seen.sort_unstable();
        seen == returned && observations.iter().all(|o| self.looks.is_first_and_full(o))
    }

    /// Takes in the errors an action revealed on the present rows.
    pub fn record(&mut self, action: usize, errors: &[(usize, f64)]) -> Result<(), SurrogateError> {
        let n_rows = self.looks.n_rows();
        let seen = |&(pipeline, error): &(usize, f64)| {
            let error = Some(error);
            Observation { pipeline, error, secs: None, n_rows }
        };
        self.finish(action);
        self.take_in(&errors.iter().map(seen).collect::<Vec<_>>())
    }

    /// Takes in what became of pipelines. Those without an error (out of time, failed) are given up.
    pub fn take_in(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        let were_expected = self.were_expected(observations);
        let mean_something_else = self.looks.observe(&mut self.posterior, observations)?;
        // How sure a posterior is does not depend on what was seen, only on where. So one that counted on just these
        // goes on with other means, which on sixteen threads saves taking in fifteen steps anew for each that is over.
        match &mut self.expecting {
            Some(expecting)
                if were_expected && !mean_something_else && !self.running.is_empty() =>
            {
                expecting.take_means_of(&self.posterior);
            }
            _ => self.expecting = None,
        }
        // The posterior is of errors on most rows, and improvements are on what it says.
        let scale = self.posterior.scale();
        let present = |looks: &Looks, j: usize| looks.present(j).map(|error| scale.of(error));
        if mean_something_else {
            self.lowest.clear();
            for (j, error) in self.errors.iter_mut().enumerate().filter(|(_, e)| !e.is_nan()) {
                *error = present(&self.looks, j).unwrap_or(*error);
                self.lowest.push(*error);
            }
        }
        for seen in observations {
            match seen.error {
                None => self.secs[seen.pipeline] = f64::NAN,
                Some(_) if seen.n_rows >= self.looks.n_rows() => {
                    let Some(error) = present(&self.looks, seen.pipeline) else { continue };
                    self.errors[seen.pipeline] = error;
                    self.lowest.push(error);
                }
                Some(_) => {}
            }
        }
        self.lowest.sort_unstable_by(f64::total_cmp);
        self.lowest.truncate(ENSEMBLE);
        self.weigh_all();
        Ok(())
    }
}

struct Candidate {
    action: usize,
    value: f64,
    largest: f64,
    cost: f64,
}

/// The first of the largest.
fn argmax(values: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    let keep = |best: Option<(usize, f64)>, new: (usize, f64)| match best {
        Some((_, value)) if value >= new.1 => best,
        _ => Some(new),
    };
    values.fold(None, keep).map(|(action, _)| action)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::bayes::{Prior, Scale};

    const N: usize = 24;

    /// Three pipelines to an action, on rows of which there are no more.
    fn search() -> Search {
        let factor = Array2::from_shape_fn((4, N), |(i, j)| {
            (0.2 * ((i + 1) as f64 * (j as f64 + 0.3)).sin()) as f32
        });
        let mean = (0..N).map(|j| 0.3 + 0.05 * (j as f64).cos()).collect();
        let prior = Prior::from_parts(Scale::Plain, mean, factor.view(), vec![0.01; N]).unwrap();
        let family = |a: usize| crate::search::Action {
            members: (3 * a..3 * a + 3).collect(),
            cost_factor: 1.0,
        };
        let actions = Arc::new(Actions::new(N, (0..N / 3).map(family)).unwrap());
        let posterior = Arc::new(prior).posterior();
        let secs = vec![Some(1.0); N];
        Search::new(SearchSettings::default(), actions, posterior, &secs).unwrap().on_rows(500, 500)
    }

    fn seen(pipeline: usize, error: f64) -> Observation {
        Observation { pipeline, error: Some(error), secs: Some(1.0), n_rows: 500 }
    }

    /// What the search counts on is what it would count on, were it thought over from the beginning.
    fn assert_counts_on_what_runs(search: &mut Search) {
        search.expect_running().unwrap();
        let mut anew = search.posterior.clone();
        search.running.iter().for_each(|(_, members)| anew.expect(members).unwrap());
        let kept = search.expecting.as_ref().unwrap_or(&search.posterior);
        for j in 0..N {
            assert!((kept.mean()[j] - anew.mean()[j]).abs() < 1e-9, "mean of {j}");
            assert!((kept.variance()[j] - anew.variance()[j]).abs() < 1e-9, "variance of {j}");
        }
    }

    #[test]
    fn what_runs_is_counted_on_whatever_comes_back() {
        let mut search = search();
        let start = |search: &mut Search, action: usize| {
            search.start(action, search.fresh_members(action)).unwrap();
        };
        (0..4).for_each(|action| start(&mut search, action));
        assert_counts_on_what_runs(&mut search);
        // All members: only means change.
        search.finish(2);
        search.take_in(&[seen(6, 0.1), seen(7, 0.5), seen(8, 0.2)]).unwrap();
        assert!(search.expecting.is_some());
        assert_counts_on_what_runs(&mut search);
        // One ran out of time, so what was counted on is not known.
        search.finish(0);
        let late = Observation { error: None, ..seen(1, 0.0) };
        search.take_in(&[seen(0, 0.3), late, seen(2, 0.1)]).unwrap();
        assert_counts_on_what_runs(&mut search);
        // On fewer rows, which say less.
        start(&mut search, 5);
        assert_counts_on_what_runs(&mut search);
        search.finish(3);
        let fewer = |j| Observation { n_rows: 100, ..seen(j, 0.4) };
        search.take_in(&[fewer(9), fewer(10), fewer(11)]).unwrap();
        assert_counts_on_what_runs(&mut search);
        // Over, without a word of what came of it.
        search.finish(1);
        assert_counts_on_what_runs(&mut search);
    }
}
