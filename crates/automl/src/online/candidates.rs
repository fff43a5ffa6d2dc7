//! What an ensemble is chosen among: a picture of the library, which can be looked at while the search goes on.

use std::sync::Arc;
use std::time::Instant;

use pitchpipe_table::Labels;

use super::library::{Learner, Rule};
use crate::ensemble::{
    Combination, GreedySettings, Judge, Selection, majority, select, vote, vote_shares,
};
use crate::scores::{OutOfFold, Scores};

/// The candidates for an ensemble, best first, and the rows that they are judged on.
pub(crate) struct Candidates {
    keys: Vec<usize>,
    probabilities: Vec<Arc<Vec<f32>>>,
    labels: Vec<Arc<Vec<u32>>>,
    rule: Arc<Rule>,
    judge: Arc<Judge>,
    combination: Combination,
    settings: GreedySettings,
}

/// An ensemble of them.
pub(crate) struct Chosen {
    /// By the learners' keys.
    pub(crate) selection: Selection,
    pub(crate) scores: Scores,
    pub(crate) n_candidates: usize,
    /// What choosing it took.
    pub(crate) secs: f64,
}

impl Candidates {
    pub(crate) fn of(
        learners: &[&Learner],
        rule: Arc<Rule>,
        judge: Arc<Judge>,
        combination: Combination,
        seed: u64,
        bag_share: f64,
    ) -> Self {
        Self {
            keys: learners.iter().map(|l| l.key()).collect(),
            probabilities: learners.iter().map(|l| Arc::clone(&l.probabilities)).collect(),
            labels: learners.iter().map(|l| Arc::clone(&l.labels)).collect(),
            rule,
            judge,
            combination,
            settings: GreedySettings { seed, bag_share, ..GreedySettings::default() },
        }
    }

    /// Chooses an ensemble, as far as the time allows.
    pub(crate) fn choose(&self, deadline: Option<Instant>) -> Chosen {
        let start = Instant::now();
        let positions = match self.combination {
            Combination::Vote => {
                let labels: Vec<&[u32]> = self.labels.iter().map(|l| l.as_slice()).collect();
                vote(&labels)
            }
            Combination::Average => {
                let candidates: Vec<&[f32]> =
                    self.probabilities.iter().map(|p| p.as_slice()).collect();
                let is_over = || deadline.is_some_and(|d| Instant::now() >= d);
                select(&self.judge, &candidates, &self.settings, &is_over)
            }
        };
        let scores = self.out_of_fold(&positions.weights).scores();
        let weights = positions.weights.iter().map(|&(at, w)| (self.keys[at], w));
        Chosen {
            selection: Selection { weights: weights.collect(), loss: positions.loss },
            scores,
            n_candidates: self.keys.len(),
            secs: start.elapsed().as_secs_f64(),
        }
    }

    /// What an ensemble of the learners at these positions says of the rows that it is judged by.
    pub(crate) fn out_of_fold(&self, weights: &[(usize, f64)]) -> OutOfFold {
        let member = |&(at, weight): &(usize, f64)| Voice {
            weight,
            probabilities: &self.probabilities[at],
            labels: &self.labels[at],
        };
        let members: Vec<Voice<'_>> = weights.iter().map(member).collect();
        together(&members, self.combination, &self.rule)
    }
}

/// What one base learner says of some rows.
pub(crate) struct Voice<'a> {
    pub(crate) weight: f64,
    /// Row-major.
    pub(crate) probabilities: &'a [f32],
    /// Native decisions.
    pub(crate) labels: &'a [u32],
}

/// What base learners, heaviest first, say together of the rows of a rule.
pub(crate) fn together(members: &[Voice<'_>], combination: Combination, rule: &Rule) -> OutOfFold {
    let Rule { truth, decision, priors, .. } = rule;
    let n_classes = truth.n_classes();
    let mut probabilities = vec![0.0; truth.len() * n_classes];
    match combination {
        Combination::Average => {
            for member in members {
                let sums = probabilities.iter_mut().zip(member.probabilities);
                sums.for_each(|(m, &p)| *m += member.weight * f64::from(p));
            }
            OutOfFold::decided(truth.clone(), *decision, probabilities, priors)
        }
        Combination::Vote => {
            let voted: Vec<u32> = (0..truth.len())
                .map(|row| {
                    let votes: Vec<u32> = members.iter().map(|m| m.labels[row]).collect();
                    vote_shares(&votes, &mut probabilities[row * n_classes..][..n_classes]);
                    majority(&votes, n_classes)
                })
                .collect();
            let labels = Labels::from_codes(voted, n_classes);
            OutOfFold { truth: truth.clone(), labels, probabilities }
        }
    }
}
