//! Standard output and standard error: the one place that writes to them. Nothing here panics.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use serde::Serialize;

use crate::failure::Failure;
use crate::text::shown;

/// Prints a result. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn print(output: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(output).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Prints an event, if anybody reads it: a reader that went away does not end the work.
pub(crate) fn print_event(event: &impl Serialize) {
    let line = serde_json::to_string(event).expect("an event is plain data");
    let _ = print((line + "\n").as_bytes());
}

/// Says something on standard error, if that can be written to: work goes on when nobody listens.
pub(crate) fn say(text: impl Display) {
    say_bytes(text.to_string().as_bytes());
}

/// Says what is ready to be said: this much works when memory has run out.
pub(crate) fn say_bytes(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Says a line that user data may be part of.
pub(crate) fn say_line(text: impl Display) {
    say(format!("{}\n", shown(&text.to_string(), LONGEST_LINE)));
}

/// Longer lines are cut.
const LONGEST_LINE: usize = 1000;
