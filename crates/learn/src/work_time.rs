//! CPU time of a piece of work, whichever threads did its parts.
//!
//! A thread's own clock tells too little of a fit that other threads helped with, and too much where the thread did part
//! of another fit while it waited for them. What is done for another thread is therefore put to that thread's account.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cpu_time::ThreadTime;

thread_local! {
    /// Nanoseconds that other threads spent on what this one is at.
    static HELP: RefCell<Arc<AtomicU64>> = RefCell::default();
    /// Nanoseconds that this thread spent on what others are at.
    static AWAY: Cell<u64> = const { Cell::new(0) };
}

/// A moment in a thread's work.
pub(crate) struct WorkTime {
    own: ThreadTime,
    help: u64,
    away: u64,
}

impl WorkTime {
    pub(crate) fn now() -> Self {
        let (help, away) = accounts();
        Self { own: ThreadTime::now(), help, away }
    }

    /// CPU time spent on this thread's work since, by whichever thread.
    pub(crate) fn elapsed(&self) -> Duration {
        let (help, away) = accounts();
        Duration::from_nanos((self.with_help(help)).saturating_sub(away - self.away))
    }

    fn with_help(&self, help: u64) -> u64 {
        self.own.elapsed().as_nanos() as u64 + (help - self.help)
    }
}

fn accounts() -> (u64, u64) {
    (HELP.with_borrow(|help| help.load(Ordering::Relaxed)), AWAY.get())
}

/// The thread whose work it is, for the parts that others may do.
pub(crate) struct Owner(Arc<AtomicU64>);

impl Owner {
    /// This thread.
    pub(crate) fn here() -> Self {
        Self(HELP.with_borrow(Arc::clone))
    }

    /// Does a part of the owner's work, on this thread or another.
    pub(crate) fn part<T>(&self, work: impl FnOnce() -> T) -> T {
        if HELP.with_borrow(|help| Arc::ptr_eq(help, &self.0)) {
            return work();
        }
        let start = WorkTime::now();
        let done = work();
        self.0.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        AWAY.set(start.away + start.with_help(accounts().0));
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spin(millis: u64) {
        let start = ThreadTime::now();
        while start.elapsed() < Duration::from_millis(millis) {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn work_is_put_to_the_account_of_whom_it_is_done_for() {
        let start = WorkTime::now();
        let owner = Owner::here();
        let (on_helper, of_helper) = std::thread::scope(|scope| {
            let help = || {
                let (all, own) = (ThreadTime::now(), WorkTime::now());
                owner.part(|| spin(40));
                spin(10);
                (all.elapsed(), own.elapsed())
            };
            scope.spawn(help).join().expect("it does not panic")
        });
        assert!(on_helper >= Duration::from_millis(50), "{on_helper:?}");
        assert!(of_helper >= Duration::from_millis(10) && of_helper < on_helper, "{of_helper:?}");
        assert!(start.elapsed() >= Duration::from_millis(40), "{:?}", start.elapsed());
        let own = WorkTime::now();
        owner.part(|| spin(5));
        assert!(own.elapsed() >= Duration::from_millis(5), "its own part is its own");
    }
}
