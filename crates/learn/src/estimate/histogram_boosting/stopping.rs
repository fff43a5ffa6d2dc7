//! Early stopping: rows that are held out say after which round no more is gained.

use crate::Stream;

/// One row in so many is held out.
const ONE_IN: u64 = 10;

/// The rows held out, and how well the rounds did on them.
pub(super) struct Stopping {
    patience: usize,
    /// Ascending.
    rows: Vec<u32>,
    losses: Vec<f64>,
    n_best: usize,
}

impl Stopping {
    /// Holds out a tenth of so many rows; nothing where there is no end to patience, or so few rows that none or all would be
    /// held out: a loss over no rows is always the same.
    pub(super) fn new(patience: usize, n_rows: usize, stream: Stream) -> Option<Self> {
        if patience == 0 {
            return None;
        }
        let stream = stream.named("held out");
        let is_held_out = |row: &u32| stream.child(u64::from(*row)).key() % ONE_IN == 0;
        let rows: Vec<u32> = (0..n_rows as u32).filter(is_held_out).collect();
        if rows.is_empty() || rows.len() == n_rows {
            return None;
        }
        Some(Self { patience, rows, losses: Vec::new(), n_best: 0 })
    }

    /// The rows held out.
    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The other rows, of so many.
    pub(super) fn others(&self, n_rows: u32) -> impl Iterator<Item = u32> + '_ {
        let mut held_out = self.rows.iter().copied().peekable();
        (0..n_rows).filter(move |&row| held_out.next_if_eq(&row).is_none())
    }

    /// Takes in the loss after another round.
    pub(super) fn note(&mut self, loss: f64) {
        let best = self.n_best.checked_sub(1).map_or(f64::INFINITY, |at| self.losses[at]);
        self.losses.push(loss);
        // The first round stays in any case.
        if loss < best || self.n_best == 0 {
            self.n_best = self.losses.len();
        }
    }

    /// How many rounds are worth keeping.
    pub(super) fn n_best(&self) -> usize {
        self.n_best
    }

    /// Whether there has been no gain for too long.
    pub(super) fn is_over(&self) -> bool {
        self.losses.len() >= self.n_best + self.patience
    }
}
