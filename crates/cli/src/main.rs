//! The program `pitchpipe`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(pitchpipe_cli::main_with_args(std::env::args_os()))
}
