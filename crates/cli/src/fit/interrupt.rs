//! Ctrl-C: the first ends the search and keeps the best so far, the second quits at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pitchpipe_table::CancelCheck;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, NOTHING_YET};

/// What a shell says of a program that Ctrl-C killed.
const QUIT: i32 = 130;

/// How long reading may take to notice that it is to stop.
const GRACE: Duration = Duration::from_millis(50);

/// Listens for signals, and sees to it that nothing waits for a table longer than the budget.
pub(super) struct Interrupt {
    flag: Arc<AtomicBool>,
    deadline: Instant,
    is_reading: Arc<Mutex<bool>>,
}

impl Interrupt {
    pub(super) fn listen(deadline: Instant) -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down and raises it, the second finds it up.
            flag::register_conditional_shutdown(signal, QUIT, Arc::clone(&flag))
                .and_then(|_| flag::register(signal, Arc::clone(&flag)))
                .map_err(|e| Failure::new(format!("signals cannot be listened to: {e}")))?;
        }
        let interrupt = Self { flag, deadline, is_reading: Arc::new(Mutex::new(true)) };
        interrupt.watch_reading();
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
    fn watch_reading(&self) {
        let (flag, deadline) = (self.flag(), self.deadline);
        let is_reading = Arc::clone(&self.is_reading);
        thread::spawn(move || {
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
                    let reason = match interrupted {
                        true => NOTHING_YET,
                        false => "the table could not be read within the time budget",
                    };
                    eprint!("{}", Failure::new(reason.to_owned()));
                    std::process::exit(1);
                }
            }
        });
    }
}
