//! What decides when something happens in a search: the clock, or predictions of it.

use std::time::Duration;

/// How a search is paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// By the clock: as much as fits the time, on so many threads.
    Timed { threads: usize },
    /// By predicted times and in batches of a fixed width, so that a run is the same on any number of threads and
    /// however busy they are. The clock only ends it, where the time budget is used up.
    Repeatable,
}

/// Steps that a repeatable run hands out together.
const REPEATABLE_WIDTH: usize = 4;

/// Bytes that a repeatable run plans with at most: what is free on the machine may not decide.
const REPEATABLE_BYTES: u64 = 4 << 30;

impl Pacing {
    pub(crate) fn is_repeatable(self) -> bool {
        self == Self::Repeatable
    }

    /// Whether something may begin that the clock has time for, or has not. A repeatable run does not ask the clock.
    pub(crate) fn allows(self, is_in_time: bool) -> bool {
        self.is_repeatable() || is_in_time
    }

    /// Whether what is measured (times, memory, the order in which fits end) may change what is done next.
    pub(crate) fn heeds_measurements(self) -> bool {
        !self.is_repeatable()
    }

    /// What policies and choices see of time that has passed on the clock.
    pub(crate) fn seen(self, elapsed: Duration) -> Duration {
        if self.heeds_measurements() { elapsed } else { Duration::ZERO }
    }

    /// The seconds of a run as policies see them: measured ones would let the clock choose.
    pub(crate) fn secs(self, measured: f64, predicted: Option<f64>) -> f64 {
        match self {
            Self::Timed { .. } => measured.max(1e-4),
            Self::Repeatable => predicted.unwrap_or(measured),
        }
    }

    /// How many steps are handed out together.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Timed { threads } => threads.max(1),
            Self::Repeatable => REPEATABLE_WIDTH,
        }
    }

    /// The bytes to plan with, of a ceiling and of what the process has in memory already.
    pub(crate) fn free_bytes(self, limit: u64, resident: Option<u64>) -> u64 {
        match self {
            Self::Timed { .. } => limit.saturating_sub(resident.unwrap_or(0)),
            Self::Repeatable => limit.min(REPEATABLE_BYTES),
        }
    }
}
