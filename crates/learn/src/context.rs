//! What a fit is given besides data: its random stream, its deadline, its memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{FitError, MemoryPool, Reservation, Stream};

/// Seed, deadline, cancel flag and memory ceiling of one fit.
#[derive(Clone, Debug)]
pub struct FitContext {
    stream: Stream,
    deadline: Option<Instant>,
    heeds_pace: bool,
    cancel: Option<Arc<AtomicBool>>,
    memory_limit: Option<u64>,
    memory: Option<MemoryPool>,
}

impl FitContext {
    /// No deadline, no ceiling, seed 0.
    pub fn unhurried() -> Self {
        Self {
            stream: Stream::new(0),
            deadline: None,
            heeds_pace: true,
            cancel: None,
            memory_limit: None,
            memory: None,
        }
    }

    /// The same with another random stream.
    pub fn with_stream(self, stream: Stream) -> Self {
        Self { stream, ..self }
    }

    /// The same with an earlier or later deadline.
    pub fn with_deadline(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// The same where work that its pace so far says cannot end in time is begun all the same: what is done must not depend on
    /// the clock but where that ends it.
    pub fn heedless_of_pace(self) -> Self {
        Self { heeds_pace: false, ..self }
    }

    /// The same with a flag that ends the work when set.
    pub fn with_cancel(self, cancel: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    /// The same with a ceiling on the bytes that one component may allocate.
    pub fn with_memory_limit(self, bytes: Option<u64>) -> Self {
        Self { memory_limit: bytes, ..self }
    }

    /// The same with memory that large requests may draw on beyond the ceiling.
    pub fn with_memory(self, memory: Option<MemoryPool>) -> Self {
        Self { memory, ..self }
    }

    /// The random stream of this fit.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// When the work must end.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether work may be left out that its pace so far says cannot end in time.
    pub fn heeds_pace(&self) -> bool {
        self.heeds_pace
    }

    /// How long is left, if there is a deadline.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()))
    }

    /// How many bytes a component may allocate, if there is a ceiling.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit
    }

    /// Fails once the deadline has passed or the caller has cancelled. A long loop asks every few
    /// milliseconds of work; asking costs about 30 ns.
    #[inline]
    pub fn check_deadline(&self) -> Result<(), FitError> {
        if self.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed)) {
            return Err(FitError::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(FitError::OutOfTime),
            _ => Ok(()),
        }
    }

    /// Sets `needed` bytes aside for `component`, until it has made what they are for: within its ceiling, or beyond it
    /// where there is memory that all fits share and so much of it is free.
    pub fn reserve(&self, component: &'static str, needed: u64) -> Result<Reservation, FitError> {
        let Err(refused) = self.check_memory(component, needed) else {
            return Ok(Reservation::none());
        };
        let Some(memory) = &self.memory else { return Err(refused) };
        let limit = self.memory_limit.unwrap_or(0);
        memory.reserve(needed).map_err(|free| FitError::OutOfMemory {
            component,
            needed,
            limit: limit.max(free),
        })
    }

    /// Fails if `component` may not allocate `needed` bytes.
    pub fn check_memory(&self, component: &'static str, needed: u64) -> Result<(), FitError> {
        match self.memory_limit {
            Some(limit) if needed > limit => {
                Err(FitError::OutOfMemory { component, needed, limit })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_share_is_granted_where_it_is_free() {
        let strict = FitContext::unhurried().with_memory_limit(Some(10));
        let refused = strict.reserve("knn", 11).unwrap_err();
        assert!(matches!(refused, FitError::OutOfMemory { needed: 11, limit: 10, .. }));
        let shared = strict.with_memory(Some(MemoryPool::new(100, || Some(40))));
        let held = shared.reserve("knn", 50).expect("60 are free");
        let refused = shared.reserve("knn", 20).unwrap_err();
        assert!(matches!(refused, FitError::OutOfMemory { needed: 20, limit: 10, .. }));
        assert!(shared.reserve("knn", 10).is_ok(), "its share is its own");
        drop(held);
        assert!(shared.reserve("knn", 60).is_ok());
    }
}
