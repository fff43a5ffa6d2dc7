//! What is derived from a matrix once and shared: one value of each type.

use std::any::Any;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A list that only grows, so that what it holds can be lent out while it does.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    first: Place,
    /// Held by the one thread that makes what is dear: two would do it twice.
    making: Mutex<()>,
}

/// Where the next value is or will be.
#[derive(Debug, Default)]
struct Place(OnceLock<Box<Entry>>);

#[derive(Debug)]
struct Entry {
    value: Box<dyn Any + Send + Sync>,
    next: Place,
}

impl Place {
    fn get<T: Any>(&self) -> Option<&T> {
        let entry = self.0.get()?;
        entry.value.downcast_ref().or_else(|| entry.next.get())
    }
}

impl Derived {
    /// The value of this type, if it was made.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        self.first.get()
    }

    /// The value of this type, made now if it was not before. Of two threads that make it at once the first one's stays.
    pub(crate) fn get_or_make<T: Any + Send + Sync, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        match self.get() {
            Some(value) => Ok(value),
            None => Ok(self.keep(make()?)),
        }
    }

    /// The same, but one thread makes it and the others wait. What is made so may neither be parallel in itself, as a
    /// thread that waits for its parts may be given work that waits for it, nor ask for another value made so.
    pub(crate) fn make_once<T: Any + Send + Sync, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        self.get_or_make(make)
    }

    fn keep<T: Any + Send + Sync>(&self, value: T) -> &T {
        let mut value = Some(value);
        let mut place = &self.first;
        loop {
            let entry = place.0.get_or_init(|| {
                let value = value.take().expect("a list has one end");
                Box::new(Entry { value: Box::new(value), next: Place::default() })
            });
            if let Some(kept) = entry.value.downcast_ref() {
                return kept;
            }
            place = &entry.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_type_is_made_once() {
        let derived = Derived::default();
        assert_eq!(derived.get::<u32>(), None);
        assert_eq!(derived.get_or_make(|| Ok::<_, ()>(1_u32)), Ok(&1));
        assert_eq!(derived.get_or_make(|| Ok::<_, ()>("a")), Ok(&"a"));
        assert_eq!(derived.get_or_make(|| Err::<u32, _>("not made again")), Ok(&1));
        assert_eq!(derived.get_or_make(|| Err::<f64, _>("failed")), Err("failed"));
        assert_eq!((derived.get::<u32>(), derived.get::<f64>()), (Some(&1), None));
    }

    #[test]
    fn threads_that_make_it_at_once_are_given_the_same_value() {
        let derived = Derived::default();
        let addresses: Vec<usize> = std::thread::scope(|scope| {
            let make = |i: u64| std::ptr::from_ref(derived.get_or_make(|| Ok::<_, ()>(i)).unwrap());
            let started: Vec<_> = (0..4).map(|i| scope.spawn(move || make(i).addr())).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(addresses.iter().all(|&address| address == addresses[0]));
    }

    #[test]
    fn what_is_dear_is_made_by_one_thread_while_the_others_wait() {
        let (derived, n_made) = (Derived::default(), AtomicUsize::new(0));
        let make = || {
            n_made.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(20));
            Ok::<_, ()>(7_u32)
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(derived.make_once(make), Ok(&7)));
            }
        });
        assert_eq!(n_made.into_inner(), 1);
    }
}
