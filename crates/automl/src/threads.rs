//! Work on so many threads.

use pitchpipe_learn::FitError;

/// Does work whose parts may run side by side on so many threads, instead of on as many as there are cores.
pub fn on_threads<T: Send>(
    n_threads: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, FitError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads.max(1)).build();
    let pool = pool.map_err(|_| FitError::NoThreads { wanted: n_threads })?;
    Ok(pool.install(work))
}
