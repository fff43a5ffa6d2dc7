//! How many threads a command uses.

use clap::Args as ClapArgs;
use pitchpipe_automl::on_threads;

use crate::failure::Failure;

/// How many threads a command uses.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ThreadsArg {
    /// How many threads to use; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl ThreadsArg {
    /// Does the work on so many.
    pub(crate) fn run<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        match self.threads {
            None => work(),
            Some(n) => on_threads(n.into(), work).map_err(|error| {
                Failure::with_help(error.to_string(), "use fewer --threads".to_owned())
            })?,
        }
    }
}
