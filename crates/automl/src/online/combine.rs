//! The ensemble of the candidate learners found so far, ready at any instant.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pitchpipe_table::Dependence;

use super::WeightedPipeline;
use super::candidates::{Candidates, Chosen, Voice, together};
use super::honest::Evidence;
use super::library::{Learner, Library, Rule};
use crate::ensemble::{
    Combination, GreedySettings, Judge, Selection, Thinned, Timed, thin, within,
};
use crate::scores::{OutOfFold, Scores};

/// How many candidate learners an ensemble is chosen among.
pub(crate) const LIBRARY: usize = 40;

/// Learners that were validated again are judged with less noise: ensembles of these are chosen from larger bags
/// (docs/decisions/0060-online.md).
const CONFIRMED_BAG_SHARE: f64 = 0.7;

/// Bytes that are serialised, compressed and written in a second, at the least.
const BYTES_A_SECOND: f64 = 40e6;

/// The candidate learners on one set of rows, and the ensemble of them.
pub(crate) struct Combiner {
    pub(crate) library: Library,
    pub(crate) selection: Selection,
    /// Of the ensemble on the rows that it was chosen by: good for choosing, and flattering.
    pub(crate) scores: Option<Scores>,
    pub(crate) evidence: Evidence,
    judge: Arc<Judge>,
    /// Of the rows that it judges by.
    dependence: Dependence,
    bag_share: f64,
    rule: Arc<Rule>,
    combination: Combination,
    seed: u64,
    size_limit: u64,
    /// The learners that the ensemble is made of, where not all are candidates.
    voters: Option<BTreeSet<usize>>,
    is_stale: bool,
    /// Whether somebody is at it, while the search goes on.
    is_being_made: bool,
    /// Seconds that the last update took for each candidate.
    secs_each: f64,
}

impl Combiner {
    /// Learners are kept in `memory` bytes and the model in `size_limit`; `dependence` is of the rows judged by.
    pub(crate) fn new(
        rule: Rule,
        dependence: Dependence,
        combination: Combination,
        seed: u64,
        memory: u64,
        size_limit: u64,
    ) -> Self {
        Self {
            library: Library::new(LIBRARY, memory),
            selection: Selection::default(),
            scores: None,
            evidence: Evidence::new(rule.clone(), combination, dependence.clone(), seed),
            dependence,
            judge: Arc::new(Judge::new(&rule.truth, &rule.priors, rule.metric)),
            bag_share: GreedySettings::default().bag_share,
            rule: Arc::new(rule),
            combination,
            seed,
            size_limit,
            voters: None,
            is_stale: false,
            is_being_made: false,
            secs_each: 0.0,
        }
    }

    /// From here on the ensemble is made of these, as soon as any of them is there.
    pub(crate) fn elect(&mut self, voters: Option<Vec<usize>>) {
        let voters = voters.map(|keys| keys.into_iter().collect());
        self.is_stale |= voters != self.voters;
        self.voters = voters;
    }

    /// How base learners are combined.
    pub(crate) fn combination(&self) -> Combination {
        self.combination
    }

    /// How learners and ensembles are scored.
    pub(crate) fn rule(&self) -> &Arc<Rule> {
        &self.rule
    }

    /// Takes in a learner.
    pub(crate) fn add(&mut self, learner: Learner) {
        self.evidence.add(&learner);
        self.is_stale |= self.library.add(learner);
    }

    /// From here on the learners that were validated again are judged by that, and the others are gone.
    pub(crate) fn judge_again(&mut self) {
        self.library.judge_again(&self.rule);
        self.library.learners().iter().for_each(|learner| self.evidence.confirm(learner));
        self.bag_share = CONFIRMED_BAG_SHARE;
        self.is_stale = true;
    }

    /// Lets go of the worst learners, as memory is short.
    pub(crate) fn shrink(&mut self) {
        self.library.shrink();
        self.is_stale = true;
    }

    /// Whether there is room for so many times the models there are, in memory and in the file.
    pub(crate) fn has_room_for(&self, growth: f64) -> bool {
        growth * self.chosen_bytes() as f64 <= self.size_limit as f64
            && self.library.has_room_for(growth)
    }

