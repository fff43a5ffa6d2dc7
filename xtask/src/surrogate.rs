//! `cargo xtask surrogate`: the store in the repository and the surrogate inside the program, made anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use pitchpipe_automl::offline::published::Published;
use pitchpipe_automl::offline::train::{Stack, Training};
use pitchpipe_automl::offline::{Store, compact, import};
use pitchpipe_automl::surrogate::Surrogate;

use crate::corpus::Index;
use crate::{published, python};

/// What the embedded surrogate is made from, and how.
#[derive(Args)]
pub(crate) struct Options {
    /// A store to put into data/meta first, in its compact form; without it data/meta stays as it is
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,

    /// A store with the runs of blocks beyond the paper's, to put into data/meta/added first, in its compact form
    #[arg(long, value_name = "DIR")]
    added: Option<PathBuf>,

    /// Train nothing: add the blocks to this surrogate, which has the paper's alone
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// What a published dataset counts in the priors, where one of our own counts 1
    #[arg(long, default_value_t = Training::default().published_weight)]
    published_weight: f64,

    /// Train only what the paper's systems need, and leave all else of the surrogate as it is
    #[arg(long, conflicts_with_all = ["store", "from"])]
    paper_alone: bool,

    /// Train nothing and add nothing: write the surrogate that is there in the present format
    #[arg(long, conflicts_with_all = ["store", "added", "from", "paper_alone"])]
    rewrite: bool,
}

/// Datasets that evaluation needs unseen: no surrogate of ours is trained on them.
pub(crate) fn left_out() -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for row in Index::read(&meta().join("left-out.tsv"))?.rows() {
        let row = row?;
        names.insert(row.name()?.to_owned());
        names.insert(format!("openml-{}", row.text("openml_id")?));
    }
    Ok(names.into_iter().filter(|name| !name.is_empty() && name != "openml-").collect())
}

/// The folder of the compact store.
pub(crate) fn meta() -> PathBuf {
    python::root().join("data/meta")
}

/// The folder of the compact store of blocks beyond the paper's.
fn added() -> PathBuf {
    meta().join("added")
}

/// The published tensor as a store, imported when it is not there yet.
pub(crate) fn published_store() -> Result<Store, String> {
    let folder = python::root().join("target/published/store");
    if !folder.join("complete").exists() {
        let published = Published::read(&published::wheel()?).map_err(|e| e.to_string())?;
        let store = Store::for_published(&folder).map_err(|e| e.to_string())?;
        import(&published, &store).map_err(|e| e.to_string())?;
        fs::write(folder.join("complete"), "").map_err(|e| e.to_string())?;
    }
    Store::open(&folder).map_err(|e| e.to_string())
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    for (store, folder) in [(&options.store, meta()), (&options.added, added())] {
        if let Some(store) = store {
            renew_compact_store(store, &folder)?;
        }
    }
    let path = python::root().join("crates/automl/data/default.surrogate");
    let surrogate = match &options.from {
        _ if options.rewrite => read(&path)?,
        _ if options.paper_alone => with_paper_parts(options, &path)?,
        Some(file) => extended(read(file)?)?,
        None => {
            let surrogate = training(options).run(&stack()?).map_err(|e| e.to_string())?;
            surrogate.write(&path).map_err(|e| e.to_string())?;
            // As a file holds it: the blocks are added to the same numbers, trained now or before.
            extended(read(&path)?)?
        }
    };
    surrogate.write(&path).map_err(|e| e.to_string())?;
    let facts = surrogate.facts();
    let (own, published) = facts.counts();
    println!(
        "{own} datasets of our own, {published} published, {} left out; {} entries, {:.2} % missing",
        facts.left_out.len(),
        facts.n_entries,
        100.0 * facts.missing_ratio
    );
    for done in &facts.completions {
        let (method, ranks, error) = (&done.method, &done.ranks, done.held_out_error);
        println!(
            "{method}: ranks {ranks:?}, held-out relative error {error:.4}, {:.1} s",
            done.secs
        );
    }
    for of in &facts.runtime_accuracy {
        let (two, four) = (100.0 * of.within_2, 100.0 * of.within_4);
        println!("runtimes of {}: {two:.1} / {four:.1} % within factor 2 / 4", of.estimator_type);
    }
    let size = fs::metadata(&path).map_or(0, |m| m.len());
    println!("{}: {:.2} MB; build again to embed it", path.display(), size as f64 / 1e6);
    Ok(())
}

fn read(file: &Path) -> Result<Surrogate, String> {
    Surrogate::read(file).map_err(|e| format!("{}: {e}", file.display()))
}

fn stack() -> Result<Stack, String> {
    let stores = [Store::open(&meta()).map_err(|e| e.to_string())?, published_store()?];
    Stack::read(&stores, &left_out()?).map_err(|e| e.to_string())
}

fn training(options: &Options) -> Training {
    Training { published_weight: options.published_weight, ..Training::default() }
}

/// The surrogate in this file, with what the paper's systems need trained anew.
fn with_paper_parts(options: &Options, path: &Path) -> Result<Surrogate, String> {
    let known = read(path)?;
    let parts = training(options).paper_alone(&stack()?, &known).map_err(|e| e.to_string())?;
    Ok(known.with_paper_parts(parts))
}

/// Adds the columns of blocks beyond the paper's.
fn extended(mut surrogate: Surrogate) -> Result<Surrogate, String> {
    let store = Store::open(&added()).map_err(|e| e.to_string())?;
    let stack = Stack::read(&[store], &left_out()?).map_err(|e| e.to_string())?;
    let begun = Instant::now();
    let extension = surrogate.extend(&stack).map_err(|e| e.to_string())?;
    for block in &extension.blocks {
        println!(
            "{}: {} columns, {} runs on {} datasets, of {} more the times alone; {:.1} s",
            block.name,
            block.n_pipelines,
            block.n_entries,
            block.n_datasets,
            extension.not_placed.len(),
            begun.elapsed().as_secs_f64()
        );
    }
    Ok(surrogate)
}

fn renew_compact_store(store: &Path, folder: &Path) -> Result<(), String> {
    let store = Store::open(store).map_err(|e| e.to_string())?;
    let done = compact(&store, folder).map_err(|e| e.to_string())?;
    println!(
        "{}: {} datasets, {} entries, {} distinct computations, {:.2} MB",
        folder.display(),
        done.n_datasets,
        done.n_entries,
        done.n_computations,
        done.n_bytes as f64 / 1e6
    );
    Ok(())
}
