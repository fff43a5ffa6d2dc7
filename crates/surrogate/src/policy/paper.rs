//! The paper's own policies: design, predict, exploit; once, or in rounds of doubling time targets
//! (paper, Algorithms 2 and 3).

use std::collections::VecDeque;

use ndarray::{Array2, ArrayView2};

use super::overhead::{Overhead, Overheads};
use super::vectors::{RankRule, Vectors};
use crate::design::{DesignVectors, Scalarization, by_time, random_by_time, relax};
use crate::error::SurrogateError;
use crate::least_squares::least_squares;
use crate::policy::{Next, Observation, Policy, Step};

/// How the paper's systems spend a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounds {
    /// One round: this share of the budget for the design, the rest for the best-predicted pipelines.
    Once {
        /// Share of the budget the design may use.
        design_share: f64,
    },
    /// Rounds whose time target doubles: an eighth of a round for its design, as in the published code,
    /// then the best-predicted pipelines to the round's end; the rank grows by one where a round improved
    /// on the last.
    Doubling,
}

/// Share of a round its design may use, and the longest a pipeline in it may take.
const DESIGN_SHARE: f64 = 1.0 / 8.0;

/// The first target is at least the time of this many of the fastest pipelines per rank.
const FASTEST_PER_RANK: usize = 5;

/// How the design of a round is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DesignRule {
    /// Greedy, time-constrained (Algorithm 5).
    #[default]
    Greedy,
    /// The same with each vector over the deviation with which its pipeline is predicted (Algorithm 9): one for each.
    Weighted(Vec<f64>),
    /// The relaxation, rounded: Oboe's. For few pipelines only.
    Convex,
    /// Pipelines at random: the control.
    Random {
        /// Decides which.
        seed: u64,
    },
}

/// What follows the last round whose target is within half of the budget, where the paper's loop ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastRound {
    /// One more, of whatever time is left.
    #[default]
    Rest,
    /// Nothing (Algorithm 3).
    None,
}

/// What the loop does in one way or another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaperSettings {
    /// How designs are made.
    pub design: DesignRule,
    /// Which rank grows.
    pub rank_rule: RankRule,
    /// The first time target, in seconds; by the rule of the published code where there is none.
    pub first_target_secs: Option<f64>,
    /// Whether the time beyond the last round is used.
    pub last_round: LastRound,
    /// How many of the best-predicted pipelines a round is to have run: the set T of Algorithm 2, of which the ensemble is
    /// made. As many as the time allows, and an ensemble of all that was run, where there is none.
    pub n_best: Option<usize>,
    /// What a step costs beyond its pipeline's own seconds.
    pub overhead: Overhead,
}

/// The paper's loop with least squares on embeddings.
pub struct PaperLoop {
    vectors: Vectors,
    settings: PaperSettings,
    overheads: Overheads,
    n_designs: u64,
    /// Predicted, then measured seconds; infinite where a pipeline cannot be run.
    secs: Vec<f64>,
    rounds: Rounds,
    budget_secs: f64,
    first_target_secs: f64,
    target_secs: f64,
    round_start_left: f64,
    phase: Phase,
    queue: VecDeque<usize>,
    /// What was seen, each pipeline once: on most rows.
    seen: Vec<(usize, f64)>,
    /// The rows that each pipeline was last begun on, zero where it never was.
    begun_on: Vec<usize>,
    n_rows: usize,
    n_pending: usize,
    predictor: Option<Predictor>,
    /// The best-predicted pipelines of the present round, where only so many are asked for.
    elect: Vec<usize>,
    /// Whether the present round takes all the time that is left, and how many pipelines were begun in it.
    is_last: bool,
    n_begun: usize,
    /// The ensemble's validation error, where one is made.
    ensemble_error: Option<f64>,
    best_before: f64,
}

/// Errors of all pipelines from those observed.
pub type Predictor = Box<dyn Fn(&[(usize, f64)]) -> Result<Vec<f64>, SurrogateError> + Send>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The pipeline that is best on average runs first, so that there is always an answer.
    Baseline,
    Design,
    Exploit,
    Done,
}

impl PaperLoop {
    /// `embeddings`: the largest rank there is x pipelines, of which `rank` rows are used at first. `secs`:
    /// predicted seconds, `None` where a pipeline cannot be run. `baseline`: a pipeline to run first, unless that is
    /// expected to take more than an eighth of the budget: it is there so that there is an answer early.
    pub fn new(
        embeddings: ArrayView2<f32>,
        rank: usize,
        secs: &[Option<f64>],
        budget_secs: f64,
        rounds: Rounds,
        baseline: Option<usize>,
    ) -> Result<Self, SurrogateError> {
        let vectors = Vectors::nested(embeddings.to_owned(), rank)?;
        Self::with(vectors, secs, budget_secs, rounds, baseline, PaperSettings::default())
    }

