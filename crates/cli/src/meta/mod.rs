//! `pitchpipe meta`: the offline phase.

mod args;
mod cluster;
mod collect;
mod compact;
mod extend;
mod import;
mod info;
mod status;
mod train;

pub(crate) use args::MetaArgs;
use args::MetaCommand;
pub use cluster::{Cluster, Engine};

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::Done;
use crate::failure::Failure;

/// Runs a command of the offline phase; the text is its result.
pub(crate) fn run(
    args: &MetaArgs,
    stop: &Arc<AtomicBool>,
    engine: Option<Engine<'_>>,
) -> Result<Done, Failure> {
    match &args.command {
        MetaCommand::Collect(args) => collect::run(args, stop, engine).map(Done::saved),
        MetaCommand::Compact(args) => compact::run(args).map(Done::saved),
        MetaCommand::Extend(args) => extend::run(args).map(Done::saved),
        MetaCommand::Import(args) => import::run(args).map(Done::saved),
        MetaCommand::Info(args) => info::run(args).map(Done::printed),
        MetaCommand::Status(args) => status::run(args).map(Done::printed),
        MetaCommand::Train(args) => train::run(args).map(Done::saved),
    }
}

impl MetaArgs {
    /// Whether the first signal lets the command end in order, with what it has.
    pub(crate) fn is_patient(&self) -> bool {
        matches!(self.command, MetaCommand::Collect(_))
    }
}
