//! What is derived from a matrix once and shared: one value of each type.

use std::any::Any;
use std::sync::OnceLock;

/// A list that only grows, so that what it holds can be lent out while it does.
#[derive(Debug, Default)]
pub(crate) struct Derived(OnceLock<Box<Entry>>);

#[derive(Debug)]
struct Entry {
    value: Box<dyn Any + Send + Sync>,
    next: Derived,
}

impl Derived {
    /// The value of this type, if it was made.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        let entry = self.0.get()?;
        entry.value.downcast_ref().or_else(|| entry.next.get())
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

    fn keep<T: Any + Send + Sync>(&self, value: T) -> &T {
        let mut value = Some(value);
        let mut place = self;
        loop {
            let entry = place.0.get_or_init(|| {
                let value = value.take().expect("a list has one end");
                Box::new(Entry { value: Box::new(value), next: Self::default() })
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
}
