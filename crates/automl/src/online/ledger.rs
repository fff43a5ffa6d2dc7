//! What a search has done so far: pipelines by what became of them, seconds by what they went to.

use pitchpipe_learn::{Effort, FitError};

use super::TimeSpent;

/// The books of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) counts: Counts,
    pub(crate) time_spent: Vec<TimeSpent>,
}

/// How many pipelines met what end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) n_started: usize,
    pub(crate) n_evaluated: usize,
    pub(crate) n_failed: usize,
    pub(crate) n_out_of_time: usize,
    pub(crate) first_failure: Option<FitError>,
}

impl Ledger {
    pub(crate) fn spend(&mut self, what: &str, secs: f64) {
        match self.time_spent.iter_mut().find(|spent| spent.what == what) {
            Some(spent) => spent.secs += secs,
            None => self.time_spent.push(TimeSpent { what: what.to_owned(), secs }),
        }
    }

    pub(crate) fn spent(&self, what: &str) -> f64 {
        self.time_spent.iter().filter(|spent| spent.what == what).map(|spent| spent.secs).sum()
    }

    /// Counts what work was spent on.
    pub(crate) fn spend_effort(&mut self, effort: &Effort) {
        self.spend("preparation", effort.preparation_secs);
        for &(name, secs) in &effort.estimator_secs {
            self.spend(name, secs);
        }
    }
}
