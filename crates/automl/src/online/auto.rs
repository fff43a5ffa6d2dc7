//! The default policy: families of pipelines by expected improvement per second, of all or of a type in turn.
//!
//! A few fast families open, so that there is a model within the first moments; then the search of
//! `pitchpipe_surrogate::search` over the distinct computations of the table. Predicted runtimes are corrected
//! by those measured, unless the run is to be repeatable.

use std::collections::VecDeque;
use std::sync::Arc;

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::{ModelSize, Preparation};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_surrogate::search::{Actions, Search, SearchSettings};
use pitchpipe_surrogate::simulate::{Policy, Step};

use super::families::actions;
use super::pace::Pace;
use super::policies::Setup;
use super::space::Space;
use super::turns::Turns;

/// Seconds that a step takes on top of its fits: choosing, reading rows, measuring.
const OVERHEAD_SECS: f64 = 0.01;

/// The kinds that open, behind a preparation that is scaled and has all columns.
const OPENING: [EstimatorKind; 2] = [EstimatorKind::GaussianNb, EstimatorKind::DecisionTree];

/// A type of estimator in turn is to come below the second-lowest error it has: a few good ones of each are
/// enough for an ensemble.
const PLACE_IN_TURN: usize = 2;

/// What the fold models of one forest are taken to need in memory, for each row of the table. In a file they needed up to
/// 2,400 bytes a row of wine-quality-white, whose labels are noisy.
const FOREST_BYTES_A_ROW: u64 = 6_000;

/// The default policy.
pub(crate) struct Auto {
    space: Space,
    actions: Arc<Actions>,
    search: Search,
    opening: VecDeque<usize>,
    turns: Turns,
    pace: Pace,
    /// Predicted seconds of each computation on the present rows, uncorrected.
    predicted: Vec<f64>,
    /// Whether some pipeline of a preparation has run, and how many have failed.
    preparations: Vec<(bool, usize)>,
    corrects: bool,
    is_side_by_side: bool,
    n_rows: usize,
    step_bytes: u64,
}

impl Auto {
    /// A policy for the computations of a table.
    pub(crate) fn new(setup: Setup<'_>, prior: &Prior) -> Result<Self, SurrogateError> {
        let Setup { space, secs, n_rows, step_bytes, is_repeatable, is_side_by_side, .. } = setup;
        let actions = Arc::new(actions(&space)?);
        let predicted = space.narrow(secs);
        let settings = SearchSettings { overhead_secs: OVERHEAD_SECS, ..SearchSettings::default() };
        let posterior = Arc::new(space.prior(prior)?).posterior();
        let costs: Vec<Option<f64>> = predicted.iter().map(|&t| Some(t)).collect();
        let search = Search::new(settings, Arc::clone(&actions), posterior, &costs)?;
        let opening = opening(&space, &actions);
        let turns = Turns::new((0..actions.len()).map(|a| space.kind(actions.members(a)[0])));
        let n_preparations = space.search().preparations().len();
        Ok(Self {
            space,
            actions,
            search,
            opening,
            turns,
            pace: Pace::default(),
            predicted,
            preparations: vec![(false, 0); n_preparations],
            corrects: !is_repeatable,
            is_side_by_side,
            n_rows,
            step_bytes,
        })
    }

    /// The members of an action that are worth running: of forests, which are large, the best-predicted
    /// ones, as many as the memory holds.
    fn members(&self, action: usize) -> Vec<usize> {
        let mut members = self.search.fresh_members(action);
        let is_forest = |&at: &usize| self.space.kind(at).character().models == ModelSize::Forest;
        if members.first().is_some_and(is_forest) {
            let most = (self.step_bytes / (FOREST_BYTES_A_ROW * self.n_rows as u64).max(1)).max(1);
            let mean = self.search.posterior().mean();
            members.sort_by(|&a, &b| mean[a].total_cmp(&mean[b]));
            members.truncate(most as usize);
            members.sort_unstable();
        }
        members
    }