    /// The ensemble's error by the metric asked for.
    pub(crate) fn error(&self) -> Option<f64> {
        self.scores.as_ref().map(|scores| scores.error(self.rule.metric))
    }

    /// How many rows it is judged by.
    pub(crate) fn n_judged(&self) -> usize {
        self.rule.truth.len()
    }

    /// Seconds that bringing the ensemble up to date is expected to take.
    pub(crate) fn expected_secs(&self) -> f64 {
        let is_due = self.is_stale || self.is_being_made;
        if is_due { self.secs_each * self.library.learners().len() as f64 } else { 0.0 }
    }

    /// Seconds that scoring the ensemble honestly would take, had it all the time it wants.
    pub(crate) fn scoring_secs(&self) -> f64 {
        self.evidence.n_updates() * self.secs_each * self.library.learners().len() as f64
    }

    /// The time that writing the model is expected to take.
    pub(crate) fn write_time(&self) -> Duration {
        Duration::from_secs_f64(self.chosen_bytes() as f64 / BYTES_A_SECOND)
    }

    /// The base learners of the ensemble as it was last made with their weights, heaviest first.
    pub(crate) fn weighted_learners(&self) -> impl Iterator<Item = (&Learner, f64)> {
        let learners = self.library.learners();
        let find = |key: usize| learners.iter().find(move |l| l.key() == key);
        self.selection.weights.iter().filter_map(move |&(key, weight)| Some((find(key)?, weight)))
    }

    /// Bytes of the models of the ensemble in a file, before compression.
    pub(crate) fn chosen_bytes(&self) -> u64 {
        self.weighted_learners().map(|(learner, _)| learner.n_bytes).sum()
    }

    /// The pipelines of the base learners.
    pub(crate) fn weighted_pipelines(&self) -> Vec<WeightedPipeline> {
        let weighted = |(learner, weight): (&Learner, f64)| WeightedPipeline {
            pipeline: learner.pipeline.clone(),
            weight,
        };
        self.weighted_learners().map(weighted).collect()
    }

    /// Brings the ensemble up to date, as far as the time allows; gives the seconds it took.
    pub(crate) fn update(&mut self, deadline: Option<Instant>) -> f64 {
        match self.begin() {
            Some(candidates) => {
                let chosen = candidates.choose(deadline);
                self.is_being_made = false;
                self.take(chosen)
            }
            None => 0.0,
        }
    }

    /// What an up-to-date ensemble is to be chosen among, for whoever does that while the search goes on; nothing where
    /// it is up to date, or somebody is at it.
    pub(crate) fn begin(&mut self) -> Option<Candidates> {
        // Memory can be short before there is a single learner, and an ensemble of none is none.
        if self.is_being_made || self.library.learners().is_empty() || !self.is_stale {
            return None;
        }
        (self.is_stale, self.is_being_made) = (false, true);
        Some(self.candidates())
    }

    /// Leaves out base learners where all of them would take more bytes than a model may; gives how many are left of how
    /// many. The scores are those of the ensemble that is left.
    pub(crate) fn keep_within_limit(&mut self) -> (usize, usize) {
        let n_chosen = self.selection.weights.len();
        let learners: Vec<(usize, f64, u64)> =
            self.weighted_learners().map(|(l, weight)| (l.key(), weight, l.n_bytes)).collect();
        let left = within(self.size_limit, &learners);
        let n_left = left.len();
        if n_left < n_chosen {
            self.selection.weights = left;
            self.scores = Some(self.predicted().scores());
        }
        (n_left, n_chosen)
    }

