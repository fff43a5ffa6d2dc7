//! The pitchpipe command.
fn main() {}
