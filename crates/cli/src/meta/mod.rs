//! `pitchpipe meta`: the offline phase.

mod args;
mod collect;
mod compact;
mod extend;
mod import;
mod info;
mod train;

pub(crate) use args::MetaArgs;
use args::MetaCommand;

use crate::failure::Failure;

/// Runs a command of the offline phase; the text is its result.
pub(crate) fn run(args: &MetaArgs) -> Result<String, Failure> {
    match &args.command {
        MetaCommand::Collect(args) => collect::run(args),
        MetaCommand::Compact(args) => compact::run(args),
        MetaCommand::Extend(args) => extend::run(args),
        MetaCommand::Import(args) => import::run(args),
        MetaCommand::Info(args) => info::run(args),
        MetaCommand::Train(args) => train::run(args),
    }
}