    /// Leaves out base learners that take time and give nothing, given the seconds that each takes for a row, where that is known.
    /// The scores are those of the ensemble that is left. A vote is left as it is.
    pub(crate) fn leave_out_slow(
        &mut self,
        secs_of: impl Fn(&Learner) -> Option<f64>,
    ) -> Option<Thinned> {
        if self.combination == Combination::Vote {
            return None;
        }
        let learners = self.weighted_learners();
        let timed: Vec<(&Learner, f64, Option<f64>)> =
            learners.map(|(learner, weight)| (learner, weight, secs_of(learner))).collect();
        let members: Vec<Timed<'_>> = timed
            .iter()
            .map(|&(l, weight, secs)| Timed { probabilities: &l.probabilities, weight, secs })
            .collect();
        let thinned = thin(&self.judge, &self.rule.truth, &self.dependence, &members);
        let left = timed.iter().zip(&thinned.stays).filter(|(_, stays)| **stays);
        let left: Vec<(usize, f64)> = left.map(|((l, weight, _), _)| (l.key(), *weight)).collect();
        let total: f64 = left.iter().map(|(_, weight)| weight).sum();
        if left.len() < timed.len() {
            self.selection.weights = left.into_iter().map(|(key, w)| (key, w / total)).collect();
            self.scores = Some(self.predicted().scores());
        }
        Some(thinned)
    }

    /// Takes in the ensemble that was chosen meanwhile; gives the seconds it took. Where a base learner has been let go
    /// of since, another is chosen here.
    pub(crate) fn finish(&mut self, chosen: Chosen, deadline: Option<Instant>) -> f64 {
        self.is_being_made = false;
        let is_there = |key: usize| self.library.learners().iter().any(|l| l.key() == key);
        if chosen.selection.weights.iter().all(|&(key, _)| is_there(key)) {
            return self.take(chosen);
        }
        self.is_stale = true;
        chosen.secs + self.update(deadline)
    }

    fn take(&mut self, chosen: Chosen) -> f64 {
        self.scores = Some(chosen.scores);
        self.selection = chosen.selection;
        self.secs_each = chosen.secs / chosen.n_candidates.max(1) as f64;
        chosen.secs
    }

    fn candidates(&self) -> Candidates {
        let Self { combination, seed, bag_share, .. } = *self;
        let (rule, judge) = (Arc::clone(&self.rule), Arc::clone(&self.judge));
        let learners = self.candidate_learners();
        Candidates::of(&learners, rule, judge, combination, seed, bag_share)
    }

    /// Those that may be base learners, best first.
    fn candidate_learners(&self) -> Vec<&Learner> {
        let all = self.library.learners();
        let Some(voters) = &self.voters else { return all.iter().collect() };
        let elected: Vec<&Learner> = all.iter().filter(|l| voters.contains(&l.key())).collect();
        if elected.is_empty() { all.iter().collect() } else { elected }
    }

    /// What the ensemble as it was last made says of the rows that it is judged by.
    pub(crate) fn predicted(&self) -> OutOfFold {
        let voice = |(learner, weight): (&'_ Learner, f64)| {
            (weight, Arc::clone(&learner.probabilities), Arc::clone(&learner.labels))
        };
        let said: Vec<_> = self.weighted_learners().map(voice).collect();
        let members: Vec<Voice<'_>> = said
            .iter()
            .map(|(weight, probabilities, labels)| Voice { weight: *weight, probabilities, labels })
            .collect();
        together(&members, self.combination, &self.rule)
    }

    /// The base learners with their weights, heaviest first, taken out of the library, and all that was tried. The other
    /// learners are freed elsewhere: that takes a while, and time is short.
    pub(crate) fn into_parts(self) -> (Vec<(Learner, f64)>, Evidence) {
        let mut learners: Vec<Option<Learner>> =
            self.library.into_learners().into_iter().map(Some).collect();
        let mut taken = Vec::new();
        for (key, weight) in self.selection.weights {
            let found = learners.iter_mut().find(|l| l.as_ref().is_some_and(|l| l.key() == key));
            taken.extend(found.and_then(Option::take).map(|learner| (learner, weight)));
        }
        free_elsewhere(learners);
        (taken, self.evidence)
    }
}

/// Frees something on a thread of its own; here, if there are no threads.
pub(crate) fn free_elsewhere<T: Send + 'static>(something: T) {
    let freed = std::thread::Builder::new().name("freeing".into()).spawn(move || drop(something));
    // Whether it was freed there or, without a thread, right here: nothing is left to do.
    drop(freed);
}
