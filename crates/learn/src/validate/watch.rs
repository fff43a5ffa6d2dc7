//! What each thread is at, for whoever wants to look.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// A window on the threads that evaluate pipelines. Work never waits for whoever looks longer than a copy takes.
#[derive(Debug, Default)]
pub struct Watch {
    threads: Mutex<Vec<Option<Running>>>,
}

/// What a thread is at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Running {
    /// What it does.
    pub activity: Activity,
    /// Which fold it is about; the first is 0.
    pub fold: usize,
    /// Of how many.
    pub n_folds: usize,
    /// Since when.
    pub since: Instant,
}

/// What a thread can be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Columns are imputed, encoded, scaled and reduced.
    Preparing,
    /// A family of estimators is fitted and predicts.
    Fitting {
        /// The kind of estimator.
        estimator: &'static str,
        /// How many settings of it.
        n_settings: usize,
    },
}

impl Watch {
    /// What every thread is at now; `None` for one that waits. Threads that were never used are not there.
    pub fn threads(&self) -> Vec<Option<Running>> {
        self.lock().clone()
    }

    pub(super) fn set(&self, thread: usize, running: Option<Running>) {
        let mut threads = self.lock();
        if threads.len() <= thread {
            threads.resize(thread + 1, None);
        }
        threads[thread] = running;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Running>>> {
        self.threads.lock().expect("nobody panics while holding it")
    }
}
