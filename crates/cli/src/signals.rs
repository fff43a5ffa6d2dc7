//! Signals: those that ask the program to end, one that must not end it, and memory that ran out.
//!
//! A search and a collection keep what they have: the first signal raises a flag that they look at, the second quits at
//! once. Every other command ends at the first. Either way no half-written file is left behind.

use std::io;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pitchpipe_table::{abandon_writes, take_over};
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::console::say_bytes;
use crate::failure::Failure;
use crate::{ENDED_EARLY, FAILED};

/// What a shell says of a program that Ctrl-C killed.
const QUIT: i32 = 130;

/// What the listening thread needs is little, and a limit on memory counts it.
const STACK: usize = 128 << 10;

/// Listens from here on. If the command is patient, the first signal only raises the flag that is returned.
pub(crate) fn listen(is_patient: bool) -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    start(is_patient, Arc::clone(&flag))
        .map_err(|e| Failure::new(format!("signals cannot be listened to: {e}")))?;
    Ok(flag)
}

fn start(is_patient: bool, flag: Arc<AtomicBool>) -> io::Result<()> {
    // A file beyond the shell's limit is then an error of writing, which is told and tidied up after.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut wanted = vec![SIGINT, SIGTERM, SIGXCPU, SIGABRT];
    wanted.extend((!is_ignored(SIGHUP)).then_some(SIGHUP));
    let mut signals = Signals::new(wanted)?;
    let out_of_memory: Arc<str> = Failure::out_of_memory().to_string().into();
    listen_beside(Arc::clone(&out_of_memory))?;
    // The last to be registered, since handlers run in that order and this one does not come back.
    hold_up_aborts()?;
    give_up_on_refused_memory(Arc::clone(&out_of_memory));
    let listen = move || {
        for signal in signals.forever() {
            if signal == SIGABRT {
                give_up(&out_of_memory);
            }
            if is_patient && !flag.swap(true, Ordering::SeqCst) {
                continue;
            }
            abandon_writes();
            if is_patient {
                low_level::exit(QUIT);
            }
            // As if nobody had listened, so that a shell sees what ended the program.
            let _ = low_level::emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("signals".to_owned()).stack_size(STACK).spawn(listen)?;
    Ok(())
}

/// An abort that somebody else sends may reach the listening thread itself, which is then held up with nobody to wake. So two
/// of them listen.
fn listen_beside(out_of_memory: Arc<str>) -> io::Result<()> {
    let mut aborts = Signals::new([SIGABRT])?;
    let listen = move || {
        if aborts.forever().next().is_some() {
            give_up(&out_of_memory);
        }
    };
    thread::Builder::new().name("aborts".to_owned()).stack_size(STACK).spawn(listen)?;
    Ok(())
}

/// Ends the process for want of memory, of which this takes none. A model that waits for this becomes the result.
fn give_up(out_of_memory: &str) -> ! {
    // Whoever comes second waits for the end that the first one makes.
    if GIVING_UP.swap(true, Ordering::SeqCst) {
        loop {
            thread::park();
        }
    }
    let is_kept = take_over();
    abandon_writes();
    say_bytes(out_of_memory.as_bytes());
    if is_kept {
        say_bytes(KEPT.as_bytes());
    }
    low_level::exit(i32::from(if is_kept { ENDED_EARLY } else { FAILED }))
}

static GIVING_UP: AtomicBool = AtomicBool::new(false);

/// What is said where a model waited.
const KEPT: &str = "saved: the best model so far, where --out says\n";

/// The linear algebra panics where the standard library would abort, when memory cannot be had.
fn give_up_on_refused_memory(out_of_memory: Arc<str>) {
    let say_panic = panic::take_hook();
    panic::set_hook(Box::new(move |told| {
        if told.payload_as_str().is_some_and(|message| message.contains("AllocError")) {
            give_up(&out_of_memory);
        }
        say_panic(told);
    }));
}

/// Under `nohup` a hangup is ignored, and is to stay so.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Memory that cannot be had makes the standard library abort. Its signal wakes the listening thread, which says what
/// happened in our words, for which it needs no memory; until it has, the aborting thread waits here, writing to a pipe
/// that is full.
fn hold_up_aborts() -> io::Result<()> {
    let (reader, writer) = io::pipe()?;
    let mut twin = writer.try_clone()?;
    low_level::pipe::register(SIGABRT, writer)?;
    // The line above made it a pipe whose writers do not wait, which is how it is filled to the last byte.
    let page = [0; 4096];
    for bytes in [&page[..], &page[..1]] {
        while io::Write::write(&mut twin, bytes).is_ok() {}
    }
    rustix::fs::fcntl_setfl(&twin, rustix::fs::OFlags::WRONLY)?;
    // Open for as long as the process lives.
    std::mem::forget((reader, twin));
    Ok(())
}
