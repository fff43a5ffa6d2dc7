//! What Python calls: tables in by the Arrow C interface, numpy arrays and plain objects out.
//!
//! This room converts and lets go of the GIL while others work. What a user of the package sees is written in Python, in
//! `python/pitchpipe`; this is its module `pitchpipe._native`.

mod cluster;
mod fit;
mod meta;
mod model;
mod objects;
mod pool;
mod research;
mod settings;
mod store;
mod tables;
mod words;

use pyo3::prelude::*;

/// The part of pitchpipe that is written in Rust.
#[pymodule]
mod _native {
    use std::ffi::OsString;

    use pitchpipe_automl::Method;
    use pitchpipe_automl::online::DEFAULT_TIME_BUDGET;
    use pitchpipe_table::{Limits, Metric};
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::cluster::{CorpusTable, Driver};
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::meta::Surrogate;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::research::complete::{
        KernelModel, Tucker, complete_chosen, complete_kfmc, complete_matrix, complete_tucker,
        energy_rank, pca,
    };
    #[pymodule_export]
    use crate::research::design::{
        design_by_size, design_by_time, design_from_prior, design_random, design_relaxed,
    };
    #[pymodule_export]
    use crate::research::predict::{Prior, Runtimes, least_squares};
    #[pymodule_export]
    use crate::research::simulate::{Policy, Recording};
    #[pymodule_export]
    use crate::store::{read_published, read_store};
    #[pymodule_export]
    use crate::tables::Table;
    #[pymodule_export]
    use crate::words::OutOfTime;

    /// Runs a command line, the program's name first, and gives the exit code; `engine(driver, options)` carries the tasks of
    /// a collection to a cluster.
    #[pyfunction]
    #[pyo3(signature = (args, engine=None))]
    fn command(py: Python<'_>, args: Vec<OsString>, engine: Option<Py<PyAny>>) -> u8 {
        let Some(engine) = engine else {
            return py.detach(|| pitchpipe_cli::main_with_args(args));
        };
        let carry = |driver, cluster: &_| crate::cluster::carry(&engine, driver, cluster);
        py.detach(|| pitchpipe_cli::main_with_engine(args, Some(&carry)))
    }

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("DEFAULT_TIME_BUDGET", DEFAULT_TIME_BUDGET.as_secs_f64())?;
        m.add("MAX_CLASSES", Limits::default().n_classes)?;
        m.add("MAX_LEVELS", Limits::default().n_levels)?;
        m.add("METHODS", Method::ALL.map(Method::name).to_vec())?;
        m.add("METRICS", Metric::ALL.map(Metric::name).to_vec())
    }
}