    /// The same with other vectors or settings.
    pub fn with(
        vectors: Vectors,
        secs: &[Option<f64>],
        budget_secs: f64,
        rounds: Rounds,
        baseline: Option<usize>,
        settings: PaperSettings,
    ) -> Result<Self, SurrogateError> {
        let (rank, n) = vectors.y().dim();
        if secs.len() != n {
            return Err(SurrogateError::Size {
                what: "predicted runtimes",
                wanted: n,
                got: secs.len(),
            });
        }
        if let DesignRule::Weighted(deviations) = &settings.design
            && deviations.len() != n
        {
            let (wanted, got) = (n, deviations.len());
            return Err(SurrogateError::Size { what: "standard deviations", wanted, got });
        }
        let (first, n_best) = (settings.first_target_secs, settings.n_best);
        if let Some(value) = first.filter(|t| !(t.is_finite() && *t > 0.0)) {
            let (name, wanted) = ("first time target", "above zero");
            return Err(SurrogateError::Setting { name, value, wanted });
        }
        if n_best == Some(0) {
            let (name, wanted) = ("number of best-predicted pipelines", "at least 1");
            return Err(SurrogateError::Setting { name, value: 0.0, wanted });
        }
        let overheads = Overheads::new(settings.overhead);
        let secs: Vec<f64> = secs.iter().map(|t| t.unwrap_or(f64::INFINITY)).collect();
        let target_secs = match rounds {
            Rounds::Once { .. } => budget_secs,
            Rounds::Doubling => {
                let planned: Vec<f64> = secs.iter().map(|&t| overheads.planned(t)).collect();
                let rule = || first_target(&planned, rank, budget_secs);
                first.map_or_else(rule, |secs| secs.min(budget_secs))
            }
        };
        Ok(Self {
            vectors,
            settings,
            overheads,
            n_designs: 0,
            rounds,
            budget_secs,
            first_target_secs: target_secs,
            target_secs,
            round_start_left: budget_secs,
            phase: if baseline.is_some() { Phase::Baseline } else { Phase::Design },
            queue: baseline
                .into_iter()
                .filter(|&j| overheads.planned(secs[j]) <= DESIGN_SHARE * budget_secs)
                .collect(),
            seen: Vec::new(),
            begun_on: vec![0; n],
            n_rows: 1,
            n_pending: 0,
            predictor: None,
            elect: Vec::new(),
            is_last: false,
            n_begun: 0,
            ensemble_error: None,
            best_before: f64::INFINITY,
            secs,
        })
    }

    /// The same with errors predicted otherwise than by least squares on the embeddings, which then serve
    /// the design alone.
    pub fn predicting(self, predictor: Predictor) -> Self {
        Self { predictor: Some(predictor), ..self }
    }

    /// How many rows of the embeddings are in use.
    pub fn rank(&self) -> usize {
        self.vectors.ranks().datasets
    }

    /// What a pipeline is planned with.
    fn planned(&self, pipeline: usize) -> f64 {
        self.overheads.planned(self.secs[pipeline])
    }

    /// The time target of the present round.
    pub fn target_secs(&self) -> f64 {
        self.target_secs
    }

    /// Which pipelines may enter the design of this round, and for how long it may run.
    fn design(&mut self, left_secs: f64) -> Result<Vec<usize>, SurrogateError> {
        let (limit, longest) = match self.rounds {
            Rounds::Once { design_share } => (design_share * self.budget_secs, f64::INFINITY),
            Rounds::Doubling => {
                let limit = DESIGN_SHARE * self.target_secs;
                (limit, limit)
            }
        };
        let limit = limit.min(left_secs);
        let allowed: Vec<usize> = (0..self.secs.len())
            .filter(|&j| self.secs[j].is_finite() && self.planned(j) <= longest)
            .collect();
        if allowed.is_empty() {
            return Ok(Vec::new());
        }
        let all = self.vectors.y();
        let y = Array2::from_shape_fn((all.nrows(), allowed.len()), |(i, c)| all[(i, allowed[c])]);
        let secs: Vec<f64> = allowed.iter().map(|&j| self.planned(j)).collect();
        let design = match &self.settings.design {
            DesignRule::Greedy => by_time(&DesignVectors::new(y.view())?, &secs, limit)?,
            DesignRule::Weighted(deviations) => {
                let own: Vec<f64> = allowed.iter().map(|&j| deviations[j]).collect();
                by_time(&DesignVectors::weighted(y.view(), &own)?, &secs, limit)?
            }
            DesignRule::Convex => match relax(y.view(), &secs, limit, Scalarization::D) {
                Ok(relaxed) => relaxed.round(&secs, limit),
                // Where what fits the round does not span the space, the relaxation has no optimum.
                Err(SurrogateError::NotConverged { .. }) => {
                    by_time(&DesignVectors::new(y.view())?, &secs, limit)?
                }
                Err(other) => return Err(other),
            },
            DesignRule::Random { seed } => {
                random_by_time(&secs, limit, true, seed.wrapping_add(self.n_designs))?
            }
        };
        self.n_designs += 1;
        let chosen = design.pipelines.into_iter().map(|c| allowed[c]);
        Ok(chosen.filter(|&j| self.begun_on[j] == 0).collect())
    }

