//! Collecting on a cluster: what the engine that carries tasks is told, and what is said without one.

use pitchpipe_automl::offline::share::Driver;

use crate::failure::Failure;

/// What an engine is told besides the tasks.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The cluster to work on; without one, one is made on this machine.
    pub address: Option<String>,
    /// Where workers leave their results; without one, they send them.
    pub staging: Option<String>,
    /// Workers of a cluster that is made on this machine.
    pub n_workers: usize,
}

/// Carries a driver's tasks to workers and back until there are none left; says what went wrong if it cannot.
pub type Engine<'a> = &'a (dyn Fn(Driver, &Cluster) -> Result<Driver, String> + Sync);

/// The engine, if this program has one.
pub(super) fn engine(engine: Option<Engine<'_>>) -> Result<Engine<'_>, Failure> {
    engine.ok_or_else(|| {
        let message = "--engine ray is not in this program: Ray is reached through Python";
        let help = "install the Python package with Ray (pip install 'pitchpipe[ray]') and give the same command to its \
                    pitchpipe, or to python -m pitchpipe";
        Failure::with_help(message.to_owned(), help.to_owned())
    })
}
