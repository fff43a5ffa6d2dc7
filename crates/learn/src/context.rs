//! What a fit is given besides data: its random stream, its deadline, its memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{FitError, Stream};

/// Seed, deadline, cancel flag and memory ceiling of one fit.
#[derive(Clone, Debug)]
pub struct FitContext {
    stream: Stream,
    deadline: Option<Instant>,
    cancel: Option<Arc<AtomicBool>>,
    memory_limit: Option<u64>,
}

impl FitContext {
    /// No deadline, no ceiling, seed 0.
    pub fn unhurried() -> Self {
        Self { stream: Stream::new(0), deadline: None, cancel: None, memory_limit: None }
    }

    /// The same with another random stream.
    pub fn with_stream(self, stream: Stream) -> Self {
        Self { stream, ..self }
    }

    /// The same with an earlier or later deadline.
    pub fn with_deadline(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// The same with a flag that ends the work when set.
    pub fn with_cancel(self, cancel: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    /// The same with a ceiling on the bytes that one component may allocate.
    pub fn with_memory_limit(self, bytes: Option<u64>) -> Self {
        Self { memory_limit: bytes, ..self }
    }

    /// The random stream of this fit.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// When the work must end.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
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
