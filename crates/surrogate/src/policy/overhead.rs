//! What a step costs beyond its pipeline's own seconds.
//!
//! Payoff over seconds prefers hundreds of nearly free, nearly equal pipelines where a step costs nothing of its own
//! (ALGORITHMS §14.9).

/// Steps after which the mean is believed.
const ENOUGH: usize = 5;

/// How the loop counts a step's own cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Overhead {
    /// None at all.
    #[default]
    None,
    /// No pipeline is taken to need less than this: for records, which have no overhead to measure.
    Floor {
        /// In seconds.
        secs: f64,
    },
    /// As measured: what steps take beyond the pipelines' own seconds.
    Measured,
}

/// The overhead as it is known so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overheads {
    rule: Overhead,
    passed: f64,
    worked: f64,
    n_steps: usize,
}

impl Overheads {
    pub(super) fn new(rule: Overhead) -> Self {
        Self { rule, ..Self::default() }
    }

    /// Steps took so many seconds of work in all.
    pub(super) fn note_passed(&mut self, work_secs: f64) {
        self.passed += work_secs;
    }

    /// Begins again: steps cost something else from now on.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.rule);
    }

    /// A step has come back after so many seconds of its own.
    pub(super) fn note_step(&mut self, secs: f64) {
        self.worked += secs;
        self.n_steps += 1;
    }

    /// What a pipeline of so many seconds is planned with.
    pub(super) fn planned(&self, secs: f64) -> f64 {
        match self.rule {
            Overhead::None => secs,
            Overhead::Floor { secs: least } => secs.max(least),
            Overhead::Measured => secs + self.measured(),
        }
    }

    fn measured(&self) -> f64 {
        if self.n_steps < ENOUGH {
            return 0.0;
        }
        ((self.passed - self.worked) / self.n_steps as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_beyond_the_work_is_shared_among_the_steps() {
        let mut overheads = Overheads::new(Overhead::Measured);
        for _ in 0..ENOUGH {
            assert_eq!(overheads.planned(0.01), 0.01);
            overheads.note_step(0.01);
            overheads.note_passed(0.05);
        }
        assert!((overheads.planned(0.01) - 0.05).abs() < 1e-9);
        let floor = Overheads::new(Overhead::Floor { secs: 0.1 });
        assert_eq!((floor.planned(0.01), floor.planned(3.0)), (0.1, 3.0));
    }

    #[test]
    fn steps_of_two_workers_share_what_both_spent() {
        let mut overheads = Overheads::new(Overhead::Measured);
        for _ in 0..ENOUGH {
            // Two steps side by side, .05 s on the clock: .1 s of work.
            overheads.note_step(0.01);
            overheads.note_step(0.01);
            overheads.note_passed(2.0 * 0.05);
        }
        assert!((overheads.planned(0.01) - 0.05).abs() < 1e-9);
    }
}
