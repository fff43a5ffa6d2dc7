//! `pitchpipe meta compact`.

use pitchpipe_automl::offline::{Store, compact};
use serde_json::json;

use super::args::CompactArgs;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &CompactArgs) -> Result<String, Failure> {
    output::check_is_no_input(&args.out, &[&args.store])?;
    let store = Store::open(&args.store)?;
    let done = compact(&store, &args.out)?;
    if args.json {
        let object = json!({
            "datasets": done.n_datasets, "entries": done.n_entries,
            "computations": done.n_computations, "bytes": done.n_bytes,
        });
        return Ok(format!("{object}\n"));
    }
    Ok(format!(
        "{} datasets, {} entries, {} distinct computations: {:.2} MB in {}\n",
        done.n_datasets,
        done.n_entries,
        done.n_computations,
        done.n_bytes as f64 / 1e6,
        args.out.display()
    ))
}
