//! `pitchpipe meta`: the offline phase.

mod args;
mod collect;
mod info;

pub(crate) use args::MetaArgs;
use args::MetaCommand;

use crate::failure::Failure;

/// Runs a command of the offline phase; the text is its result.
pub(crate) fn run(args: &MetaArgs) -> Result<String, Failure> {
    match &args.command {
        MetaCommand::Collect(args) => collect::run(args),
        MetaCommand::Info(args) => info::run(args),
    }
}
