//! What the models of an ensemble prepare alike is prepared once: rows, and what estimators derive from them.

use std::sync::Arc;

use pitchpipe_learn::{Features, FitContext, FitError, FittedPipeline};
use pitchpipe_table::Frame;

use super::BaseLearner;

/// Cells that are held for models to come, by each thread: with many columns, rows are prepared again instead.
const MOST_HELD: usize = 1 << 23;

/// Which models of an ensemble prepare rows alike.
pub(super) struct Sharing {
    /// By learner and fold.
    kind_of: Vec<Vec<usize>>,
    /// How many models there are of each kind.
    n_users: Vec<usize>,
}

/// Some rows of a frame, as far as they are prepared.
pub(super) struct Prepared<'a> {
    sharing: &'a Sharing,
    frame: &'a Frame,
    rows: &'a [usize],
    /// By kind: what is held, and how many models have not had it yet.
    held: Vec<(Option<Arc<Features>>, usize)>,
    n_held: usize,
}

impl Sharing {
    pub(super) fn of(learners: &[BaseLearner]) -> Self {
        let (mut kinds, mut n_users): (Vec<&FittedPipeline>, Vec<usize>) = Default::default();
        let mut kind_of_model = |model| {
            let known = kinds.iter().position(|kind| kind.prepares_as(model));
            let kind = known.unwrap_or(kinds.len());
            if known.is_none() {
                kinds.push(model);
                n_users.push(0);
            }
            n_users[kind] += 1;
            kind
        };
        let kind_of =
            learners.iter().map(|l| l.models.iter().map(&mut kind_of_model).collect()).collect();
        Self { kind_of, n_users }
    }

    pub(super) fn prepared<'a>(&'a self, frame: &'a Frame, rows: &'a [usize]) -> Prepared<'a> {
        let held = self.n_users.iter().map(|&n| (None, n)).collect();
        Prepared { sharing: self, frame, rows, held, n_held: 0 }
    }
}

impl Prepared<'_> {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows as a model takes them. Each model asks once.
    pub(super) fn of(
        &mut self,
        learner: usize,
        fold: usize,
        model: &FittedPipeline,
        ctx: &FitContext,
    ) -> Result<Arc<Features>, FitError> {
        let (held, n_left) = &mut self.held[self.sharing.kind_of[learner][fold]];
        *n_left -= 1;
        if let Some(x) = held.take() {
            if *n_left > 0 {
                *held = Some(Arc::clone(&x));
            } else {
                self.n_held -= x.columns().len();
            }
            return Ok(x);
        }
        let x = model.prepare(self.frame, self.rows, ctx)?;
        if *n_left > 0 && self.n_held + x.columns().len() <= MOST_HELD {
            self.n_held += x.columns().len();
            *held = Some(Arc::clone(&x));
        }
        Ok(x)
    }
}
