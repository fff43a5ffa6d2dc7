//! What decides when something happens in a search: the clock, or predictions of it.

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
