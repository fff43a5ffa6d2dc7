//! Drafts: the best model so far, handed out now and then while the search goes on.
//!
//! Whoever may be ended without a word, as by memory that cannot be had, keeps the last one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::combine::Combiner;
use super::ledger::Ledger;
use super::memory::has_addresses_for;
use crate::model::Model;

/// A draft is made when this many times as much time has passed as at the last one.
const LATER: f64 = 1.5;

/// A copy of the learners, their file before and after compression, and what the allocator adds, each as large as the
/// models in a file or a few times that.
const BYTES_EACH: u64 = 12;

/// Takes drafts.
#[derive(Clone)]
pub(super) struct Keeper(Arc<dyn Fn(&Model) + Send + Sync>);

impl Keeper {
    pub(super) fn new(keep: impl Fn(&Model) + Send + Sync + 'static) -> Self {
        Self(Arc::new(keep))
    }

    pub(super) fn keep(&self, model: &Model) {
        (self.0)(model);
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

/// Makes a draft and hands it out.
type Make<'a> = Box<dyn Fn(&Combiner, &Ledger, usize) + Send + 'a>;

/// When the next draft is due.
#[derive(Default)]
pub(crate) struct Drafts<'a> {
    make: Option<Make<'a>>,
    next: Duration,
}

impl<'a> Drafts<'a> {
    /// Makes drafts of what candidates, the books and the number of rows say.
    pub(crate) fn new(make: impl Fn(&Combiner, &Ledger, usize) + Send + 'a) -> Self {
        Self { make: Some(Box::new(make)), next: Duration::ZERO }
    }

    /// Makes a draft if one is due and there is memory for it.
    pub(crate) fn make_if_due(
        &mut self,
        elapsed: Duration,
        combiner: &Combiner,
        ledger: &Ledger,
        n_rows: usize,
    ) {
        let Some(make) = &self.make else { return };
        if elapsed >= self.next && has_addresses_for(BYTES_EACH * combiner.chosen_bytes()) {
            make(combiner, ledger, n_rows);
            self.next = elapsed.mul_f64(LATER);
        }
    }
}
