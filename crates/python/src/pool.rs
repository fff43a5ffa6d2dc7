//! Threads that survive a fork.
//!
//! A forked child has the memory of its parent but none of its threads, so that work handed to a pool from before the
//! fork would wait for ever. Pools are therefore kept by process.

use std::process;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// As much as the main thread of a program has.
const STACK: usize = 8 << 20;

struct Kept {
    process: u32,
    n_threads: usize,
    pool: Arc<ThreadPool>,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// A pool of so many threads: the last one again, if it was of this process and size.
pub(crate) fn of(n_threads: usize) -> PyResult<Arc<ThreadPool>> {
    let process = process::id();
    let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match &*kept {
        Some(k) if k.process == process && k.n_threads == n_threads => return Ok(k.pool.clone()),
        _ => {}
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(n_threads)
        .stack_size(STACK)
        .build()
        .map_err(|e| PyRuntimeError::new_err(format!("no thread can be started: {e}")))?;
    let pool = Arc::new(pool);
    if let Some(old) = kept.replace(Kept { process, n_threads, pool: pool.clone() })
        && old.process != process
    {
        // Its threads are the parent's; ending them would wait for ever.
        std::mem::forget(old.pool);
    }
    Ok(pool)
}