    /// Whether a pipeline can be run and has not been, on the present rows.
    fn is_fresh(&self, pipeline: usize) -> bool {
        self.begun_on[pipeline] < self.n_rows && self.secs[pipeline].is_finite()
    }

    /// All pipelines that can be run, best-predicted first.
    fn ranking(&self) -> Result<Vec<usize>, SurrogateError> {
        let predicted = match &self.predictor {
            Some(predict) => predict(&self.seen)?,
            None => least_squares(self.vectors.y(), &self.seen)?,
        };
        let mut order: Vec<usize> =
            (0..self.secs.len()).filter(|&j| self.secs[j].is_finite()).collect();
        order.sort_by(|&a, &b| predicted[a].total_cmp(&predicted[b]));
        Ok(order)
    }

    /// The best-predicted pipelines whose times together stay within this round's share.
    fn exploitation(&mut self, left_secs: f64) -> Result<Vec<usize>, SurrogateError> {
        if self.seen.is_empty() {
            return Ok(Vec::new());
        }
        let mut order = self.ranking()?;
        if let Some(n) = self.settings.n_best {
            order.truncate(n);
            self.elect.clone_from(&order);
        }
        order.retain(|&j| self.is_fresh(j));
        let allowed = match self.rounds {
            Rounds::Once { .. } => left_secs,
            // To the end of the round: what the design left of the target.
            Rounds::Doubling => {
                left_secs.min(self.target_secs - (self.round_start_left - left_secs))
            }
        };
        let mut used = 0.0;
        let mut chosen = Vec::new();
        for j in order {
            if used + self.planned(j) <= allowed {
                used += self.planned(j);
                chosen.push(j);
            }
        }
        Ok(chosen)
    }

    /// Moves on when the queue of the present phase is empty.
    fn advance(&mut self, left_secs: f64) -> Result<(), SurrogateError> {
        match self.phase {
            Phase::Baseline => {
                self.round_start_left = left_secs;
                self.phase = Phase::Design;
                self.queue = self.design(left_secs)?.into();
            }
            Phase::Design => {
                self.phase = Phase::Exploit;
                self.queue = self.exploitation(left_secs)?.into();
            }
            Phase::Exploit => self.next_round(left_secs)?,
            Phase::Done => {}
        }
        Ok(())
    }

    fn next_round(&mut self, left_secs: f64) -> Result<(), SurrogateError> {
        // The paper's rule looks at the ensemble; where none is made, the best pipeline stands for it.
        let best = self
            .ensemble_error
            .unwrap_or_else(|| self.seen.iter().map(|s| s.1).fold(f64::INFINITY, f64::min));
        if best < self.best_before {
            self.vectors.grow(self.settings.rank_rule)?;
        }
        self.best_before = best;
        if self.rounds != Rounds::Doubling {
            self.phase = Phase::Done;
            return Ok(());
        }
        // A last round takes whatever is left, rather than leave half the budget unused. So does one after no time was
        // left, where there is some again on other rows: nothing doubled is nothing.
        let doubled = 2.0 * self.target_secs;
        // Where the best-predicted have all been run, a round like the last would bring nothing either.
        let is_idle = self.settings.n_best.is_some() && self.is_last && self.n_begun == 0;
        if is_idle {
            self.phase = Phase::Done;
            return Ok(());
        }
        let is_past_half = doubled > self.budget_secs / 2.0 && !self.seen.is_empty();
        if self.settings.last_round == LastRound::None && is_past_half {
            self.phase = Phase::Done;
            return Ok(());
        }
        let is_last = doubled >= left_secs || doubled <= 0.0;
        self.target_secs = if is_last { left_secs } else { doubled };
        (self.is_last, self.n_begun) = (is_last, 0);
        self.round_start_left = left_secs;
        let fresh = (0..self.secs.len()).filter(|&j| self.is_fresh(j));
        let fastest = fresh.min_by(|&a, &b| self.secs[a].total_cmp(&self.secs[b]));
        // As it is planned with: what cannot be planned would leave every further round empty.
        let Some(fastest) = fastest.filter(|&j| self.planned(j) <= left_secs) else {
            self.phase = Phase::Done;
            return Ok(());
        };
        self.phase = Phase::Design;
        self.queue = self.design(left_secs)?.into();
        // Where nothing was seen there is nothing to predict by, and no longer round is to come: the fastest runs.
        if is_last && self.seen.is_empty() && self.queue.is_empty() {
            self.queue.push_back(fastest);
        }
        Ok(())
    }

