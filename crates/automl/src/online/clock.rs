//! The time since the budget began: the real one, or a scripted one in tests.

use std::time::{Duration, Instant};

/// Tells how much of the budget has passed.
pub(crate) trait Clock: Sync {
    /// The time since the budget began.
    fn elapsed(&self) -> Duration;

    /// The instant at which so much will have passed, for fits to end by; `None` where no real clock runs.
    fn instant(&self, elapsed: Duration) -> Option<Instant>;
}

/// The real clock.
pub(crate) struct WallClock {
    start: Instant,
}

impl WallClock {
    pub(crate) fn started_at(start: Instant) -> Self {
        Self { start }
    }
}

impl Clock for WallClock {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn instant(&self, elapsed: Duration) -> Option<Instant> {
        self.start.checked_add(elapsed)
    }
}
