//! Memory that the fits of a search share: what one asks for beyond its share is granted where it is really free.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The memory of a process, as its fits draw on it.
#[derive(Clone)]
pub struct MemoryPool(Arc<Pool>);

struct Pool {
    limit: u64,
    in_use: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Reserved and perhaps not in use yet.
    reserved: AtomicU64,
}

/// Bytes set aside while something is made; given back when it is there, and counts as in use, or is gone.
#[derive(Debug, Default)]
#[must_use = "what is not held is given back at once"]
pub struct Reservation(Option<(MemoryPool, u64)>);

impl MemoryPool {
    /// So many bytes at most, of which `in_use` says how many are; where that cannot be found out nothing is granted.
    pub fn new(limit: u64, in_use: impl Fn() -> Option<u64> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Pool { limit, in_use: Box::new(in_use), reserved: AtomicU64::new(0) }))
    }

    /// Sets bytes aside, or tells how many there are.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, u64> {
        let in_use = (self.0.in_use)().unwrap_or(u64::MAX);
        let free = |reserved: u64| self.0.limit.saturating_sub(in_use.saturating_add(reserved));
        let add =
            |reserved: u64| (bytes <= free(reserved)).then_some(reserved.saturating_add(bytes));
        match self.0.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(Reservation(Some((self.clone(), bytes)))),
            Err(reserved) => Err(free(reserved)),
        }
    }
}

impl Reservation {
    /// Of nothing.
    pub(crate) fn none() -> Self {
        Self::default()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some((pool, bytes)) = self.0.take() {
            pool.0.reserved.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPool").field("limit", &self.0.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_is_not_there_for_others_until_it_is_given_back() {
        let pool = MemoryPool::new(100, || Some(30));
        let held = pool.reserve(50).expect("there are 70");
        assert_eq!(pool.reserve(30).err(), Some(20));
        let small = pool.reserve(20).expect("there are 20");
        drop(held);
        drop(pool.reserve(50).expect("they are back"));
        drop(small);
        assert_eq!(pool.reserve(71).err(), Some(70));
        assert_eq!(MemoryPool::new(100, || None).reserve(1).err(), Some(0));
    }
}
