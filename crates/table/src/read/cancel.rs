//! The question that long loops ask: shall I go on?

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::TableError;

/// A cheap callable that says whether to stop; readers ask it every few thousand rows.
#[derive(Clone, Default)]
pub struct CancelCheck(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl CancelCheck {
    /// Stops as soon as `stop` returns true.
    pub fn new(stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(stop)))
    }

    /// Never stops.
    pub fn never() -> Self {
        Self(None)
    }

    /// Stops once `deadline` has passed.
    pub fn at(deadline: Instant) -> Self {
        Self::new(move || Instant::now() >= deadline)
    }

    /// An error if it is time to stop.
    pub fn check(&self) -> Result<(), TableError> {
        if self.is_time() { Err(TableError::Cancelled) } else { Ok(()) }
    }

    /// Whether it is time to stop.
    pub fn is_time(&self) -> bool {
        self.0.as_ref().is_some_and(|stop| stop())
    }
}

/// Equal where it is the same callable.
impl PartialEq for CancelCheck {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl Eq for CancelCheck {}

impl fmt::Debug for CancelCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "CancelCheck(..)" } else { "CancelCheck(never)" })
    }
}