    /// The next action, and whether it was chosen for its type's turn.
    fn choose(&mut self, left_secs: f64) -> Result<Option<(usize, bool)>, SurrogateError> {
        if let Some(action) = self.opening.pop_front() {
            return Ok(Some((action, false)));
        }
        let Self { search, turns, .. } = self;
        if turns.is_in_turn() {
            for kind in turns.order(&search.promises(turns.kinds())) {
                let is_of_kind = |action: usize| turns.kinds()[action] == kind;
                let chosen = search.choose_among(left_secs, PLACE_IN_TURN, &is_of_kind)?;
                if let Some(action) = chosen {
                    return Ok(Some((action, true)));
                }
            }
        }
        Ok(search.choose(left_secs)?.map(|action| (action, false)))
    }

    fn correct(&mut self) {
        let Self { search, pace, predicted, space, .. } = self;
        search.predict_secs(|at| predicted[at] * pace.factor(space.kind(at)));
    }

    /// Gives up a preparation of which nothing has run and two families have failed.
    fn give_up_dead_preparations(&mut self, failed: &[usize], ran: &[usize]) {
        let preparation = |space: &Space, at: usize| space.preparation_index(at);
        for &at in ran {
            self.preparations[preparation(&self.space, at)].0 = true;
        }
        let mut dead: Vec<usize> = Vec::new();
        let mut touched: Vec<usize> =
            failed.iter().map(|&at| preparation(&self.space, at)).collect();
        touched.dedup();
        for p in touched {
            let (has_run, n_failed) = &mut self.preparations[p];
            *n_failed += 1;
            if !*has_run && *n_failed >= 2 {
                dead.push(p);
            }
        }
        if !dead.is_empty() {
            let given_up: Vec<usize> = (0..self.space.len())
                .filter(|&at| dead.contains(&preparation(&self.space, at)))
                .collect();
            self.search.give_up(given_up);
        }
    }
}

fn opening(space: &Space, actions: &Actions) -> VecDeque<usize> {
    let is_plain = |at: usize| {
        let preparation = space.search().preparation(space.id(at));
        preparation == Preparation::of_oboe(preparation.imputer)
    };
    let wanted = |kind: &EstimatorKind| {
        (0..actions.len()).find(|&action| {
            let at = actions.members(action)[0];
            is_plain(at) && space.kind(at) == *kind
        })
    };
    OPENING.iter().filter_map(wanted).collect()
}

impl Policy for Auto {
    fn next(&mut self, left_secs: f64) -> Result<Option<Step>, SurrogateError> {
        let Some((action, is_in_turn)) = self.choose(left_secs)? else { return Ok(None) };
        let cost_secs = self.search.cost_secs(action).unwrap_or(0.0) + OVERHEAD_SECS;
        self.turns.spend(action, cost_secs, is_in_turn);
        let members = self.members(action);
        if self.is_side_by_side {
            self.search.start(action)?;
        }
        let members = members.into_iter().map(|at| self.space.id(at).index()).collect();
        Ok(Some(Step { members, cost_factor: self.actions.cost_factor(action), mark: action }))
    }

    fn finished(
        &mut self,
        step: &Step,
        errors: &[(usize, f64)],
        secs: &[(usize, f64)],
    ) -> Result<(), SurrogateError> {
        let place =
            |index: usize| self.space.search().id(index).and_then(|id| self.space.place(id));
        let at = |of: &[(usize, f64)]| -> Vec<(usize, f64)> {
            of.iter().filter_map(|&(j, value)| Some((place(j)?, value))).collect()
        };
        let (errors, secs) = (at(errors), at(secs));
        self.search.record(step.mark, &errors)?;
        let ran: Vec<usize> = secs.iter().map(|s| s.0).collect();
        let failed: Vec<usize> =
            step.members.iter().filter_map(|&j| place(j)).filter(|j| !ran.contains(j)).collect();
        self.give_up_dead_preparations(&failed, &ran);
        if self.corrects {
            for &(j, took) in &secs {
                let ratio = took / self.predicted[j];
                // Out of time: it would have taken longer still.
                let is_cut = !errors.iter().any(|e| e.0 == j);
                self.pace
                    .note(self.space.kind(j), if is_cut { ratio.max(1.0) * 2.0 } else { ratio });
            }
            self.correct();
        }
        Ok(())
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        self.n_rows = n_rows;
        self.predicted = self.space.narrow(secs);
        self.correct();
    }
}
