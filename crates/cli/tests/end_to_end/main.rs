//! The command from end to end: tables to models to predictions, interrupts, and what the README shows.

mod common;
mod models;
mod readme;
#[cfg(unix)]
mod signals;
