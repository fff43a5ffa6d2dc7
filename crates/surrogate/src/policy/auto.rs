//! The default policy: families of pipelines by expected improvement per second, of all or of a kind in turn.
//!
//! A few fast families open, so that there is a model within the first moments; then the search of
//! [`crate::search`]. Predicted runtimes are corrected by those measured, where it is told how they vary together, and a step's
//! own cost is what steps were measured to take beyond their fits.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::bayes::Posterior;
use crate::error::SurrogateError;
use crate::policy::overhead::{Overhead, Overheads};
use crate::policy::turns::{SHARE_IN_TURN, Turns};
use crate::policy::{Next, Observation, Policy, Step};
use crate::runtime::CorrectedRuntimes;
use crate::search::{Actions, Search, SearchSettings};

/// Seconds that a step takes on top of its fits at the least: choosing, reading rows, measuring.
const OVERHEAD_SECS: f64 = 0.01;

/// A kind of estimator in turn is to come below the second-lowest error it has: a few good ones of each are
/// enough for an ensemble.
const PLACE_IN_TURN: usize = 2;

/// A preparation is given up when so many of its families have failed and none has run.
const DEAD_AFTER: usize = 2;

/// What the default policy can be told; [`Default`] is what ships.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoSettings {
    /// How families are valued, and what a step takes on top of its fits.
    pub search: SearchSettings,
    /// The share of the time that goes to kinds of estimators in turn.
    pub share_in_turn: f64,
    /// At most this many steps.
    pub most_steps: usize,
}

impl Default for AutoSettings {
    fn default() -> Self {
        Self {
            search: SearchSettings { overhead_secs: OVERHEAD_SECS, ..SearchSettings::default() },
            share_in_turn: SHARE_IN_TURN,
            most_steps: usize::MAX,
        }
    }
}

impl AutoSettings {
    /// The search alone, without turns: what the parts of the default are measured beside.
    pub fn search_alone(search: SearchSettings) -> Self {
        Self { search, share_in_turn: 0.0, most_steps: usize::MAX }
    }
}

/// How many members of an action may run at once on so many rows.
pub type MostMembers = Box<dyn Fn(usize, usize) -> usize + Send>;

/// What the default policy is made from.
pub struct AutoSetup<'a> {
    /// What is known of the dataset before anything has run.
    pub posterior: Posterior,
    /// What can be run.
    pub actions: Arc<Actions>,
    /// Predicted seconds of each pipeline, `None` where it cannot be run.
    pub secs: &'a [Option<f64>],
    /// The kind of each pipeline's estimator, a number from zero.
    pub kinds: Vec<usize>,
    /// The preparation of each pipeline, a number from zero.
    pub preparations: Vec<usize>,
    /// The actions to open with.
    pub opening: Vec<usize>,
    /// How many members of an action the memory holds.
    pub most_members: MostMembers,
    /// The rows that pipelines run on at first, and at the end.
    pub n_rows: usize,
    /// The most rows there will be.
    pub most_rows: usize,
}

impl<'a> AutoSetup<'a> {
    /// Actions without kinds, openings or limits.
    pub fn plain(posterior: Posterior, actions: Arc<Actions>, secs: &'a [Option<f64>]) -> Self {
        let n = secs.len();
        Self {
            posterior,
            actions,
            secs,
            kinds: vec![0; n],
            preparations: (0..n).collect(),
            opening: Vec::new(),
            most_members: Box::new(|_, _| usize::MAX),
            n_rows: 1,
            most_rows: 1,
        }
    }
}

/// The default policy.
pub struct Auto {
    settings: AutoSettings,
    actions: Arc<Actions>,
    search: Search,
    opening: VecDeque<usize>,
    turns: Turns,
    /// How long pipelines take, corrected by what was measured; where there is none, predictions stay.
    runtimes: Option<CorrectedRuntimes>,
    /// What steps take on top of their fits, and what is counted for it.
    overheads: Overheads,
    overhead_secs: f64,
    preparations: Preparations,
    most_members: MostMembers,
    n_rows: usize,
    n_steps: usize,
}