    /// Takes in what became of pipelines, asked for or not.
    fn take_in(&mut self, observations: &[Observation]) {
        for &Observation { pipeline, error, secs, n_rows } in observations {
            self.begun_on[pipeline] = self.begun_on[pipeline].max(n_rows);
            if let (Some(secs), true) = (secs, n_rows == self.n_rows) {
                self.secs[pipeline] = secs;
            }
            let Some(error) = error else {
                // Neither on these rows nor on more of them.
                self.secs[pipeline] = f64::INFINITY;
                continue;
            };
            match self.seen.iter_mut().find(|s| s.0 == pipeline) {
                Some(seen) => seen.1 = error,
                None => self.seen.push((pipeline, error)),
            }
        }
    }
}

/// `max(2^floor(log2(budget / 8)), 2^floor(log2(time of the 5 k fastest)))`, at most the budget.
fn first_target(secs: &[f64], rank: usize, budget_secs: f64) -> f64 {
    let power = |secs: f64| 2.0_f64.powf(secs.max(1e-3).log2().floor());
    let mut sorted: Vec<f64> = secs.iter().copied().filter(|t| t.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let fastest: f64 = sorted.iter().take(FASTEST_PER_RANK * rank).sum();
    power(budget_secs / 8.0).max(power(fastest)).min(budget_secs)
}

impl Policy for PaperLoop {
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        // Less than nothing, where what is pending takes longer than was expected.
        let left_secs = left_secs.max(0.0);
        if self.phase == Phase::Design && self.queue.is_empty() && self.seen.is_empty() {
            self.round_start_left = left_secs;
            self.queue = self.design(left_secs)?.into();
        }
        loop {
            while let Some(pipeline) = self.queue.pop_front() {
                if self.is_fresh(pipeline) && self.planned(pipeline) <= left_secs {
                    self.begun_on[pipeline] = self.n_rows;
                    self.n_begun += 1;
                    self.n_pending += 1;
                    return Ok(Next::Run(Step::single(pipeline, self.secs[pipeline])));
                }
            }
            // A phase begins when all of the one before has come back.
            if self.phase == Phase::Done || self.n_pending > 0 {
                return Ok(Next::nothing(self.n_pending));
            }
            self.advance(left_secs)?;
        }
    }

    fn observe(&mut self, _: &Step, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.n_pending = self.n_pending.saturating_sub(1);
        let secs = observations.iter().filter_map(|o| o.secs);
        self.overheads.note_step(secs.fold(0.0, f64::max));
        self.take_in(observations);
        Ok(())
    }

    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.take_in(observations);
        Ok(())
    }

    fn passed(&mut self, work_secs: f64) {
        self.overheads.note_passed(work_secs);
    }

    fn ensembled(&mut self, error: f64) {
        self.ensemble_error = Some(error);
    }

    fn voters(&self) -> Option<Vec<usize>> {
        (!self.elect.is_empty()).then(|| self.elect.clone())
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        self.n_rows = n_rows;
        for (old, &new) in self.secs.iter_mut().zip(secs) {
            if old.is_finite() {
                *old = new;
            }
        }
        // An ensemble of other rows is no measure of one of these.
        (self.ensemble_error, self.best_before) = (None, f64::INFINITY);
        self.is_last = false;
        if self.phase == Phase::Done && self.rounds == Rounds::Doubling {
            self.phase = Phase::Exploit;
            if self.settings.last_round == LastRound::None {
                // Rounds begin again, and end again at half of the budget.
                self.target_secs = self.first_target_secs / 2.0;
            }
        }
    }
}
