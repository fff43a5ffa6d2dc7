//! `pitchpipe meta import`.

use pitchpipe_automl::offline::published::Published;
use pitchpipe_automl::offline::{PUBLISHED, Store, import};
use serde_json::json;

use super::args::ImportArgs;
use crate::failure::Failure;

pub(crate) fn run(args: &ImportArgs) -> Result<String, Failure> {
    let help = "get it with `pip download oboe==0.2.0 --no-deps`";
    let published = Published::read(&args.wheel)
        .map_err(|e| Failure::with_help(e.to_string(), help.to_owned()))?;
    let store = Store::for_published(&args.store)?;
    let (n_datasets, n_entries) = import(&published, &store)?;
    if args.json {
        let object = json!({"datasets": n_datasets, "entries": n_entries, "source": PUBLISHED});
        return Ok(format!("{object}\n"));
    }
    let store = args.store.display();
    Ok(format!(
        "{n_datasets} datasets with {n_entries} entries added to {store}\nfrom {PUBLISHED}\n"
    ))
}