impl Auto {
    /// A policy over the actions of a dataset.
    pub fn new(setup: AutoSetup<'_>, settings: AutoSettings) -> Result<Self, SurrogateError> {
        let AutoSetup { posterior, actions, secs, kinds, preparations, .. } = setup;
        for (what, got) in
            [("kinds of pipelines", kinds.len()), ("preparations", preparations.len())]
        {
            if got != secs.len() {
                return Err(SurrogateError::Size { what, wanted: secs.len(), got });
            }
        }
        let size = actions.len();
        if let Some(&index) = setup.opening.iter().find(|&&a| a >= size) {
            return Err(SurrogateError::OutOfRange { what: "opening", index, size });
        }
        let kind_of_action = (0..size).map(|a| kinds[actions.members(a)[0]]).collect();
        let search = Search::new(settings.search, Arc::clone(&actions), posterior, secs)?;
        Ok(Self {
            search: search.on_rows(setup.n_rows, setup.most_rows),
            opening: setup.opening.into(),
            turns: Turns::new(kind_of_action, settings.share_in_turn),
            runtimes: None,
            overheads: Overheads::new(Overhead::Measured),
            overhead_secs: settings.search.overhead_secs,
            preparations: Preparations::new(preparations),
            most_members: setup.most_members,
            n_rows: setup.n_rows,
            n_steps: 0,
            settings,
            actions,
        })
    }

    /// Goes on from another posterior, which must count in what was observed so far.
    pub fn rethink(&mut self, posterior: Posterior) -> Result<(), SurrogateError> {
        self.search.rethink(posterior)
    }

    /// The same with runtimes corrected by what was learned of how they vary together: one runtime a step, that of
    /// its slowest member.
    pub fn correcting(self, runtimes: CorrectedRuntimes) -> Self {
        Self { runtimes: Some(runtimes), ..self }
    }

    /// The members of an action that are worth running: those for which there is time, and of these the best-predicted
    /// ones, as many as the memory holds.
    fn members(&self, action: usize, left_secs: f64) -> Vec<usize> {
        let mut members = self.search.members_within(action, left_secs);
        if members.is_empty() {
            // An opening where nothing fits: predictions may be wrong.
            members = self.search.fresh_members(action);
        }
        let most = (self.most_members)(action, self.n_rows).max(1);
        if members.len() > most {
            let mean = self.search.posterior().mean();
            members.sort_by(|&a, &b| mean[a].total_cmp(&mean[b]));
            members.truncate(most);
            members.sort_unstable();
        }
        members
    }

