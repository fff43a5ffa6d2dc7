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
        match &self.0 {
            Some(stop) if stop() => Err(TableError::Cancelled),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for CancelCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "CancelCheck(..)" } else { "CancelCheck(never)" })
    }
}
