//! Ctrl-C while a table is read, and a table that takes longer than the budget.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pitchpipe_table::CancelCheck;

use crate::console::say;
use crate::failure::Failure;

/// How long reading may take to notice that it is to stop.
const GRACE: Duration = Duration::from_millis(50);

/// What the watching thread needs is little, and a limit on memory counts it.
const STACK: usize = 128 << 10;

/// Sees to it that nothing waits for a table after a signal, or longer than the budget.
pub(super) struct Interrupt {
    flag: Arc<AtomicBool>,
    deadline: Instant,
    is_reading: Arc<Mutex<bool>>,
}

impl Interrupt {
    /// `unread` says why the table was not read.
    pub(super) fn watch(
        flag: Arc<AtomicBool>,
        deadline: Instant,
        unread: impl Fn() -> Failure + Send + 'static,
    ) -> Result<Self, Failure> {
        let interrupt = Self { flag, deadline, is_reading: Arc::new(Mutex::new(true)) };
        interrupt
            .watch_reading(unread)
            .map_err(|e| Failure::new(format!("no thread can be started: {e}")))?;
        Ok(interrupt)
    }

    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Stops a reader.
    pub(super) fn check(&self) -> CancelCheck {
        let (flag, deadline) = (self.flag(), self.deadline);
        CancelCheck::new(move || flag.load(Ordering::Relaxed) || Instant::now() >= deadline)
    }

    /// From here on the search itself watches the flag and the clock.
    pub(super) fn reading_is_over(&self) {
        *self.is_reading.lock().expect("nobody panics while holding it") = false;
    }

    /// A pipe that nobody writes to blocks its reader, which then asks no check; so a second pair of eyes
    /// ends the process on time.
    fn watch_reading(&self, unread: impl Fn() -> Failure + Send + 'static) -> io::Result<()> {
        let (flag, deadline) = (self.flag(), self.deadline);
        let is_reading = Arc::clone(&self.is_reading);
        let watch = move || {
            let mut since: Option<Instant> = None;
            loop {
                thread::sleep(Duration::from_millis(10));
                let is_reading = is_reading.lock().expect("nobody panics while holding it");
                if !*is_reading {
                    return;
                }
                let interrupted = flag.load(Ordering::Relaxed);
                if !interrupted && Instant::now() < deadline {
                    continue;
                }
                if since.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    say(unread());
                    std::process::exit(1);
                }
            }
        };
        thread::Builder::new().stack_size(STACK).spawn(watch)?;
        Ok(())
    }
}