    /// The next action, and whether it was chosen for its kind's turn.
    fn choose(&mut self, left_secs: f64) -> Result<Option<(usize, bool)>, SurrogateError> {
        if let Some(action) = self.next_opening(left_secs) {
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

    /// The next family to open with. One that does not fit is tried all the same where nothing else fits: predictions
    /// may be wrong, and there is nothing better to do.
    fn next_opening(&mut self, left_secs: f64) -> Option<usize> {
        while let Some(action) = self.opening.pop_front() {
            let is_left = !self.search.fresh_members(action).is_empty();
            let fits = self.search.fits(action, left_secs);
            if is_left && (fits || !self.search.has_any_within(left_secs)) {
                return Some(action);
            }
        }
        None
    }

    /// Takes in how long the slowest of some pipelines took, and corrects all.
    fn correct(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        let Some(runtimes) = &mut self.runtimes else { return Ok(()) };
        let on_present_rows = observations.iter().filter(|o| o.n_rows == self.n_rows);
        let took = on_present_rows.filter_map(|seen| {
            let secs = seen.secs?;
            // Out of time: it would have taken longer still.
            let at_least = secs.max(runtimes.predicted_secs(seen.pipeline));
            Some((seen.pipeline, if seen.error.is_none() { 2.0 * at_least } else { secs }))
        });
        if let Some((pipeline, secs)) = took.reduce(|a, b| if b.1 > a.1 { b } else { a }) {
            runtimes.observe(&[pipeline], &[secs])?;
            self.search.predict_secs(|j| runtimes.secs(j));
        }
        Ok(())
    }

    /// Takes in what became of pipelines, asked for or not.
    fn take_in(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.search.take_in(observations)?;
        self.search.give_up(self.preparations.dead_after(observations));
        self.correct(observations)
    }
}

impl Policy for Auto {
    fn expected_error(&self, pipeline: usize) -> Option<f64> {
        let posterior = self.search.posterior();
        Some(posterior.prior().scale().undo(*posterior.mean().get(pipeline)?))
    }

    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        if self.n_steps >= self.settings.most_steps {
            return Ok(Next::Done);
        }
        let Some((action, is_in_turn)) = self.choose(left_secs)? else {
            return Ok(Next::nothing(self.search.n_running()));
        };
        self.n_steps += 1;
        let members = self.members(action, left_secs);
        let cost_secs = self.search.cost_secs(action, &members);
        self.turns.spend(action, cost_secs + self.overhead_secs, is_in_turn);
        self.search.start(action, members.clone())?;
        let cost_factor = self.actions.cost_factor(action);
        Ok(Next::Run(Step { members, cost_secs, cost_factor, mark: action }))
    }

    fn observe(&mut self, step: &Step, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.search.finish(step.mark);
        let dearest = observations.iter().filter_map(|o| o.secs).fold(0.0, f64::max);
        self.overheads.note_step(dearest * step.cost_factor);
        self.take_in(observations)
    }

    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.take_in(observations)
    }

    fn passed(&mut self, work_secs: f64) {
        self.overheads.note_passed(work_secs);
        self.overhead_secs = self.overheads.planned(0.0).max(self.settings.search.overhead_secs);
        self.search.count_overhead(self.overhead_secs);
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        self.n_rows = n_rows;
        self.overheads.forget();
        self.search.resize(n_rows);
        match &mut self.runtimes {
            Some(runtimes) => {
                runtimes.predict(secs);
                self.search.predict_secs(|j| runtimes.secs(j));
            }
            None => self.search.predict_secs(|j| secs[j]),
        }
    }
}

/// Which preparations have run, and which have only failed.
struct Preparations {
    of_pipelines: Vec<usize>,
    /// Of each preparation: whether some pipeline of it has run, and how many families have failed.
    of: Vec<(bool, usize)>,
}

impl Preparations {
    fn new(of_pipelines: Vec<usize>) -> Self {
        let n = of_pipelines.iter().max().map_or(0, |p| p + 1);
        Self { of_pipelines, of: vec![(false, 0); n] }
    }

    /// The pipelines of preparations that these observations show to be dead.
    fn dead_after(&mut self, observations: &[Observation]) -> Vec<usize> {
        let preparation = |seen: &Observation| self.of_pipelines[seen.pipeline];
        for seen in observations.iter().filter(|o| o.secs.is_some()) {
            self.of[preparation(seen)].0 = true;
        }
        let failed = observations.iter().filter(|o| o.secs.is_none());
        let mut touched: Vec<usize> = failed.map(preparation).collect();
        touched.sort_unstable();
        touched.dedup();
        for &p in &touched {
            self.of[p].1 += 1;
        }
        touched.retain(|&p| !self.of[p].0 && self.of[p].1 >= DEAD_AFTER);
        let is_dead = |&j: &usize| touched.contains(&self.of_pipelines[j]);
        if touched.is_empty() {
            return Vec::new();
        }
        (0..self.of_pipelines.len()).filter(is_dead).collect()
    }
}
